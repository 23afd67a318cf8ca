"""Proof before a patch file is put in place: git takes it, literally, in a checkout of what stands before
it, without an offset, and takes the whole new series in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.carry.staged import staged
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import Entry, PatchName, Plan, Series, TreeId
from opencoti_patches.core.progress import Progress, Silent
from opencoti_patches.doors import fs, git
from opencoti_patches.plan.strict import check
from opencoti_patches.tree import trees


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
    """Check a series in which the patches of ``written`` have new bytes and those ``aside`` do not apply;
    ``made`` are the trees that written ones must make, where they are known.

    Returns the plan of the series without the latter. Errors: CouldNot ``not-proven``: then nothing may
    be written.
    """
    progress = progress or Silent()
    with fs.scratch(store.scratch, "prove-") as folder:
        kept = [e for e in entries if e.name not in aside]
        new = [
            staged(e, written[e.name], folder / f"{i}.patch") if e.name in written else e for i, e in enumerate(kept)
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
            _one_by_one(new, written, made or {}, whole, base, store, folder, progress)
        return plan


def _one_by_one(
    new: Sequence[Entry],
    written: Mapping[PatchName, bytes],
    made: Mapping[PatchName, TreeId],
    whole: Series,
    base: TreeId,
    store: Store,
    folder: Path,
    progress: Progress,
) -> None:
    """``git apply --check`` of each written patch, in a folder with the files it touches as they are
    after its predecessor."""
    chain = [tree for _, tree in trees.commits(whole, base, store, progress=progress)]
    for i, e in enumerate(new):
        if e.name not in written:
            continue
        before = chain[i - 1] if i else base
        if made.get(e.name, chain[i]) != chain[i]:
            raise CouldNot(
                "not-proven",
                f"{e.name} as written anew makes another tree than the one it was made from; nothing was changed",
                "please report this with the patch",
            )
        touched = store.repo.diff_trees(before, chain[i])
        had = {p: old for p, (old, _) in touched.items() if old}
        contents = store.repo.blobs(oid for mode, oid in had.values() if mode != "160000")
        with fs.scratch(folder, "checkout-") as checkout:
            for path, (mode, oid) in had.items():
                fs.put(checkout, path, contents[oid], mode)
            done = git.apply_check(checkout, e.path, strip=e.strip, reverse=e.reverse)
            if not done.ok or any(done.landings):
                raise CouldNot(
                    "not-proven",
                    f"git apply --check refuses {e.name} as written anew; nothing was changed",
                    "please report this with the patch",
                )
