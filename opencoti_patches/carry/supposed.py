"""What the files of a patch may have been when it was made, where nobody has their contents: as they are now, but with
the lines that a hunk expects in the place that is most like them.

From that a patch is carried over as from the real thing: what differs there is what somebody edited since, as far as the
patch shows it. That the place was guessed is a doubt of every hunk whose lines do not stand there to the letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from opencoti_patches.carry.ground import Ground, Tree
from opencoti_patches.carry.model import HunkHow
from opencoti_patches.core.model import FilePatch, Hunk, printable
from opencoti_patches.core.words import plural
from opencoti_patches.plan.nearest import NEAR, Text, about, told_by
from opencoti_patches.plan.places import enclosing, has_functions, heading, occurrences, same_function, squeezed
from opencoti_patches.plan.replay import Lines, lines_of
from opencoti_patches.series.parse import Parsed

_WHAT = "placed by the lines of its hunks that are there"
_HALF = 0.5  # of the telling lines of a hunk that stand in its place
_MORE = 30  # lines that somebody may have put among those of a hunk
_TRIED = 12  # places at most that are looked at more closely


class _Span(NamedTuple):
    """Where a hunk's lines are: ``pairs`` of a line of it and a line of the file, both from 0, in order."""

    pairs: tuple[tuple[int, int], ...]
    telling: int  # of these, those that tell a place
    others: int = 0  # places that are as good, but for how far away they are

    @property
    def lo(self) -> int:
        return self.pairs[0][1]

    @property
    def hi(self) -> int:
        return self.pairs[-1][1] + 1


def suppose(parsed: Parsed, tree: Tree) -> Ground | str:
    """Find a place for every hunk; else what is to be said of the one that has none, or nothing where that is not it."""
    was: dict[str, Lines] = {}
    files: list[FilePatch] = []
    doubts: list[HunkHow] = []
    for f in parsed.files:
        if f.operation == "create" and not f.binary:
            files.append(f)
            continue
        content = tree.content(f.old or "")
        if f.operation not in ("modify", "rename", "copy") or content is None or f.binary or f.old in was:
            return ""
        lines = lines_of(content)
        spans = _spans(f, Text(lines), doubts)
        if isinstance(spans, str):
            return spans
        was[f.old or ""], placed = _rebuilt(f, lines, spans)
        files.append(placed)
    return Ground(parsed._replace(files=tuple(files)), tree.sides(was.get), _WHAT, tuple(doubts)) if was else ""


def _spans(f: FilePatch, text: Text, doubts: list[HunkHow]) -> list[_Span] | str:
    """The places of all hunks of a file, in their order; what is doubtful about them goes to ``doubts``."""
    found: list[_Span] = []
    begin, shift = 0, 0
    for hunk in f.hunks:
        span = _span(text, hunk, begin, hunk.old_start - 1 + shift, has_functions(f.path))
        if isinstance(span, str):
            return f"{printable(f.path)}, hunk {hunk.number}: {span}"
        first, at = span.pairs[0]
        begin, shift = span.hi, at - first - (hunk.old_start - 1)
        found.append(span)
        how = _doubts(text, hunk, span, has_functions(f.path))
        doubts += (HunkHow(file=printable(f.path), hunk=hunk.number, how=doubt) for doubt in how)
    return found


def _doubts(text: Text, hunk: Hunk, span: _Span, functions: bool) -> Iterator[str]:
    """What somebody has to look at about the place of a hunk."""
    old, at = hunk.old, f"at line {span.lo + 1}"
    among = "other lines stand among those that it expects"
    if span.others:
        yield f"its lines stand in {span.others + 1} places; put at the nearest, {at}"
    elif missing := len(old) - len(span.pairs):
        are = "is" if missing == 1 else "are"
        yield f"{missing} of the {plural(len(old), 'line')} that it expects {are} not there; put where the others are, {at}"
        if span.hi - span.lo > len(old):
            yield among
    elif span.hi - span.lo > len(old):
        yield f"{among}, {at}"
    elif any(old[i] != text.lines[there] for i, there in span.pairs):
        yield f"its lines stand there with other white space or line ends, {at}"
    made, now = _homes(text, hunk, span)
    if functions and not same_function(made, now):
        was, is_ = (printable(x.decode("utf-8", "replace").strip()) for x in (made, now))
        yield f"was in '{was}', would be in '{is_ or 'no function'}'"


def _homes(text: Text, hunk: Hunk, span: _Span) -> tuple[bytes, bytes]:
    """The function that the first change of a hunk was made in, by the lines before it or else by the hunk's heading, and
    the one that it would be in."""
    lead = next(i for i, line in enumerate(hunk.lines) if line[:1] != b" ")
    if not (made := enclosing(hunk.old, lead)):
        return hunk.section, heading(text.lines, span.lo)
    before, at = max((pair for pair in span.pairs if pair[0] <= lead), default=span.pairs[0])
    return made, enclosing(text.lines, max(at + lead - before, 0))


def _span(text: Text, hunk: Hunk, begin: int, expected: int, functions: bool) -> _Span | str:
    """The place of a hunk from line ``begin`` on, else why there is none: of its lines as they are, the one nearest to where
    they are ``expected``; else of most of them, if there is but one such. Places in the function that it names come first."""
    old = hunk.old
    telling = set(told_by(old))
    places = [i for i in occurrences(text.lines, old) if i >= begin]
    exact = [_Span(tuple((i, at + i) for i in range(len(old))), len(telling)) for at in places]
    spans = exact or _alike(text, old, telling, begin)
    if not spans:
        behind = " behind the hunk before it" if begin else ""
        return f"nothing like the lines that it expects is there{behind}" if old else "it has no lines to place it by"
    if functions and len(spans) > 1:
        spans = [s for s in spans if same_function(*_homes(text, hunk, s))] or spans

    away = sorted(abs(s.lo - expected) for s in spans)
    if len(spans) > 1 and (not exact or away[0] == away[1]):
        return f"its lines stand in {len(spans)} places" + ("" if exact else ", as far as they are there")
    return min(spans, key=lambda s: abs(s.lo - expected))._replace(others=len(spans) - 1)


def _alike(text: Text, old: Sequence[bytes], telling: set[int], begin: int) -> list[_Span]:
    """Places from line ``begin`` on with at least half of a hunk's telling lines, that do not overlap a better one."""
    votes = text.votes(old, telling)
    starts = sorted(votes, key=lambda at: (-about(votes, at), -votes[at], at))
    wanted = [squeezed(x) for x in old]
    spans: dict[tuple[tuple[int, int], ...], _Span] = {}
    for at in starts[:_TRIED]:
        pairs = _paired(wanted, text.squeezed, telling, at, begin)
        there = sum(i in telling for i, _ in pairs)
        if there >= max(min(2, len(telling)), _HALF * len(telling)):
            spans[pairs] = _Span(pairs, there)
    found: list[_Span] = []
    for span in sorted(spans.values(), key=lambda s: (-s.telling, s.hi - s.lo)):
        if not any(span.lo < s.hi and s.lo < span.hi for s in found):
            found.append(span)
    return found


def _paired(
    old: Sequence[bytes], lines: Sequence[bytes], telling: set[int], at: int, begin: int
) -> tuple[tuple[int, int], ...]:
    """Which of a hunk's lines are which of the file's, if it begins about line ``at``: first those right there, then what
    tells a place before the first and behind the last of them."""
    lo = max(at - NEAR, begin)
    pairs = _blocks(old, lines[lo : max(at + len(old) + NEAR, lo)], 0, lo)
    if not pairs:
        return ()
    (first, top), (last, end) = pairs[0], pairs[-1]
    lo = max(top - first - _MORE, begin)
    before = _blocks(old[:first], lines[lo:top], 0, lo, telling)
    behind = _blocks(old[last + 1 :], lines[end + 1 : end + len(old) - last + _MORE], last + 1, end + 1, telling)
    return (*before, *pairs, *behind)


def _blocks(
    old: Sequence[bytes], lines: Sequence[bytes], first: int, begin: int, telling: set[int] | None = None
) -> list[tuple[int, int]]:
    """Lines that are the same, in blocks, numbered from ``first`` and ``begin`` on; only blocks with one that tells a
    place, if it is said which do."""
    blocks = SequenceMatcher(None, old, lines).get_matching_blocks()
    runs = ([(first + b.a + i, begin + b.b + i) for i in range(b.size)] for b in blocks)
    return [pair for run in runs if telling is None or any(i in telling for i, _ in run) for pair in run]


def _rebuilt(f: FilePatch, lines: Lines, spans: Sequence[_Span]) -> tuple[Lines, FilePatch]:
    """The file with the hunks' own lines in their places, and the hunks at their lines of that."""
    was: Lines = []
    hunks: list[Hunk] = []
    at = grown = 0
    for hunk, span in zip(f.hunks, spans, strict=True):
        was += lines[at : span.lo]
        if span.hi < len(lines):
            hunk = hunk._replace(lines=tuple(map(_ended, hunk.lines)))
        hunks.append(hunk._replace(old_start=len(was) + 1, new_start=len(was) + 1 + grown))
        was += hunk.old
        at, grown = span.hi, grown + len(hunk.new) - len(hunk.old)
    return was + lines[at:], f._replace(hunks=tuple(hunks))


def _ended(line: bytes) -> bytes:
    """A line with an end: the file goes on where it was the last one."""
    return line if line.endswith(b"\n") else line + b"\n"
