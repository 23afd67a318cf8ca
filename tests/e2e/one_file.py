"""One file in a patch, carried from one content to another: the smallest upstream that shows a rule."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from opencoti_patches.carry import over
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.tally import Sides
from opencoti_patches.core.model import Entry, PatchName
from opencoti_patches.doors.git import Repository
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.series.parse import parse

PATH = "f.c"


def patch_of(old: str, new: str) -> bytes:
    rows = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{PATH}", f"b/{PATH}")
    return f"diff --git a/{PATH} b/{PATH}\n{''.join(rows)}".encode()


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> Contents:
    folder = tmp_path_factory.mktemp("contents")
    return Contents(Repository(folder / "none.git"), folder)


def carried(contents: Contents, old: str, ours: str, new: str) -> over.Over:
    raw = patch_of(old, ours)
    sides = Sides(
        old=lambda _: lines_of(old.encode()),
        now=lambda _: new.encode(),
        state={},
        diff=contents.diff,
        renamed=lambda _: None,
        another_diff=contents.another_diff,
    )
    entry = Entry(name=PatchName("p"), path=Path("p"), raw=raw)
    return over.carry(entry, parse(raw, 1), sides)


def added(found: over.Over) -> list[str]:
    """The lines that the new patch adds, and its neighbours."""
    hunks = parse(found.raw, 1).files[0].hunks
    return [line.decode().rstrip("\n") for h in hunks for line in h.lines]
