"""Hunks from changes: a file's part of a patch, written around its new pre-image."""

from __future__ import annotations

from collections.abc import Sequence

from opencoti_patches.carry.place import Brought
from opencoti_patches.plan.places import heading

_SECTION = 80  # bytes git keeps of a heading


def hunks(lines: Sequence[bytes], changes: Sequence[Brought], context: int = 3) -> bytes:
    """The ``@@`` blocks that make these changes to a file of these lines. Changes whose context would
    meet share a block, as git has it."""
    todo = sorted((c for c in changes if not c.done and (c.added or c.hi > c.lo)), key=lambda c: (c.lo, c.hi))
    parts: list[bytes] = []
    grown = 0
    while todo:
        group = [todo.pop(0)]
        while todo and todo[0].lo - group[-1].hi <= 2 * context:
            group.append(todo.pop(0))
        begin, end = max(group[0].lo - context, 0), min(group[-1].hi + context, len(lines))
        body, at, added, removed = [], begin, 0, 0
        for c in group:
            body += (
                [b" " + x for x in lines[at : c.lo]]
                + [b"-" + x for x in lines[c.lo : c.hi]]
                + [b"+" + x for x in c.added]
            )
            added, removed, at = added + len(c.added), removed + c.hi - c.lo, c.hi
        body += [b" " + x for x in lines[at:end]]
        old, new = end - begin, end - begin + added - removed
        section = heading(lines, begin)[:_SECTION].rstrip()
        numbers = b"@@ -%s +%s @@" % (_range(begin, old), _range(begin + grown, new))
        parts.append(numbers + (b" " + section if section else b"") + b"\n")
        parts += [x if x.endswith(b"\n") else x + b"\n\\ No newline at end of file\n" for x in body]
        grown += added - removed
    return b"".join(parts)


def _range(begin: int, count: int) -> bytes:
    start = begin + 1 if count else begin
    return b"%d" % start if count == 1 else b"%d,%d" % (start, count)
