"""The dependency graph as arcs beside a list of patches: from each to those that it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

_ROW = 26  # pixels a patch, as the style has it
_WIDE = 96  # pixels for the widest arc


class Arc(NamedTuple):
    """From patch ``to`` back to ``on``, counted from 0 in the series; ``path`` as SVG draws it."""

    on: int
    to: int
    path: str


class Arcs(NamedTuple):
    """The drawing, in pixels: a row for each of the patches ``rows``, those that stand alone left out, with its dot;
    and by patch of the series those right below it and those right above."""

    width: int
    height: int
    rows: tuple[int, ...]
    dots: tuple[int, ...]
    arcs: tuple[Arc, ...]
    below: tuple[tuple[int, ...], ...]
    above: tuple[tuple[int, ...], ...]


def arcs(stands_on: Sequence[Sequence[int]]) -> Arcs:
    """Draw what each patch stands on; the further apart two rows are, the wider is their arc."""
    pairs = [(on, to) for to, found in enumerate(stands_on) for on in found]
    rows = sorted({at for pair in pairs for at in pair})
    middle = {at: row * _ROW + _ROW // 2 for row, at in enumerate(rows)}
    far = max((middle[to] - middle[on] for on, to in pairs), default=_ROW)
    widest = min(_WIDE, 14 + 10 * sqrt(far / _ROW))
    drawn = []
    for on, to in pairs:
        top, bottom = middle[on], middle[to]
        handle = widest + 6 - widest * sqrt((bottom - top) / far) * 4 / 3  # a curve bulges three quarters as far
        path = f"M{widest + 6:.0f} {top}C{handle:.1f} {top} {handle:.1f} {bottom} {widest + 6:.0f} {bottom}"
        drawn.append(Arc(on, to, path))
    above: list[list[int]] = [[] for _ in stands_on]
    for on, to in pairs:
        above[on].append(to)
    return Arcs(
        width=round(widest) + 12,
        height=len(rows) * _ROW,
        rows=tuple(rows),
        dots=tuple(middle.values()),
        arcs=tuple(drawn),
        below=tuple(map(tuple, stands_on)),
        above=tuple(map(tuple, above)),
    )
