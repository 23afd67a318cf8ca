"""The ladder and the guards, against an oracle that tries every place and every reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from opencoti_patches.carry.guards import compare
from opencoti_patches.carry.ladder import NoPlace, Placed, place
from opencoti_patches.core.model import Hunk
from opencoti_patches.series.parse import parse

WORDS = [b"a\n", b" a\n", b"\ta \n", b"b\n", b"  b\n", b"\n", b"  \n", b"\t\n", b"c d\n", b"c  d\n", b"}\n"]
LINES = st.lists(st.sampled_from(WORDS), max_size=14)
KINDS = st.sampled_from([b" ", b" ", b"-", b"+"])


def squeezed(line: bytes) -> bytes:
    return b" ".join(line.split())


@st.composite
def hunks(draw: st.DrawFn) -> tuple[list[bytes], Hunk]:
    """A file, and a hunk that was often made on something like a part of it."""
    related = draw(st.booleans())
    lines = draw(LINES)
    rows: list[bytes] = []
    if related and lines:
        begin = draw(st.integers(0, len(lines) - 1))
        for line in lines[begin : begin + draw(st.integers(1, 6))]:
            rows.append(draw(st.sampled_from([b" ", b" ", b"-"])) + draw(st.sampled_from([line, line, *WORDS[:3]])))
            if draw(st.integers(0, 3)) == 0:
                rows.append(b"-" + draw(st.sampled_from([b"\n", b" \n"])))
            if draw(st.integers(0, 3)) == 0:
                rows.append(b"+" + draw(st.sampled_from(WORDS)))
    else:
        rows = [draw(KINDS) + line for line in draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6))]
    old = sum(r[:1] != b"+" for r in rows)
    new = sum(r[:1] != b"-" for r in rows)
    hunk = Hunk(
        number=1,
        old_start=1,
        old_count=old,
        new_start=1,
        new_count=new,
        section=b"",
        lines=tuple(rows),
        span=(0, 0),
        at_line=1,
    )
    return lines, hunk


def readings(lines: Sequence[bytes], hunk: Hunk, begin: int) -> Iterator[tuple[int, int]]:
    """Every stretch (from, to) of the file that the hunk's old lines can stand for, white space aside and
    blank removed lines there or not."""
    old = [r for r in hunk.lines if r[:1] != b"+"]

    def ends(i: int, j: int) -> Iterator[int]:
        if i == len(old):
            yield j
            return
        if j < len(lines) and squeezed(old[i][1:]) == squeezed(lines[j]):
            yield from ends(i + 1, j + 1)
        if old[i][:1] == b"-" and not old[i][1:].strip():
            yield from ends(i + 1, j)

    for start in range(begin, len(lines) + 1):
        for end in set(ends(0, start)):
            if end > start:
                yield start, end


@examples(600)
@given(hunks(), st.integers(0, 3))
def test_place_answers_only_where_one_place_fits(case: tuple[list[bytes], Hunk], begin: int) -> None:
    lines, hunk = case
    old = hunk.old
    exact = [i for i in range(begin, len(lines)) if old and lines[i : i + len(old)] == old]
    found = place(lines, hunk, begin)
    if len(exact) > 1:
        assert isinstance(found, NoPlace)
        return
    stretches = set(readings(lines, hunk, begin))
    apart = {(a, b) for a, b in stretches if not any((c <= a and b <= d) and (a, b) != (c, d) for c, d in stretches)}
    if not exact and any(b <= c or d <= a for a, b in apart for c, d in apart):
        assert isinstance(found, NoPlace)
    if exact:
        assert isinstance(found, Placed) and (found.at, found.taken) == (exact[0], len(old))
    if not stretches and not exact:
        assert isinstance(found, NoPlace)
    if isinstance(found, Placed):
        assert begin <= found.at and (found.at, found.at + found.taken) in stretches
        replaced = lines[found.at : found.at + found.taken]
        solid = [squeezed(x) for x in old if squeezed(x)]
        assert [squeezed(x) for x in replaced if squeezed(x)] == solid
        # every added line is there, in order, to the byte; every other one is the file's own
        rest = list(found.new)
        for line in hunk.added:
            rest = rest[rest.index(line) + 1 :]
        mine = list(found.new)
        for line in hunk.added:
            mine.remove(line)
        for line in replaced:
            if line in mine:
                mine.remove(line)
        assert mine == []


@examples(100)
@given(hunks())
def test_an_expected_place_is_taken_only_if_it_fits_to_the_byte(case: tuple[list[bytes], Hunk]) -> None:
    lines, hunk = case
    for at in range(len(lines)):
        found = place(lines, hunk, 0, at)
        if lines[at : at + len(hunk.old)] == hunk.old and hunk.old:
            assert isinstance(found, Placed) and found.at == at
        else:
            assert found == place(lines, hunk, 0)


PATCH = b"""Say what it does

--- a/f
+++ b/f
@@ -1,5 +1,6 @@
 one
-two
-three
+2
+3
 four
+4.5
 five
"""


@examples(200)
@given(st.data())
def test_no_change_of_content_goes_unseen(data: st.DataObject) -> None:
    """Guard 1: drop, double, change or swap changed lines at will; equal content alone is called equal."""
    head, rows = PATCH.split(b"@@ -1,5 +1,6 @@\n")
    lines = rows.splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 1))
    how = data.draw(st.sampled_from(["drop", "double", "change", "space", "swap", "turn"]))
    changed = list(lines)
    if how == "drop":
        del changed[at]
    elif how == "double":
        changed.insert(at, changed[at])
    elif how == "change":
        changed[at] = changed[at].replace(b"\n", b"!\n")
    elif how == "space":
        changed[at] = changed[at].replace(b"\n", b" \n")
    elif how == "swap":
        changed[at : at + 2] = changed[at : at + 2][::-1]
    else:
        changed[at] = changed[at].translate(bytes.maketrans(b"+-", b"-+"))
    old = sum(x[:1] != b"+" for x in changed)
    new = sum(x[:1] != b"-" for x in changed)
    found = compare(parse(PATCH), parse(head + b"@@ -1,%d +1,%d @@\n" % (old, new) + b"".join(changed)))
    added, removed = ([x for x in lines if x[:1] == k] for k in (b"+", b"-"))
    assert found.same_added == (added == [x for x in changed if x[:1] == b"+"])
    assert found.same_removed == (removed == [x for x in changed if x[:1] == b"-"])
    gone = [x[1:] for x in changed if x[:1] == b"-"]
    taken = [x for x in gone if gone.count(x) > [r[1:] for r in removed].count(x) and squeezed(x)]
    strangers = [x for x in taken if squeezed(x) not in (b"two", b"three") or gone.count(x) > 1]
    assert bool(found.clobbered) >= bool(strangers)
    assert bool(found.interdiff) == (
        not found.same or [x for x in changed if x[:1] in b"+-"] != [x for x in lines if x[:1] in b"+-"]
    )
    assert found.lost == ()
