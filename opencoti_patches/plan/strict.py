"""The strict verdict on a series: from what is on record as far as that goes, from git for the rest."""

from __future__ import annotations

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import EMPTY_TREE, Plan, Series, TreeId
from opencoti_patches.core.progress import Progress, Silent
from opencoti_patches.doors import fs
from opencoti_patches.plan.chain import Known, Records, keys

_NOTHING = Known(verdicts=(), tree=None, changes=dict)


def check(
    series: Series,
    base: TreeId,
    store: Store,
    *,
    progress: Progress | None = None,
    fresh: bool = False,
    tip: bool = True,
) -> Plan:
    """Judge every patch of the series on ``base``. Writes nothing but the store. ``fresh`` believes no
    record, and no object or listing of the store that is not what its name says. ``tip=False``: nobody will ask for
    the tip's tree, and writing it may cost more than the verdict; ``Plan.tip`` may then be None though all applied.

    Errors: CouldNot when git itself fails, ``store`` for one that is damaged. A patch that does not apply is data.
    """
    if fresh:
        _guard_sound(base, store, progress or Silent())
    records = Records(store.verdicts, keys(base, series.entries, store.objects))
    known = (None if fresh else records.longest()) or _NOTHING
    whole = len(known.verdicts) == len(series.entries)
    if not series.entries:
        return Plan(base=base, tip=base, verdicts=())
    if whole and (known.tree or not tip or not all(v.applied for v in known.verdicts)):
        return Plan(base=base, tip=known.tree, verdicts=known.verdicts)
    store.open()
    from opencoti_patches.plan.judge import Judge  # a warm check needs none of it

    if whole:  # judged before as the beginning of a longer series, so nobody asked for its tree
        tree = store.repo.tree_with(base, known.changes())
        records.note_tree(tree)
        return Plan(base=base, tip=tree, verdicts=known.verdicts)
    with fs.scratch(store.scratch, "check-") as folder:
        return Judge(series.entries, base, store, known, folder).run(records, progress or Silent(), tip)


def _guard_sound(base: TreeId, store: Store, progress: Progress) -> None:
    """That the store holds what it says. Errors: CouldNot ``store``."""
    from opencoti_patches.doors.git import unsound

    progress.update("verifying the store")
    store.open()  # its repository's settings first: git runs what they name
    why = unsound(store.objects)
    if not why and base != EMPTY_TREE and store.repo.list_tree(base) != (store.listings / base).read_bytes():
        why = f"its listing of tree {base[:12]} has other files than the tree"
    if why:
        raise CouldNot("store", f"the store is damaged: {why}", f"delete {store.root}: what it held is fetched anew")
