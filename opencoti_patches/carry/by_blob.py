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
    if not changed or any((f.old_blob or "") not in oids for f in changed):
        return None
    contents = repo.blobs(oids.values())
    known: dict[str, Lines] = {}
    for f in changed:
        lines = lines_of(contents[oids[f.old_blob or ""]])
        after = list(lines)
        if f.binary or not all(put(after, h, 0) for h in f.hunks):
            return None
        known[f.old or ""] = lines
    state, texts = scratch.state(), Contents(repo, folder)
    return Sides(
        old=known.get,
        now=lambda path: texts.of(state.get(path) or scratch.listing.get(path)),
        state=state,
        diff=texts.diff,
        renamed=lambda path: None,
    )
