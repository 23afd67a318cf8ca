"""The series file's text as patches move in it: every byte of it stays but those lines."""

from __future__ import annotations

from collections.abc import Sequence

from opencoti_patches.core.model import Series, decode
from opencoti_patches.doors import fs
from opencoti_patches.series.naming import numeric_order
from opencoti_patches.series.order import SERIES_FILE, Line, kept_lines, quoted_name, read_file, read_lines


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


def _at(rows: Sequence[tuple[str, Line]], name: str) -> int:
    return next(i for i, (_, line) in enumerate(rows) if line.name == name)
