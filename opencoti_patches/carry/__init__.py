"""Regenerating patches that drifted: the ladder that finds a hunk's place, and the guards around it."""
