"""The order of patches: quilt's ``series`` file read whole, and its text with a patch more, less or renamed."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from io import StringIO
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Entry, PatchName, Series, decode, printable
from opencoti_patches.doors import fs
from opencoti_patches.series.naming import numeric_order

SERIES_FILE = "series"
NO_SERIES = "no series file; patches are taken in order of number, then name"
LOCK_FILE = "series.lock"
RESOLUTIONS_FILE = "resolutions.jsonl"
SUFFIXES = (".patch", ".diff")
_OWN = (SERIES_FILE, LOCK_FILE, RESOLUTIONS_FILE)  # files of the folder that are none, and that runs write
MARKER = re.compile(r"<{7}( |$)|={7}$|>{7}( |$)|\|{7}( |$)")
_COMMENT = re.compile(r"(^|\s)#.*")
_DEEPEST = 1000  # folders that a strip level may take off
_LARGEST = 256 * 2**20  # bytes of a file with patches


class Line(NamedTuple):
    """One line of a series file. ``name`` is empty for comments and blank lines."""

    text: str
    name: str = ""
    strip: int | None = None
    reverse: bool = False
    number: int = 0  # of the line, from 1


def read_lines(text: str, where: str = SERIES_FILE) -> list[Line]:
    """quilt's series format: ``NAME [-pN|-pab] [-R] [# comment]``, ``#`` comments, blank lines."""
    lines = []
    for number, raw in enumerate((line.rstrip("\r\n") for line in kept_lines(text)), 1):
        body = (_COMMENT.sub("", raw) if "#" in raw else raw).strip()
        if not body:
            lines.append(Line(raw))
            continue
        if MARKER.match(raw):
            raise UsageError(
                "bad-series", f"{where} line {number} is a conflict marker that a merge left", "settle the merge"
            )
        if "\0" in raw:
            raise UsageError(
                "bad-series", f"{where} line {number}: a NUL byte", "save the file as UTF-8; it may be UTF-16"
            )
        name, *options = body.split()
        if normpath(name) in _OWN:
            raise UsageError("bad-series", f"{where} line {number}: {name} is no patch", "that file is the tool's own")
        strip, reverse = None, False
        for option in options:
            if option == "-R":
                reverse = True
            elif m := re.fullmatch(r"-p(\d+)", option):
                strip = checked_strip(int(m[1]) if len(m[1]) < 10 else -1, f"{where} line {number}: -p")
            elif option == "-pab":  # names like a/x and b/x: one level
                strip = 1
            else:
                raise UsageError(
                    "bad-series",
                    f"{where} line {number}: unknown option '{option}' after {name}",
                    "a patch takes -pN (strip level) and -R (reversed)",
                )
        lines.append(Line(raw, name, strip, reverse, number))
    return lines


def checked_strip(level: int, where: str) -> int:
    """The strip level, if it can be one. Errors: UsageError ``bad-series``."""
    if 0 <= level <= _DEEPEST:
        return level
    raise UsageError(
        "bad-series",
        f"{where} strips too much: it is a number from 0 to {_DEEPEST}",
        "count the folders that stand before the name in the patch",
    )


def read_file(path: Path | str, called: str) -> tuple[bytes, os.stat_result]:
    """A file of patches and what it was then: a regular file of a size that one may have. Nothing waits, as
    opening a FIFO would.

    Errors: UsageError ``not-a-file``, ``too-large``; OSError.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as e:
        if e.errno != errno.ENXIO:
            raise
        raise _no_file(called) from None  # a socket
    try:
        st = os.fstat(fd)
        if stat.S_ISDIR(st.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(st.st_mode):
            raise _no_file(called)
        raw = os.read(fd, min(st.st_size, _LARGEST) + 1)
        while st.st_size < len(raw) <= _LARGEST and (part := os.read(fd, _LARGEST)):  # it grew meanwhile
            raw += part
    finally:
        os.close(fd)
    if len(raw) > _LARGEST:
        raise UsageError("too-large", f"{printable(called)} is larger than {_LARGEST >> 20} MiB", "it is no patch file")
    return raw, st


def read_patch(folder: Path, name: str) -> tuple[bytes, os.stat_result]:
    """A file of the patches folder, as ``read_file``. It may be a link, but not to a place outside of the project.

    Errors: UsageError ``unsafe-path``, ``not-a-file``, ``too-large``; OSError.
    """
    path = f"{folder}/{name}"
    found = read_file(path, name)
    if "/" in name or os.path.islink(path):
        real = os.path.realpath(path)
        if not any(real.startswith(f"{os.path.realpath(own)}/") for own in (folder, folder.parent)):
            raise UsageError(
                "unsafe-path", f"{printable(name)} is a link out of the project", "put the patch there as a file"
            )
    return found


def _no_file(called: str) -> UsageError:
    return UsageError("not-a-file", f"{printable(called)} is not a regular file", "put the patch there as a file")


def kept_lines(text: str) -> list[str]:
    """Lines with their ends, parted at ``\\n`` alone: a name may hold what Python takes for a line end."""
    return StringIO(text).readlines()


def load(folder: Path, strip: int = 1) -> Series:
    """The series of a patches folder, every patch read once.

    Without a series file the order is by number, then by name (``listed`` is False). Errors:
    UsageError ``no-series``, ``not-a-file``, ``bad-series``, ``bad-name``, ``missing-patch``, ``twice``,
    ``unsafe-path`` and those of ``read_file``.
    """
    checked_strip(strip, "the strip level of the series")
    if not folder.is_dir():
        raise UsageError(
            "no-series", f"there is no patches folder {folder}", "make it, or name it in opencoti.toml: [series] dir"
        )
    listed = has_series(folder)
    if listed:
        lines = [line for line in read_lines(text_of(folder / SERIES_FILE)) if line.name]
    else:
        found = [p.name for p in folder.iterdir() if p.suffix in SUFFIXES and p.exists() and not p.is_dir()]
        lines = [Line(n, n) for n in sorted(map(_plain, found), key=numeric_order)]
    seen: set[str] = set()
    entries = []
    for line in lines:
        key = normpath(line.name)
        if key in seen:
            raise UsageError("twice", f"{SERIES_FILE} names {line.name} twice", "take one of them out")
        seen.add(key)
        entries.append(_entry(folder, line, strip))
    return Series(dir=folder, entries=tuple(entries), listed=listed)


def _plain(name: str) -> str:
    if any(c < " " or "\x7f" <= c < "\xa0" for c in name):
        raise UsageError("bad-name", f"the name {printable(name)} has control characters in it", "rename the file")
    return name


def entry_of(folder: Path, name: str, raw: bytes, *, strip: int = 1, reverse: bool = False) -> Entry:
    """An entry for bytes that are not on the disk yet, or have changed."""
    return Entry(
        name=PatchName(name),
        path=folder / name,
        strip=strip,
        reverse=reverse,
        raw=raw,
        sha256=hashlib.sha256(raw).hexdigest(),
    )


def has_series(folder: Path) -> bool:
    """Whether a patches folder has a series file. Errors: UsageError ``not-a-file`` for something else in its place: the
    order would be taken from the names, though somebody meant another."""
    file = folder / SERIES_FILE
    if file.is_file():
        return True
    if os.path.lexists(file):
        raise UsageError("not-a-file", f"{SERIES_FILE} is not a regular file", "put it there as one, or take it away")
    return False


def text_of(file: Path) -> str:
    """The series file. Errors: UsageError ``no-series``, and those of ``read_file``."""
    try:
        return decode(read_file(file, SERIES_FILE)[0])
    except OSError as e:
        raise UsageError("no-series", f"cannot read {file}: {e.strerror}", fs.hint_of(e)) from None


def _entry(folder: Path, line: Line, strip: int) -> Entry:
    if line.name.startswith("/") or (".." in line.name and ".." in line.name.split("/")):
        raise UsageError(
            "unsafe-path",
            f"{SERIES_FILE} names {line.name}, which is not inside {folder}",
            "patches live in the patches folder",
        )
    try:
        raw, st = read_patch(folder, line.name)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        there = in_its_place(folder, line.name)  # no other name is meant then
        raise UsageError(
            "missing-patch",
            f"{_line_of(line)}: {there}" if there else f"{_line_of(line)} names {line.name}, which is not in {folder}",
            (not there and _close(folder, line.name)) or "restore the file, or take the line out",
        ) from None
    except OSError as e:
        raise UsageError(
            "missing-patch", f"cannot read {folder}/{line.name}: {e.strerror}", "check its permissions"
        ) from None
    return Entry(
        name=PatchName(line.name),
        path=folder / line.name,
        strip=strip if line.strip is None else line.strip,
        reverse=line.reverse,
        raw=raw,
        sha256=hashlib.sha256(raw).hexdigest(),
        stamp=stamp_of(st),
    )


def _line_of(line: Line) -> str:
    return f"{SERIES_FILE} line {line.number}" if line.number else SERIES_FILE


def _close(folder: Path, name: str) -> str:
    from difflib import get_close_matches

    names = [p.name for p in folder.iterdir() if p.suffix in SUFFIXES and p.is_file()]
    close = get_close_matches(name, names, n=1, cutoff=0.8)
    return f"did you mean {printable(close[0])}?" if close else ""


def in_its_place(folder: Path, name: str) -> str:
    """What stands where a patch file should be, in words; empty where nothing does."""
    if (folder / name).is_dir():
        return f"{name} is a folder"
    return f"{name} is a link to a file that is not there" if (folder / name).is_symlink() else ""


def stamp_of(st: os.stat_result) -> tuple[int, ...]:
    """What changes when a file does."""
    return st.st_mtime_ns, st.st_size, st.st_ctime_ns, st.st_ino


def edited(entry: Entry) -> bool:
    """Whether the file is another one since its bytes were read, or is gone."""
    try:
        st = entry.path.stat()
    except OSError:
        return True
    return stamp_of(st)[: len(entry.stamp)] != entry.stamp


def with_inserted(text: str, name: str, after: str | None) -> str:
    """A series file's text with ``name`` put behind ``after`` (at the end for None). Every other
    byte of it stays."""
    lines = kept_lines(text)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    at = len(lines)
    if after is not None:
        at = 1 + next(i for i, line in enumerate(read_lines(text)) if line.name == after)
    return "".join([*lines[:at], f"{quoted_name(name)}\n", *lines[at:]])


def with_renamed(text: str, names: dict[str, str]) -> str:
    """A series file's text with patches renamed; options and comments of their lines stay."""
    lines = kept_lines(text)
    for i, line in enumerate(read_lines(text)):
        if line.name in names:
            lines[i] = lines[i].replace(line.name, names[line.name], 1)
    return "".join(lines)


def without(text: str, name: str, instead: str = "") -> str:
    """A series file's text without the line of ``name``, or with another line ``instead``."""
    lines = kept_lines(text)
    put = f"{instead}\n" if instead else ""
    return "".join(raw if line.name != name else put for raw, line in zip(lines, read_lines(text), strict=True))


def quoted_name(name: str) -> str:
    """A name as a series file takes it. Errors: UsageError ``bad-name`` for white space or ``#``."""
    import shlex

    if shlex.split(name.replace("'", "").replace('"', ""), comments=True) != [name]:
        raise UsageError("bad-name", f"a patch cannot be called {name!r}", "use letters, digits, '-', '_' and '.'")
    return name
