"""Whether what was built runs: smoke tests, canaries, and the search for the patch that broke it."""
