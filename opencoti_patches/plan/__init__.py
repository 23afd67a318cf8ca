"""The strict verdict on every hunk of every patch, and why a patch fails."""
