"""Several patches made one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import PatchName, encode, printable
from opencoti_patches.core.shell import word
from opencoti_patches.series.header import read_header
from opencoti_patches.series.order import without
from opencoti_patches.series.parse import parse
from opencoti_patches.stack import lines
from opencoti_patches.stack.arrange import move
from opencoti_patches.stack.desk import Desk, index_of
from opencoti_patches.stack.model import Change, Fated


def squash(desk: Desk, names: Sequence[PatchName]) -> Change:
    """The patches as one, in the place and under the name of the earliest; the others are moved behind it first, so
    that they must commute with what stands between. Headers are joined.

    Errors: UsageError ``usage``; Refused ``no-change``.
    """
    if len(set(names)) < 2:
        raise UsageError("usage", "it takes two patches to make one of them", "name another, too")
    order = sorted(set(names), key=lambda n: index_of(desk.series.entries, n))
    first, work = order[0], desk
    rows: dict[PatchName, Fated] = {}
    for before, name in pairwise(order):
        entries = work.series.entries
        if index_of(entries, name) != index_of(entries, before) + 1:
            moved = move(work, name, before)
            if moved.refused:
                return moved
            rows |= {r.name: r for r in moved.rows}
            work = work.holding(moved.entries)
    entries = work.series.entries
    at = index_of(entries, first)
    mine, others, later = entries[at], entries[at + 1 : at + len(order)], entries[at + len(order) :]
    start, end = work.tree(entries[:at]), work.tree((*entries[:at], mine, *others))
    if start == end:
        raise Refused("no-change", "together they do nothing", f"opencoti-patches drop {' '.join(map(word, order))}")
    fresh = desk.composed(mine, start, end)
    own = header = parse(fresh.raw, mine.strip).header
    for other in others:
        header = joined(header, parse(other.raw, other.strip).header, other.name)
    fresh = desk.fresh(mine, header + fresh.raw[len(own) :])
    text = lines.text_of(desk.series)
    for other in others:
        text = without(text, other.name)
    gone = [e.name for e in others]
    rows = {n: r for n, r in rows.items() if n not in order}
    mine_row = Fated(first, "refreshed", f"with {', '.join(map(printable, gone))}")
    fates = [mine_row, *(Fated(n, "dropped", f"is in {printable(first)} now") for n in gone), *rows.values()]
    now = (*entries[:at], fresh, *later)
    listed = desk.series.listed or lines.needed([e.name for e in now], text)
    return Change(now, tuple(fates), encode(text) if listed else None, gone=tuple(gone))


def joined(header: bytes, other: bytes, name: str) -> bytes:
    """A header with the words of another below its own, and its author if that is somebody else: before the ``---`` of a
    mail, else at its end."""
    read = read_header(other)
    author = read.fields.get("From", "")
    credit = f"Co-authored-by: {author}" if author not in ("", read_header(header).fields.get("From", "")) else ""
    said = (read.subject or name, read.body.split("\n---\n")[0].strip(), credit)
    words = encode("\n\n".join(filter(None, said))) + b"\n\n"
    text, mark, rest = header.partition(b"\n---\n")
    if mark:
        return text.rstrip(b"\n") + b"\n\n" + words.rstrip(b"\n") + mark + rest
    return (header.rstrip(b"\n") + b"\n\n" if header.strip() else b"") + words
