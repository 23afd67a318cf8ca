"""The contents that a patch was made on, where its index lines name some that the store still has."""

from __future__ import annotations

from collections.abc import Mapping

from opencoti_patches.doors.git import Repository
from opencoti_patches.plan.replay import Lines, lines_of, put
from opencoti_patches.series.parse import Parsed


def made_on(parsed: Parsed, repo: Repository) -> Mapping[str, Lines] | None:
    """By path, the lines of every file that the patch changes as they were before it. None unless all are known, and its
    hunks stand in them at their lines."""
    changed = [f for f in parsed.files if f.old and f.operation != "create"]
    oids = repo.resolve(f.old_blob or "" for f in changed)
    contents = repo.blobs(oids.values())
    known: dict[str, Lines] = {}
    left: dict[str, Lines] = {}  # a file's second part goes on from its first
    for f in changed:
        old, moves = f.old or "", f.operation in ("rename", "copy")
        oid = oids.get(f.old_blob or "")
        lines = left.get(old) if old in left and not moves else lines_of(contents[oid]) if oid else None
        after = list(lines or ())
        if lines is None or f.binary or not all(put(after, h, 0) for h in f.hunks):
            return None
        known.setdefault(old, lines)
        left[f.path] = after
    return known or None
