"""Which files were written, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from opencoti_patches.carry.resolutions import FILE as RESOLUTIONS
from opencoti_patches.core.config import FILE_NAME
from opencoti_patches.core.words import plural
from opencoti_patches.series.order import LOCK_FILE, SERIES_FILE

_SHOWN = 3
_NO_PATCHES = (SERIES_FILE, LOCK_FILE, RESOLUTIONS, FILE_NAME)
REMOVED = " (removed)"  # what may stand behind a name


def listed(files: Sequence[str]) -> str:
    """Their names. Of many patches some are named and the others counted; what is no patch is always named."""
    others = [f for f in files if f.removesuffix(REMOVED).rsplit("/", 1)[-1] in _NO_PATCHES]
    patches = [f for f in files if f not in others]
    left = len(patches) - _SHOWN
    if left <= 0:
        return ", ".join(files)
    return ", ".join([*patches[:_SHOWN], plural(left, "more patch"), *others])
