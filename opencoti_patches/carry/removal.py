"""Lines that a patch removes and that do not stand where they stood: upstream removed them, too, or has them elsewhere."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from opencoti_patches.carry.align import NAME, Alignment, alike, bare
from opencoti_patches.plan.places import occurrences, squeezed

_NEAR = 10  # lines from where they stood that count as beside it
_SIGNS = re.compile(rb"\w")  # of which every line has one that says anything
_PART = 3  # letters of a name that another may be made of, at least
_SAYS = 6  # bytes of a line, or of a name, that says something, more than these


def is_elsewhere(a: Alignment, lo: int, hi: int, instead: range) -> bool:
    """Whether old lines ``lo:hi``, for which new lines ``instead`` stand there now, stand in another place, edited or not."""
    removed = a.old[lo:hi]
    if instead:
        kept = {squeezed(a.new[j]) for j in instead}
        return _moved(a, [line for line in removed if squeezed(line) not in kept], instead)
    return _moved(a, removed, instead) or _edited(a, lo, hi, instead.start) or _named(a, lo, hi, instead.start)


def _moved(a: Alignment, lines: Sequence[bytes], instead: range) -> bool:
    """Whether one of these old lines stands, or is a part of one, where upstream put some, but for those ``instead``."""
    put = b"\n".join(bare(a.new[j]) for j in a.fresh if j not in instead) if instead else a.fresh_bare
    if any(len(x) > _SAYS and x in put for x in map(bare, lines)):
        return True
    short = {squeezed(x) for x in lines if _SIGNS.search(x)}
    there = {x for x in short if any(j not in instead for j in a.put.get(x, ()))}
    return any(_count(a.old, x) == _count(lines, x) for x in there)


def gap(a: Alignment, lo: int, hi: int) -> int | None:
    """Where the old lines stood, if upstream put no others where it took these away, and nothing like them elsewhere."""
    regions = [r for r in a.regions if r.old_lo < hi and lo < r.old_hi]
    put = any(r.new_lo <= j < r.new_hi for r in regions for j in a.fresh)
    if put or not regions or any(alike(line, a.new[j]) for line in a.old[lo:hi] for j in a.fresh):
        return None
    at = regions[0].new_lo
    return None if is_elsewhere(a, lo, hi, range(at, at)) else at


def whole(a: Alignment, lo: int, hi: int) -> int | None:
    """The new line from which on these old lines stand, all of them and to the byte, if that is one place and was one."""
    lines = a.old[max(lo, 0) : hi]
    if lo < 0 or hi > len(a.old) or not all(map(_SIGNS.search, lines)):
        return None
    there = occurrences(a.new, lines)
    return there[0] if len(there) == 1 and len(occurrences(a.old, lines)) == 1 else None


def _edited(a: Alignment, lo: int, hi: int, at: int) -> bool:
    """Whether upstream put a line near by that is like one of these, has all of its words, and shares no more with another
    old line that it may be."""
    around = (i for i in range(max(lo - 2 * _NEAR, 0), min(hi + 2 * _NEAR, len(a.old))) if not lo <= i < hi)
    others = {j: a.old[i] for i in around if (j := a.now(i)) is not None}
    near = [(j, a.new[j]) for j in _near(a, at)]
    return any(
        _has_words(x, line) and alike(line, x) and (j not in others or _shared(line, x) >= _shared(others[j], x))
        for line in a.old[lo:hi]
        for j, x in near
    )


def _has_words(line: bytes, other: bytes) -> bool:
    """Whether a line has all words of another, if that has any; longer ones as a part of its own."""
    words, wanted = set(NAME.findall(line)), set(NAME.findall(other))
    return bool(wanted) and all(any(w == x or (len(w) >= _PART and w in x) for x in words) for w in wanted)


def _shared(one: bytes, other: bytes) -> int:
    """How many words two lines have in common."""
    return sum((Counter(NAME.findall(one)) & Counter(NAME.findall(other))).values())


def _named(a: Alignment, lo: int, hi: int, at: int) -> bool:
    """Whether these lines take a name out of the file that upstream's new lines have: a short one near by, a long one
    anywhere, or as a part of another."""
    removed = Counter(NAME.findall(b"\n".join(a.old[lo:hi])))
    near = set(NAME.findall(b"\n".join(a.new[j] for j in _near(a, at))))
    again = [w for w in removed if w in near or (len(w) > _SAYS and w in a.fresh_text)]
    return any(a.named[w] == removed[w] for w in again)


def _near(a: Alignment, at: int) -> list[int]:
    """The lines that upstream put around a new line."""
    return a.fresh[bisect_left(a.fresh, at - _NEAR) : bisect_left(a.fresh, at + _NEAR)]


def _count(lines: Sequence[bytes], text: bytes) -> int:
    return sum(squeezed(x) == text for x in lines)
