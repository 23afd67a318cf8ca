"""What regen and bump say of each patch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from opencoti_patches.carry.resolutions import Resolution
from opencoti_patches.core.model import Entry, PatchName, TreeId

Carried = Literal["kept", "renumbered", "regenerated", "adapted", "upstreamed", "conflict", "blocked"]


class HunkHow(NamedTuple):
    """How one hunk, or a change of it, found its place. ``done``: the file has it already, at ``line`` (from 1; 0 where
    there is none)."""

    file: str
    hunk: int
    how: str
    done: bool = False
    line: int = 0

    @property
    def said(self) -> str:
        """As a sentence that begins with its place."""
        return f"{self.file}{f', hunk {self.hunk}' if self.hunk else ''}: {self.how}"


class Clash(NamedTuple):
    """A conflict as a merge marked it: the line of its first marker, from 1, and the lines of upstream, of what the
    patch expects, of the patch."""

    file: str
    line: int
    upstream: tuple[str, ...]
    before: tuple[str, ...]
    ours: tuple[str, ...]


class Row(NamedTuple):
    """One input patch. ``raw`` is its new bytes, None where the file stays untouched; ``interdiff``
    shows what changed of an adapted one, ``look`` the hunks in doubt of files where nothing did; ``next`` is the command that mends a conflict, where it is not the
    common one. ``gist`` is the reason where ``hunks`` stands beside it: without what is said there; ``clashes`` are
    what a merge of one in conflict leaves between markers."""

    name: PatchName
    status: Carried
    reason: str = ""
    hunks: tuple[HunkHow, ...] = ()
    interdiff: tuple[str, ...] = ()
    look: tuple[str, ...] = ()
    tree: TreeId | None = None  # what it makes, where that is known before it is written
    raw: bytes | None = None
    next: str = ""
    cause: str = ""  # of a conflict: what is wrong with the patch, where that says what mends it
    gist: str = ""
    clashes: tuple[Clash, ...] = ()


class Marked(NamedTuple):
    """A patch in conflict for a person: the files as git merges them, mode and content (None: deleted), and
    those of them that hold markers or need a look."""

    files: Mapping[str, tuple[str, bytes] | None]
    conflicts: tuple[str, ...]


class First(NamedTuple):
    """The first conflict: the patch, the tree it has to go on, its files for a person."""

    name: PatchName
    before: TreeId
    marked: Marked


class Bumped(NamedTuple):
    """A row a patch, in order; the first conflict if there is one; by patch, what was resolved before and
    served again, and the new patch as a file. ``outdated`` looks for what upstream calls otherwise by now in the patches
    that git took as they are: a line each, for people; to be called while the folder of the bump is there."""

    rows: tuple[Row, ...]
    conflict: First | None
    reused: Mapping[PatchName, tuple[Resolution, ...]]
    made: Mapping[PatchName, Entry]
    outdated: Callable[[], tuple[str, ...]]
