"""Words and pieces of code that upstream puts another way: the same whether all of its edits are looked at or only those
near the text."""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencoti_patches.carry import edits
from opencoti_patches.carry.align import Alignment, Region, bare, tokens
from opencoti_patches.carry.edits import Edits
from opencoti_patches.plan.replay import lines_of

OLD = b"a = get(ctx, 1);\nb = get(ctx, 2);\nold_name = a;\nuse(old_name);\nplain();\n"
NEW = b"a = get(2, 1);\nb = get(2, 2);\nnew_name = a;\nuse(new_name);\nplain();\n"


def compared(old: bytes, new: bytes) -> Alignment:
    olds, news = lines_of(old), lines_of(new)
    blocks = difflib.SequenceMatcher(None, olds, news, autojunk=False).get_opcodes()
    return Alignment(olds, news, [Region(*block[1:]) for block in blocks if block[0] != "equal"])


def test_a_word_is_renamed_where_every_edit_says_so() -> None:
    told = Edits(compared(OLD, NEW))
    assert told.renamed(b"x(old_name, other);\n") == {b"old_name": b"new_name"}
    assert told.renamed(b"x(plain);\n") == {}


def test_a_word_that_is_left_somewhere_was_not_renamed() -> None:
    assert Edits(compared(OLD, NEW + b"old_name\n")).renamed(b"old_name\n") == {}
    assert Edits(compared(OLD, NEW.replace(b"use(new_name", b"use(third_name"))).renamed(b"old_name\n") == {}


def test_a_piece_is_known_by_what_stands_on_both_sides() -> None:
    told = Edits(compared(OLD, NEW))
    assert told.pieces(b"    c = get(ctx, 3);\n") == [(b"get(ctx,", b"get(2,")]
    assert told.pieces(b"    c = put(ctx, 3);\n") == []
    assert Edits(compared(OLD, NEW + b"get(ctx, 4);\n")).pieces(b"c = get(ctx, 3);\n") == []


def walked(alignment: Alignment, text: bytes) -> tuple[dict[bytes, bytes], list[tuple[bytes, bytes]]]:
    """What ``Edits`` finds, from every edited line there is."""
    new = b"".join(alignment.new)
    words: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
    pieces: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
    for i, j in sorted(alignment.edited.items()):
        for e in edits._edits(alignment.old[i], alignment.new[j]):
            if e.b - e.a == e.d - e.c == 1 and edits.WORD.fullmatch(e.news[e.c]):
                words[e.olds[e.a]][e.news[e.c]] += 1
            old, now = edits._around(e)
            if bare(old) != bare(now) and any(c.isalpha() for c in old.decode()):
                pieces[old][now] += 1
    held = set(edits.WORD.findall(text)) - set(edits.WORD.findall(new))
    renamed = {w: next(iter(words[w])) for w in sorted(held) if len(words[w]) == 1 and words[w].total() > 1}
    agreed = [(old, next(iter(to))) for old, to in pieces.items() if len(to) == 1 and to.total() > 1]
    return renamed, [(old, now) for old, now in agreed if old in text and old not in new]


SIGNS = st.sampled_from(["get", "put", "ctx", "name", "other", "(", ")", ",", " ", ";"])
LINES = st.lists(st.lists(SIGNS, min_size=2, max_size=8).map("".join), min_size=1, max_size=6)


@st.composite
def bases(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """A file, what upstream made of it (one sign put another way in most lines, some lines drawn anew), and lines much
    like those that it had."""
    lines = draw(LINES) * draw(st.integers(1, 2))
    old, new = draw(SIGNS), draw(SIGNS)
    edited = [draw(LINES)[0] if draw(st.integers(0, 5)) == 0 else line.replace(old, new) for line in lines]
    text = [draw(st.sampled_from(lines)) + draw(SIGNS), *draw(LINES)]
    found = ["".join(f"{x}\n" for x in rows).encode() for rows in (lines, edited, text)]
    return found[0], found[1], found[2]


@settings(max_examples=400, deadline=None)
@given(bases())
def test_looking_near_the_text_finds_what_looking_everywhere_does(drawn: tuple[bytes, bytes, bytes]) -> None:
    old, new, text = drawn
    alignment = compared(old, new)
    told = Edits(alignment)
    renamed, pieces = walked(alignment, text)
    assert told.renamed(text) == renamed
    assert [pair for pair in told.pieces(text) if stands(pair[0], text)] == [p for p in pieces if stands(p[0], text)]


def stands(piece: bytes, text: bytes) -> bool:
    """Whether a text has a piece as words and signs of its own, not as a part of longer words."""
    parts, wanted = tokens(text), tokens(piece)
    return any(parts[i : i + len(wanted)] == wanted for i in range(len(parts)))


@settings(max_examples=200, deadline=None)
@given(bases())
def test_what_is_expected_changes_no_answer(drawn: tuple[bytes, bytes, bytes]) -> None:
    """Neither about a part of it nor about lines that are none of it."""
    old, new, text = drawn
    alignment = compared(old, new)
    plain, told = Edits(alignment), Edits(alignment)
    lines = text.splitlines(keepends=True)
    half = b"".join(lines[: len(lines) // 2])
    told.expect(half)
    for asked in (half, *lines, text):
        assert told.pieces(asked) == plain.pieces(asked)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_change_at_the_end_of_lines_is_seen(end: bytes) -> None:
    old = b"".join(b"int x_%d = name" % n + end for n in range(3))
    new = old.replace(b"name", b"name + 1")
    told = Edits(compared(old, new)).pieces(b"int ours = name" + end)
    assert told == [(b"name" + end, b"name + 1" + end)]
