"""The nouns: patches, their order, verdicts, reports. Nothing here touches the machine.

All are named tuples: frozen, and four times cheaper to define and to make than data classes, which a warm
``check`` notices. Give their fields by name.

Paths of files inside a tree are ``str`` decoded as UTF-8 with ``surrogateescape``, so that any
byte name survives; ``printable`` makes one fit for a terminal or JSON.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NewType

TreeId = NewType("TreeId", str)
"""Object id of a git tree: 40 hex digits."""

CommitId = NewType("CommitId", str)
"""Object id of a git commit: 40 hex digits."""

PatchName = NewType("PatchName", str)
"""The name of a patch as its series entry has it, to the letter."""

IndexEntry = tuple[str, str]
"""A file as an index or a tree has it: (mode as six octal digits, blob id)."""

NOT_TEXT = ("120000", "160000")
"""The modes of symbolic links and submodules."""

EMPTY_TREE = TreeId("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

Operation = Literal["modify", "create", "delete", "rename", "copy"]
Binary = Literal["", "git", "names-only"]
Status = Literal["clean", "offset", "failed", "blocked", "empty"]
Level = Literal["error", "warning", "note"]


def blob_id(content: bytes) -> str:
    """The id that git gives a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_full_id(text: str) -> bool:
    """Whether a text is the whole id of an object: 40 hex digits, in small letters as git writes them."""
    return len(text) == 40 and not text.strip("0123456789abcdef")


def decode(raw: bytes) -> str:
    """Bytes of a path or a patch line as text that encodes back to the same bytes."""
    return raw.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The inverse of ``decode``."""
    return text.encode("utf-8", "surrogateescape")


def printable(text: str) -> str:
    """Text that any terminal and JSON reader takes: stray bytes and controls become escapes."""
    if text.isascii() and text.isprintable():
        return text
    safe = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in safe)


class Hunk(NamedTuple):
    """One ``@@`` block. ``lines`` keep their first character and their line end, without the
    ``\\ No newline`` markers: a line that has none in the file simply lacks its ``\\n``."""

    number: int  # from 1, within its file
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: bytes  # what follows the second @@, or b""
    lines: tuple[bytes, ...]
    span: tuple[int, int]  # bytes of the patch file, from its @@ line to the end of its last line
    at_line: int  # 1-based line of the patch file that holds the @@

    @property
    def old(self) -> list[bytes]:
        """The lines that must stand in the file: context and removed ones."""
        return [line[1:] for line in self.lines if line[:1] != b"+"]

    @property
    def new(self) -> list[bytes]:
        """The lines that stand there afterwards: context and added ones."""
        return [line[1:] for line in self.lines if line[:1] != b"-"]

    @property
    def removed(self) -> list[bytes]:
        """Removed lines, without the ``-``."""
        return [line[1:] for line in self.lines if line[:1] == b"-"]

    @property
    def added(self) -> list[bytes]:
        """Added lines, without the ``+``."""
        return [line[1:] for line in self.lines if line[:1] == b"+"]


class FilePatch(NamedTuple):
    """What a patch does to one file. ``old`` and ``new`` are paths in the tree after stripping,
    None where the file is not there (created, deleted)."""

    operation: Operation
    old: str | None
    new: str | None
    old_mode: str | None = None  # as the patch says it: "100644"
    new_mode: str | None = None
    old_blob: str | None = None  # from the index line, often abbreviated
    new_blob: str | None = None
    binary: Binary = ""  # names-only: "Binary files a and b differ"
    git_style: bool = True  # has a "diff --git" line
    hunks: tuple[Hunk, ...] = ()
    span: tuple[int, int] = (0, 0)  # bytes of the patch file
    at_line: int = 1
    raw_paths: tuple[str, ...] = ()  # names before stripping, for diagnosis

    @property
    def path(self) -> str:
        """The name people call it by: the new one, or the old one of a deletion."""
        return self.new or self.old or ""


class Entry(NamedTuple):
    """One line of a series: a patch file and how to apply it. ``raw`` is the truth."""

    name: PatchName
    path: Path
    strip: int = 1
    reverse: bool = False
    raw: bytes = b""
    sha256: str = ""
    stamp: tuple[int, ...] = (0, 0)  # (mtime in ns, size, ctime in ns, inode), or the first two, when ``raw`` was read


class Series(NamedTuple):
    """The patches in order. ``listed`` is False where a folder has no series file and the order
    is numeric, then by name."""

    dir: Path
    entries: tuple[Entry, ...]
    listed: bool = True

    def upto(self, name: PatchName | None) -> Series:
        """The series up to and including ``name``; all of it for None."""
        if name is None:
            return self
        at = [e.name for e in self.entries].index(name)
        return Series(dir=self.dir, entries=self.entries[: at + 1], listed=self.listed)


class Place(NamedTuple):
    """Where one hunk landed, in git's own words. ``line`` is 1-based, in the file as the earlier
    hunks left it."""

    file: str
    hunk: int
    line: int
    offset: int


class Problem(NamedTuple):
    """One finding about one hunk, file or patch. ``diff`` is a small unified diff, expected
    lines against the nearest lines found, or empty."""

    cause: str
    message: str
    level: Level = "error"
    file: str = ""
    hunk: int = 0  # 0: the whole file or patch
    line: int = 0  # line of ``file`` in the tree, 0 if none
    at_line: int = 0  # line of the patch file, 0 if none
    diff: tuple[str, ...] = ()
    other: str = ""  # another file, where the lines stand


class Verdict(NamedTuple):
    """What git says of one patch on the tree after those before it that applied, and why."""

    name: PatchName
    status: Status
    files: tuple[str, ...] = ()
    cause: str | None = None
    places: tuple[Place, ...] = ()  # only hunks that moved
    problems: tuple[Problem, ...] = ()
    blocked_by: tuple[PatchName, ...] = ()  # a cascade: the failed patches that it stands on
    evidence: str = ""  # why it is called a cascade
    without: tuple[PatchName, ...] = ()  # failed patches that it applied without

    @property
    def applied(self) -> bool:
        """Whether git took it."""
        return self.status in ("clean", "offset")


class Plan(NamedTuple):
    """The verdict on a whole series. ``tip`` is None unless every patch applied."""

    base: TreeId
    tip: TreeId | None
    verdicts: tuple[Verdict, ...]

    @property
    def ok(self) -> bool:
        """Whether git takes the whole series."""
        return all(v.applied for v in self.verdicts)


class Finding(NamedTuple):
    """One annotation for CI: about a line of a file of the project."""

    level: Level
    rule: str
    message: str
    path: str  # of the patch or configuration file, relative to the project
    line: int = 1
    hint: str = ""


class Report(NamedTuple):
    """A command's answer. ``data`` is the JSON body (schema, command and ok are added), or what makes
    it where that costs something; ``text`` the lines for people; both are made from the same facts."""

    command: str
    ok: bool
    data: Mapping[str, Any] | Callable[[], Mapping[str, Any]] = MappingProxyType({})
    text: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    cases: tuple[str, ...] = ()  # names of all that was judged, for JUnit
    folder: str = ""  # in which files of these names lie, as the findings' paths have it

    def body(self) -> Mapping[str, Any]:
        """The JSON body."""
        return self.data() if callable(self.data) else self.data
