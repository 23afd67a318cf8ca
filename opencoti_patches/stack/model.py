"""What the commands that work on the stack answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from opencoti_patches.core.model import Entry, PatchName, TreeId

Fate = Literal[
    "kept", "renumbered", "regenerated", "adapted", "conflict", "blocked", "upstreamed",
    "dropped", "disabled", "enabled", "renamed", "refreshed", "made",
]  # fmt: skip


class Blocker(NamedTuple):
    """A line that stands in the way: ``patch`` cannot leave its place because of what ``of`` does there. ``line``
    counts in the file as it is before ``patch``; ``sign``: ``of`` adds it (``+``) or takes it out (``-``)."""

    patch: PatchName
    of: PatchName
    file: str
    line: int
    sign: str
    text: str


class Fated(NamedTuple):
    """What became of one patch. ``was`` is its name before, where that was another."""

    name: PatchName
    fate: Fate
    reason: str = ""
    interdiff: tuple[str, ...] = ()
    was: str = ""


class Change(NamedTuple):
    """A series rearranged, not written yet: the patches in their new order, what became of those that were
    touched, and the text of the series file (None where there is none and none is needed). ``gone`` are files that
    leave the folder, ``there`` new patches whose files are there already, ``left`` patches in conflict that
    are to be mended later, ``beside`` files of disabled patches that are written; ``blockers`` and ``refused`` say why
    nothing may be written; ``steps`` are the commands to run next."""

    entries: tuple[Entry, ...]
    rows: tuple[Fated, ...]
    text: bytes | None
    gone: tuple[PatchName, ...] = ()
    renamed: Mapping[str, str] = {}
    there: tuple[PatchName, ...] = ()
    left: tuple[PatchName, ...] = ()
    beside: Mapping[PatchName, bytes] = {}
    blockers: tuple[Blocker, ...] = ()
    refused: str = ""
    steps: tuple[str, ...] = ()


class Settled(NamedTuple):
    """A change that was (or would be) written: the trees before and after the whole series (None where it does not
    apply as a whole), the files that differ between them, what was written and what was removed."""

    before: TreeId | None
    after: TreeId | None
    differs: tuple[str, ...]
    written: tuple[Path, ...]
    removed: tuple[Path, ...]
