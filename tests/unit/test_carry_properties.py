"""What holds of every carry, on drawn upstreams: git itself, apart from the product, judges each result."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest
from conftest import examples
from e2e.carried import BODY, PATH, SURE, Ground, Lines, function, ground, patch_of
from hypothesis import assume, example, given
from hypothesis import strategies as st

from opencoti_patches.carry import guess
from opencoti_patches.carry.bump import _Walk, bump
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.model import Row
from opencoti_patches.carry.old_side import Old
from opencoti_patches.core.model import Series
from opencoti_patches.doors import fs
from opencoti_patches.series.parse import Parsed, parse

__all__ = ["ground"]

_NUMBERS = re.compile(rb"(?m)^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")


def changes(patch: bytes, sign: bytes) -> list[bytes]:
    """The added or removed lines of a patch, in order."""
    return [x[1:] for f in parse(patch, 1).files for h in f.hunks for x in h.lines if x[:1] == sign]


def body(patch: bytes) -> list[tuple[int, int, tuple[bytes, ...]]]:
    """All that a patch does and where: every hunk's places and lines."""
    return [(h.old_start, h.new_start, h.lines) for f in parse(patch, 1).files for h in f.hunks]


def joined(patch: bytes) -> list[tuple[int, int, tuple[bytes, ...]]]:
    """As ``body``; hunks that touch are one, as git would write them: a line of upstream's between them parts them for good."""
    found: list[tuple[int, int, tuple[bytes, ...]]] = []
    end = -1  # of the hunk before, in the old file
    for old, new, lines in body(patch):
        if old == end:
            found[-1] = (*found[-1][:2], (*found[-1][2], *lines))
        else:
            found.append((old, new, lines))
        end = old + sum(line[:1] != b"+" for line in lines)
    return found


# -- what is drawn from --------------------------------------------------------------------------------------

PLAIN = [f"    call_{i}(a, {i * 7});\n" for i in range(48)]
WORDS = ["    x = 1;\n", "    y = x;\n", "    call(x, y);\n", "    call(x);\n", "  call(x);\n", "\n", "    }\n", "}\n"]
TEXT = st.lists(st.sampled_from([*WORDS, "int one(void)\n", "int two(void)\n"]), min_size=6, max_size=24)


@st.composite
def rewritten(draw: st.DrawFn, lines: Lines, most: int) -> Lines:
    """The lines after some edits of any kind: out, in, another depth, another word, moved."""
    found = list(lines)
    for _ in range(draw(st.integers(1, most))):
        at = draw(st.integers(0, len(found)))
        kind = draw(st.sampled_from(["in", "in", "out", "depth", "word", "move"]))
        if kind == "in":
            found[at:at] = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
        elif kind == "out":
            del found[at : at + draw(st.integers(1, 2))]
        elif at < len(found) and kind == "depth":
            found[at] = "    " + found[at]
        elif at < len(found) and kind == "word":
            found[at] = found[at].replace("x", "z")
        elif kind == "move":
            part = found[at : at + 2]
            del found[at : at + 2]
            to = draw(st.integers(0, len(found)))
            found[to:to] = part
    return found


# -- one question or many ------------------------------------------------------------------------------------


@st.composite
def series(draw: st.DrawFn) -> tuple[list[bytes], Lines, Lines]:
    """Some patches on one file, its old and its new state."""
    old = draw(st.sampled_from([PLAIN[:20], [*function("one", BODY), *function("two", BODY)]]))
    lines, patches = old, []
    for number in range(draw(st.integers(2, 4))):
        at = draw(st.integers(0, len(lines)))
        after = [*lines[:at], f"    ours_{number}(x);\n", *lines[at + draw(st.integers(0, 1)) :]]
        patches.append(patch_of(lines, after))
        lines = after
    return patches, old, draw(rewritten(old, 3))


@pytest.mark.parametrize("wrong", [False, True])
@examples(15)
@given(drawn=series())
def test_git_asked_at_once_says_what_it_says_patch_by_patch(
    ground: Ground, wrong: bool, drawn: tuple[list[bytes], Lines, Lines]
) -> None:
    """``wrong``: what is expected of git is mostly not what it does, so the question is put again."""
    patches, old, new = drawn
    assume(new)
    entries = ground.entries(patches)
    bases = ground.tree(old), ground.tree(new)

    def carry() -> tuple[Row, ...]:
        return bump(Series(dir=ground.folder, entries=tuple(entries)), *bases, ground.store, project="drawn").rows

    with pytest.MonkeyPatch.context() as patched:
        if wrong:
            nonsense = SimpleNamespace(
                took=lambda parsed, now: (guess.took(parsed, now) or guess.Took((), {PATH: None}))._replace(landed=())
            )
            patched.setattr("opencoti_patches.carry.bump.guess", nonsense)
        at_once = carry()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_Walk, "_guesses", lambda self, run: [])
        one_by_one = carry()
    assert [r.status for r in at_once] == [r.status for r in one_by_one]
    assert at_once == one_by_one


@examples(25)
@given(drawn=series(), drifted=st.booleans())
def test_where_hunks_stood_is_where_git_puts_them(
    ground: Ground, drawn: tuple[list[bytes], Lines, Lines], drifted: bool
) -> None:
    patches, old, new = drawn
    entries = ground.entries(patches)
    parsed = {e.name: parse(e.raw) for e in entries}
    base = ground.tree(new if drifted and new else old)

    def exact(folder: Path) -> list[tuple[Parsed | None, Sequence[bytes] | None]]:
        contents = Contents(ground.store.repo, folder)
        side = Old(entries, parsed, base, ground.store, folder / "old", contents)
        found: list[tuple[Parsed | None, Sequence[bytes] | None]] = []
        for e in entries:
            side.goto(e)
            found.append((side.exact(e), side.replay.lines(PATH)))
        return found

    with fs.scratch(ground.store.scratch) as folder:
        in_memory = exact(folder)
    with pytest.MonkeyPatch.context() as patched, fs.scratch(ground.store.scratch) as folder:
        patched.setattr(guess, "took", lambda parsed, now: None)
        asked = exact(folder)
    assert in_memory == asked


# -- an upstream edit elsewhere ------------------------------------------------------------------------------


class Edit(NamedTuple):
    """Lines ``at`` to ``at + gone`` give way to ``put``."""

    at: int
    gone: int
    put: tuple[str, ...]


def edited(lines: Lines, edits: Sequence[Edit]) -> Lines:
    """The lines after edits, which do not meet, counted in the old ones."""
    found = list(lines)
    for e in sorted(edits, reverse=True):
        found[e.at : e.at + e.gone] = e.put
    return found


@st.composite
def apart(draw: st.DrawFn, near: int) -> tuple[list[Edit], list[Edit]]:
    """Ours and upstream's edits of PLAIN, ``near`` unchanged lines between them at least."""
    ours: list[Edit] = []
    theirs: list[Edit] = []
    at = draw(st.integers(0, 4))
    for number in range(draw(st.integers(2, 5))):
        gone = draw(st.integers(0, 2))
        if at + gone + near >= len(PLAIN):
            break
        side, word = (ours, "ours") if draw(st.booleans()) else (theirs, "theirs")
        count = draw(st.integers(0 if gone else 1, 3))
        put = tuple(f"    {word}_{number}_{i}(b);\n" for i in range(count))
        side.append(Edit(at, gone, put))
        at += gone + near + draw(st.integers(0, 6))
    assume(ours and theirs)
    return ours, theirs


@examples(20)
@given(drawn=apart(near=4))
def test_an_unrelated_edit_changes_line_numbers_alone(ground: Ground, drawn: tuple[list[Edit], list[Edit]]) -> None:
    ours, theirs = drawn
    patch = patch_of(PLAIN, edited(PLAIN, ours))
    new = edited(PLAIN, theirs)
    row = ground.carry(patch, PLAIN, new)
    assert row.status in ("kept", "renumbered")
    raw = patch if row.raw is None else row.raw
    assert _NUMBERS.sub(b"@@", raw) == _NUMBERS.sub(b"@@", patch)
    assert ground.applied(raw, new) == edited(PLAIN, [*ours, *theirs])


# -- there and back ------------------------------------------------------------------------------------------


@examples(20)
@given(drawn=apart(near=1))
@example(
    drawn=(
        [Edit(0, 0, ("    ours_0_0(b);\n",)), Edit(6, 0, ("    ours_2_0(b);\n",))],
        [Edit(3, 0, ("    theirs(b);\n",))],
    )
)
def test_there_and_back_is_the_same_patch(ground: Ground, drawn: tuple[list[Edit], list[Edit]]) -> None:
    """With one unchanged line between the two sides' edits: the context drifts, the place does not."""
    ours, theirs = drawn
    patch = patch_of(PLAIN, edited(PLAIN, ours))
    new = edited(PLAIN, theirs)
    there = ground.carry(patch, PLAIN, new)
    assert there.status not in ("conflict", "blocked", "upstreamed")
    raw = patch if there.raw is None else there.raw
    assert ground.applied(raw, new) == edited(PLAIN, [*ours, *theirs])
    back = ground.carry(raw, new, PLAIN)
    assert back.status not in ("conflict", "blocked", "upstreamed")
    assert joined(raw if back.raw is None else back.raw) == joined(patch)


# -- nothing is lost -----------------------------------------------------------------------------------------


@examples(40)
@given(data=st.data())
def test_no_added_line_is_ever_lost(ground: Ground, data: st.DataObject) -> None:
    old = data.draw(TEXT, "old")
    ours = data.draw(rewritten(old, 2), "ours")
    new = data.draw(rewritten(old, 3), "new")
    assume(old != ours and new)
    patch = patch_of(old, ours)
    row = ground.carry(patch, old, new)
    if row.status in ("conflict", "upstreamed"):
        if row.status == "upstreamed":  # then all that it adds stands there
            there = Counter(x.encode() for x in new)
            assert not Counter(changes(patch, b"+")) - there
        return
    raw = patch if row.raw is None else row.raw
    after = ground.applied(raw, new)
    had, added, removed = (Counter(changes(p, s)) for p, s in ((patch, b"+"), (raw, b"+"), (raw, b"-")))
    assert Counter(x.encode() for x in after) == Counter(x.encode() for x in new) - removed + added
    if row.status in SURE:
        assert changes(raw, b"+") == changes(patch, b"+")
        squeezed = [[b" ".join(x.split()) for x in changes(p, b"-") if x.strip()] for p in (raw, patch)]
        assert squeezed[0] == squeezed[1]
    for line in had - added:  # gone, or another now: then it is shown, or upstream has it
        shown = any(said.strip().startswith("-+") for said in row.interdiff)
        assert row.status == "adapted" and (shown or line.decode() in new)
