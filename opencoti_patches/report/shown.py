"""The answer of ``show``."""

from __future__ import annotations

from typing import Any

from opencoti_patches.core.model import Entry, Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.listed import options_of
from opencoti_patches.report.wrapping import wrapped
from opencoti_patches.series.counts import FileCount, counts
from opencoti_patches.series.parse import parse


def report(entry: Entry, *, path: str, strip: int, disabled: str | None = None, quiet: bool = False) -> Report:
    """The patch's header, files and diff. ``path`` is its file as people type it, ``disabled`` why it is left out (None
    if it is not)."""
    parsed = parse(entry.raw, entry.strip, entry.reverse)
    files = counts(entry, parsed)
    header, diff = parsed.header, entry.raw[len(parsed.header) :]
    rows = [_row(f) for f in files]
    data = {
        "name": printable(entry.name),
        "path": printable(path),
        "strip": entry.strip,
        "reverse": entry.reverse,
        "sha256": entry.sha256,
        "header": _text(header),
        "files": rows,
        "added": sum(f.added for f in files),
        "removed": sum(f.removed for f in files),
        "diff": _text(diff),
        "disabled": None if disabled is None else printable(disabled),
    }
    text = _lines(header)
    if not quiet:
        options = options_of(entry.strip, entry.reverse, strip)
        out = "" if disabled is None else f"(disabled: {printable(disabled)})" if disabled else "(disabled)"
        text = [
            *wrapped(" ".join(filter(None, (printable(entry.name), options, out)))),
            "",
            *text,
            *([""] if text else []),
        ]
        text += [*_table(rows, entry.reverse), ""]
    return Report(command="show", ok=True, data={"patch": data}, text=(*text, *_lines(diff)))


def _row(count: FileCount) -> dict[str, Any]:
    f = count.file
    row: dict[str, Any] = {
        "path": printable(f.path),
        "operation": f.operation,
        "added": count.added,
        "removed": count.removed,
        "hunks": len(f.hunks),
        "binary": bool(f.binary),
    }
    if f.operation in ("rename", "copy"):
        row["from"] = printable(f.old or "")
    if f.operation == "create" and f.new_mode not in (None, "100644"):
        row["mode"] = f.new_mode
    elif f.operation != "delete" and f.old_mode and f.new_mode and f.old_mode != f.new_mode:
        row["old_mode"], row["mode"] = f.old_mode, f.new_mode
    return row


def _table(rows: list[dict[str, Any]], reverse: bool) -> list[str]:
    if not rows:
        return ["it changes no file"]
    cells = [(r["operation"], f"+{r['added']}", f"-{r['removed']}") for r in rows]
    wide = [max(len(c[i]) for c in cells) for i in range(3)]
    lines = ["applied in reverse, it does:"] if reverse else []
    for r, (operation, added, removed) in zip(rows, cells, strict=True):
        name = f"{r['from']} => {r['path']}" if "from" in r else r["path"]
        mode = f"mode {r['old_mode']} => {r['mode']}" if "old_mode" in r else f"mode {r['mode']}" if "mode" in r else ""
        what = "binary" if r["binary"] else plural(r["hunks"], "hunk") if r["hunks"] else ""
        more = ", ".join(filter(None, (what, mode)))
        lines.append(
            f"{operation:<{wide[0]}}  {added:>{wide[1]}} {removed:>{wide[2]}}  {name}{f' ({more})' if more else ''}"
        )
    return lines


def _text(raw: bytes) -> str:
    """For JSON, which escapes controls itself; bytes that are not UTF-8 become ``\\xNN``."""
    return raw.decode("utf-8", "backslashreplace")


def _lines(raw: bytes) -> list[str]:
    """Lines that any terminal takes."""
    lines = [printable(line.decode("utf-8", "surrogateescape")) for line in raw.split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines
