"""The answer of ``bootstrap --merge``: what is left to do."""

from __future__ import annotations

from collections.abc import Sequence

from opencoti_patches.carry.merged import Left
from opencoti_patches.report.advice import short
from opencoti_patches.report.wrapping import wrapped


def shown(left: Sequence[Left], name: str, folder: str) -> list[str]:
    """A line a hunk or file that wants a person, and what to run then."""
    lines: list[str] = []
    for row in left:
        where = f"{row.file}, hunk {row.hunk}: " if row.hunk else f"{row.file}: "
        markers = f"between markers at line {row.line}: " if row.line else ""
        lines += wrapped(where + markers + row.why, 4, 2)
    what = f"edit {folder}, then " if left else ""
    return [*lines, *wrapped(f"next: {what}opencoti-patches regen {short(name)} --from {folder}", 4, 2)]
