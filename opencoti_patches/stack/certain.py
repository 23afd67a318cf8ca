"""Whether a patch that was carried over a gap stands where it must, though the lines around it stand elsewhere too.

A carry compares two trees, and cannot tell two equal lines apart. Here both trees are of one series, so the weave knows
each line by the patch that put it there, and what a file is without one patch.
"""

from __future__ import annotations

from collections.abc import Sequence

from opencoti_patches.carry import guards
from opencoti_patches.core.model import Entry, PatchName
from opencoti_patches.plan.replay import position
from opencoti_patches.series.parse import parse
from opencoti_patches.stack.desk import Carried, Desk
from opencoti_patches.stack.weave import Woven, without


def certain(desk: Desk, entries: Sequence[Entry], at: int, carried: Carried) -> frozenset[PatchName]:
    """Of the patches behind patch ``at``, carried to where that one is not: those with a doubt that is none. They add
    and remove the same lines, none of these beside a line of the patch that left, and the files before and after them
    are, line by line, what the series makes without it."""
    doubtful = {r.name for r in carried.rows if r.status == "adapted"}
    if not doubtful:
        return frozenset()
    woven = Woven(entries, desk.plan(entries), desk.base, desk.store)
    found = []
    for i, now in enumerate(carried.entries, at + 1):
        old, new = woven.parsed[i], parse(now.raw, now.strip, now.reverse)
        gap = (*entries[:at], *carried.entries[: i - at - 1])
        if (
            now.name in doubtful
            and guards.compare(old, new).same
            and _apart(woven, i, at)
            and _as_woven(desk, woven, i, at, gap)
            and _as_woven(desk, woven, i + 1, at, (*gap, now))
        ):
            found.append(now.name)
    return frozenset(found)


def _apart(woven: Woven, index: int, other: int) -> bool:
    """Whether no line that a patch changes, nor one beside it, is a line that ``other`` added or took out."""
    weave = woven.goto(index)
    for number, f in enumerate(woven.parsed[index].files):
        cells = weave.cells(f.old) if f.old else None
        if f.operation != "modify" or cells is None:
            return False
        grown = 0
        for hunk in f.hunks:
            at = position(hunk, woven.offsets[index].get((number, hunk.number), 0)) - grown
            grown += hunk.new_count - hunk.old_count
            for line in hunk.lines:
                near = cells[max(at - 1, 0) : at + 1 + (line[:1] == b"-")] if line[:1] in b"+-" else ()
                if any(c.owner == other or any(g.killer == other for g in c.before) for c in near):
                    return False
                at += line[:1] in b" -"
    return True


def _as_woven(desk: Desk, woven: Woven, index: int, other: int, now: Sequence[Entry]) -> bool:
    """Whether the tree after the patches ``now`` is that before patch ``index``, had ``other`` not been there."""
    weave, repo = woven.goto(index), desk.store.repo
    changed = repo.diff_trees(desk.tree(woven.entries[:index]), desk.tree(now))
    files = woven.parsed[other].files
    paths = {f.path for f in files}
    if changed.keys() - paths or any(f.operation != "modify" or f.old_mode != f.new_mode for f in files):
        return False
    contents = repo.blobs(new[1] for _, new in changed.values() if new)
    for path in paths:
        cells = weave.cells(path)
        new = changed[path][1] if path in changed else None
        if cells is None or (path in changed and new is None):
            return False
        got = contents[new[1]] if new else b"".join(c.line for c in cells)
        if got != b"".join(without(cells, other)[0]):
            return False
    return True
