"""A patch from a conflict that somebody resolved."""

from __future__ import annotations

from opencoti_patches.base.store import Store
from opencoti_patches.carry import guards, note
from opencoti_patches.carry.compose import composed
from opencoti_patches.core.model import PatchName, Series, TreeId
from opencoti_patches.series.header import with_note
from opencoti_patches.series.parse import parse
from opencoti_patches.tree import trees


def patch_of(
    series: Series, name: PatchName, before: str, after: TreeId, store: Store, *, project: str, tag: str
) -> bytes:
    """Patch ``name`` as the difference between two trees, in its own manner, with a note that says so."""
    entry = next(e for e in series.entries if e.name == name)
    raw = composed(entry, TreeId(before), after, store.repo)
    old = parse(entry.raw, entry.strip)
    same = guards.compare(old, parse(raw, entry.strip)).same
    line = note.note(project, trees.before(series, name), ["conflict resolved by hand"], adapted=not same, tag=tag)
    return with_note(old.header, line) + raw[len(old.header) :]
