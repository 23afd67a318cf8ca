"""Where a file is by now that a part of a patch changes, if not at its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from opencoti_patches.carry.tally import Sides
from opencoti_patches.core.model import FilePatch
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.series.parse import Parsed

TELLING = 8  # bytes of a line that says where it is from, at least
_LOOKS = 3  # lines that are looked for, at most: upstream may have edited one


def renamed_to(f: FilePatch, sides: Sides) -> str | None:
    """What upstream calls the file; None where it stands under its name."""
    path = f.old or ""
    if other := sides.displaced(path):
        return other
    return sides.renamed(path) if sides.now(path) is None else None


def at_home(f: FilePatch, parsed: Parsed, sides: Sides) -> FilePatch:
    """A part as one about the file by the name that upstream gave it, if it did: what it makes of that keeps its own."""
    to = renamed_to(f, sides) if f.operation != "create" else None
    if f.operation == "rename" and to == f.new and f.old not in sides.state:
        return f._replace(operation="modify", old=to)  # just as upstream renamed it
    stay = parsed._replace(files=tuple(g for g in parsed.files if g.operation != "modify" or not renamed_to(g, sides)))
    return f._replace(old=to, new=to if f.operation == "modify" else f.new) if is_other(to, stay, sides) else f


def gained_by(groups: Sequence[Sequence[bytes]], sides: Sides) -> list[str | None]:
    """By each group of lines, the one file that has by now, and had not, the longest of them that is in any such file, and
    half of those that tell a place; None where there is no such file, or another one."""
    told = [sorted({x for x in g if len(x.strip()) >= TELLING}, key=lambda x: (-len(x.strip()), x)) for g in groups]
    holding = sides.holding([x for lines in told for x in lines[:_LOOKS]])
    found: list[str | None] = []
    for lines in told:
        there = next((paths for x in lines[:_LOOKS] if (paths := holding[x])), ())
        now = set(lines_of(sides.now(there[0]) or b"")) if len(there) == 1 else set()
        found.append(there[0] if 2 * len(now.intersection(lines)) >= len(lines) and now else None)
    return found


def is_other(path: str | None, parsed: Parsed, sides: Sides) -> TypeGuard[str]:
    """Whether there is such a file, and the patch has no part about it."""
    return path is not None and sides.now(path) is not None and not any(path in (g.old, g.new) for g in parsed.files)
