"""A tree and a build folder in the store, moved from patch to patch: each build is warm from the last, and the
project's own tree and build stay as they are."""

from __future__ import annotations

import os
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.build.run import Built, Job, build, folder_of
from opencoti_patches.core.config import Config
from opencoti_patches.core.model import Series, TreeId
from opencoti_patches.core.profile import Profile
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import proc
from opencoti_patches.tree import trees
from opencoti_patches.tree.worktree import At, WorkTree

_NO_PROFILE = ".tree"  # no profile can be called so


class Bench:
    """One profile's bench; without a profile a tree alone. ``job`` is a build of it; series and tree are replaced.

    It is laid out as the project is: with ``CCACHE_BASEDIR`` a compiler cache then takes objects of one for the other.
    """

    def __init__(self, config: Config, profile: Profile | None, store: Store, job: Job | None = None) -> None:
        name = profile.name if profile else _NO_PROFILE
        root = store.own / "bench" / name
        own = folder_of(name, store)
        common = os.path.commonpath([config.tree, own])
        self.config = config._replace(tree=root / os.path.relpath(config.tree, common))
        self.logs = root / "logs"
        self.folder = root / os.path.relpath(own, common)
        self.store = store
        self.job = job

    @property
    def tree(self) -> Path:
        """The folder of the tree."""
        return self.config.tree

    def move(self, series: Series, base: TreeId, *, progress: Progress) -> TreeId:
        """Bring the tree to the end of ``series``. What somebody changed in it is put into the store's ``saved``.

        Errors: those of ``WorkTree.move``; CouldNot ``locked`` while what a killed run started on this bench runs.
        """
        proc.guard_alone(self.logs)
        last = series.entries[-1].name if series.entries else None
        tip = trees.tree_after(series, last, base, self.store, progress=progress)
        WorkTree(self.tree, self.store).move(At(tree=tip, patch=last or ""), force=True)
        return tip

    def build(self, series: Series, tip: TreeId, *, progress: Progress) -> Built:
        """Build the tree, which ``move`` brought to ``tip``."""
        assert self.job is not None
        job = self.job._replace(series=series, tip=tip, folder=self.folder)
        return build(self.config, job, self.store, progress=progress)
