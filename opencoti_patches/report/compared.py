"""The answer of ``compare``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import cut, wrapped
from opencoti_patches.stack.compare import Fate, Pair, Spot

_SAYS: dict[Fate, str] = {
    "same": "same",
    "moved": "moved",
    "header": "only the text above the diff changed",
    "context": "only line numbers or context changed",
    "changed": "content changed",
    "new": "new",
    "gone": "gone",
}
_COUNTED: dict[Fate, str] = {**{k: k for k in _SAYS}, "header": "header only", "context": "context only"}


def report(a: tuple[str, int], b: tuple[str, int], pairs: Sequence[Pair], *, verbose: bool = False) -> Report:
    """``a`` and ``b`` are what people call the two series, and how many patches they have."""
    text: list[str] = []
    for p in pairs:
        if p.fate != "same" or verbose:
            text += _block(p, verbose)
    counts = Counter(p.fate for p in pairs)
    said = ", ".join(f"{counts[f]} {_COUNTED[f]}" for f in _SAYS if counts[f]) or "no patches"
    names = [f"{printable(name)} ({plural(count, 'patch')})" for name, count in (a, b)]
    text += wrapped(f"{names[0]} and {names[1]}: {said}.", 0, 2)
    ok = counts["same"] == len(pairs)
    data = {
        "a": {"name": printable(a[0]), "patches": a[1]},
        "b": {"name": printable(b[0]), "patches": b[1]},
        "patches": [_row(p, verbose) for p in pairs],
    }
    return Report(command="compare", ok=ok, data=data, text=tuple(text))


def _block(p: Pair, verbose: bool) -> list[str]:
    names = [printable(s.entry.name) for s in (p.a, p.b) if s]
    words = [_SAYS[p.fate]]
    if names[0] != names[-1]:
        words.append(f"was {names[0]}")
    if p.a and p.b and p.moved:
        words.append(f"from place {p.a.place} to {p.b.place}")
    rows = wrapped(f"{names[-1]}: {'; '.join(words)}", 0)
    return [*rows, *cut([f"    {row}" for row in p.interdiff])] if verbose else rows


def _row(p: Pair, verbose: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"status": p.fate, "a": _spot(p.a), "b": _spot(p.b), "moved": p.moved}
    shown = p.fate == "changed" or (verbose and p.fate in ("context", "header"))
    return row | ({"interdiff": list(p.interdiff)} if shown else {})


def _spot(s: Spot | None) -> dict[str, Any] | None:
    return None if s is None else {"name": printable(s.entry.name), "place": s.place}
