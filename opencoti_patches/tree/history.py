"""A working tree as a git repository: one commit a patch on branch ``opencoti``."""

from __future__ import annotations

import os
from collections.abc import Sequence

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import CommitId, TreeId
from opencoti_patches.doors import git
from opencoti_patches.tree.worktree import WorkTree

BRANCH = "opencoti"
_MADE_BY_US = "opencoti-made"  # an empty file in .git: this repository is ours to move


def made_here(work: WorkTree) -> bool:
    """Whether the folder has a repository of ours."""
    return (work.folder / ".git" / _MADE_BY_US).exists()


def guard_repository(work: WorkTree) -> None:
    """Errors: Refused ``foreign-repository`` if the folder has a repository that is not ours."""
    if os.path.lexists(work.folder / ".git") and not made_here(work):
        raise Refused(
            "foreign-repository",
            f"{work.folder} is a git repository that this project did not make",
            "give --commits a folder of its own",
        )


def publish(work: WorkTree, made: Sequence[tuple[CommitId, TreeId]], store: Store) -> CommitId | None:
    """Let the folder's repository be at the last commit, its files being there already.

    A branch that somebody committed to since is kept as ``opencoti-before-COMMIT``.
    """
    guard_repository(work)
    if not made:
        return None
    tip = made[-1][0]
    git.publish(store.repo, tip, work.folder, BRANCH, work.folder / ".git" / _MADE_BY_US)
    return tip
