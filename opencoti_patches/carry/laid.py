"""A merged patch laid into a folder, all or nothing."""

from __future__ import annotations

from opencoti_patches.base.store import Store
from opencoti_patches.carry.marks import tree_of
from opencoti_patches.carry.merged import Merged, merge
from opencoti_patches.core.model import Series, Verdict
from opencoti_patches.plan.listing import Listing
from opencoti_patches.tree.settled import settle
from opencoti_patches.tree.worktree import At, Moved, WorkTree


def lay(work: WorkTree, series: Series, verdict: Verdict, at: At, store: Store, *, force: bool) -> tuple[Moved, Merged]:
    """Bring a folder to ``at``, the tree before the patch that git refused, with the patch merged into it: what is
    merged counts as an edit there. Call with the store's lock held.

    Errors: those of ``merge`` and of ``WorkTree.move``; then the folder is as it was.
    """
    entry = next(e for e in series.entries if e.name == verdict.name)
    held = Listing(store.repo.list_tree(at.tree))
    renamed = {p.file: p.other for p in verdict.problems if p.other}
    made = merge(entry, held.get, lambda oid: store.repo.blobs([oid])[oid], renamed)
    moved = work.move(At(tree=tree_of(at.tree, made.files, store.repo)), force=force, to_edit=True, series=series)
    settle(work, At(tree=at.tree, patch=at.patch, also=tuple(made.files)))
    return moved, made
