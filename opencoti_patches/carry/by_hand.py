"""A patch from a conflict that somebody resolved."""

from __future__ import annotations

from opencoti_patches.base.store import Store
from opencoti_patches.carry import guards, note
from opencoti_patches.carry.compose import composed
from opencoti_patches.core.model import Entry, PatchName, TreeId
from opencoti_patches.series.parse import parse


def patch_of(
    entry: Entry,
    previous: PatchName | None,
    before: TreeId,
    after: TreeId,
    store: Store,
    *,
    project: str,
    tag: str,
    why: str = "conflict resolved by hand",
) -> bytes:
    """The patch as the difference between two trees, in its own manner, with a note that says so.
    ``previous`` is the patch before it in the series."""
    raw = composed(entry, before, after, store.repo)
    old = parse(entry.raw, entry.strip)
    same = guards.compare(old, parse(raw, entry.strip)).same
    line = note.note(project, previous, [why], adapted=not same, tag=tag)
    return note.headed(entry, raw, line)
