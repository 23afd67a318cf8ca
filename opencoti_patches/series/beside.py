"""Patch files that lie beside those of a series."""

from __future__ import annotations

import os
from posixpath import normpath

from opencoti_patches.core.model import Series
from opencoti_patches.series.order import SERIES_FILE, SUFFIXES, text_of


def beside(series: Series) -> list[str]:
    """Patch files in the folder that are none of the series, such as disabled ones."""
    if not series.listed:
        return []
    names = {normpath(e.name) for e in series.entries}
    return [n for n in os.listdir(series.dir) if n.endswith(SUFFIXES) and n not in names]


def unlisted(series: Series) -> tuple[str, ...]:
    """Patch files in the folder of which the series file says nothing, not even in a comment."""
    left = beside(series)
    if not left:
        return ()
    words = words_of(text_of(series.dir / SERIES_FILE))
    return tuple(sorted(n for n in left if n not in words))


def words_of(text: str) -> set[str]:
    """The words of a text that may be names of patch files, ``./`` and the like taken off."""
    return {form for w in text.split() for form in (w.strip("#.,:;()'\""), normpath(w.strip("#,:;()'\"").rstrip(".")))}
