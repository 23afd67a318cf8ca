"""Words that people read."""

from __future__ import annotations


def plural(count: int, word: str) -> str:
    """``1 file``, ``3 files``, ``2 patches``, ``2 dependencies``."""
    if count != 1:
        word = f"{word[:-1]}ies" if word.endswith("y") else f"{word}{'es' if word.endswith(('ch', 'x')) else 's'}"
    return f"{count} {word}"
