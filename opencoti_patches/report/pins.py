"""The answers of ``pin``."""

from __future__ import annotations

from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.release.index import Index
from opencoti_patches.release.pin import Pin

Either = Pin | Index


def shown(name: str, what: Either) -> Report:
    """Every row of a file."""
    rows = _rows(what)
    wide = max(len(key) for key, _ in rows)
    text = [f"{key:<{wide}}  {value}" for key, value in rows]
    data = {"file": printable(name), "kind": _kind(what), "rows": [{"key": k, "value": v} for k, v in rows]}
    return Report(command="pin", ok=True, data=data, text=tuple(text))


def compared(old: tuple[str, Either], new: tuple[str, Either]) -> Report:
    """The rows that one has and the other has not; a row is its key and its value."""
    a, b = _rows(old[1]), _rows(new[1])
    gone = [row for row in a if row not in set(b)]
    come = [row for row in b if row not in set(a)]
    text = [f"{sign} {key} {value}" for sign, rows in (("-", gone), ("+", come)) for key, value in rows]
    names = f"{printable(old[0])} and {printable(new[0])}"
    count = len(gone) + len(come)
    text.append(f"{names} say the same." if not count else f"{names}: {plural(count, 'line')} differ.")
    data = {
        "files": [printable(old[0]), printable(new[0])],
        "kind": _kind(new[1]),
        "removed": [{"key": k, "value": v} for k, v in gone],
        "added": [{"key": k, "value": v} for k, v in come],
    }
    return Report(command="pin", ok=not count, data=data, text=tuple(text))


def _rows(what: Either) -> list[tuple[str, str]]:
    return [(key, printable(" ".join(map(str, words)))) for key, words in what.pairs()]


def _kind(what: Either) -> str:
    return "pin" if isinstance(what, Pin) else "index"
