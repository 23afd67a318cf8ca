"""Disabled patches: comments of the series file that name a patch file, by ``disable``, by ``bump --skip`` or by
hand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from opencoti_patches.core.model import Entry, Series, decode, printable
from opencoti_patches.doors import fs
from opencoti_patches.series.order import SERIES_FILE, Line, entry_of, kept_lines, read_file, read_lines, read_patch

_MARK = "# disabled: "
_OUT = re.compile(r"#\s*(?:disabled:\s*)?(\S+(?:\s+-(?:p\d{1,3}|pab|R))*)(?:\s(.*))?$")


class Out(NamedTuple):
    """A comment that names a patch left out: its line as it would stand in the series, how many patches stand before
    it, and why it is left out, where the line says so."""

    number: int  # of the line, from 0
    line: Line
    before: int
    why: str = ""


def left_out(series: Series) -> dict[str, Out]:
    """The disabled patches, those whose files are there, by name, in the order of their lines."""
    if not series.listed:
        return {}
    with fs.disk_errors("read the series"):
        text = decode(read_file(series.dir / SERIES_FILE, SERIES_FILE)[0])
    listed = {e.name for e in series.entries}
    return {n: o for n, o in _by_name(text).items() if n not in listed and _inside(series, n)}


def entry(series: Series, out: Out, usual: int) -> Entry:
    """A disabled patch as the series would have it; ``usual`` is the project's strip level."""
    name, strip = out.line.name, usual if out.line.strip is None else out.line.strip
    with fs.disk_errors(f"read {printable(name)}"):
        raw, _ = read_patch(series.dir, name)
    return entry_of(series.dir, name, raw, strip=strip, reverse=out.line.reverse)


def disabled(text: str, name: str) -> str:
    """A series file's text with the line of a patch as a comment that ``enabled`` reads back."""
    rows = zip(kept_lines(text), read_lines(text), strict=True)
    return "".join(f"{_MARK}{raw}" if line.name == name else raw for raw, line in rows)


def enabled(text: str, out: Out) -> str:
    """The comment as a line of the series again, options and comment kept."""
    lines = kept_lines(text)
    raw = lines[out.number]
    lines[out.number] = raw[len(_MARK) :] if raw.startswith(_MARK) else f"{out.line.text}\n"
    return "".join(lines)


def forgotten(text: str, names: Collection[str]) -> str:
    """A series file's text without the comments that keep these disabled patches."""
    gone = {o.number for name, o in _by_name(text).items() if name in names}
    return "".join(raw for i, raw in enumerate(kept_lines(text)) if i not in gone)


def renamed(text: str, old: str, new: str) -> str:
    """The text with a disabled patch under another name; options and words of its comment stay."""
    lines = kept_lines(text)
    at = _by_name(text)[old].number
    lines[at] = lines[at].replace(old, new, 1)
    return "".join(lines)


def _by_name(text: str) -> dict[str, Out]:
    return {o.line.name: o for o in _comments(text)}


def _inside(series: Series, name: str) -> bool:
    """Whether a file of the patches folder is called so."""
    return not name.startswith("/") and ".." not in name.split("/") and (series.dir / name).is_file()


def _comments(text: str) -> Iterator[Out]:
    """The comments that may be lines of patches."""
    before = 0
    for i, (raw, line) in enumerate(zip(kept_lines(text), read_lines(text), strict=True)):
        before += bool(line.name)
        m = _OUT.match(raw.strip()) if not line.name else None
        if m and re.search(r"\.(?:patch|diff)\b", m[1]):
            (read,) = read_lines(m[1])
            yield Out(i, read, before, (m[2] or "").strip(" #:"))
