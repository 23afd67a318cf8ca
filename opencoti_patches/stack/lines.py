"""The series file's text as patches move in it: every byte of it stays but those lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opencoti_patches.core.model import Entry, Series, decode, printable
from opencoti_patches.doors import fs
from opencoti_patches.series.order import (
    SERIES_FILE,
    Line,
    entry_of,
    kept_lines,
    numeric_order,
    quoted_name,
    read_file,
    read_lines,
)

DISABLED = "# disabled: "
_OUT = re.compile(r"#\s*(?:disabled:\s*)?(\S+(?:\s+-(?:p\d{1,3}|pab|R))*)(?:\s.*)?$")


def text_of(series: Series) -> str:
    """The text of the series file; as it would be written where there is none."""
    if not series.listed:
        return "".join(f"{quoted_name(e.name)}\n" for e in series.entries)
    with fs.disk_errors("read the series"):
        text = decode(read_file(series.dir / SERIES_FILE, SERIES_FILE)[0])
    return text if not text or text.endswith("\n") else f"{text}\n"


def needed(names: Sequence[str], text: str) -> bool:
    """Whether a folder without a series file needs one now: the order is not that of the numbers, or a line says
    more than a name."""
    plain = all(line.text == line.name and "/" not in line.name for line in read_lines(text))
    return not plain or sorted(names, key=numeric_order) != list(names)


def moved(text: str, name: str, after: str | None) -> str:
    """The line of a patch behind another's, or before all patches' for None."""
    rows = list(zip(kept_lines(text), read_lines(text), strict=True))
    mine = next(raw for raw, line in rows if line.name == name)
    rest = [(raw, line) for raw, line in rows if line.name != name]
    at = 1 + _at(rest, after) if after else next((i for i, (_, line) in enumerate(rest) if line.name), len(rest))
    return "".join([*(raw for raw, _ in rest[:at]), mine, *(raw for raw, _ in rest[at:])])


def behind(text: str, name: str, line: str) -> str:
    """Another line behind that of a patch."""
    rows = list(zip(kept_lines(text), read_lines(text), strict=True))
    at = 1 + _at(rows, name)
    return "".join([*(raw for raw, _ in rows[:at]), f"{line}\n", *(raw for raw, _ in rows[at:])])


def disabled(text: str, name: str) -> str:
    """The line of a patch as a comment that ``enabled`` reads back."""
    rows = zip(kept_lines(text), read_lines(text), strict=True)
    return "".join(f"{DISABLED}{raw}" if line.name == name else raw for raw, line in rows)


def left_out(series: Series) -> dict[str, Out]:
    """The disabled patches: those that a comment of the series names and whose files are there, by name, in the order
    of their lines."""
    listed = {e.name for e in series.entries}
    return {
        o.line.name: o for o in _comments(text_of(series)) if o.line.name not in listed and _inside(series, o.line.name)
    }


def entry(series: Series, out: Out, usual: int) -> Entry:
    """A disabled patch as the series would have it; ``usual`` is the project's strip level."""
    name, strip = out.line.name, usual if out.line.strip is None else out.line.strip
    with fs.disk_errors(f"read {printable(name)}"):
        raw, _ = read_file(series.dir / name, name)
    return entry_of(series.dir, name, raw, strip=strip, reverse=out.line.reverse)


def _inside(series: Series, name: str) -> bool:
    """Whether a file of the patches folder is called so."""
    return not name.startswith("/") and ".." not in name.split("/") and (series.dir / name).is_file()


class Out(NamedTuple):
    """A comment that names a patch left out: its line as it would stand in the series, and how many patches stand
    before it."""

    number: int  # of the line, from 0
    line: Line
    before: int


def _comments(text: str) -> Iterator[Out]:
    """The comments that may be lines of patches."""
    before = 0
    for i, (raw, line) in enumerate(zip(kept_lines(text), read_lines(text), strict=True)):
        before += bool(line.name)
        m = _OUT.match(raw.strip()) if not line.name else None
        if m and re.search(r"\.(?:patch|diff)\b", m[1]):
            (read,) = read_lines(m[1])
            yield Out(i, read, before)


def enabled(text: str, out: Out) -> str:
    """The comment as a line of the series again, options and comment kept."""
    lines = kept_lines(text)
    raw = lines[out.number]
    lines[out.number] = raw[len(DISABLED) :] if raw.startswith(DISABLED) else f"{out.line.text}\n"
    return "".join(lines)


def _at(rows: Sequence[tuple[str, Line]], name: str) -> int:
    return next(i for i, (_, line) in enumerate(rows) if line.name == name)
