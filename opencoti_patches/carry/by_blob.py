"""A patch whose index lines name contents that the store still has: it can be carried over three-way from these,
without the tree that it was made on."""

from __future__ import annotations

from pathlib import Path

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
    state = scratch.state()

    def now(path: str) -> bytes | None:
        held = state.get(path) or scratch.listing.get(path)
        if held is None or held[0] in ("120000", "160000"):
            return None
        return repo.blobs([held[1]])[held[1]]

    return Sides(
        old=known.get,
        now=now,
        state=state,
        diff=lambda a, b: repo.diff_contents(a, b, folder),
        renamed=lambda path: None,
    )
