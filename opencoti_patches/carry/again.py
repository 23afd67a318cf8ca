"""A patch in conflict as it was resolved before, written out for the place where it stands now."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry import guards, remember, rows
from opencoti_patches.carry.by_hand import patch_of
from opencoti_patches.carry.marks import tree_of
from opencoti_patches.carry.model import Marked, Row
from opencoti_patches.carry.resolutions import Resolution
from opencoti_patches.core.model import Entry, PatchName, TreeId
from opencoti_patches.series.parse import parse


class Again(NamedTuple):
    """The row that the patch gets if git takes it, and the resolutions that served."""

    row: Row
    raw: bytes
    used: tuple[Resolution, ...]


def as_before(
    entry: Entry,
    merge: Marked,
    tree: Callable[[], TreeId],
    known: Sequence[Resolution],
    read: Callable[[str], remember.Held],
    renames: Callable[[], Mapping[str, str]],
    store: Store,
    *,
    earlier: PatchName | None,
    left_out: str,
    project: str,
    tag: str,
) -> Again | str:
    """The patch on a ``tree``, of a ``merge`` with conflicts; else what is to be said of that, mostly nothing.
    ``read`` gives a file as it is there, ``renames`` what upstream renamed, ``left_out`` says that it stands on a patch that
    the series leaves out."""
    fitted = remember.fit(known, merge, entry.name, read)
    if not isinstance(fitted, remember.Fitted):
        return fitted or ""
    before = tree()
    after = tree_of(before, fitted.files, store.repo)
    if after == before:
        return ""
    where = ", ".join(dict.fromkeys(r.to for r in fitted.used))
    why = f"conflict resolved as for {where}"
    raw = patch_of(entry, earlier, before, after, store, project=project, tag=tag, why=why)
    old, new = (parse(x, entry.strip, entry.reverse) for x in (entry.raw, raw))
    found = guards.compare(old, new, rows.gone_along(old, new, renames))
    doubts = [
        f"resolved before, for {where}",
        *([left_out] if left_out else []),
        *guards.words(found),
    ]
    row = Row(name=entry.name, status="adapted", reason="; ".join(doubts), interdiff=found.interdiff, raw=raw)
    return Again(row, raw, fitted.used)
