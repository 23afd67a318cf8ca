"""What upstream's edits of a file say about words and pieces of code in a text: those that it puts another way by now,
wherever they stood. Lines are looked at only where the text holds what they had; of most edits nobody asks."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from opencoti_patches.carry.align import Alignment, bare, tokens
from opencoti_patches.carry.gone import holds

WORD = re.compile(rb"[A-Za-z_]\w{2,}")
_PROOFS = 2  # edited lines that must agree


class _Edit(NamedTuple):
    """Tokens ``a:b`` of an old line that upstream replaced by ``c:d`` of the new one."""

    olds: Sequence[bytes]
    news: Sequence[bytes]
    a: int
    b: int
    c: int
    d: int


class _Pair(NamedTuple):
    """Two of a line's words and signs that stand side by side, and where in it."""

    signs: tuple[bytes, bytes]
    begin: int
    end: int


class Edits:
    """The edited lines of one file, token by token."""

    def __init__(self, alignment: Alignment) -> None:
        self._a = alignment
        self._known: dict[int, tuple[_Edit, ...]] = {}
        self._names: dict[bytes, bytes | None] = {}
        self._held: dict[bytes, bool] = {}
        self._expected: frozenset[bytes] = frozenset()
        self._concerned: Sequence[int] = ()  # old lines with edits that may say something of what is expected

    def expect(self, text: bytes) -> None:
        """What is asked about next are lines of this: edits that say nothing of it are passed over then."""
        lines = text.splitlines(keepends=True)
        self._concerned = list(self._saying(lines, text))
        self._expected = frozenset(lines)

    def renamed(self, text: bytes) -> dict[bytes, bytes]:
        """Words of a text that are gone from the file, and what stands in their place in every edited line."""
        found = {}
        for word in sorted(self._words.intersection(WORD.findall(text))):
            if word not in self._names:
                self._names[word] = None if holds(self._new, word) else self._called(word)
            if now := self._names[word]:
                found[word] = now
        return found

    def _called(self, word: bytes) -> bytes | None:
        """What upstream calls a word that is gone from the file."""
        votes: Counter[bytes] = Counter()
        for e in self._of(line for line in self._lines if word in self._a.old[line]):
            if e.b - e.a == 1 and e.d - e.c == 1 and e.olds[e.a] == word and WORD.fullmatch(e.news[e.c]):
                votes[e.news[e.c]] += 1
        return _agreed(votes)

    def pieces(self, text: bytes) -> list[tuple[bytes, bytes]]:
        """Pieces of code in a text that are gone from the file, each with the word or sign on both sides of what
        upstream changed, and what they became: an argument that went or came, a call of another form."""
        votes: defaultdict[bytes, Counter[bytes]] = defaultdict(Counter)
        for e in self._of(self._saying(text.splitlines(keepends=True), text)):
            old, new = _around(e)
            if old in text and bare(old) != bare(new) and re.search(rb"[A-Za-z]", old):
                votes[old][new] += 1
        agreed = ((old, _agreed(to)) for old, to in votes.items())
        return [(old, new) for old, new in agreed if new is not None and old not in self._new]

    def _saying(self, lines: Sequence[bytes], text: bytes) -> Iterator[int]:
        """Old lines that may have had something of a text, by its ``lines``, that is gone from the file."""
        wanted = {pair.signs for line in lines for pair in _pairs(line)}
        some = self._concerned if self._expected.issuperset(lines) else self._signs
        return (line for line in some if self._lost(line, self._signs[line], wanted, text))

    def _lost(self, line: int, signs: Sequence[_Pair], wanted: Set[tuple[bytes, bytes]], text: bytes) -> bool:
        """Whether an old line and a text share something that is gone from the file. ``wanted`` are the text's pairs."""
        if wanted.isdisjoint(pair.signs for pair in signs):
            return False
        for shared, run in groupby(signs, key=lambda pair: pair.signs in wanted):
            pairs = list(run) if shared else []
            if pairs and self._lost_in(self._a.old[line][pairs[0].begin : pairs[-1].end], text):
                return True
        return False

    def _lost_in(self, run: bytes, text: bytes) -> bool:
        """Whether some of these words and signs are in the text as they are here, and gone from the file."""
        if self._holds(run):
            return False
        ends = [0, *accumulate(map(len, tokens(run)))]
        end = 0
        for begin, at in enumerate(ends[:-1]):
            before, end = end, max(end, begin)
            while end + 1 < len(ends) and run[at : ends[end + 1]] in text:
                end += 1
            # what ends where the one before did is a part of it, and so in the file as that is
            if end > max(before, begin) and not self._holds(run[at : ends[end]]):
                return True
        return False

    def _holds(self, run: bytes) -> bool:
        if run not in self._held:
            self._held[run] = run in self._new
        return self._held[run]

    @cached_property
    def _new(self) -> bytes:
        """The new file."""
        return b"".join(self._a.new)

    @cached_property
    def _lines(self) -> list[int]:
        """Old lines that upstream may have edited."""
        return [line for r in self._a.regions if r.new_hi > r.new_lo for line in range(r.old_lo, r.old_hi)]

    @cached_property
    def _words(self) -> set[bytes]:
        return set(WORD.findall(b"".join(self._a.old[line] for line in self._lines)))

    @cached_property
    def _signs(self) -> dict[int, list[_Pair]]:
        return {line: _pairs(self._a.old[line]) for line in self._lines}

    def _of(self, lines: Iterable[int]) -> Iterator[_Edit]:
        """Upstream's edits of these old lines."""
        for line in lines:
            if line not in self._known:
                at = self._a.now(line)
                self._known[line] = () if at is None else tuple(_edits(self._a.old[line], self._a.new[at]))
            yield from self._known[line]


def _edits(old: bytes, new: bytes) -> Iterator[_Edit]:
    olds, news = tokens(old), tokens(new)
    for tag, a, b, c, d in difflib.SequenceMatcher(None, olds, news, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Edit(olds, news, a, b, c, d)


def _around(e: _Edit) -> tuple[bytes, bytes]:
    """An edit with the word or sign on both sides of it, before and after; two empty ones where these are not the same."""
    olds, news, a, b, c, d = e
    while min(a, c) > 0 and olds[a - 1].isspace():
        a, c = a - 1, c - 1
    while b < len(olds) and d < len(news) and olds[b].isspace():
        b, d = b + 1, d + 1
    if min(a, c) > 1 and olds[a - 1] == b"(":  # an argument is known by what it is given to
        a, c = a - 1, c - 1
    if min(a, c) > 0 and olds[a - 1] == news[c - 1] and olds[b : b + 1] == news[d : d + 1]:
        return b"".join(olds[a - 1 : b + 1]), b"".join(news[c - 1 : d + 1])
    return b"", b""  # what begins a line has nothing before it to be known by


def _pairs(line: bytes) -> list[_Pair]:
    """Words and signs that stand side by side in a line, white space aside; its end is one, too."""
    parts = tokens(line)
    ends = accumulate(map(len, parts))
    signs = [(part, end - len(part), end) for part, end in zip(parts, ends, strict=True) if not part.isspace()]
    signs.append((b"\n", len(line), len(line)))
    return [_Pair((one[0], next[0]), one[1], next[2]) for one, next in pairwise(signs)]


def _agreed(votes: Counter[bytes]) -> bytes | None:
    """What all votes say, if there are enough."""
    return next(iter(votes)) if len(votes) == 1 and votes.total() >= _PROOFS else None
