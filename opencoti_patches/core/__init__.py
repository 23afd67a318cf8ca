"""Words of the trade: model, errors, configuration. Starts no process and writes nothing."""
