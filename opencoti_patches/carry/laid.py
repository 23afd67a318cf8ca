"""A merged patch laid into a folder, all or nothing."""

from __future__ import annotations

from opencoti_patches.base.store import Store
from opencoti_patches.carry.align import Alignment, aligned
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.marks import tree_of
from opencoti_patches.carry.merged import Merged, merge
from opencoti_patches.core.model import Series, Verdict, printable
from opencoti_patches.doors import fs
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.made_on import made_on
from opencoti_patches.series.parse import Parsed
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
    with fs.scratch(store.scratch, "merge-") as folder:
        texts = Contents(store.repo, folder)

        def as_made(parsed: Parsed) -> dict[str, Alignment]:
            known = made_on(parsed, store.repo) or {}
            now = {path: texts.of(held.get(renamed.get(printable(path), path))) for path in known}
            pairs = {p: (known[p], text) for p, text in now.items() if text is not None}
            return {path: aligned(old, text, texts.diff) for path, (old, text) in pairs.items()}

        made = merge(entry, held.get, lambda oid: store.repo.blobs([oid])[oid], renamed, as_made)
    laid = tree_of(at.tree, made.files, store.repo)
    moved = work.move(At(tree=laid), force=force, to_edit=True, series=series)
    settle(work, At(tree=at.tree, patch=at.patch, also=tuple(made.files), laid=laid))
    return moved, made
