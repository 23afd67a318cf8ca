"""Trees between patches, and working trees that move from one to another."""
