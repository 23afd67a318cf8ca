"""Two series held against each other, patch by patch: a range-diff of patches.

Which patch of one is which of the other is told by what it changes first, then by what it is called, then by
likeness. Line numbers, context and the text above the diff decide nothing of that.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, NamedTuple

from opencoti_patches.carry.guards import compare as guarded
from opencoti_patches.core.model import Entry, FilePatch, Series, printable
from opencoti_patches.plan.places import squeezed
from opencoti_patches.series.naming import number_of
from opencoti_patches.series.parse import parse
from opencoti_patches.series.says import what_and_why

_LIKE = 0.5  # of the changed lines of two patches that are one
Fate = Literal["same", "moved", "header", "context", "changed", "new", "gone"]


class Spot(NamedTuple):
    """A patch of a series: its entry and its place, from 1."""

    entry: Entry
    place: int


class Pair(NamedTuple):
    """A patch of both series, or of one. ``moved``: it stands elsewhere among those that both have. ``interdiff``
    shows what differs, for ``changed``, ``context`` and ``header``."""

    fate: Fate
    a: Spot | None
    b: Spot | None
    moved: bool = False
    interdiff: tuple[str, ...] = ()


def compare(a: Series, b: Series) -> tuple[Pair, ...]:
    """Every patch of both, in the order of ``b``; those that are gone stand where they were in ``a``."""
    ours, theirs = [[_Read(Spot(e, i)) for i, e in enumerate(s.entries, 1)] for s in (a, b)]
    pairs = dict(_Matching(ours, theirs).run())
    stay = _longest_rising([pairs[i] for i in sorted(pairs)])
    rows: list[Pair] = []
    by_b = {j: i for i, j in pairs.items()}
    gone = [i for i in range(len(ours)) if i not in pairs]
    for j, now in enumerate(theirs):
        if j not in by_b:
            rows.append(Pair("new", None, now.spot))
            continue
        if j in stay:
            rows += [Pair("gone", ours[i].spot, None) for i in gone if i < by_b[j]]
            gone = [i for i in gone if i > by_b[j]]
        rows.append(_pair(ours[by_b[j]], now, j not in stay))
    return (*rows, *(Pair("gone", ours[i].spot, None) for i in gone))


class _Read:
    """A patch, read as far as somebody asks."""

    def __init__(self, spot: Spot) -> None:
        self.spot = spot
        self.entry = spot.entry
        self.parsed = parse(self.entry.raw, self.entry.strip, self.entry.reverse)
        raw = self.entry.raw
        self.diff = raw[len(self.parsed.header) : len(raw) - len(self.parsed.trailer)]

    @cached_property
    def content(self) -> Hashable:
        """What it changes, without line numbers and context. None where that cannot be read: nothing is like it."""
        if not self.parsed.files or any(d.fatal for d in self.parsed.defects):
            return None
        files = sorted(self.parsed.files, key=lambda f: (f.old or "", f.new or ""))
        return tuple(_content(f, self.entry.raw) for f in files)

    @cached_property
    def subject(self) -> str:
        """What its header says that it does."""
        return what_and_why(self.parsed.header)[0]

    @cached_property
    def slug(self) -> str:
        """Its name without number and ending."""
        name = self.entry.name.rsplit(".", 1)[0]
        return name if number_of(name) is None else name.rsplit("/", 1)[-1].lstrip("0123456789").lstrip("-_.")

    @cached_property
    def lines(self) -> Counter[bytes]:
        """Changed lines that say something, white space aside."""
        rows = (x for f in self.parsed.files for h in f.hunks for x in h.lines if x[:1] in b"+-")
        return Counter(x[:1] + squeezed(x[1:]) for x in rows if len(x.strip()) > 3)

    def like(self, other: _Read) -> float:
        """The share of changed lines that both have, from 0 to 1."""
        both = self.lines.total() + other.lines.total()
        return 2 * (self.lines & other.lines).total() / both if both else 0.0


def _content(f: FilePatch, raw: bytes) -> tuple[Hashable, ...]:
    mode = f.new_mode if f.operation == "create" else f.new_mode if f.new_mode != f.old_mode else None
    lines = [x for h in f.hunks for x in h.lines if x[:1] != b" "]
    added, removed = (tuple(x for x in lines if x[:1] == sign) for sign in (b"+", b"-"))
    if f.operation == "create":
        mode = mode or "100644"
    elif f.operation == "delete":
        mode = None
    return f.operation, f.old, f.new, mode, raw[slice(*f.span)] if f.binary else b"", added, removed


class _Matching:
    def __init__(self, ours: Sequence[_Read], theirs: Sequence[_Read]) -> None:
        self.all = (ours, theirs)
        self.ours = dict(enumerate(ours))  # those without a partner yet
        self.theirs = dict(enumerate(theirs))

    def run(self) -> Iterator[tuple[int, int]]:
        """Which is which, the surest first."""
        yield from self._by(lambda p: (p.content, p.entry.name) if p.content else None)
        yield from self._by(lambda p: (p.entry.raw, p.entry.strip, p.entry.reverse))
        yield from self._by(lambda p: p.content)
        yield from self._by(lambda p: p.entry.name)
        yield from self._by(lambda p: p.slug, alone=True)
        yield from self._by(lambda p: p.subject, alone=True)
        yield from self._alike()

    def _by(self, key: Callable[[_Read], Hashable], *, alone: bool = False) -> Iterator[tuple[int, int]]:
        """Pairs with one key, in order; ``alone``: only where one patch of each series has it."""
        sides: list[dict[Hashable, list[int]]] = [{}, {}]
        for side, patches in zip(sides, (self.ours, self.theirs), strict=True):
            for i, p in patches.items():
                if found := key(p):
                    side.setdefault(found, []).append(i)
        often = Counter(key(p) for p in self.all[0]) | Counter(key(p) for p in self.all[1]) if alone else Counter()
        for found, mine in sides[0].items():
            others = sides[1].get(found, [])
            if often[found] <= 1:
                yield from (self._take(i, j) for i, j in zip(mine, others, strict=False))

    def _alike(self) -> Iterator[tuple[int, int]]:
        scores = [(-a.like(b), abs(i - j), i, j) for i, a in self.ours.items() for j, b in self.theirs.items()]
        for score, _, i, j in sorted(s for s in scores if -s[0] >= _LIKE):
            if i in self.ours and j in self.theirs and score:
                yield self._take(i, j)

    def _take(self, i: int, j: int) -> tuple[int, int]:
        del self.ours[i], self.theirs[j]
        return i, j


def _longest_rising(numbers: Sequence[int]) -> set[int]:
    """Those of a longest run that rises: what stayed in order."""
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for n in numbers:
        at = bisect_left(ends, n)
        before[n] = ends[at - 1] if at else None
        ends[at : at + 1] = [n]
    found: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        found.add(last)
        last = before[last]
    return found


def _pair(a: _Read, b: _Read, moved: bool) -> Pair:
    if a.content != b.content or (a.content is None and a.entry.raw != b.entry.raw):
        interdiff = guarded(a.parsed, b.parsed).interdiff or _rows(a.entry.raw.splitlines(), b.entry.raw.splitlines())
        return Pair("changed", a.spot, b.spot, moved, tuple(interdiff))
    if a.diff != b.diff:
        return Pair("context", a.spot, b.spot, moved, tuple(_around(a, b)))
    if a.entry.raw != b.entry.raw:
        return Pair("header", a.spot, b.spot, moved, tuple(_text(a, b)))
    return Pair("moved" if moved or a.entry.name != b.entry.name else "same", a.spot, b.spot, moved)


def _around(a: _Read, b: _Read) -> Iterator[str]:
    """The hunks compared, context and all; of line numbers only how far they went."""
    for f, g in zip(*(sorted(p.parsed.files, key=lambda f: f.path) for p in (a, b)), strict=True):
        old, new = ([x for h in one.hunks for x in (b"@@ " + h.section, *h.lines)] for one in (f, g))
        rows = list(_rows(old, new))
        moves = sorted({y.old_start - x.old_start for x, y in zip(f.hunks, g.hunks, strict=False)} - {0})
        if rows or moves:
            yield printable(f.path)
        if moves and not rows:
            yield f"  line numbers: {', '.join(f'{m:+d}' for m in moves)}"
        yield from rows


def _text(a: _Read, b: _Read) -> Iterator[str]:
    """What stands around the diffs, compared."""
    return _rows(*((p.parsed.header + p.parsed.trailer).splitlines() for p in (a, b)))


def _rows(old: Iterable[bytes], new: Iterable[bytes]) -> Iterator[str]:
    a, b = ([printable(x.rstrip(b"\r\n").decode("utf-8", "surrogateescape")) for x in side] for side in (old, new))
    diff = list(difflib.unified_diff(a, b, n=1, lineterm=""))[2:]
    yield from (f"  {row}" for row in diff if not row.startswith("@@"))
