"""Whether a patch that git took on a new base landed where upstream's own diff says its lines are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from opencoti_patches.carry import rival
from opencoti_patches.carry.align import Alignment, aligned
from opencoti_patches.core.model import FilePatch, printable
from opencoti_patches.plan.places import enclosing, has_functions, occurrences, same_function
from opencoti_patches.plan.replay import Lines, position, put


def doubts(
    f: FilePatch,
    exact: FilePatch,
    offsets: Mapping[int, int],
    before: Lines,
    now: Lines,
    diff: Callable[[bytes, bytes], bytes],
) -> list[str]:
    """What is doubtful about one file of a patch. ``exact`` has the hunks at their places in the old file
    ``before``, ``offsets`` by hunk say how far git moved them in ``now``.

    A hunk whose lines stand once in the old file and once in the new one, in the same function, needs no
    other word. For the rest both files are aligned.
    """
    found: list[str] = []
    old, new = list(before), list(now)
    gained = rival.gained(before, now)
    alignment: Alignment | None = None
    for hunk, was in zip(f.hunks, exact.hunks, strict=True):
        at = position(hunk, offsets.get(hunk.number, 0))
        once = len(occurrences(new, hunk.old)) == 1 and len(occurrences(old, was.old)) == 1
        lead = next(i for i, line in enumerate(hunk.lines) if line[:1] != b" ")
        inside, landed = enclosing(old, position(was, 0) + lead), enclosing(new, at + lead)
        if has_functions(f.path) and not same_function(inside, landed):
            was_, now_ = (printable(x.decode("utf-8", "replace").strip()) for x in (inside, landed))
            found.append(f"{printable(f.path)}, hunk {hunk.number} was in '{was_}', is in '{now_ or 'no function'}'")
        elif not once or rival.may_be(was.old, gained):
            if alignment is None:
                alignment = aligned(before, b"".join(now), diff)
            begin, line = was.old_start - 1, at - (len(new) - len(now))
            here = range(line + lead, line + len(was.old))
            if not _aligned(alignment, begin, len(was.old), line):
                found.append(
                    f"{printable(f.path)}, hunk {hunk.number} landed at line {at + 1}, which upstream's diff does not confirm"
                )
            elif other := rival.rival(was, begin + lead, here, alignment, f.path):
                found.append(f"{printable(f.path)}, hunk {hunk.number}: {other}")
        put(new, hunk, offsets.get(hunk.number, 0))
        put(old, was, 0)
    return found


def _aligned(alignment: Alignment, begin: int, count: int, at: int) -> bool:
    """Whether the old lines from ``begin`` on are the new ones from ``at`` on, side by side."""
    now = [alignment.now(i) for i in range(begin, begin + count)]
    if not now or None in now or now[0] != at:
        return False
    return all(a is not None and b == a + 1 for a, b in pairwise(now))
