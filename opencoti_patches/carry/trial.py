"""The verdict on a series of which some patches are not on the disk yet."""

from __future__ import annotations

from collections.abc import Mapping, Set

from opencoti_patches.base.store import Store
from opencoti_patches.carry.staged import staged
from opencoti_patches.core.model import PatchName, Plan, Series, TreeId, Verdict
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.plan.strict import check


def judged(series: Series, new: Set[PatchName], base: TreeId, store: Store, *, progress: Progress) -> Plan:
    """The plan of the series, its ``new`` patches taken from memory. What is found is recorded, so the next
    check of the same series asks nothing again."""
    with fs.scratch(store.scratch, "trial-") as folder:
        entries = list(series.entries)
        for i, e in enumerate(entries):
            if e.name in new:
                entries[i] = staged(e, e.raw, folder / f"{i}.patch")
        return check(series._replace(entries=tuple(entries)), base, store, progress=progress)


def worse(old: Plan, new: Plan, renamed: Mapping[str, str]) -> tuple[list[Verdict], list[Verdict]]:
    """Of the patches in both plans: those that applied and do not any more, and those that only moved."""
    before = {renamed.get(v.name, v.name): v for v in old.verdicts}
    both = [(before[v.name], v) for v in new.verdicts if v.name in before]
    broken = [v for was, v in both if was.applied and not v.applied]
    moved = [v for was, v in both if was.status == "clean" and v.status == "offset"]
    return broken, moved
