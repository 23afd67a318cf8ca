"""Proof before a patch file is put in place: git takes it, literally, in a checkout of what stands before
it, without an offset, and takes the whole new series in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry.staged import staged
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import Entry, PatchName, Plan, Series, TreeId, blob_id
from opencoti_patches.core.progress import Progress, Silent
from opencoti_patches.doors import fs, git
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import Replay
from opencoti_patches.plan.scratch import touched
from opencoti_patches.plan.strict import check
from opencoti_patches.series.order import edited
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.tree import trees

_AT_ONCE = 128  # patches of one call


def prove(
    entries: Sequence[Entry],
    written: Mapping[PatchName, bytes],
    aside: frozenset[PatchName],
    series: Series,
    base: TreeId,
    store: Store,
    *,
    made: Mapping[PatchName, TreeId] | None = None,
    progress: Progress | None = None,
) -> Plan:
    """Check a series in which the patches of ``written`` have new bytes (which their files may have already, in a scratch
    folder) and those ``aside`` do not apply;
    ``made`` are the trees that written ones must make, where they are known.

    Returns the plan of the series without the latter. Errors: CouldNot ``not-proven``: then nothing may
    be written.
    """
    progress = progress or Silent()
    with fs.scratch(store.scratch, "prove-") as folder:
        kept = [e for e in entries if e.name not in aside]
        new = [
            e
            if e.name not in written or _lies(e, written[e.name])
            else staged(e, written[e.name], folder / f"{i}.patch")
            for i, e in enumerate(kept)
        ]
        whole = Series(dir=series.dir, entries=tuple(new), listed=series.listed)
        progress.update("proving what was written")
        plan = check(whole, base, store, progress=progress)
        bad = next((v for v in plan.verdicts if not v.applied or (v.name in written and v.status == "offset")), None)
        if bad is not None:
            raise CouldNot(
                "not-proven",
                f"{bad.name} as written anew does not apply strictly; nothing was changed",
                "please report this with the patch",
            )
        first = next((i for i, e in enumerate(new) if e.name in written), len(new))
        if first < len(new):
            _one_by_one(new, written, made or {}, whole, plan, base, store, folder, progress)
        return plan


def _lies(entry: Entry, raw: bytes) -> bool:
    """Whether the entry's file has these bytes already."""
    return entry.raw == raw and not edited(entry)


def _one_by_one(
    new: Sequence[Entry],
    written: Mapping[PatchName, bytes],
    made: Mapping[PatchName, TreeId],
    whole: Series,
    plan: Plan,
    base: TreeId,
    store: Store,
    folder: Path,
    progress: Progress,
) -> None:
    """``git apply --check`` of each written patch, in a folder with the files it touches as they are
    after its predecessor; those that do not meet share a folder and a call."""
    cases = None if made else _replayed(new, written, plan, base, store)
    if cases is None:
        cases = _from_trees(new, written, made, whole, base, store, progress)
    for batch in _batches(cases):
        if len(batch) > 1 and _taken(batch, folder):
            continue
        for case in batch:
            if not _taken([case], folder):
                raise CouldNot(
                    "not-proven",
                    f"git apply --check refuses {case.entry.name} as written anew; nothing was changed",
                    "please report this with the patch",
                )


class _Case(NamedTuple):
    """A written patch, the files that it touches as they are before it (mode and content, None for a submodule),
    and all the paths."""

    entry: Entry
    before: Mapping[str, tuple[str, bytes | None]]
    paths: frozenset[str]


def _replayed(
    new: Sequence[Entry], written: Mapping[PatchName, bytes], plan: Plan, base: TreeId, store: Store
) -> list[_Case] | None:
    """The cases from a replay in memory of the files that the written patches touch; None unless each ends, to the byte,
    as it is in the tree that git made."""
    if plan.tip is None or any(v.places for v in plan.verdicts):
        return None
    parsed = [parse(e.raw, e.strip, e.reverse) for e in new]
    ours = _with_sources(parsed, touched(one for e, one in zip(new, parsed, strict=True) if e.name in written))
    listing = Listing.of(base, store.listings)
    had = {p: entry for p in ours if (entry := listing.get(p))}
    contents = store.repo.blobs(oid for mode, oid in had.values() if mode != "160000")
    replay = Replay(lambda p: contents.get(had[p][1]) if p in had else None, ours)
    modes = {p: mode for p, (mode, _) in had.items()}
    cases: list[_Case] = []
    for e, one in zip(new, parsed, strict=True):
        if e.name in written:
            paths = touched([one])
            held = {p: (modes[p], replay.lines(p)) for p in paths if p in modes}
            if any(lines is None for _, lines in held.values()):
                return None
            before = {p: (mode, b"".join(lines or ())) for p, (mode, lines) in held.items()}
            cases.append(_Case(e, before, frozenset(paths)))
        replay.apply(one, {})
        for f in (f for f in one.files if f.old in ours or f.new in ours):
            mode = f.new_mode or modes.get(f.old or "", "100644")
            if f.old and f.operation in ("delete", "rename"):
                modes.pop(f.old, None)
            if f.new:
                modes[f.new] = mode
    made = {p: now for p, (_, now) in store.repo.diff_trees(base, plan.tip).items()}
    for p in ours:
        lines = replay.lines(p) if p in modes else None
        is_now = (modes[p], blob_id(b"".join(lines))) if lines is not None else None
        if is_now != (made[p] if p in made else had.get(p)):
            return None
    return cases if made.keys() <= touched(parsed) else None


def _with_sources(parsed: Sequence[Parsed], paths: set[str]) -> set[str]:
    """These paths, and those from which a patch renames or copies a file to one of them."""
    found = set(paths)
    for f in (f for one in reversed(parsed) for f in one.files):
        if f.old and f.new in found:
            found.add(f.old)
    return found


def _from_trees(
    new: Sequence[Entry],
    written: Mapping[PatchName, bytes],
    made: Mapping[PatchName, TreeId],
    whole: Series,
    base: TreeId,
    store: Store,
    progress: Progress,
) -> list[_Case]:
    """The cases from the trees that git makes of the series, one a patch."""
    chain = [tree for _, tree in trees.commits(whole, base, store, progress=progress)]
    for i, e in enumerate(new):
        if e.name in written and made.get(e.name, chain[i]) != chain[i]:
            raise CouldNot(
                "not-proven",
                f"{e.name} as written anew makes another tree than the one it was made from; nothing was changed",
                "please report this with the patch",
            )
    steps = [(e, chain[i - 1] if i else base, chain[i]) for i, e in enumerate(new) if e.name in written]
    cases: list[_Case] = []
    changes = store.repo.diffs_of_trees([(before, after) for _, before, after in steps])
    for (e, before, _), one in zip(steps, changes, strict=True):
        olds = {p: old for p, (old, _) in one.items() if old}
        # git wants to see those, too, of which nothing changes: a mode that is set already
        same = touched([parse(e.raw, e.strip, e.reverse)]) - one.keys()
        held = Listing(store.repo.list_tree(before)) if same else Listing(b"")
        olds |= {p: entry for p in same if (entry := held.get(p))}
        contents = store.repo.blobs(oid for mode, oid in olds.values() if mode != "160000")
        files = {p: (mode, contents.get(oid)) for p, (mode, oid) in olds.items()}
        cases.append(_Case(e, files, frozenset(same | one.keys())))
    return cases


def _batches(cases: Sequence[_Case]) -> list[list[_Case]]:
    """Cases that can stand in one folder and be checked in one call: git does not carry what one patch does over
    to the next there, so no path of one may be, or lie above, a path of another."""
    found: list[tuple[list[_Case], set[str], set[str]]] = []
    for case in cases:
        above = {"/".join(p.split("/")[:i]) for p in case.paths for i in range(1, p.count("/") + 1)}
        for batch, paths, folders in found:
            alike = (batch[0].entry.strip, batch[0].entry.reverse) == (case.entry.strip, case.entry.reverse)
            if alike and len(batch) < _AT_ONCE and not (paths & case.paths or folders & case.paths or paths & above):
                break
        else:
            batch, paths, folders = [], set(), set()
            found.append((batch, paths, folders))
        batch.append(case)
        paths |= case.paths
        folders |= above
    return [batch for batch, _, _ in found]


def _taken(batch: Sequence[_Case], folder: Path) -> bool:
    """Whether ``git apply --check`` takes them, without an offset, where their files are as before each."""
    files = dict(held for case in batch for held in case.before.items())
    size = sum(len(content or b"") for _, content in files.values())
    with fs.scratch(fs.quick(size, folder), "checkout-") as checkout:
        fs.put_all(checkout, files)
        first = batch[0].entry
        done = git.apply_check(checkout, *(c.entry.path for c in batch), strip=first.strip, reverse=first.reverse)
        return done.ok and not any(done.landings)
