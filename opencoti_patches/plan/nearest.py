"""Where the lines that a refused hunk expects have gone: the nearest place, the kind of difference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from opencoti_patches.core.model import Hunk, printable
from opencoti_patches.core.words import plural
from opencoti_patches.plan.places import occurrences, squeezed

_DIFF_LINES = 14  # of the small diff at most
_TELLING = re.compile(rb"\w\W*\w")  # of a line: "}" and "#endif"'s sisters stand everywhere
NEAR = 3  # lines that came or went right at a place
_COMMON = 20  # a line that stands more often tells nothing about a place


class Near(NamedTuple):
    """The place most like what the hunk expects. ``share`` of its lines stand there, 0 to 1."""

    line: int  # from 1; 0: nothing like it
    share: float
    diff: tuple[str, ...]


class Text:
    """The lines of a file as hunks are looked for in them: what is asked of all of them is found out once, however many
    hunks there are."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.lines = lines

    @cached_property
    def held(self) -> frozenset[bytes]:
        """Every line that is there."""
        return frozenset(self.lines)

    @cached_property
    def bare(self) -> list[bytes]:
        """The lines without their ends."""
        return [x.rstrip(b"\r\n") for x in self.lines]

    @cached_property
    def squeezed(self) -> list[bytes]:
        """The lines with white space aside."""
        return list(map(squeezed, self.lines))

    @cached_property
    def where(self) -> Mapping[bytes, Sequence[int]]:
        """The places of each line, white space around it aside."""
        found: dict[bytes, list[int]] = {}
        for i, line in enumerate(self.lines):
            found.setdefault(line.strip(), []).append(i)
        return found

    def votes(self, old: Sequence[bytes], told: Iterable[int]) -> Counter[int]:
        """Those of ``told`` of these lines that are there say where the first of all would stand: the places by how many say
        so."""
        votes: Counter[int] = Counter()
        for i in told:
            places = self.where.get(old[i].strip(), ())
            if len(places) <= _COMMON:
                for at in places:
                    votes[at - i] += 1
        return votes


def about(votes: Counter[int], at: int) -> int:
    """How many lines say that it is this place, or one right beside it: lines that came or went shift the later votes."""
    return sum(votes[at + d] for d in range(-NEAR, NEAR + 1))


def told_by(old: Sequence[bytes]) -> list[int]:
    """The lines that tell a place, by number: no blank ones, and of such as "}" only where there are no others."""
    some = any(_TELLING.search(line) for line in old)
    return [i for i, line in enumerate(old) if line.strip() and (not some or _TELLING.search(line))]


def nearest(text: Text, hunk: Hunk) -> Near:
    """Find the place by vote: each line that stands in the file says where the hunk would begin."""
    old, lines = hunk.old, text.lines
    told = told_by(old)
    votes = text.votes(old, told)
    if not votes:
        return Near(line=0, share=0.0, diff=())
    expected = hunk.old_start - 1
    best = max(votes, key=lambda s: (about(votes, s), votes[s], -abs(s - expected)))
    share = sum(_stands(old[i], text, best + i) for i in told) / len(told)  # common lines, too, once the place is known
    return Near(line=max(best, 0) + 1, share=share, diff=_small_diff(old, lines, max(best, 0)))


def _stands(line: bytes, text: Text, at: int) -> bool:
    """Whether a line stands at a place, white space around it aside, or right beside it."""
    return any(x.strip() == line.strip() for x in text.lines[max(at - NEAR, 0) : max(at + NEAR + 1, 0)])


def _small_diff(old: Sequence[bytes], lines: Sequence[bytes], at: int) -> tuple[str, ...]:
    from difflib import SequenceMatcher

    found = list(lines[at : at + len(old) + 3])
    rows: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, list(old), found).get_opcodes():
        if tag == "equal":
            keep = [" " + show(x) for x in old[a:b]]
            rows += keep if len(keep) <= 5 else [*keep[:2], " …", *keep[-2:]]
            continue
        if a == len(old) and tag == "insert":  # only what lies beyond the hunk
            continue
        rows += ["-" + show(x) for x in old[a:b]]
        rows += ["+" + show(x) for x in found[c : d if a < len(old) - 1 or tag != "replace" else min(d, c + b - a)]]
    first = next((i for i, r in enumerate(rows) if r[0] != " "), None)
    if first is None:
        return ()
    rows = rows[max(first - 2, 0) :]
    last = max((i for i, r in enumerate(rows) if r[0] != " "), default=0)
    rows = rows[: last + 3]
    return tuple(
        rows if len(rows) <= _DIFF_LINES else [*rows[: _DIFF_LINES - 1], f" … {len(rows) - _DIFF_LINES + 1} more lines"]
    )


def show(line: bytes) -> str:
    """A line for people: what white space would hide at its end is made visible."""
    text = printable(line.rstrip(b"\r\n").decode("utf-8", "surrogateescape"))
    bare = text.rstrip(" \t")
    text = bare + text[len(bare) :].replace(" ", "·").replace("\t", "→")
    return text + ("␍" if line.endswith(b"\r\n") else "") + ("" if line.endswith(b"\n") else "␄")


def difference(text: Text, hunk: Hunk) -> tuple[str, str, int]:
    """The kind of difference of a hunk that does not stand in the file: (cause, words, line from 1).

    Causes: zero-context, already-applied, eol, whitespace, context-changed.
    """
    old, new, lines = hunk.old, hunk.new, text.lines
    exact = occurrences(lines, old)
    if exact:
        return _elsewhere(lines, hunk, exact)
    done = occurrences(lines, new) if (hunk.added or hunk.removed) and len(new) > 1 else []
    if done:
        return "already-applied", f"its result stands at line {done[0] + 1} already", done[0] + 1
    if hits := occurrences(text.bare, [x.rstrip(b"\r\n") for x in old]):
        return "eol", _eol_words(lines[hits[0] : hits[0] + len(old)], old), hits[0] + 1
    if hits := occurrences(text.squeezed, list(map(squeezed, old))):
        return "whitespace", f"the lines stand at line {hits[0] + 1} with other white space", hits[0] + 1
    kept = [x[1:] for x in hunk.lines if x[:1] == b" " or (x[:1] == b"-" and x[1:].strip())]
    if len(kept) < len(old) and (hits := occurrences(text.squeezed, list(map(squeezed, kept)))):
        n = len(old) - len(kept)
        return (
            "whitespace",
            f"it removes {plural(n, 'blank line')} that the file lacks at line {hits[0] + 1}",
            hits[0] + 1,
        )
    return "context-changed", "the lines it expects are not there", 0


def _elsewhere(lines: Sequence[bytes], hunk: Hunk, exact: Sequence[int]) -> tuple[str, str, int]:
    """Why git does not take a hunk whose lines do stand in the file."""
    at = exact[0] + 1
    if not any(x[:1] == b" " for x in hunk.lines):
        words = f"the hunk has no context, so git takes it at the end of the file alone; its lines stand at line {at}"
        return "zero-context", words, at
    if hunk.lines[-1][:1] != b" " and exact[-1] + len(hunk.old) != len(lines):
        words = (
            f"no context follows its change, so git takes it at the end of the file alone; the lines stand at line {at}"
        )
        return "context-changed", words, at
    if hunk.old_start <= 1 and exact[0] != 0:
        words = f"the hunk begins at line 1, so git takes it there alone; the lines stand at line {at}"
        return "context-changed", words, at
    return "context-changed", f"the lines stand at line {at}, but an earlier hunk of the patch changes them", at


def _eol_words(found: Sequence[bytes], old: Sequence[bytes]) -> str:
    in_file = sum(x.endswith(b"\r\n") for x in found)
    in_patch = sum(x.endswith(b"\r\n") for x in old)
    if in_file > in_patch:
        return "the file has CRLF line ends, the patch LF"
    if in_patch > in_file:
        return "the patch has CRLF line ends, the file LF"
    return "file and patch differ in the newline at the end of the file"
