"""The answer of ``bootstrap --merge``: what is left to do."""

from __future__ import annotations

from collections.abc import Sequence

from opencoti_patches.carry.merged import Left
from opencoti_patches.core.shell import word
from opencoti_patches.report.wrapping import steps, wrapped
from opencoti_patches.series.naming import called


def shown(left: Sequence[Left], name: str, names: Sequence[str], folder: str) -> list[str]:
    """A line a hunk or file that wants a person, and what to run then. ``names`` are those of the series."""
    lines: list[str] = []
    for row in left:
        where = f"{row.file}, hunk {row.hunk}: " if row.hunk else f"{row.file}: "
        markers = f"between markers at line {row.line}: " if row.line else ""
        lines += wrapped(where + markers + row.why, 4, 2)
    if any(not row.line for row in left):
        lines += wrapped(
            f"what has no markers stands in {name.rsplit('/', 1)[-1]}.rej: delete it when that is done", 4, 2
        )
    when = f"  # once {word(folder)} is right" if left else ""
    return [*lines, *steps([f"opencoti-patches regen {called(name, names)} --from {word(folder)}{when}"])]
