"""A patch of the series taken in once more, in its place: its paths put under a folder that they lack."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Entry, Series
from opencoti_patches.series.importing import Imported, Incoming, mended
from opencoti_patches.series.order import entry_of
from opencoti_patches.series.placing import Addition, Placement


def listed(path: Path, series: Series) -> Entry | None:
    """The entry of the series whose file this is."""
    real = path.resolve()
    return next((e for e in series.entries if e.path.resolve() == real), None)


def again(entry: Entry, series: Series, called: str, directory: str) -> Imported:
    """The series with the patch rewritten, everything else as it is.

    Errors: Refused ``exists`` without a folder: then there is nothing to do; those of ``rooted``.
    """
    if not directory:
        raise Refused(
            "exists",
            f"{called} is in the series already",
            "--directory DIR puts its paths under DIR; 'opencoti-patches regen' mends what drifted",
        )
    incoming = mended(Incoming(source=called, raw=entry.raw, own=entry.name), entry.strip, directory)
    fresh = entry_of(series.dir, entry.name, incoming.raw, strip=entry.strip, reverse=entry.reverse)
    entries = tuple(fresh if e.name == entry.name else e for e in series.entries)
    placement = Placement(
        series=Series(dir=series.dir, entries=entries, listed=series.listed),
        changes={entry.path: incoming.raw},
        renamed={},
        listed_now=False,
    )
    return Imported(incoming=(incoming,), additions=(Addition(entry=fresh, line=entry.name),), placement=placement)
