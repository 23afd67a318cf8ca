"""``regen`` under random series and random upstreams. Lines have identities, so that what must come out is
known without any diff: the patches' edits, carried out on upstream's file."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import File, Git, examples
from hypothesis import given
from hypothesis import strategies as st

from opencoti_patches.base.store import Store
from opencoti_patches.carry import from_folder
from opencoti_patches.carry.model import Row
from opencoti_patches.carry.regen import regen
from opencoti_patches.carry.write import put_in_place
from opencoti_patches.core.model import EMPTY_TREE, Series, TreeId
from opencoti_patches.core.progress import Silent
from opencoti_patches.doors.git import NewFile
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.strict import check
from opencoti_patches.series import order
from opencoti_patches.series.parse import parse
from opencoti_patches.tree.worktree import At, WorkTree

Line = tuple[int, bytes]
"""(identity, text). No text begins like a function, so that no place is in another one."""
Text = list[Line]
NEAR = 8  # lines that stand in a hunk, at most, on both sides of a change


@dataclass
class World:
    """A store in a folder of its own, a patches folder, and git as a judge."""

    folder: Path
    store: Store = field(init=False)
    git: Git = field(init=False)
    patches: Path = field(init=False)

    def __post_init__(self) -> None:
        self.store = Store(self.folder / ".opencoti").open()
        self.git = Git(self.folder / "judge.git")
        self.patches = self.folder / "patches"
        self.patches.mkdir()

    def tree(self, files: dict[str, File]) -> TreeId:
        """Bring a tree into the store."""
        new = [NewFile(path=p, mode=m, size=len(c), chunks=(c,)) for p, (m, c) in files.items()]
        tree = self.store.repo.import_tree(new)
        if tree != EMPTY_TREE:
            self.store.listings.mkdir(exist_ok=True)
            (self.store.listings / tree).write_bytes(self.store.repo.list_tree(tree))
            assert len(Listing.of(tree, self.store.listings)) == len(files)
        return tree

    def write_series(self, states: Sequence[dict[str, File]], *options: str) -> Series:
        """The patches from each state to the next, by git."""
        trees = [self.git.tree({p.encode(): f for p, f in s.items()}) for s in states]
        names = []
        for n, (a, b) in enumerate(pairwise(trees), 1):
            diff = self.git("diff-tree", "-r", "-p", "--binary", "--no-renames", *options, a, b)
            names.append(f"{n:04}-x.patch")
            (self.patches / names[-1]).write_bytes(b"Say what it does\n\nWhy.\n\n" + diff)
        (self.patches / "series").write_text("".join(f"{n}\n" for n in names))
        return order.load(self.patches)

    def carry(self, base: TreeId) -> tuple[Row, ...]:
        """``regen``, as the command does it."""
        series = order.load(self.patches)
        rows = regen(series, None, base, self.store, project="p")
        if not any(r.status == "adapted" for r in rows):
            put_in_place(rows, series, base, self.store, dry_run=False, progress=Silent())
        return rows


@contextmanager
def world() -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        yield World(Path(folder))


def content(text: Text) -> bytes:
    return b"".join(line for _, line in text)


# -- edits by identity -----------------------------------------------------------------------

Edit = tuple[str, int, Text]
"""("delete" | "replace" | "insert" | "space", identity, new lines): insert is behind; space changes the
white space of the line and leaves its identity."""


def carried_out(text: Text, edits: Sequence[Edit]) -> Text:
    """A text after edits, in order. A line that is not there is an error of the test."""
    for what, identity, new in edits:
        at = next(i for i, (n, _) in enumerate(text) if n == identity)
        keep = [text[at]] if what == "insert" else []
        text = [*text[:at], *keep, *new, *text[at + 1 :]]
    return text


@st.composite
def bases(draw: st.DrawFn) -> Text:
    return [
        (
            n,
            b"%s; w%d%s"
            % (draw(st.sampled_from([b"", b"    ", b"\t"])), n, draw(st.sampled_from([b"\n", b"\n", b" x\n"]))),
        )
        for n in range(draw(st.integers(20, 60)))
    ]


@st.composite
def series_edits(draw: st.DrawFn, base: Text) -> tuple[list[list[Edit]], set[int]]:
    """Edits a patch, and the identities of base lines that stand in their hunks."""
    text, fresh, hot = base, 1000, set[int]()
    patches = []
    for _ in range(draw(st.integers(1, 3))):
        edits: list[Edit] = []
        before = text
        for _ in range(draw(st.integers(1, 3))):
            at = draw(st.integers(0, len(text) - 1))
            what = draw(st.sampled_from(["delete", "replace", "insert"]))
            new = [(fresh + i, b"  ; added%d \n" % (fresh + i)) for i in range(draw(st.integers(1, 4)))]
            fresh += 10
            hot |= {n for n, _ in text[max(0, at - NEAR) : at + NEAR + 1]}
            edit: Edit = (what, text[at][0], [] if what == "delete" else new)
            if len(text) == 1 and what == "delete":
                continue
            text = carried_out(text, [edit])
            edits.append(edit)
        if text != before:  # one may take back the other: that is no patch
            patches.append(edits)
    return patches, hot


@st.composite
def cold_edits(draw: st.DrawFn, base: Text, hot: set[int]) -> list[Edit]:
    """Upstream's edits of lines that no hunk shows, nor stand beside one that does."""
    order_ = [n for n, _ in base]
    cold = [n for i, n in enumerate(order_) if n not in hot and not set(order_[max(0, i - 1) : i + 2]) & hot]
    if not cold:
        return []
    edits: list[Edit] = []
    for n in draw(st.lists(st.sampled_from(cold), unique=True, max_size=4)):
        what = draw(st.sampled_from(["delete", "replace", "insert"]))
        new = [(5000 + n * 10 + i, b"; upstream%d-%d\n" % (n, i)) for i in range(draw(st.integers(1, 9)))]
        edits.append((what, n, [] if what == "delete" else new))
    return edits


def states_of(base: Text, patches: Sequence[Sequence[Edit]]) -> list[Text]:
    states = [base]
    for edits in patches:
        states.append(carried_out(states[-1], edits))
    return states


def changed_lines(raw: bytes) -> dict[str, list[bytes]]:
    """Added and removed lines of a patch."""
    return {
        kind: [x for f in parse(raw).files for h in f.hunks for x in h.lines if x[:1] == kind.encode()] for kind in "+-"
    }


def read(series: Series) -> dict[str, bytes]:
    return {e.name: e.path.read_bytes() for e in series.entries}


@examples(12)
@given(st.data())
def test_upstream_elsewhere_costs_numbers_only(data: st.DataObject) -> None:
    """Two files, a mode and a new file; upstream edits where no hunk is."""
    texts = {p: data.draw(bases()) for p in ("a", "d/b")}
    edits = {p: data.draw(series_edits(t)) for p, t in texts.items()}
    upstream = {p: carried_out(t, data.draw(cold_edits(t, edits[p][1]))) for p, t in texts.items()}
    count = max(len(e) for e, _ in edits.values())

    def world_states(start: dict[str, Text]) -> list[dict[str, File]]:
        states = {p: states_of(start[p], edits[p][0]) for p in start}
        found: list[dict[str, File]] = []
        for i in range(count + 1):
            files = {p: ("100644", content(s[min(i, len(s) - 1)])) for p, s in states.items()}
            files |= {"tool": ("100755" if i else "100644", b"tool\n"), "bin": ("100644", b"\0%d" % i)}
            found.append(files | ({"new/file": ("100644", b"new\n")} if i else {}))
        return found

    with world() as w:
        series = w.write_series(world_states(texts))
        before = read(series)
        wanted = world_states(upstream)
        base = w.tree(wanted[0])
        rows = w.carry(base)
        assert {r.status for r in rows} <= {"kept", "renumbered"}
        after = order.load(w.patches)
        plan = check(after, base, w.store)
        assert [v.status for v in plan.verdicts] == ["clean"] * len(rows)
        assert plan.tip == w.tree(wanted[-1])
        for e, row in zip(after.entries, rows, strict=True):
            assert changed_lines(e.raw) == changed_lines(before[e.name])
            assert (e.raw == before[e.name]) == (row.status == "kept")
            plain = [[x for x in raw.split(b"\n") if not x.startswith(b"@@ ")] for raw in (e.raw, before[e.name])]
            assert plain[0] == plain[1]
        verdicts, _ = w.git.judge(
            w.git.tree({p.encode(): f for p, f in wanted[0].items()}), [(e.path, 1, False) for e in after.entries]
        )
        assert all(verdicts)
        again = w.carry(base)
        assert {r.status for r in again} == {"kept"}
        assert read(after) == {e.name: e.raw for e in after.entries}


@st.composite
def drifted(draw: st.DrawFn, base: Text) -> Text:
    """The base with other white space in some lines."""
    chosen = draw(st.sets(st.integers(0, len(base) - 1), min_size=1, max_size=12))
    lead = st.sampled_from([b"", b" ", b"\t", b"        "])
    tail = st.sampled_from([b"\n", b" \n", b"\t\n"])
    return [(n, draw(lead) + x.strip() + draw(tail)) if i in chosen else (n, x) for i, (n, x) in enumerate(base)]


@examples(14)
@given(st.data())
def test_white_space_drift_loses_no_added_line(data: st.DataObject) -> None:
    """Upstream changed white space anywhere, and lines elsewhere: every line is still to be told from
    every other, so every patch must come through, on upstream's white space, with its own added lines."""
    base = data.draw(bases())
    edits, hot = data.draw(series_edits(base))
    upstream = carried_out(data.draw(drifted(base)), data.draw(cold_edits(base, hot)))
    with world() as w:
        series = w.write_series([{"f": ("100644", content(s))} for s in states_of(base, edits)])
        before = read(series)
        tree = w.tree({"f": ("100644", content(upstream))})
        rows = w.carry(tree)
        assert {r.status for r in rows} <= {"kept", "renumbered", "regenerated"}
        after = order.load(w.patches)
        plan = check(after, tree, w.store)
        assert [v.status for v in plan.verdicts] == ["clean"] * len(rows)
        assert plan.tip == w.tree({"f": ("100644", content(states_of(upstream, edits)[-1]))})
        for e, row in zip(after.entries, rows, strict=True):
            old, new = changed_lines(before[e.name]), changed_lines(e.raw)
            assert old["+"] == new["+"]
            assert [x[1:].split() for x in old["-"]] == [x[1:].split() for x in new["-"]]
            header = e.raw[: e.raw.index(b"\ndiff --git")].split(b"\n")
            kept = before[e.name][: before[e.name].index(b"\ndiff --git")].split(b"\n")
            noted = row.status == "regenerated"
            assert header == ([kept[0], header[1], *kept[1:]] if noted else kept)
            assert noted == header[1].startswith(b"p note (")
        assert {r.status for r in w.carry(tree)} == {"kept"}
        assert read(after) == {e.name: e.raw for e in after.entries}


@examples(10)
@given(st.data())
def test_whatever_upstream_did_nothing_is_lost_or_half_done(data: st.DataObject) -> None:
    """Upstream edits at random, where the patches are too. What cannot be carried stays to the byte; what
    is written applies without an offset and, unless it is called adapted, adds what it added."""
    base = data.draw(bases())
    edits, _ = data.draw(series_edits(base))
    upstream = carried_out(data.draw(drifted(base)), data.draw(cold_edits(base, set())))
    with world() as w:
        series = w.write_series([{"f": ("100644", content(s))} for s in states_of(base, edits)])
        before = read(series)
        tree = w.tree({"f": ("100644", content(upstream))})
        rows = regen(series, None, tree, w.store, project="p")
        put_in_place(rows, series, tree, w.store, dry_run=False, progress=Silent())
        after = order.load(w.patches)
        aside = {r.name for r in rows if r.status in ("conflict", "blocked")}
        rest = Series(dir=after.dir, entries=tuple(e for e in after.entries if e.name not in aside))
        verdicts = {v.name: v for v in check(rest, tree, w.store).verdicts}
        for e, row in zip(after.entries, rows, strict=True):
            if row.status in ("conflict", "blocked", "kept"):
                assert e.raw == before[e.name] and row.raw is None
                continue
            assert verdicts[e.name].status == "clean"
            old, new = changed_lines(before[e.name]), changed_lines(e.raw)
            if row.status != "adapted":
                assert old["+"] == new["+"]
                extra = Counter(b"".join(x.split()) for x in new["-"]) - Counter(b"".join(x.split()) for x in old["-"])
                assert not extra
        assert all(v.applied for v in verdicts.values())


MODES = st.sampled_from(["100644", "100755", "120000"])
PATHS = st.sampled_from(["a", "b", "d/x", "d/y", "e", "ä ö", 'q"t'])


@st.composite
def some_files(draw: st.DrawFn) -> dict[str, File]:
    found = {}
    for path in draw(st.sets(PATHS, min_size=1, max_size=5)):
        mode = draw(MODES)
        data = draw(st.sampled_from([b"x\n", b"x", b"a\r\nb\r\n", b"\0\xff", b"1\n2\n3\n", b" t \n"]))
        found[path] = (mode, b"goal" if mode == "120000" else draw(st.sampled_from([data, b""])))
    return found


@pytest.mark.parametrize("begin", ["before", "after"])
@examples(6)
@given(some_files(), some_files(), some_files())
def test_from_a_folder_is_the_difference(
    begin: str, a: dict[str, File], b: dict[str, File], c: dict[str, File]
) -> None:
    """Of the tree after the patch: it is kept. Of any other: it makes just that tree."""
    if a in (b, c):
        return
    with world() as w:
        series = w.write_series([a, b])
        base, after, other = w.tree(a), w.tree(b), w.tree(c)
        work = WorkTree(w.folder / "work", w.store)
        name = series.entries[0].name
        started = At(tree=after) if begin == "after" else At(tree=base)

        def from_(goal: TreeId) -> Row:
            """What regen says of a folder that began as ``started`` and was edited to ``goal``."""
            work.move(started)
            elsewhere = WorkTree(w.folder / "elsewhere", w.store)
            elsewhere.move(At(tree=goal))
            for old in sorted(work.folder.rglob("*"), reverse=True):
                old.rmdir() if old.is_dir() and not old.is_symlink() else old.unlink()
            for new in sorted(elsewhere.folder.rglob("*")):
                target = work.folder / new.relative_to(elsewhere.folder)
                if new.is_dir() and not new.is_symlink():
                    target.mkdir()
                else:
                    new.rename(target)
            elsewhere.move(At(tree=goal), force=True)
            snapshot = from_folder.take(work)
            assert snapshot.now == goal
            return from_folder.rewritten(order.load(w.patches), name, snapshot, base, w.store, project="p", tag="")

        assert from_(after).status == "kept"
        work.move(started, force=True)
        row = from_(other)
        assert (row.status, row.raw is None) == (("kept", True) if other == after else ("adapted", False))
        put_in_place([row], order.load(w.patches), base, w.store, dry_run=False, progress=Silent())
        plan = check(order.load(w.patches), base, w.store)
        assert (plan.tip, [v.status for v in plan.verdicts]) == (other, ["clean"])
