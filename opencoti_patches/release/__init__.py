"""A release: what was verified, packed so that anyone can verify it again."""
