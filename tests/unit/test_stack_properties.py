"""What holds of every stack, on drawn series: git itself, apart from the product, judges each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Git, examples
from hypothesis import assume, event, given
from hypothesis import strategies as st

from opencoti_patches.base.store import Store
from opencoti_patches.carry.guards import compare
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import EMPTY_TREE, Entry, PatchName, Series, TreeId
from opencoti_patches.core.progress import Silent
from opencoti_patches.series.order import entry_of, stamp_of
from opencoti_patches.series.parse import parse
from opencoti_patches.stack.arrange import move, rename
from opencoti_patches.stack.deps import deps
from opencoti_patches.stack.desk import desk
from opencoti_patches.stack.put import settle
from opencoti_patches.stack.split import split
from opencoti_patches.stack.squash import squash
from opencoti_patches.stack.weave import Woven

PATHS = ("f.c", "g.c")
Files = dict[str, list[str]]


class Ground(NamedTuple):
    """A store to work in, and a git that shares no code with it."""

    folder: Path
    store: Store
    git: Git

    def tree(self, files: Files) -> TreeId:
        """A base, in the store and where the judge works."""
        contents = {p: "".join(lines).encode() for p, lines in files.items()}
        tree = self.git.tree({p.encode(): ("100644", c) for p, c in contents.items()})
        oids = self.store.repo.hash_blobs(list(contents.values()))
        changes = {p: ("100644", oid) for p, oid in zip(contents, oids, strict=True)}
        assert self.store.repo.tree_with(EMPTY_TREE, dict(changes)) == tree
        (self.store.listings / tree).write_bytes(self.store.repo.list_tree(TreeId(tree)))
        return TreeId(tree)

    def series(self, states: Sequence[Files]) -> tuple[TreeId, Series]:
        """A patch from each state to the next, as git writes it."""
        trees = [self.tree(s) for s in states]
        folder = self.folder / "patches"
        folder.mkdir(exist_ok=True)
        entries = []
        for i in range(1, len(trees)):
            raw = b"Say what\n\nAnd why.\n\n" + self.git("diff-tree", "-p", "-r", "--abbrev=10", trees[i - 1], trees[i])
            name = f"{i:04d}-step.patch"
            (folder / name).write_bytes(raw)
            e = entry_of(folder, name, raw)
            entries.append(e._replace(stamp=stamp_of(e.path.stat())))
        (folder / "series").write_text("".join(f"{e.name}\n" for e in entries))
        return trees[0], Series(dir=folder, entries=tuple(entries))

    def taken(self, base: TreeId, entries: Sequence[Entry]) -> str:
        """The tree that git makes of patches, all of which it must take."""
        rows = []
        for i, e in enumerate(entries):
            path = self.folder / f"judged-{i}.patch"
            path.write_bytes(e.raw)
            rows.append((path, e.strip, e.reverse))
        verdicts, tree = self.git.judge(base, rows)
        assert all(verdicts)
        return tree


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One store for all examples."""
    root = tmp_path_factory.mktemp("stack")
    store = Store(root / "store").open()
    for folder in (store.listings, store.scratch):
        folder.mkdir()
    yield Ground(root, store, Git(root / "judge.git"))


BASE: Files = {p: [f"    {p[0]}_{n}(a, {n * 7});\n" for n in range(30)] for p in PATHS}


@st.composite
def stacks(draw: st.DrawFn) -> list[Files]:
    """States of two files, a few edits apart; the edits are often near one another."""
    states = [BASE]
    for number in range(draw(st.integers(2, 5))):
        files = {p: list(lines) for p, lines in states[-1].items()}
        for i in range(draw(st.integers(1, 3))):
            lines = files[draw(st.sampled_from(PATHS))]
            at = draw(st.integers(0, len(lines)))
            out, into = draw(st.sampled_from([(0, 1), (0, 2), (1, 1), (1, 0), (2, 3)]))
            lines[at : at + out] = [f"    new_{number}_{i}_{k};\n" for k in range(into)]
        assume(files != states[-1])
        states.append(files)
    return states


def raws(entries: Sequence[Entry]) -> dict[PatchName, bytes]:
    """The bytes of each patch."""
    return {e.name: e.raw for e in entries}


def test_a_series_file_that_was_saved_meanwhile_is_kept(ground: Ground) -> None:
    base, series = ground.series([BASE, {**BASE, "f.c": BASE["f.c"][1:]}])
    file, mine = series.dir / "series", "# mine\n0001-step.patch\n"
    with desk(series, base, ground.store, Silent()) as work:
        change = rename(work, series.entries[0].name, "other")
        file.write_text(mine)
        with pytest.raises(Refused, match="was changed while this ran"):
            settle(change, work)
    assert file.read_text() == mine
    assert sorted(p.name for p in series.dir.glob("*other*")) == []


@given(states=stacks(), data=st.data())
@examples(10)
def test_moved_there_and_back_is_the_same_to_the_byte(ground: Ground, states: list[Files], data: st.DataObject) -> None:
    base, series = ground.series(states)
    entries = series.entries
    at = data.draw(st.integers(0, len(entries) - 1))
    others = [e.name for e in entries if e.name != entries[at].name]
    before = entries[at - 1].name if at else None
    after = data.draw(st.sampled_from([n for n in (None, *others) if n != before]))
    with desk(series, base, ground.store, Silent()) as work:
        there = move(work, entries[at].name, after)
        event("refused" if there.refused else "moved")
        if there.refused:
            return
        assert ground.taken(base, there.entries) == ground.taken(base, entries)
        back = move(work.holding(there.entries), entries[at].name, before)
        assert not back.refused
        assert ground.taken(base, back.entries) == ground.taken(base, entries)
        fates = {row.fate for row in (*there.rows, *back.rows)}
        if "adapted" not in fates:  # a place that nothing tells
            for was, now in zip(entries, back.entries, strict=True):
                assert compare(parse(was.raw), parse(now.raw)).same
        if fates <= {"kept", "renumbered"}:  # else git may take less context back than there was
            assert raws(back.entries) == raws(entries)
        assert [e.name for e in back.entries] == [e.name for e in entries]


def test_a_patch_that_moves_names_the_contents_that_are_there(ground: Ground) -> None:
    second = {**BASE, "f.c": [*BASE["f.c"][:3], "    here;\n", *BASE["f.c"][3:]]}
    base, series = ground.series([BASE, second, {**second, "f.c": ["    above;\n", *second["f.c"]]}])
    one, two = (e.name for e in series.entries)
    with desk(series, base, ground.store, Silent()) as work:
        there = move(work, one, two)
        back = move(work.holding(there.entries), one, None)
    assert [e.name for e in there.entries] == [two, one]
    assert raws(back.entries) == raws(series.entries)


@given(states=stacks(), data=st.data())
@examples(10)
def test_split_and_squashed_is_the_same(ground: Ground, states: list[Files], data: st.DataObject) -> None:
    base, series = ground.series(states)
    entry = data.draw(st.sampled_from(series.entries))
    hunks = [(f.path, h.number) for f in parse(entry.raw).files for h in f.hunks]
    assume(len(hunks) > 1)
    chosen = data.draw(st.lists(st.sampled_from(hunks), min_size=1, max_size=len(hunks) - 1, unique=True))
    with desk(series, base, ground.store, Silent()) as work:
        options = {"called": "part", "message": "", "usual": 1, "renumber": True}
        try:
            parted = split(work, entry.name, [], [f"{p}:{n}" for p, n in chosen], **options)  # type: ignore[arg-type]
        except UsageError:
            pytest.fail("the selection is a good one")
        assert ground.taken(base, parted.entries) == ground.taken(base, series.entries)
        rest, part = next((a, b) for a, b in pairwise(parted.entries) if a.name == entry.name)
        kept = [x for e in (rest, part) for f in parse(e.raw).files for h in f.hunks for x in h.lines]
        assert sorted(kept) == sorted(x for f in parse(entry.raw).files for h in f.hunks for x in h.lines)
        (series.dir / "series").write_text("".join(f"{e.name}\n" for e in parted.entries))
        joined = squash(work.holding(parted.entries), [rest.name, part.name])
        assert ground.taken(base, joined.entries) == ground.taken(base, series.entries)


@given(states=stacks(), data=st.data())
@examples(10)
def test_what_does_not_stand_on_a_patch_goes_in_without_it(
    ground: Ground, states: list[Files], data: st.DataObject
) -> None:
    base, series = ground.series(states)
    found = deps(series, base, ground.store, progress=Silent())
    gone = {data.draw(st.sampled_from([e.name for e in series.entries]))}
    for needs in found:  # with all that stands on it, straight or not
        if gone & needs.on.keys():
            gone.add(needs.name)
    event(f"{len(gone)} gone")
    ground.taken(base, [e for e in series.entries if e.name not in gone])
    assert deps(series, base, ground.store, progress=Silent()) == found


@given(states=stacks())
@examples(6)
def test_the_weave_ends_at_the_tip_and_knows_the_owners(ground: Ground, states: list[Files]) -> None:
    base, series = ground.series(states)
    with desk(series, base, ground.store, Silent()) as work:
        woven = Woven(series.entries, work.plan(series.entries), base, ground.store)
        weave = woven.goto(len(series.entries))
        for path in weave.last:
            cells = weave.cells(path)
            assert cells is not None
            assert [c.line.decode() for c in cells[:-1]] == states[-1][path]
            owners = [(c.line, c.owner) for c in cells[:-1]]
            assert all(f"new_{n}_".encode() in line for line, n in owners if n >= 0)
            assert all(b"new_" not in line for line, n in owners if n < 0)
