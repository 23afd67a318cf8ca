"""What is wrong with the patch files themselves, whatever they are applied to.

``read`` takes a patches folder as it is, broken or not; ``lint`` judges what was read and touches nothing.
The rules and their levels are in docs/configuration.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import normpath
from typing import NamedTuple

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Entry, FilePatch, Finding, Hunk, Level, Series, decode, printable
from opencoti_patches.core.shell import word
from opencoti_patches.doors import fs
from opencoti_patches.series import naming, order, says
from opencoti_patches.series.beside import words_of
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.series.unmerged import marker_lines

_MODES = ("100644", "100755", "120000")
_OWN = r"/^([^ +-]|--- |\+\+\+ )/"  # for sed, the lines that are the diff's own, not those of files


class Reading(NamedTuple):
    """A patches folder, read leniently. ``series`` has the entries whose files could be read, ``lines``
    the series file's line of each, by its plain name; ``troubles`` are what reading met; ``files`` the patch
    files in the folder, ``named`` the plain names that lines have, good or bad, ``off`` words of comments."""

    series: Series
    lines: Mapping[str, int]
    troubles: tuple[Finding, ...]
    files: tuple[str, ...]
    named: frozenset[str]
    off: frozenset[str]


def read(folder: Path, strip: int, where: Path) -> Reading:
    """Read a patches folder; ``where`` is what it is called in findings.

    Errors: UsageError ``no-series`` if it is not there, and others of ``order.load``.
    """
    order.checked_strip(strip, "the strip level of the series")
    file = folder / order.SERIES_FILE
    if not order.has_series(folder):
        series = order.load(folder, strip)
        names = tuple(e.name for e in series.entries)
        told = _finding(where / order.SERIES_FILE, 1, "no-series", order.NO_SERIES, level="note")
        return Reading(series=series, lines={}, troubles=(told,), files=names, named=frozenset(names), off=frozenset())
    with fs.disk_errors(f"read {file}"):
        text = decode(order.read_file(file, order.SERIES_FILE)[0])
        files = tuple(p for p, _ in fs.walk(folder) if p.endswith(order.SUFFIXES) and not re.search(r"(^|/)\.", p))
    entries: list[Entry] = []
    lines: dict[str, int] = {}
    troubles: list[Finding] = []
    named: set[str] = set()
    off: set[str] = set()
    for number, raw in enumerate(order.kept_lines(text), 1):
        found = _series_line(folder, raw, strip, lines)
        if isinstance(found, Entry):
            entries.append(found)
            lines[normpath(found.name)] = number
        elif found is not None:
            rule, message, hint = found
            troubles.append(_finding(where / order.SERIES_FILE, number, rule, message, hint=hint))
        named.update(map(normpath, raw.split()[:1]))
        off |= words_of(raw.partition("#")[2])
    series = Series(dir=folder, entries=tuple(entries), listed=True)
    return Reading(
        series=series,
        lines=lines,
        troubles=tuple(troubles),
        files=files,
        named=frozenset(named),
        off=frozenset(off),
    )


def lint(reading: Reading, where: Path) -> tuple[Finding, ...]:
    """Every finding, sorted by file and line."""
    found = [*reading.troubles, *_folder(reading, where), *_numbers(reading, where)]
    for entry in reading.series.entries:
        parsed = parse(entry.raw, entry.strip, entry.reverse)
        path = where / printable(entry.name)
        found += [f._replace(path=str(path)) for f in _patch(entry, parsed, reading.series, where)]
    return tuple(sorted(found, key=lambda f: (f.path, f.line, f.rule, f.message)))


def _finding(
    path: Path | str, line: int, rule: str, message: str, *, level: Level = "error", hint: str = ""
) -> Finding:
    return Finding(level=level, rule=rule, message=printable(message), path=printable(str(path)), line=line, hint=hint)


# -- the series and its folder ------------------------------------------------------------------


def _series_line(folder: Path, raw: str, strip: int, seen: Mapping[str, int]) -> Entry | tuple[str, str, str] | None:
    """The entry of one line of a series file, or (rule, message, hint), or None for a comment."""
    if order.MARKER.match(raw):
        return "conflict-marker", "a merge left a conflict marker", "settle the merge, then lint again"
    try:
        line = order.read_lines(raw)[0] if raw else order.Line(raw)
    except UsageError as e:
        return "bad-series", e.message.partition(": ")[2], e.hint
    if not line.name:
        return None
    if at := seen.get(normpath(line.name)):
        return "twice", f"{line.name} stands in line {at} already", "take one of them out"
    if line.name.startswith("/") or ".." in line.name.split("/"):
        return "unsafe-name", f"{line.name} is not inside the patches folder", "patches live in the patches folder"
    try:
        content, _ = order.read_patch(folder, line.name)
    except UsageError as e:
        return "missing-file", e.message, e.hint
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        message = order.in_its_place(folder, line.name) or f"there is no file {line.name}"
        return "missing-file", message, "restore the file, or take the line out"
    except OSError as e:
        return "missing-file", f"cannot read {line.name}: {e.strerror}", "check its permissions"
    level = strip if line.strip is None else line.strip
    return order.entry_of(folder, line.name, content, strip=level, reverse=line.reverse)


def _folder(reading: Reading, where: Path) -> Iterator[Finding]:
    """Files that the series does not have, and names it cannot hold."""
    listed = reading.series.listed
    for name in reading.files:
        holdable = name.split() == [name] and not name.startswith("#")
        if not holdable:
            yield _finding(
                where / name,
                1,
                "bad-name",
                "a series file cannot hold a name with white space or a '#' before it",
                level="error" if listed else "warning",
                hint="rename the file",
            )
        elif listed and name not in reading.named and name not in reading.off:
            yield _finding(
                where / name,
                1,
                "not-listed",
                "the series does not have this patch",
                hint=f"add it to {order.SERIES_FILE}, there as '#{name}' to leave it out, or delete it",
            )


def _numbers(reading: Reading, where: Path) -> Iterator[Finding]:
    """Numbers are unique and ascend, within each folder."""
    seen: dict[tuple[str, int], str] = {}
    highest: dict[str, tuple[int, str]] = {}
    for entry in reading.series.entries:
        number, place = naming.number_of(entry.name), normpath(entry.name).rpartition("/")[0]
        if number is None:
            continue
        line = reading.lines.get(normpath(entry.name), 0)
        at: tuple[Path, int] = (where / order.SERIES_FILE, line) if line else (where / entry.name, 1)
        other = seen.setdefault((place, number), entry.name)
        top = highest.get(place, (-1, ""))
        if other != entry.name:
            yield _finding(
                *at, "number-twice", f"{entry.name} has the number of {other}", hint="give it its own number"
            )
        elif number < top[0]:
            yield _finding(
                *at,
                "number-order",
                f"{entry.name} stands behind {top[1]}",
                hint="move its line, or: opencoti-patches renumber",
            )
        highest[place] = max(top, (number, entry.name))


# -- one patch ----------------------------------------------------------------------------------


def _patch(entry: Entry, parsed: Parsed, series: Series, where: Path) -> Iterator[Finding]:
    """All about one patch file; the path is filled in by the caller."""
    yield from _whole(entry, parsed, where)
    if not any(map(_does_something, parsed.files)):
        yield _finding("", 1, "empty", "it changes nothing", hint="take it out of the series")
    else:
        yield from _header(parsed.header, entry, series)
    for file in parsed.files:
        yield from _paths(file, entry)
        yield from _content(file, entry)


def _whole(entry: Entry, parsed: Parsed, where: Path) -> Iterator[Finding]:
    raw = entry.raw
    repair = _repairs(entry, parsed, where)
    for defect in parsed.defects:
        yield _finding("", defect.at_line, defect.cause, defect.message, hint=repair.get(defect.cause, ""))
    if raw and not raw.endswith(b"\n") and not any(d.cause == "missing-newline" for d in parsed.defects):
        message = "the last line lacks its newline; git takes it, other tools may not"
        yield _finding(
            "", raw.count(b"\n") + 1, "missing-newline", message, level="warning", hint=repair["missing-newline"]
        )
    crlf = next((line for line in _structure_lines(raw, parsed) if line[1].endswith(b"\r\n")), None)
    if crlf:
        yield _finding("", crlf[0], "crlf", "its own lines end in CRLF, which no diff tool writes", hint=repair["crlf"])
    outer = [n for n, line in enumerate(raw.split(b"\n"), 1) if line.startswith((b"<<<<<<< ", b">>>>>>> "))]
    for n in sorted({*marker_lines(raw), *(outer if len(outer) > 1 else ())}):
        yield _finding("", n, "conflict-marker", "a merge left a conflict marker in the patch file", hint="settle it")


def _repairs(entry: Entry, parsed: Parsed, where: Path) -> dict[str, str]:
    """What to do about a damaged file, by rule: where a tool does it, a command to paste."""
    file = str(where / entry.name)
    add, take_off = "add a newline at its end", "take the CR off the ends of its lines"
    if file.isprintable():  # else no one could type it
        file = word(file)
        # binary data wants an empty line behind its last one
        binary = parsed.files and parsed.files[-1].binary and any(d.cause == "missing-newline" for d in parsed.defects)
        cut = binary and not entry.raw.endswith(b"\n")
        add = f"printf '\\n\\n' >>{file}" if cut else f"echo >>{file}"
        every, own = (f"sed -i -E '{which}s/\\r$//' {file}" for which in ("", _OWN))
        take_off, lines = own, _of_files(parsed, entry.raw)
        if all(line.endswith(b"\r") for line in lines):
            # which were so from the first is for upstream's file to say
            take_off = f"{every}\nor, where upstream's own file has CRLF:\n{own}" if lines else every
    return {
        "missing-newline": add,
        "crlf": take_off,
        "eol": take_off,
        "corrupt": "make the patch again; its @@ lines were edited by hand, or lines are lost",
    }


def _of_files(parsed: Parsed, raw: bytes) -> list[bytes]:
    """The lines of a patch that are lines of files, without their LF."""
    return [line for f in parsed.files for h in f.hunks for line in raw[h.span[0] : h.span[1]].split(b"\n")[1:-1]]


def _structure_lines(raw: bytes, parsed: Parsed) -> Iterator[tuple[int, bytes]]:
    """The first line of every file's part and its @@ lines: text that is the diff's, not the file's."""
    for f in parsed.files:
        for start, number in [(f.span[0], f.at_line), *((h.span[0], h.at_line) for h in f.hunks)]:
            end = raw.find(b"\n", start)
            yield number, raw[start : end + 1 if end >= 0 else None]


def _does_something(f: FilePatch) -> bool:
    return bool(f.hunks or f.binary or f.operation != "modify" or f.old_mode != f.new_mode)


def _header(header: bytes, entry: Entry, series: Series) -> Iterator[Finding]:
    what, why = says.what_and_why(header)
    if not what:
        yield _finding("", 1, "no-subject", "no line says what it does", hint="begin the file with one")
    elif not why:
        yield _finding("", 1, "no-why", "no text says why", hint="add a paragraph below the first line")
    names = [e.name for e in series.entries]
    before = names[: names.index(entry.name)]
    for line, claimed in says.claims(header):
        wrong = says.refute(claimed, before, names)
        if wrong:
            yield _finding("", line, "order-claim", wrong, hint="correct the header, or the order of the series")


def _paths(f: FilePatch, entry: Entry) -> Iterator[Finding]:
    wanted = {"create": (f.new,), "delete": (f.old,)}.get(f.operation, (f.old, f.new))
    if not all(wanted):
        message = f"no file name is left with -p{entry.strip}"
        yield _finding("", f.at_line, "wrong-strip", message, hint="give the strip level in the series: NAME -pN")
    absolute = {p for p in f.raw_paths if p.startswith("/") and p != "/dev/null"}
    names = sorted({p for p in (f.old, f.new) if p})
    for path in [*sorted(absolute), *(n for n in names if _leaves(n))]:
        yield _finding(
            "", f.at_line, "unsafe-path", f"{path} is not a plain path inside the tree", hint="do not apply it"
        )
    for mode in sorted({m for m in (f.old_mode, f.new_mode) if m and m not in _MODES}):
        message = f"mode {mode} of {f.path}: a tree here holds {', '.join(_MODES)}"
        yield _finding("", f.at_line, "bad-mode", message)
    if f.binary == "names-only":
        yield _finding(
            "", f.at_line, "binary", f"the contents of {f.path} are missing", hint="make it with 'git diff --binary'"
        )


def _leaves(path: str) -> bool:
    # some file systems drop dots and spaces at the end, so that ".git." is ".git"
    return any(p in ("", ".", "..") or p.rstrip(" .").lower() in (".git", "git~1") for p in path.split("/"))


def _content(f: FilePatch, entry: Entry) -> Iterator[Finding]:
    """Added lines: trailing white space, conflict markers."""
    added = [row for h in f.hunks for row in _added(entry, h)]
    for number, line in added:
        if line != line.rstrip(b" \t"):
            yield _finding(
                "", number, "trailing-space", f"an added line of {f.path} ends in white space", hint="take it off"
            )
    begins, ends = ([n for n, line in added if re.match(mark, line)] for mark in (rb"<{7}( |$)", rb">{7}( |$)"))
    middles = [n for n, line in added if re.match(rb"={7}$|\|{7}( |$)", line)] if begins and ends else []
    for number in [*begins, *middles, *ends]:
        yield _finding(
            "", number, "conflict-marker", f"a conflict marker is added to {f.path}", hint="settle the merge"
        )


def _added(entry: Entry, hunk: Hunk) -> Iterator[tuple[int, bytes]]:
    """(line of the patch file, added line without its end)."""
    sign = b"-" if entry.reverse else b"+"
    rows = entry.raw[hunk.span[0] : hunk.span[1]].split(b"\n")
    for number, row in enumerate(rows[1:], hunk.at_line + 1):
        if row.startswith(sign):
            yield number, row[1:].removesuffix(b"\r")
