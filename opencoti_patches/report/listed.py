"""The answer of ``list``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencoti_patches.core.model import Entry, Report, Series, printable
from opencoti_patches.core.words import plural
from opencoti_patches.series.counts import FileCount
from opencoti_patches.series.disabled import Out


def report(
    series: Series,
    rows: Sequence[tuple[Entry, Sequence[FileCount]]],
    disabled: Sequence[tuple[Out, Entry, Sequence[FileCount]]] = (),
    *,
    strip: int,
    quiet: bool = False,
    verbose: bool = False,
) -> Report:
    """The series with its counts; ``disabled`` are the patches left out. ``strip`` is the project's own strip level, which
    goes without saying; ``verbose`` names the files of each patch."""
    data = [_row(entry, files) for entry, files in rows]
    out = [
        _row(e, files) | {"after": data[o.before - 1]["name"] if o.before else None, "why": printable(o.why)}
        for o, e, files in disabled
    ]
    if quiet:
        text = [row["name"] for row in data]
    else:
        lines = list(data)
        for (o, _, _), row in zip(reversed(disabled), reversed(out), strict=True):
            lines.insert(o.before, row)
        left = f"; {len(out)} disabled, not counted" if out else ""
        text = [*_table(lines, strip, verbose), _summary(data) + left]
        if not series.listed:
            text.append("note: no series file; patches are taken in order of number, then name")
    return Report(
        command="list", ok=True, data={"listed": series.listed, "patches": data, "disabled": out}, text=tuple(text)
    )


def options_of(entry_strip: int, reverse: bool, strip: int) -> str:
    """What a series line has behind the name: ``-p0 -R``, or nothing."""
    return " ".join([*([f"-p{entry_strip}"] if entry_strip != strip else []), *(["-R"] if reverse else [])])


def _row(entry: Entry, files: Sequence[FileCount]) -> dict[str, Any]:
    return {
        "name": printable(entry.name),
        "strip": entry.strip,
        "reverse": entry.reverse,
        "sha256": entry.sha256,
        "files": [printable(f.file.path) for f in files],
        "added": sum(f.added for f in files),
        "removed": sum(f.removed for f in files),
        "binary": sum(bool(f.file.binary) for f in files),
    }


def _table(data: Sequence[dict[str, Any]], strip: int, verbose: bool) -> list[str]:
    """Numbers first, since names have any length."""
    cells = [(plural(len(d["files"]), "file"), f"+{d['added']}", f"-{d['removed']}") for d in data]
    wide = [max((len(c[i]) for c in cells), default=0) for i in range(3)]
    lines = []
    for d, (files, added, removed) in zip(data, cells, strict=True):
        options = options_of(d["strip"], d["reverse"], strip)
        binary = f"({d['binary']} binary)" if d["binary"] else ""
        name = " ".join(filter(None, (d["name"], options, binary, "(disabled)" if "after" in d else "")))
        lines.append(f"{files:>{wide[0]}}  {added:>{wide[1]}} {removed:>{wide[2]}}  {name}")
        lines += [f"    {path}" for path in d["files"] if verbose]
    return lines


def _summary(data: Sequence[dict[str, Any]]) -> str:
    if not data:
        return "the series is empty"
    files = plural(len({path for d in data for path in d["files"]}), "file")
    total = f"+{sum(d['added'] for d in data)} -{sum(d['removed'] for d in data)}"
    return f"{plural(len(data), 'patch')}, {files} touched, {total} lines"
