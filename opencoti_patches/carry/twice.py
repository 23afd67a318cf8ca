"""Lines that a patch adds and that upstream has put into the same file meanwhile: mostly it took the patch, in another
form or at another place, and now both would stand there."""

from __future__ import annotations

from collections.abc import Iterable

from opencoti_patches.carry.align import Alignment
from opencoti_patches.plan.places import squeezed

_SAYS = 6  # bytes of a line that says something, more than these
_SHARE = 1 / 3  # of the new lines that upstream must have put: fewer are the phrases of a language or a project


def twice(added: Iterable[bytes], a: Alignment) -> str:
    """Says how many of the ``added`` lines, of those that the old file had not, upstream has put into it, and where one
    stands; empty if too few."""
    said = [text for line in added if len(text := squeezed(line)) > _SAYS]
    if not any(text in a.put for text in said):
        return ""
    had = set(map(squeezed, a.old))
    new = [text for text in said if text not in had]
    there = [text for text in new if text in a.put]
    if not there or len(there) < _SHARE * len(new):
        return ""
    what = f"{len(there)} of the {len(new)} new lines" if len(new) > 1 else "the line"
    return f"upstream has put {what} that it adds into the file, too, at line {a.put[there[0]] + 1}"
