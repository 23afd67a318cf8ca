"""The order of patches: quilt's ``series`` file read whole, patches found by number or name."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Entry, PatchName, Series

SERIES_FILE = "series"
LOCK_FILE = "series.lock"
SUFFIXES = (".patch", ".diff")
_NUMBER = re.compile(r"(\d+)[-_.]")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a series file. ``name`` is empty for comments and blank lines."""

    text: str
    name: str = ""
    strip: int | None = None
    reverse: bool = False


def read_lines(text: str, where: str = SERIES_FILE) -> list[Line]:
    """quilt's series format: ``NAME [-pN|-pab] [-R] [# comment]``, ``#`` comments, blank lines."""
    lines = []
    for number, raw in enumerate((line.rstrip("\r\n") for line in kept_lines(text)), 1):
        body = re.sub(r"(^|\s)#.*", "", raw).strip()
        if not body:
            lines.append(Line(raw))
            continue
        name, *options = body.split()
        strip, reverse = None, False
        for option in options:
            if option == "-R":
                reverse = True
            elif m := re.fullmatch(r"-p(\d+)", option):
                strip = int(m[1])
            elif option == "-pab":  # names like a/x and b/x: one level
                strip = 1
            else:
                raise UsageError(
                    "bad-series",
                    f"{where} line {number}: unknown option '{option}' after {name}",
                    "a patch takes -pN (strip level) and -R (reversed)",
                )
        lines.append(Line(raw, name, strip, reverse))
    return lines


def kept_lines(text: str) -> list[str]:
    """Lines with their ends, parted at ``\\n`` alone: a name may hold what Python takes for a line end."""
    return StringIO(text).readlines()


def load(folder: Path, strip: int = 1) -> Series:
    """The series of a patches folder, every patch read once.

    Without a series file the order is by number, then by name (``listed`` is False). Errors:
    UsageError ``no-series``, ``bad-series``, ``missing-patch``, ``twice``, ``unsafe-path``.
    """
    if not folder.is_dir():
        raise UsageError(
            "no-series", f"there is no patches folder {folder}", "make it, or name it in opencoti.toml: [series] dir"
        )
    file = folder / SERIES_FILE
    listed = file.is_file()
    if listed:
        lines = [line for line in read_lines(_text(file)) if line.name]
    else:
        found = [p.name for p in folder.iterdir() if p.suffix in SUFFIXES and p.is_file()]
        lines = [Line(n, n) for n in sorted(found, key=numeric_order)]
    seen: set[str] = set()
    entries = []
    for line in lines:
        if line.name in seen:
            raise UsageError("twice", f"{SERIES_FILE} names {line.name} twice", "take one of them out")
        seen.add(line.name)
        entries.append(_entry(folder, line, strip))
    return Series(dir=folder, entries=tuple(entries), listed=listed)


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


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "surrogateescape")
    except OSError as e:
        raise UsageError("no-series", f"cannot read {file}: {e.strerror}", "") from None


def _entry(folder: Path, line: Line, strip: int) -> Entry:
    path = folder / line.name
    if line.name.startswith("/") or ".." in line.name.split("/"):
        raise UsageError(
            "unsafe-path",
            f"{SERIES_FILE} names {line.name}, which is not inside {folder}",
            "patches live in the patches folder",
        )
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            st = os.fstat(fd)
            raw = b"".join(iter(lambda: os.read(fd, max(st.st_size + 1, 4096)), b""))
        finally:
            os.close(fd)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UsageError(
            "missing-patch",
            f"{SERIES_FILE} names {line.name}, which is not in {folder}",
            "restore the file, or take the line out",
        ) from None
    except OSError as e:
        raise UsageError("missing-patch", f"cannot read {path}: {e.strerror}", "check its permissions") from None
    return Entry(
        name=PatchName(line.name),
        path=path,
        strip=strip if line.strip is None else line.strip,
        reverse=line.reverse,
        raw=raw,
        sha256=hashlib.sha256(raw).hexdigest(),
        stamp=(st.st_mtime_ns, st.st_size),
    )


def number_of(name: str) -> int | None:
    """The number a patch file's name begins with, or None."""
    m = _NUMBER.match(name.rsplit("/", 1)[-1])
    return int(m[1]) if m else None


def numeric_order(name: str) -> tuple[int, int, str]:
    """Sort key: numbered patches by number, then the rest by name."""
    number = number_of(name)
    return (1, 0, name) if number is None else (0, number, name)


def find(series: Series, wanted: str) -> PatchName:
    """The one patch that ``wanted`` means: its number (``0034``, ``34``), its file name, or a unique
    part of it. Errors: UsageError ``unknown-patch`` or ``ambiguous-patch``."""
    names = [e.name for e in series.entries]
    text = wanted.strip().removeprefix("./")
    tests: Sequence[Callable[[str], bool]] = (
        lambda n: n == text,
        lambda n: n.rsplit("/", 1)[-1] == text.rsplit("/", 1)[-1],
        lambda n: text.isdecimal() and number_of(n) == int(text),
        lambda n: n.rsplit(".", 1)[0] == text,
        lambda n: text.lower() in n.lower(),
    )
    for test in tests:
        hits = [n for n in names if test(n)]
        if len(hits) == 1:
            return hits[0]
        if hits:
            shown = ", ".join(hits[:4]) + (", …" if len(hits) > 4 else "")
            raise UsageError(
                "ambiguous-patch", f"'{wanted}' is part of {len(hits)} patches: {shown}", "give more of the name"
            )
    from difflib import get_close_matches

    close = get_close_matches(text, names, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}?" if close else "see 'opencoti-patches list'"
    raise UsageError("unknown-patch", f"no patch '{wanted}' in the series", hint)


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
