"""A new patch out of an edited folder, in its place in the series, proven before it is written."""

from __future__ import annotations

from typing import NamedTuple

from opencoti_patches.base import states
from opencoti_patches.base.store import Store
from opencoti_patches.carry.forward import forward
from opencoti_patches.carry.from_folder import Snapshot, guard_markers
from opencoti_patches.carry.prove import prove
from opencoti_patches.carry.trial import judged, worse
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Entry, PatchName, Plan, Series, TreeId, Verdict, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.core.shell import word
from opencoti_patches.plan.strict import check
from opencoti_patches.series import lock
from opencoti_patches.series.beside import beside
from opencoti_patches.series.numbering import Numbers, folder_of
from opencoti_patches.series.order import LOCK_FILE, entry_of
from opencoti_patches.series.placing import Addition, Placement, line_of, placed, stale_claims
from opencoti_patches.tree import trees


class Made(NamedTuple):
    """The new patch and what it means for the others: ``moved`` now apply with an offset, ``claims`` are
    what headers say about patches that have other numbers now."""

    entry: Entry
    previous: PatchName | None
    placement: Placement
    moved: tuple[Verdict, ...]
    claims: tuple[str, ...]


def make(
    series: Series,
    snapshot: Snapshot,
    base: TreeId,
    store: Store,
    *,
    place: int | None,
    wanted: str,
    header: bytes,
    usual: int,
    renumber: bool,
    progress: Progress,
    at_patch: str = "",
) -> Made:
    """The patch that ``snapshot`` is, behind so many others (all for None). Nothing is written: see ``put``.

    ``at_patch`` is the patch whose tree the folder was brought to. Errors: Refused ``does-not-apply``,
    ``wrong-bootstrap``, ``no-change``, ``markers``, ``no-number``, ``exists``, ``breaks-later``; UsageError ``bad-name``;
    CouldNot ``not-proven``.
    """
    at = len(series.entries) if place is None else place
    previous = series.entries[at - 1].name if at else None
    before = trees.tree_after(series, previous, base, store, progress=progress)
    if snapshot.began != before:
        raise _wrong_bootstrap(series, previous, at_patch, bare=snapshot.began == base)
    if snapshot.now == before:
        where = f"the tree after {previous}" if previous else "the bare base"
        raise Refused("no-change", f"the folder is {where}: there is nothing in it for a patch", "edit it first")
    if snapshot.laid:  # else a file may well have such lines, as a test of a merge has
        guard_markers(before, snapshot, store)
    names = [e.name for e in series.entries]
    numbers = Numbers(names, at, folder=folder_of(previous or ""), renumber=renumber, beside=beside(series))
    name = f"{folder_of(previous or '')}{numbers.named(wanted, 'patch')}"
    raw = header + forward(store.repo, before, snapshot.now)
    entry = entry_of(series.dir, name, raw)
    addition = Addition(entry=entry, line=line_of(name, 1, False, usual))
    renamed = numbers.shifted() if renumber else {}
    placement = placed(series, [addition], place, renamed=renamed)
    old = check(series, base, store, progress=progress)
    new = judged(placement.series, {entry.name}, base, store, progress=progress)
    broken, moved = worse(old, new, renamed)
    if broken:
        raise Refused(
            "breaks-later",
            f"{printable(broken[0].name)}, which would stand behind it, does not apply any more ({broken[0].cause})"
            + (f", nor do {len(broken) - 1} others" if len(broken) > 1 else ""),
            f"nothing was written; put it behind {printable(series.entries[-1].name)}, or edit that patch too",
        )
    aside = frozenset(v.name for v in new.verdicts if not v.applied)
    plan = prove(
        placement.series.entries,
        {entry.name: raw},
        aside,
        placement.series,
        base,
        store,
        made={entry.name: snapshot.now},
        progress=progress,
    )
    return Made(
        entry=entry,
        previous=previous,
        placement=placement if aside else locked(placement, plan),
        moved=tuple(moved),
        claims=stale_claims(series, renamed),
    )


def put(made: Made, store: Store) -> None:
    """Write what was made, all or nothing. Call with the store's lock held."""
    states.put(made.placement.changes, store)


def locked(placement: Placement, plan: Plan) -> Placement:
    """With the lock, which follows if there is one and the whole series applies."""
    file = placement.series.dir / LOCK_FILE
    if not plan.ok or not file.exists():
        return placement
    changes = {**placement.changes, file: lock.write(placement.series, plan)}
    return Placement(
        series=placement.series, changes=changes, renamed=placement.renamed, listed_now=placement.listed_now
    )


def _wrong_bootstrap(series: Series, previous: PatchName | None, at_patch: str, *, bare: bool) -> Refused:
    wanted = f"the tree after {previous}" if previous else "the bare base"
    began = ", but as the bare base" if bare else f", but as that after {at_patch}" if at_patch else ""
    known = at_patch in {e.name for e in series.entries}
    give = "give --first, or " if bare else f"give --after {word(at_patch)}, or " if known else ""
    again = f"opencoti-patches bootstrap {f'--to {word(previous)} ' if previous else ''}DIR"
    return Refused(
        "wrong-bootstrap",
        f"the folder did not begin as {wanted}{began}",
        f"{give}make a folder {'again' if give else 'to edit'}: {again}",
    )
