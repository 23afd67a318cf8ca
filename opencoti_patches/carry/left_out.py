"""A patch that changes a file which one that is left out would have made."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from opencoti_patches.core.model import printable
from opencoti_patches.series.parse import Parsed


def missing(parsed: Parsed, there: Collection[str], left_out: Iterable[Parsed]) -> str:
    """Says which file the patch changes or deletes that is not ``there`` and that one of those ``left_out`` makes; empty
    if there is none. Nobody deleted it."""
    made = {path for one in left_out for path in one.made}
    gone = next((f.old for f in parsed.files if f.old in made and f.old not in there), None)
    return f"there is no {printable(gone)} without it" if gone else ""
