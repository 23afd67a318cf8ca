"""Which line of an old file is which line of a new one: unchanged, edited, moved, or gone."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

from opencoti_patches.plan.places import squeezed
from opencoti_patches.plan.replay import lines_of

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_TOKEN = re.compile(rb"[A-Za-z_]\w*|\d[\w.]*|\s+|[^\w\s]")
NAME = re.compile(rb"[A-Za-z_]\w*")
_LIKE = 0.6  # of its tokens that an edited line keeps
_NAMES = 0.1  # for two lines with the same names: numbers and signs are many lines'
_REGION = 400  # lines of a replaced region up to which edited lines are looked for


def tokens(line: bytes) -> list[bytes]:
    """A line as words, numbers, single signs and runs of white space; joined they are the line."""
    return _TOKEN.findall(line)


def bare(line: bytes) -> bytes:
    """A line without any white space."""
    return b"".join(line.split())


class Region(NamedTuple):
    """Lines ``old_lo:old_hi`` that upstream replaced by ``new_lo:new_hi``, all from 0."""

    old_lo: int
    old_hi: int
    new_lo: int
    new_hi: int


class Alignment:
    """How the lines of ``old`` stand in ``new``. ``regions`` are where they differ, in order, such as
    ``git diff -w`` gives them; everything between is the same, white space aside."""

    def __init__(self, old: Sequence[bytes], new: Sequence[bytes], regions: Sequence[Region]) -> None:
        self.old = old
        self.new = new
        self.regions = regions
        self.spaced: dict[int, int] = {}
        self._paired: dict[int, dict[int, int]] = {}
        self._begins = [r.old_lo for r in regions]
        self.exact: list[int | None] = [None] * (len(old) + 1)
        o = n = 0
        for r in [*regions, Region(old_lo=len(old), old_hi=len(old), new_lo=len(new), new_hi=len(new))]:
            for i in range(r.old_lo - o):
                if old[o + i] == new[n + i]:
                    self.exact[o + i] = n + i
                else:  # the diff takes no notice of white space
                    self.spaced[o + i] = n + i
            o, n = r.old_hi, r.new_hi
        self.exact[len(old)] = len(new)  # the end of the file is a place, too
        self._slide()

    def _slide(self) -> None:
        """White space aside, a diff may take any of several closing braces for the one that was there. One of the same bytes
        is meant: right before the next line that stayed, or of two lines the one beside, if it went."""
        for i in range(len(self.old) - 1, -1, -1):
            if self.exact[i] is not None:
                continue
            text = squeezed(self.old[i])
            here, after = self._same(i), self._same(i + 1)
            if not text or len(text) > 2 or here is None or after is None or after <= here + 1:
                continue
            if self.new[after - 1] == self.old[i]:
                self._put(i, after - 1)
        for i, at in list(self.spaced.items()):
            for beside in (i + 1, i - 1):
                there = 0 <= beside < len(self.old) and self.old[beside] == self.new[at]
                if there and len(squeezed(self.old[i])) <= 2 and self._same(beside) is None:
                    del self.spaced[i]
                    self.exact[beside] = at
                    break

    def _same(self, line: int) -> int | None:
        at = self.exact[line]
        return at if at is not None else self.spaced.get(line)

    def _put(self, line: int, at: int) -> None:
        if self.old[line] == self.new[at]:
            self.exact[line] = at
            self.spaced.pop(line, None)
        else:
            self.exact[line] = None
            self.spaced[line] = at

    @cached_property
    def edited(self) -> dict[int, int]:
        """Old lines that upstream changed in place, and what they are now."""
        found: dict[int, int] = dict(self.spaced)
        for number in range(len(self.regions)):
            found |= self._edited_in(number)
        return found

    @cached_property
    def fresh(self) -> list[int]:
        """New lines that no old one is, but for an edited one."""
        kept = {*self.spaced.values(), *(n for n in self.exact if n is not None)}
        return [j for r in self.regions for j in range(r.new_lo, r.new_hi) if j not in kept]

    @cached_property
    def is_fresh(self) -> frozenset[int]:
        """The same, to ask whether one is among them."""
        return frozenset(self.fresh)

    @cached_property
    def fresh_text(self) -> bytes:
        """The ``fresh`` lines, one behind the other."""
        return b"".join(self.new[j] for j in self.fresh)

    @cached_property
    def fresh_bare(self) -> bytes:
        """The same without any white space in a line."""
        return b"\n".join(bare(self.new[j]) for j in self.fresh)

    @cached_property
    def named(self) -> Counter[bytes]:
        """How often the old file has each name."""
        return Counter(NAME.findall(b"\n".join(self.old)))

    @cached_property
    def put(self) -> dict[bytes, list[int]]:
        """The ``fresh`` lines, white space aside, and where each stands."""
        found: dict[bytes, list[int]] = {}
        for j in self.fresh:
            found.setdefault(squeezed(self.new[j]), []).append(j)
        return found

    @cached_property
    def lone(self) -> dict[bytes, int]:
        """Lines that stand once in each file, white space aside, and where in the new one; no blank ones."""
        old, new = (Counter(map(squeezed, side)) for side in (self.old, self.new))
        found = ((squeezed(line), j) for j, line in enumerate(self.new))
        return {text: j for text, j in found if text and old[text] == new[text] == 1}

    def _edited_in(self, number: int) -> dict[int, int]:
        """Those of one region; found out once, for most regions nobody asks."""
        if number not in self._paired:
            r = self.regions[number]
            there = r.old_hi > r.old_lo and r.new_hi > r.new_lo
            small = max(r.old_hi - r.old_lo, r.new_hi - r.new_lo) <= _REGION
            self._paired[number] = self._pairs(r) if there and small else {}
        return self._paired[number]

    def now(self, line: int) -> int | None:
        """Where an old line is now, edited or not; None if it is gone."""
        at = self.exact[line]
        if at is not None or line in self.spaced:
            return at if at is not None else self.spaced[line]
        number = bisect_right(self._begins, line) - 1
        return self._edited_in(number).get(line) if number >= 0 else None

    def _pairs(self, r: Region) -> dict[int, int]:
        """Lines of a replaced region that go together, in order: those alike but for white space first,
        then those that keep most of their words, the best path through all such pairs."""
        olds = [tokens(squeezed(self.old[i])) for i in range(r.old_lo, r.old_hi)]
        news = [tokens(squeezed(self.new[j])) for j in range(r.new_lo, r.new_hi)]
        held = [Counter(b) for b in news]
        score: dict[tuple[int, int], float] = {}
        for i, a in enumerate(olds):
            has = Counter(a)
            for j, b in enumerate(news):
                if a and b and _may_be_like(a, has, b, held[j]) and (s := _likeness(a, b)) >= _LIKE:
                    score[i, j] = s + _NAMES * (_named(a) == _named(b))
        best = [[0.0] * (len(news) + 1) for _ in range(len(olds) + 1)]
        for i in range(len(olds) - 1, -1, -1):
            for j in range(len(news) - 1, -1, -1):
                here = best[i + 1][j + 1] + score[i, j] if (i, j) in score else 0.0
                best[i][j] = max(here, best[i + 1][j], best[i][j + 1])
        found, i, j = {}, 0, 0
        while i < len(olds) and j < len(news):
            if (i, j) in score and best[i][j] == best[i + 1][j + 1] + score[i, j]:
                found[r.old_lo + i] = r.new_lo + j
                i, j = i + 1, j + 1
            elif best[i][j] == best[i + 1][j]:
                i += 1
            else:
                j += 1
        return found


def alike(one: bytes, other: bytes) -> bool:
    """Whether one line may be an edited form of another, white space aside."""
    a, b = tokens(squeezed(one)), tokens(squeezed(other))
    return bool(a and b) and _may_be_like(a, Counter(a), b, Counter(b)) and _likeness(a, b) >= _LIKE


def _may_be_like(a: list[bytes], has: Counter[bytes], b: list[bytes], held: Counter[bytes]) -> bool:
    """Whether two lines share as many tokens as lines that are alike do, in whatever order: far cheaper to say."""
    both, there = len(a) + len(b), held.get
    if 2.0 * min(len(a), len(b)) / both < _LIKE:
        return False
    return 2.0 * sum(min(n, there(token, 0)) for token, n in has.items()) / both >= _LIKE


def _named(line: list[bytes]) -> list[bytes]:
    return [t for t in line if t[:1].isalpha() or t[:1] == b"_"]


def _likeness(a: list[bytes], b: list[bytes]) -> float:
    if a == b:
        return 1.0
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


def aligned(old: list[bytes], new: bytes, diff: Callable[[bytes, bytes], bytes]) -> Alignment:
    """Two contents of a file by the ``diff`` that git gives of them."""
    before = b"".join(old)
    return Alignment(old, lines_of(new), regions_of(diff(before, new)) if before != new else [])


def regions_of(diff: bytes) -> list[Region]:
    """The regions of one file from a diff without context."""
    found = []
    for m in _HUNK.finditer(diff):
        a, b, c, d = int(m[1]), int(m[2] or 1), int(m[3]), int(m[4] or 1)
        old_lo, new_lo = (a if b == 0 else a - 1), (c if d == 0 else c - 1)
        found.append(Region(old_lo=old_lo, old_hi=old_lo + b, new_lo=new_lo, new_hi=new_lo + d))
    return found
