"""Patch files and their order: reading, naming, formats in and out, lock, lint."""
