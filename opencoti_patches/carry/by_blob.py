"""A patch whose index lines name contents that the store still has: it can be carried over three-way from these,
without the tree that it was made on."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.over import Sides
from opencoti_patches.doors.git import Repository
from opencoti_patches.plan.made_on import made_on
from opencoti_patches.plan.scratch import Scratch
from opencoti_patches.series.parse import Parsed


def sides(parsed: Parsed, scratch: Scratch, repo: Repository, folder: Path) -> Sides | None:
    """What each file was when the patch was made, and what it is in the scratch index; None where ``made_on`` is.
    ``folder`` takes temporary files."""
    known = made_on(parsed, repo)
    if known is None:
        return None
    state, texts = scratch.state(), Contents(repo, folder)
    return Sides(
        old=known.get,
        now=lambda path: texts.of(state.get(path) or scratch.listing.get(path)),
        state=state,
        diff=texts.diff,
        renamed=lambda path: None,
    )
