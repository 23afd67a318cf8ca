"""Which lines of which patch stand in the way of another."""

from __future__ import annotations

from collections.abc import Sequence, Set

from opencoti_patches.core.model import Entry, PatchName, printable
from opencoti_patches.stack.desk import Desk, index_of
from opencoti_patches.stack.model import Blocker
from opencoti_patches.stack.weave import Woven

_MOST = 3  # lines a patch


def blockers(desk: Desk, entries: Sequence[Entry], name: PatchName, of: Set[PatchName]) -> tuple[Blocker, ...]:
    """Lines that ``of`` change and that patch ``name`` changes too, or, where there are none, stands beside."""
    at = index_of(entries, name)
    upto = entries[: at + 1]
    woven = Woven(upto, desk.plan(upto), desk.base, desk.store)
    weave, parsed = woven.goto(at), woven.parsed[at]
    found: list[tuple[int, Blocker]] = []  # how far from what the patch itself changes
    for number, f in enumerate(parsed.files):
        cells = weave.cells(f.old) if f.old else None
        maker = weave.makers.get(f.old or f.new or "")
        if maker and entries[maker[0]].name in of:
            found.append((0, Blocker(name, entries[maker[0]].name, printable(f.old or f.path), 0, maker[1], "")))
        if cells is None:
            continue
        grown = 0
        for hunk in f.hunks:
            offset = woven.offsets[at].get((number, hunk.number), 0) - grown
            grown += hunk.new_count - hunk.old_count
            for t in weave.touches(f, hunk, offset, cells):
                if entries[t.patch].name in of:
                    text = printable(t.text.rstrip(b"\r\n").decode("utf-8", "surrogateescape"))
                    row = Blocker(name, entries[t.patch].name, printable(f.old or ""), t.line, t.sign, text)
                    found.append((2 * t.context + (t.sign == "-"), row))
    nearest = min((far for far, _ in found), default=0)
    return tuple([row for far, row in found if far == nearest][:_MOST])
