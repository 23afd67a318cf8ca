"""How trees differ, as ``git diff-tree`` tells it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opencoti_patches.core.model import IndexEntry, TreeId, decode
from opencoti_patches.doors.git.call import call, environment, must

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


def lines_between(objects: Path, a: TreeId, b: TreeId, paths: Sequence[str]) -> dict[str, int]:
    """By path of ``paths``, in the bare repository ``objects``, how many lines two trees differ in: added and removed
    ones together, none for a binary. What does not differ is not there."""
    env = environment(GIT_DIR=str(objects), GIT_CEILING_DIRECTORIES=str(objects.parent), GIT_LITERAL_PATHSPECS="1")
    args = ("diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", "--no-textconv", a, b, "--", *paths)
    out = must(call(args, env=env, cwd=objects), "count lines between two trees") if paths else b""
    rows = (row.split(b"\t", 2) for row in out.split(b"\0")[:-1])
    return {decode(path): int(added) + int(gone) if added != b"-" else 0 for added, gone, path in rows}
