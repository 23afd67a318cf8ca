"""A patch whose index lines name contents that the store still has: it can be carried over three-way from these,
without the tree that it was made on."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.over import Sides
from opencoti_patches.doors.git import Repository
from opencoti_patches.plan.replay import Lines, lines_of, put
from opencoti_patches.plan.scratch import Scratch
from opencoti_patches.series.parse import Parsed


def sides(parsed: Parsed, scratch: Scratch, repo: Repository, folder: Path) -> Sides | None:
    """What each file was when the patch was made, and what it is in the scratch index. None unless the contents of
    every file that the patch changes are known, and its hunks stand in them at their lines.

    ``folder`` takes temporary files.
    """
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
    if not known:
        return None
    state, texts = scratch.state(), Contents(repo, folder)
    return Sides(
        old=known.get,
        now=lambda path: texts.of(state.get(path) or scratch.listing.get(path)),
        state=state,
        diff=texts.diff,
        renamed=lambda path: None,
    )
