"""A patch carried in a store, and git as the judge of what comes of it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Git
from hypothesis import note

from opencoti_patches.base.store import Store
from opencoti_patches.carry.bump import bump
from opencoti_patches.carry.model import Row
from opencoti_patches.carry.regen import regen
from opencoti_patches.core.model import Entry, PatchName, Series, TreeId
from opencoti_patches.series.order import entry_of, stamp_of

NAME = PatchName("0001-ours.patch")
PATH = "src/f.c"
SURE = ("kept", "renumbered", "regenerated")
Lines = list[str]


class Ground(NamedTuple):
    """A store to carry in, and a git that shares no code with it."""

    folder: Path
    store: Store
    git: Git

    def tree(self, lines: Lines) -> TreeId:
        """A base that holds one file, in the store and where the judge works."""
        text = "".join(lines).encode()
        self.git.tree({PATH.encode(): ("100644", text)})
        blob = self.store.repo.hash_blobs([text])[0]
        tree = self.store.repo.tree_with(TreeId("4b825dc642cb6eb9a060e54bf8d69288fbee4904"), {PATH: ("100644", blob)})
        (self.store.listings / tree).write_bytes(self.store.repo.list_tree(tree))
        return tree

    def carry(self, patch: bytes, old: Lines, new: Lines) -> Row:
        """The one patch of a series carried from one base to another."""
        path = self.folder / NAME
        path.write_bytes(patch)
        entry = entry_of(self.folder, NAME, patch, strip=1, reverse=False)
        entry = entry._replace(path=path, stamp=stamp_of(path.stat()))
        done = bump(
            Series(dir=self.folder, entries=(entry,)), self.tree(old), self.tree(new), self.store, project="drawn"
        )
        note(f"{done.rows[0].status}: {done.rows[0].reason}")
        return done.rows[0]

    def regenerate(self, patch: bytes, new: Lines) -> Row:
        """The one patch of a series as ``regen`` writes it, which has no other base than this."""
        series = Series(dir=self.folder, entries=tuple(self.entries([patch])))
        (row,) = regen(series, None, self.tree(new), self.store, project="drawn")
        note(f"{row.status}: {row.reason}")
        return row

    def entries(self, patches: Sequence[bytes]) -> list[Entry]:
        """Patches as a series has them, in files."""
        found = []
        for number, patch in enumerate(patches, 1):
            path = self.folder / f"{number:04d}-ours.patch"
            path.write_bytes(patch)
            entry = entry_of(self.folder, path.name, patch, strip=1, reverse=False)
            found.append(entry._replace(path=path, stamp=stamp_of(path.stat())))
        return found

    def applied(self, patch: bytes, lines: Lines) -> Lines:
        """The file after a patch, which real git must take."""
        path = self.folder / "judged.patch"
        path.write_bytes(patch)
        tree = self.tree(lines)
        verdicts, after = self.git.judge(tree, [(path, 1, False)])
        assert verdicts == [True]
        return self.git("cat-file", "blob", f"{after}:{PATH}").decode().splitlines(keepends=True)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One store for all examples."""
    root = tmp_path_factory.mktemp("carry")
    store = Store(root / "store").open()
    for folder in (store.listings, store.scratch):
        folder.mkdir()
    yield Ground(root, store, Git(root / "judge.git"))


def patch_of(old: Lines, new: Lines) -> bytes:
    rows = difflib.unified_diff(old, new, f"a/{PATH}", f"b/{PATH}")
    return f"Say what it does\n\ndiff --git a/{PATH} b/{PATH}\n{''.join(rows)}".encode()


BODY = ["    int x = a;\n", "    step(x);\n", "    x += 1;\n", "    log_it(x);\n", "    return x;\n"]


def function(name: str, lines: Lines) -> Lines:
    return [f"int {name}(int a)\n", "{\n", *lines, "}\n", "\n"]
