"""A patch as it would be, in a scratch file that git can read."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.core.model import Entry
from opencoti_patches.doors import fs
from opencoti_patches.series.order import entry_of, stamp_of


def staged(entry: Entry, raw: bytes, path: Path) -> Entry:
    """The entry with other bytes, which are written to ``path``."""
    fs.scribble(path, raw)
    fresh = entry_of(path.parent, entry.name, raw, strip=entry.strip, reverse=entry.reverse)
    return fresh._replace(path=path, stamp=stamp_of(path.stat()))
