"""Building the patched tree, and saying what came of it."""
