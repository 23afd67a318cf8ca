"""Lines that a patch removes and that do not stand where they stood: upstream removed them, too, or has them elsewhere."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from opencoti_patches.carry.align import Alignment, alike, bare
from opencoti_patches.plan.places import occurrences, squeezed

_NEAR = 10  # lines from where they stood that count as beside it
_WORD = re.compile(rb"[A-Za-z_]\w*")
_SIGNS = re.compile(rb"\w")  # of which every line has one that says anything
_PART = 3  # letters of a name that another may be made of, at least
_SAYS = 6  # bytes of a line, or of a name, that says something, more than these


def is_elsewhere(a: Alignment, lo: int, hi: int, instead: range) -> bool:
    """Whether old lines ``lo:hi``, for which new lines ``instead`` stand there now, stand in another place, edited or not."""
    if instead:
        kept = {squeezed(a.new[j]) for j in instead}
        return any(moved(a, i, i + 1, instead) for i in range(lo, hi) if squeezed(a.old[i]) not in kept)
    return moved(a, lo, hi) or _edited(a, lo, hi, instead.start) or _named(a, lo, hi, instead.start)


def moved(a: Alignment, lo: int, hi: int, instead: range = range(0)) -> bool:
    """Whether one of the old lines stands, or is a part of one, where upstream put some, but for those ``instead``."""
    removed = a.old[lo:hi]
    put = b"\n".join(bare(a.new[j]) for j in a.fresh if j not in instead)
    if any(len(x) > _SAYS and x in put for x in map(bare, removed)):
        return True
    short = {squeezed(x) for x in removed if _SIGNS.search(x)}
    there = {x for x in short if any(j not in instead for j in a.put.get(x, ()))}
    return any(_count(a.old, x) == _count(removed, x) for x in there)


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
    near = [(j, a.new[j]) for j in a.fresh if at - _NEAR <= j < at + _NEAR]
    return any(
        _has_words(x, line) and alike(line, x) and (j not in others or _shared(line, x) >= _shared(others[j], x))
        for line in a.old[lo:hi]
        for j, x in near
    )


def _has_words(line: bytes, other: bytes) -> bool:
    """Whether a line has all words of another, if that has any; longer ones as a part of its own."""
    words, wanted = set(_WORD.findall(line)), set(_WORD.findall(other))
    return bool(wanted) and all(any(w == x or (len(w) >= _PART and w in x) for x in words) for w in wanted)


def _shared(one: bytes, other: bytes) -> int:
    """How many words two lines have in common."""
    return sum((Counter(_WORD.findall(one)) & Counter(_WORD.findall(other))).values())


def _named(a: Alignment, lo: int, hi: int, at: int) -> bool:
    """Whether these lines take a name out of the file that upstream's new lines have: a short one near by, a long one
    anywhere, or as a part of another."""
    removed = Counter(_WORD.findall(b"\n".join(a.old[lo:hi])))
    put = b"\n".join(a.new[j] for j in a.fresh)
    near = set(_WORD.findall(b"\n".join(a.new[j] for j in a.fresh if at - _NEAR <= j < at + _NEAR)))
    again = [w for w in removed if w in near or (len(w) > _SAYS and w in put)]
    if not again:
        return False
    was = Counter(_WORD.findall(b"\n".join(a.old)))
    return any(was[w] == removed[w] for w in again)


def _count(lines: Sequence[bytes], text: bytes) -> int:
    return sum(squeezed(x) == text for x in lines)
