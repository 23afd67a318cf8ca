"""Where a base tree comes from, and the store that keeps it."""
