"""The ``@@`` line above a hunk, read as git reads it."""

from __future__ import annotations

import re
from typing import NamedTuple

_LINE = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?([^\n]*)")
_MOST = 2**31 - 1  # lines that git can count to; beyond, it goes on with another number and says nothing


class Numbers(NamedTuple):
    """What the line names; no number is larger than git can count to. ``excess`` is the one that was, as it is written,
    cut short; else empty."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: bytes
    excess: str


def numbers(line: bytes) -> Numbers | None:
    """Read the line; None if it is none."""
    m = _LINE.match(line)
    if m is None:
        return None
    a, b, c, d, section = m.groups(b"1")
    if len(a) < 10 and len(b) < 10 and len(c) < 10 and len(d) < 10:  # as good as always
        return Numbers(int(a), int(b), int(c), int(d), section.rstrip(b"\r"), "")
    fields = [x.lstrip(b"0") or b"0" for x in (a, b, c, d)]
    # the longest is compared by its length first: Python reads no number of thousands of digits
    found = [int(x) if len(x) <= 10 else _MOST + 1 for x in fields]
    most = next((x.decode() for x, n in zip(fields, found, strict=True) if n > _MOST), "")
    old_start, old_count, new_start, new_count = (min(n, _MOST) for n in found)
    shown = most if len(most) <= 20 else f"{most[:17]}..."
    return Numbers(old_start, old_count, new_start, new_count, section.rstrip(b"\r"), shown)
