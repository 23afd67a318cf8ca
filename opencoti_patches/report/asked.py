"""The answers of ``deps``, ``annotate`` and ``find``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencoti_patches.core.model import PatchName, Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import cut, wrapped
from opencoti_patches.series.naming import short
from opencoti_patches.stack.asking import Hit, Owned
from opencoti_patches.stack.deps import Needs, On, standing_on

_SHOWN = 8  # runs of lines of a file


def deps(found: Sequence[Needs], one: PatchName | None) -> Report:
    """The whole series, or ``one`` patch: what it stands on, and what stands on it."""
    shown = [n for n in found if one is None or n.name == one]
    text: list[str] = []
    for n in shown:
        text += wrapped(f"{printable(n.name)} stands on{':' if n.on else ' no other patch'}")
        text += [row for other, rows in n.on.items() for row in _on(other, rows)]
    above = standing_on(found, one) if one else []
    if one:
        text += wrapped(f"on it: {', '.join(map(printable, above))}" if above else "no patch stands on it", 0)
    else:
        free = sum(not n.on for n in found)
        many = plural(sum(len(n.on) for n in found), "dependency")
        text += wrapped(f"{plural(len(found), 'patch')}, {many}, {free} on the base alone")
    data = {
        "patches": [
            {"name": printable(n.name), "on": _rows(n.on), "above": list(map(printable, standing_on(found, n.name)))}
            for n in shown
        ]
    }
    return Report(command="deps", ok=True, data=data, text=tuple(text))


def _on(other: PatchName, rows: Sequence[On]) -> list[str]:
    parts = []
    for on in rows:
        runs = _runs(on.lines)
        more = ", …" if len(runs) > _SHOWN else ""
        where = f":{', '.join(runs[:_SHOWN])}{more}" if on.lines else f" ({on.why})"
        parts.append(f"{printable(on.file)}{where}")
    return wrapped(f"{printable(other)}: {'; '.join(parts)}", 4)


def _runs(lines: Sequence[int]) -> list[str]:
    """Lines as people write them: ``3``, ``7-9``."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return [f"{a}-{b}" if b > a else str(a) for a, b in runs]


def _rows(on: Mapping[PatchName, Sequence[On]]) -> list[dict[str, Any]]:
    return [
        {
            "name": printable(other),
            "files": [{"file": printable(o.file), "lines": list(o.lines), "why": o.why} for o in rows],
        }
        for other, rows in on.items()
    ]


def annotate(path: str, lines: Sequence[Owned], after: PatchName | None) -> Report:
    """A file line by line: the patch's number, the line's, the line."""
    names = [short(x.patch) if x.patch else "" for x in lines]
    wide, digits = max(map(len, names), default=0), len(str(len(lines)))
    shown = [printable(x.text.rstrip(b"\r\n").decode("utf-8", "surrogateescape")) for x in lines]
    text = [f"{n:<{wide}}  {i:>{digits}}  {s}".rstrip() for i, (n, s) in enumerate(zip(names, shown, strict=True), 1)]
    data = {
        "file": printable(path),
        "after": printable(after) if after else None,
        "lines": [
            {"line": i, "patch": printable(x.patch) if x.patch else None, "text": s}
            for i, (x, s) in enumerate(zip(lines, shown, strict=True), 1)
        ],
    }
    return Report(command="annotate", ok=True, data=data, text=tuple(text))


def find(wanted: str, hits: Sequence[Hit], *, quiet: bool = False) -> Report:
    """The lines found, by patch and file; a no if there are none."""
    text: list[str] = []
    at: tuple[str, str] = ("", "")
    for h in hits:
        if not quiet and (h.patch, h.file) != at:
            text += wrapped(f"{printable(h.patch)}: {printable(h.file)}")
            at = (h.patch, h.file)
        if not quiet:
            text += cut([f"  {h.line:>6} {h.sign}{printable(h.text.decode('utf-8', 'surrogateescape'))}"])
    if quiet:
        text = list(dict.fromkeys(printable(h.patch) for h in hits))
    if not hits and not quiet:
        text = wrapped(f"no patch adds or removes {printable(wanted)!r}", 0)
    data = {
        "text": printable(wanted),
        "hits": [
            {
                "patch": printable(h.patch),
                "file": printable(h.file),
                "does": "adds" if h.sign == "+" else "removes",
                "line": h.line,
                "patch_line": h.patch_line,
                "text": printable(h.text.decode("utf-8", "surrogateescape")),
            }
            for h in hits
        ],
    }
    return Report(command="find", ok=bool(hits), data=data, text=tuple(text))
