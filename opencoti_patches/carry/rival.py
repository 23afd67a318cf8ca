"""Another place that is as likely: where upstream put a near copy of the lines that a hunk stands on, and neither those
around it nor the diff say which of both is the one that was there."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence, Set
from itertools import takewhile

from opencoti_patches.carry.align import Alignment
from opencoti_patches.core.model import Hunk
from opencoti_patches.plan.places import has_functions, same_function, squeezed

_SAYS = 6  # bytes of a line that tells places apart, more than these
_FEW = 3  # such lines that a copy has, at least
_MOST = 0.6  # of a hunk's such lines that a copy has
_WIDE = 10  # lines beyond a hunk that say which place it is
_MORE = 4  # lines that a copy may have besides


def gained(before: Sequence[bytes], now: Sequence[bytes]) -> Set[bytes]:
    """Lines that stand more often in a file than before."""
    return (Counter(now) - Counter(before)).keys()


def may_be(old: Sequence[bytes], more: Set[bytes]) -> bool:
    """Whether so many of a hunk's lines are among those that a file ``gained`` that it may have a copy of them: far cheaper to
    say."""
    told = _telling(old)
    return sum(line in more for line in told) >= max(_FEW, _MOST * len(told))


def rival(hunk: Hunk, was: int, at: range, a: Alignment, path: str) -> str:
    """Says where upstream put a copy of most of the lines that a ``hunk`` of the old file stands on; empty if nowhere, or where
    what the place is inside of or lies between, and the copy is not, says that it is the right one. ``was`` is the first
    line of the old file that the hunk changes, ``at`` the hunk's lines in the new one from that on."""
    old, begin = hunk.old, max(hunk.old_start - 1, 0)
    told = Counter(map(squeezed, _telling(old)))
    places = [j for j in a.fresh if j not in at and squeezed(a.new[j]) in told]
    here = _around(a.old, was)
    kept = _alike(here, _around(a.new, at.start), path)
    mine = range(max(at.start - (was - begin), 0), at.start + begin + len(old) - was)
    for i, first in enumerate(places):
        near = places[i : bisect_left(places, first + len(old) + _MORE)]
        many = (told & Counter(squeezed(a.new[j]) for j in near)).total()
        if many < max(_FEW, _MOST * told.total()):
            continue
        other = range(first, near[-1] + 1)
        sure = _between(a, begin, len(old), mine, 0) and not _between(a, begin, len(old), other, _MORE)
        if not sure and _alike(here, _around(a.new, near[len(near) // 2]), path) >= kept:
            return f"upstream put lines like those around it at line {first + 1}, too"
    return ""


def _between(a: Alignment, begin: int, many: int, place: range, more: int) -> bool:
    """Whether lines that no copy can have, for they stand once before and now, are as near to this place, on both sides, as
    they were to the ``many`` old lines from ``begin`` on, or some lines ``more``; a file's begin and end are such, too."""
    end, nowhere = begin + many, -len(a.new) - 1
    above = [(begin, place.start)] if begin < _WIDE else []
    below = [(len(a.old) - end, len(a.new) - place.stop)] if len(a.old) - end < _WIDE else []
    for i in range(max(begin - _WIDE, 0), begin):
        above.append((begin - i - 1, place.start - 1 - a.lone.get(squeezed(a.old[i]), len(a.new))))
    for i in range(end, min(end + _WIDE, len(a.old))):
        below.append((i - end, a.lone.get(squeezed(a.old[i]), nowhere) - place.stop))
    return all(any(0 <= now <= was + more for was, now in side) for side in (above, below))


def _telling(lines: Sequence[bytes]) -> list[bytes]:
    return [line for line in lines if len(squeezed(line)) > _SAYS]


def _around(lines: Sequence[bytes], at: int) -> list[bytes]:
    """The lines that what stands at a place is inside of, by their indentation, the outermost first."""
    depth = max((_depth(x) for x in lines[max(at - 1, 0) : at + 1] if x.strip()), default=0)
    found = []
    for line in reversed(lines[:at]):
        if depth == 0:
            break
        text = line.strip()
        if _depth(line) < depth and text[:1] != b"#" and any(c.isalnum() for c in text.decode("latin-1")):
            found.append(squeezed(line))
            depth = _depth(line)
    return found[::-1]


def _depth(line: bytes) -> int:
    line = line.expandtabs()
    return len(line) - len(line.lstrip(b" "))


def _alike(here: Sequence[bytes], there: Sequence[bytes], path: str) -> int:
    """How far two places are inside of the same, from the outermost on."""
    if not here or not there:
        return 0
    outer = has_functions(path) and same_function(here[0], there[0])
    rest = takewhile(lambda pair: pair[0] == pair[1], zip(here[outer:], there[outer:], strict=False))
    return outer + sum(1 for _ in rest)
