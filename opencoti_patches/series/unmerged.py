"""Conflict markers that a merge of the project left in a patch file: git passes over what stands around the hunks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from opencoti_patches.core.model import PatchName, Series

_MARK = re.compile(rb"(?m)^(?:([<|>])\1{6}(?: .*)?|(=)={6})\r?$")


class Unmerged(NamedTuple):
    """A patch with a merge that nobody settled, and the line, from 1, at which it begins."""

    name: PatchName
    line: int


def marker_lines(raw: bytes) -> list[int]:
    """The lines, from 1, of the markers of every conflict in a patch file. A whole one alone counts, from ``<<<<<<<`` over
    ``=======`` to ``>>>>>>>``: a title may be underlined with the middle one. Lines of hunks have a sign before them."""
    if b"<<<<<<<" not in raw:  # mostly
        return []
    found: list[int] = []
    open_: list[int] = []  # of the conflict that is being read
    signs = b""
    for m in _MARK.finditer(raw):
        sign = m[1] or m[2]
        line = raw.count(b"\n", 0, m.start()) + 1
        if sign == b"<":
            open_, signs = [line], sign
        elif signs and sign in {b"<": b"|=", b"|": b"=", b"=": b">"}[signs]:
            open_.append(line)
            signs = sign
            if sign == b">":
                found += open_
                open_, signs = [], b""
    return found


def unmerged(series: Series) -> Sequence[Unmerged]:
    """The patches of a series that have such markers."""
    return [Unmerged(e.name, lines[0]) for e in series.entries if (lines := marker_lines(e.raw))]
