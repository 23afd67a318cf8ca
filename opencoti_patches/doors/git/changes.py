"""How trees differ, as ``git diff-tree`` tells it."""

from __future__ import annotations

from opencoti_patches.core.model import IndexEntry, decode

TreeChanges = dict[str, tuple[IndexEntry | None, IndexEntry | None]]
"""By path, what one tree has and what the other; None for a side that lacks the path."""


def read_changes(out: bytes) -> list[TreeChanges]:
    """Read ``diff-tree --stdin -z --raw`` of pairs of trees: a line with both for each, then what differs."""
    found: list[TreeChanges] = []
    at = 0
    while at < len(out):
        if out[at : at + 1] != b":":
            found.append({})
            at = out.index(b"\n", at) + 1
            continue
        meta_end = out.index(b"\0", at)
        end = out.index(b"\0", meta_end + 1)
        m1, m2, o1, o2, _ = out[at + 1 : meta_end].decode().split(" ")
        sides = ((m1, o1) if m1 != "000000" else None, (m2, o2) if m2 != "000000" else None)
        found[-1][decode(out[meta_end + 1 : end])] = sides
        at = end + 1
    return found
