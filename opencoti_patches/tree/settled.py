"""A folder that is at a tree already, because somebody edited it until it was."""

from __future__ import annotations

from opencoti_patches.tree.worktree import At, WorkTree


def settle(work: WorkTree, at: At) -> None:
    """Record that the folder is at ``at`` as it stands: its edits are a patch's now, not local ones. No
    file of it is written. Call with the store's lock held."""
    work.files.read_tree(at.tree)
    work.files.refresh()
    work.note(at)
