"""What keeps a folder's edits: the commands, whole, that put them into the series."""

from __future__ import annotations

from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Series
from opencoti_patches.core.shell import word
from opencoti_patches.series.beside import beside
from opencoti_patches.series.numbering import Numbers, folder_of


def keep(folder: str, patch: str, series: Series, *, merged: bool) -> tuple[str, ...]:
    """The commands for edits in ``folder``, which began as the tree after ``patch`` (the bare base for none): into that
    patch, or into a new one behind it; into the one behind it where that was ``merged`` in. None where the series has no
    such patch any more."""
    names = [str(e.name) for e in series.entries]
    if patch and patch not in names:
        return ()
    at = 1 + names.index(patch) if patch else 0
    if merged:
        return (f"opencoti-patches regen {word(names[at])} --from {word(folder)}",) if at < len(names) else ()
    into = (f"opencoti-patches refresh {word(patch)} {word(folder)}",) if patch else ()
    new = f"opencoti-patches new NAME --from {word(folder)}"
    if at < len(names):
        new += f" --after {word(patch)}" if patch else " --first"
    try:
        Numbers(names, at, folder=folder_of(patch), beside=beside(series)).named("NAME", "")
    except Refused:  # the neighbours have the numbers on either side
        new += " --renumber"
    return (*into, new)
