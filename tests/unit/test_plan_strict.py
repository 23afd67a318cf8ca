"""The plan's verdict is git's: on any tree, for any series, whatever was known before."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import File, Git, examples
from hypothesis import event, given
from hypothesis import strategies as st

from opencoti_patches.base.store import Store
from opencoti_patches.core.model import Series, TreeId
from opencoti_patches.plan.strict import changes_after, check
from opencoti_patches.series.order import load

Tree = dict[bytes, File]

# Few names, many collisions: each folder is a file or a symlink in some other tree.
NAMES = [b"a", b"b", b"a/x", b"a/y", b"b/x", b"d", b"d/e", b"d/e/f", b"l", b"a/x/deep/er"]
WORDS = [b"{\n", b"}\n", b"\n", b"int f(void)\n", b"\treturn 1;\n", b"\xe9t\xe9\n", b"one\r\n"]


@dataclass(frozen=True)
class Change:
    """One patch of a series, as it stands in its file and in the series."""

    raw: bytes
    strip: int
    reverse: bool


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A text, some of its lines often repeated; sometimes without its last newline, rarely no text."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.sampled_from([b"", b"\0bin\x01\n", b"\0other"]))
    own = b"".join(b"line %d\n" % i for i in range(draw(st.integers(0, 12))))
    often = b"".join(draw(st.lists(st.sampled_from(WORDS), max_size=4)))
    text = draw(st.sampled_from([own + often, often + own, often * 4 + own, own + often + own]))
    return text[:-1] if draw(st.integers(0, 5)) == 0 else text


@st.composite
def files(draw: st.DrawFn) -> File:
    """Any file or symlink."""
    if draw(st.integers(0, 5)) == 0:
        return "120000", draw(st.sampled_from([b"a", b"d", b"d/e", b"../up"]))
    return draw(st.sampled_from(["100644", "100644", "100755"])), draw(contents())


def _put(tree: Tree, path: bytes, file: File) -> None:
    """Put a file into a tree, in place of what is in its way."""
    for other in list(tree):
        if other.startswith(path + b"/") or path.startswith(other + b"/"):
            del tree[other]
    tree[path] = file


@st.composite
def edited(draw: st.DrawFn, before: Tree) -> Tree:
    """A tree a few changes later."""
    tree = dict(before)
    for _ in range(draw(st.integers(1, 3))):
        names = sorted(tree)
        what = draw(st.sampled_from(["edit", "edit", "edit", "new", "delete", "move", "copy", "mode"]))
        if what == "new" or not names:
            _put(tree, draw(st.sampled_from(NAMES)), draw(files()))
            continue
        path = draw(st.sampled_from(names))
        mode, content = tree[path]
        if what == "delete":
            del tree[path]
        elif what in ("move", "copy"):
            if what == "move":
                del tree[path]
            _put(tree, draw(st.sampled_from(NAMES)), (mode, content))
        elif what == "mode" and mode != "120000":
            tree[path] = ("100755" if mode == "100644" else "100644", content)
        elif mode == "120000":
            tree[path] = (mode, content + b"2")
        else:
            lines = content.split(b"\n")
            at = draw(st.integers(0, len(lines)))
            out, into = draw(st.sampled_from([(0, 1), (1, 1), (1, 0), (0, 3), (2, 1)]))
            lines[at : at + out] = [b"new %d" % draw(st.integers(0, 9))] * into
            tree[path] = (mode, b"\n".join(lines))
    return tree


@st.composite
def bases(draw: st.DrawFn) -> Tree:
    """A small tree to begin with."""
    tree: Tree = {}
    for path in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5)):
        _put(tree, path, draw(files()))
    return tree


@st.composite
def changes(draw: st.DrawFn, git: Git, states: Sequence[Tree]) -> Change:
    """A patch between two of the states, in one of the many ways to write it; now and then damaged."""
    at = draw(st.integers(0, len(states) - 2))
    other = draw(st.integers(0, len(states) - 1)) if draw(st.integers(0, 4)) == 0 else at + 1
    old, new = git.tree(states[at]), git.tree(states[other])
    reverse = draw(st.integers(0, 5)) == 0
    strip, prefixes = draw(
        st.sampled_from(
            [
                (1, ["--src-prefix=a/", "--dst-prefix=b/"]),
                (1, ["--src-prefix=a/", "--dst-prefix=b/"]),
                (0, ["--no-prefix"]),
                (2, ["--src-prefix=x/old/", "--dst-prefix=x/new/"]),
            ]
        )
    )
    options = [
        f"-U{draw(st.sampled_from([3, 3, 3, 1, 0, 10]))}",
        draw(st.sampled_from(["--no-renames", "-M40", "-C40"])),
        draw(st.sampled_from(["--binary", "--full-index", "--abbrev=7"])),
    ]
    pair = (new, old) if reverse else (old, new)
    raw = git("diff-tree", "-p", "-r", "--find-copies-harder", *options, *prefixes, *pair)
    return Change(draw(damaged(raw)), strip, reverse)


@st.composite
def damaged(draw: st.DrawFn, raw: bytes) -> bytes:
    """The patch as it is, most of the time; else as mail, editors and other diffs leave it."""
    how = draw(st.integers(0, 15))
    lines = raw.split(b"\n")
    if how == 0:
        keep = (b"diff --git", b"index ", b"new file", b"deleted file", b"old mode", b"new mode", b"similarity")
        lines = [x for x in lines if not x.startswith(keep)]
    elif how == 1 and draw(st.booleans()):
        lines = lines[: draw(st.integers(0, len(lines)))]
    elif how == 2:
        return raw.removesuffix(b"\n")
    elif how == 3:
        return raw.replace(b"\n", b"\r\n")
    elif how == 4:
        return re.sub(rb"@@ -(\d+)(.*) \+(\d+)", lambda m: b"@@ -%d%s +%d" % (int(m[1]) + 3, m[2], int(m[3]) + 3), raw)
    elif how == 5:
        return b"From: x\nSubject: y\n\ndiff --git a/x b/x\nno, it is not.\n---\n a | 2 +-\n\n" + raw + b"-- \n2.39.5\n"
    elif how == 6:
        lines = [x for x in lines if not x.startswith(b"diff --git")]
    elif how == 7:
        lines = [x.rstrip(b" ") if not x.strip() else x for x in lines]
    return b"\n".join(lines)


@dataclass(frozen=True, slots=True)
class Bench:
    """A store, and a judge whose objects the store reads too."""

    store: Store
    git: Git

    def list(self, tree: str) -> TreeId:
        """Make a tree that the judge holds a base of the store."""
        (self.store.listings / tree).write_bytes(self.git("ls-tree", "-r", "-z", tree))
        return TreeId(tree)

    @contextmanager
    def series(self, patches: Sequence[Change]) -> Iterator[Series]:
        """A patches folder on the disk."""
        with tempfile.TemporaryDirectory(dir=self.store.root) as name:
            folder = Path(name)
            rows = [f"{i:04}.patch -p{c.strip}{' -R' * c.reverse}\n" for i, c in enumerate(patches)]
            for i, change in enumerate(patches):
                (folder / f"{i:04}.patch").write_bytes(change.raw)
            (folder / "series").write_text("".join(rows))
            yield load(folder)

    def judge(self, base: str, series: Series) -> tuple[list[bool], str]:
        """git's verdicts, one patch at a time on the full index."""
        return self.git.judge(base, [(e.path, e.strip, e.reverse) for e in series.entries])


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """One store for all examples: trees and series tell them apart."""
    folder = tmp_path_factory.mktemp("bench")
    git = Git(folder / "judge.git")
    store = Store(folder / "store").open()
    (store.repo.path / "objects" / "info" / "alternates").write_text(f"{git.path / 'objects'}\n")
    store.listings.mkdir()
    return Bench(store, git)


def _draw(data: st.DataObject, git: Git, most: int) -> tuple[str, list[Change]]:
    states = [data.draw(bases())]
    for _ in range(data.draw(st.integers(1, most))):
        states.append(data.draw(edited(states[-1])))
    patches = [data.draw(changes(git, states)) for _ in range(data.draw(st.integers(1, most + 1)))]
    return git.tree(states[0]), patches


@examples(120)
@given(data=st.data())
def test_the_verdict_is_that_of_a_full_index_one_patch_at_a_time(bench: Bench, data: st.DataObject) -> None:
    base, patches = _draw(data, bench.git, 5)
    with bench.series(patches) as series:
        plan = check(series, bench.list(base), bench.store, fresh=True)
        verdicts, tip = bench.judge(base, series)
        assert [v.applied for v in plan.verdicts] == verdicts
        again, after = changes_after(series, TreeId(base), bench.store)
    assert again == plan
    assert bench.store.repo.tree_with(TreeId(base), after) == tip
    assert plan.tip == (tip if all(verdicts) else None)
    for verdict in plan.verdicts:
        event(f"{verdict.status}: {verdict.cause}")
