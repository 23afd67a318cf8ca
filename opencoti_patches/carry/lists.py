"""Where lines belong in a list that is kept in order, of includes, names or files, into which both sides put some at the
same place."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

_ALIKE = 4  # bytes with which all items of a list begin, at least, if they are not alike otherwise
_AROUND = 2  # lines on either side that show the order
_KIN = 8  # bytes that lines of one kind begin with
_ENOUGH = 4  # items beside ours, so that it is none by chance


class Ordered(NamedTuple):
    """Before which of upstream's lines each of ours goes, from 0, and whether items on both sides say so."""

    places: tuple[int, ...]
    sure: bool


def order(
    before: Sequence[bytes], theirs: Sequence[bytes], after: Sequence[bytes], ours: Sequence[bytes]
) -> Ordered | None:
    """Where ``ours`` belong among ``theirs``, by what stands ``before`` and ``after``; None where these are not the
    items of one list, each behind the one before in its order: numbers in them count as such."""
    return _by(_begins, before, theirs, after, ours) or _by(_kind, before, theirs, after, ours)


def is_kin(line: bytes, other: bytes, rest: Sequence[bytes]) -> bool:
    """Whether a line begins as another does, and further than as any of the rest."""
    shared = [_shared(line.strip(), x.strip()) for x in (other, *rest)]
    return shared[0] >= _KIN and shared[0] > max(shared[1:], default=0)


def ends(before: Sequence[bytes], theirs: Sequence[bytes], after: Sequence[bytes], ours: Sequence[bytes]) -> int:
    """Behind how many of ``theirs`` ours go: all, but for blank ones at the end where ours went on with the lines ``before``
    and what comes ``after`` was parted from them by a blank line."""
    full = [bool(x.strip()) for x in theirs]
    count = max((i for i, is_full in enumerate(full, 1) if is_full), default=0)
    goes_on = all(x.strip() for x in (*before, *ours)) and bool(before) and not b"".join(after).strip()
    return count if goes_on and all(full[:count]) else len(full)


def _shared(a: bytes, b: bytes) -> int:
    """How many bytes both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def _by(
    look: Callable[[bytes], object],
    before: Sequence[bytes],
    theirs: Sequence[bytes],
    after: Sequence[bytes],
    ours: Sequence[bytes],
) -> Ordered | None:
    """The order of a list whose items have the same look."""
    like = look(ours[0])

    def is_item(line: bytes) -> bool:
        return look(line) == like

    if like is None or not all(map(is_item, (*theirs, *ours))):
        return None
    low = [*takewhile(is_item, reversed(before[-_AROUND:]))][::-1]
    high = [*takewhile(is_item, after[:_AROUND])]
    known, mine = list(map(_key, [*low, *theirs, *high])), list(map(_key, ours))
    if len(low) + len(high) < _AROUND or len(known) < _ENOUGH or not (_ascends(known) and _ascends(mine)):
        return None
    places = tuple(bisect(known, key) - len(low) for key in mine)
    if min(places) < 0 or max(places) > len(theirs) or not _ascends(sorted([*known, *mine])):
        return None
    return Ordered(places, len(low) == len(high) == _AROUND)


def _begins(line: bytes) -> bytes | None:
    text = line.strip()
    return text[:_ALIKE] if len(text) >= _ALIKE and not text.endswith((b"{", b"}")) else None


def _kind(line: bytes) -> tuple[bytes, bytes, bytes] | None:
    """What an item of a list of single names looks like: its indentation, and the signs around it. None for others."""
    text = line.strip()
    name = text.rstrip(b"\\,").rstrip()
    if not name or len(name.split()) > 1 or name.endswith((b")", b";", b"{", b"}", b":")):
        return None
    first, last = (b"" if sign.isalnum() or sign == b"_" else sign for sign in (name[:1], name[-1:]))
    return line[: len(line) - len(line.lstrip())], first, last


def _key(line: bytes) -> list[int | bytes]:
    return [int(x) if x.isdigit() else x for x in re.split(rb"(\d+)", line.strip())]


def _ascends(keys: Sequence[list[int | bytes]]) -> bool:
    return all(a < b for a, b in pairwise(keys))
