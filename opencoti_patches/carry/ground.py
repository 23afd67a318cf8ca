"""What a patch can be carried over from without the tree that it was made on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.model import HunkHow
from opencoti_patches.carry.rows import exact
from opencoti_patches.carry.tally import Sides
from opencoti_patches.doors.git import Repository
from opencoti_patches.plan.made_on import made_on
from opencoti_patches.plan.replay import Lines
from opencoti_patches.plan.scratch import Scratch
from opencoti_patches.series.parse import Parsed


class Ground(NamedTuple):
    """The patch with its hunks where they stand in what its files were, the ``sides`` of a carry from that, what it is in
    words, and what is doubtful about it."""

    parsed: Parsed
    sides: Sides
    what: str
    doubts: tuple[HunkHow, ...] = ()


class Tree:
    """The scratch index as one side of a carry. ``folder`` takes temporary files."""

    def __init__(self, scratch: Scratch, repo: Repository, folder: Path) -> None:
        self.scratch = scratch
        self.repo = repo
        self._texts = Contents(repo, folder)

    def content(self, path: str) -> bytes | None:
        """What a file of it holds; None where there is none."""
        return self._texts.of(self.scratch.state().get(path) or self.scratch.listing.get(path))

    def sides(self, was: Callable[[str], Lines | None]) -> Sides:
        """The sides of a carry from files that held the lines that ``was`` gives."""
        state = self.scratch.state()
        return Sides(
            old=was,
            now=self.content,
            state=state,
            diff=self._texts.diff,
            renamed=lambda path: None,
            another_diff=self._texts.another_diff,
        )


def known(parsed: Parsed, tree: Tree) -> Ground | None:
    """The contents that a patch's index lines name, where the store still has all of them."""
    contents: Mapping[str, Lines] | None = made_on(parsed, tree.repo)
    if contents is None:
        return None
    what = "three-way with the contents that its index lines name"
    return Ground(exact(parsed, ()), tree.sides(contents.get), what)
