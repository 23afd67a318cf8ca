"""What is doubtful about the places that the changes of one file found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opencoti_patches.carry import rival
from opencoti_patches.carry.align import Alignment
from opencoti_patches.carry.place import Brought
from opencoti_patches.carry.twice import twice
from opencoti_patches.core.model import FilePatch, printable
from opencoti_patches.plan.places import enclosing, has_functions, same_function


def doubts(f: FilePatch, a: Alignment, brought: Sequence[Brought]) -> Iterator[tuple[int, str]]:
    """The number of each hunk that somebody has to look at, and why."""
    live = [b for b in brought if not b.done]
    for b in live:
        if not b.sure:
            yield b.hunk, b.how
        elif has_functions(f.path) and (other := _other_function(a, b)):
            yield b.hunk, other
    gained = rival.gained(a.old, a.new)
    placed: dict[int, list[Brought]] = {}
    for b in live:
        placed.setdefault(b.hunk, []).append(b)
    both = dict(twice({n: [line for b in mine for line in b.added] for n, mine in placed.items()}, a))
    for hunk in f.hunks:
        mine = placed.get(hunk.number)
        if not mine or not all(b.sure for b in mine):
            continue
        if rival.may_be(hunk.old, gained):
            here = range(mine[0].lo, mine[-1].hi)
            if other := rival.rival(hunk, mine[0].was, here, a, f.path):
                yield hunk.number, other
        if hunk.number in both:
            yield hunk.number, both[hunk.number]


def _other_function(a: Alignment, b: Brought) -> str:
    """Says that a change would stand in another function than it did, or in one of another name; empty if it
    does not."""
    old, new = enclosing(a.old, b.was), enclosing(a.new, b.lo)
    if same_function(old, new):
        return ""
    was, now = (printable(x.decode("utf-8", "replace").strip()) for x in (old, new))
    return f"was in '{was}', would be in '{now or 'no function'}'"
