"""The conflicts that a merge marked, each with its three sides: to be shown where the merge itself is not."""

from __future__ import annotations

from collections.abc import Iterator

from opencoti_patches.carry.model import Clash, Marked
from opencoti_patches.core.model import PatchName, decode, encode, printable
from opencoti_patches.plan.replay import lines_of


def clashes(merge: Marked, name: PatchName) -> tuple[Clash, ...]:
    """All that the merge of a patch has between markers, file by file."""
    return tuple(c for path in merge.conflicts if (held := merge.files.get(path)) for c in _of(path, held[1], name))


def _of(path: str, content: bytes, name: PatchName) -> Iterator[Clash]:
    ends = tuple(map(encode, ("<<<<<<< upstream", f"||||||| before {name}", "=======", f">>>>>>> {name}")))
    begin, sides = 0, list[list[bytes]]()
    for number, line in enumerate(lines_of(content), 1):
        text = line.rstrip(b"\r\n")
        if text == ends[len(sides)]:
            begin = begin if sides else number
            sides.append([])
            if len(sides) == len(ends):
                upstream, before, ours = (tuple(printable(decode(x)) for x in side) for side in sides[:3])
                yield Clash(printable(path), begin, upstream, before, ours)
                sides.clear()
        elif sides:
            sides[-1].append(text)
