"""Working on the stack: patches changed, parted, joined and moved, and who owns which line."""
