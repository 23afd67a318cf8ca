"""The answer of ``forecast``."""

from __future__ import annotations

from typing import Any

from opencoti_patches.carry.forecast import Forecast, Outlook, Turn
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.doors.git.commits import Mark
from opencoti_patches.report.wrapping import WIDTH, steps, wrapped


def report(found: Forecast, value: str, bump: str, *, verbose: bool = False) -> Report:
    """``value`` is the revision as it was asked for, ``bump`` the command line that goes there."""
    text: list[str] = []
    for p in found.patches:
        text += _block(p, verbose)
    text += _line("pinned", found.pinned)
    text += _line(f"{value}", found.last)
    for label, mark in (("all clean up to", found.all_clean), ("all apply up to", found.all_apply)):
        text += _line(label, mark) if mark else [f"{label}: none of them"]
    for said in found.notes:
        text += wrapped(f"note: {said}")
    stay = sum(p.not_clean is None for p in found.patches)
    broken = sum(p.not_applying is not None for p in found.patches)
    moved = len(found.patches) - stay - broken
    ends = sum(p.at_last not in ("clean", "offset") for p in found.patches)
    kinds = [(stay, "stay clean"), (moved, "move"), (broken, "break")]
    counts = [_counted(n, *words.split(" ", 1)) for n, words in kinds if n] or ["none to judge"]
    text += wrapped(
        f"{plural(len(found.patches), 'patch')} over {plural(found.commits, 'commit')}, {found.looked_at} of which "
        f"touch the series: {', '.join(counts)}. "
        + (f"At {value}, {_counted(ends, 'do', 'not apply')}." if ends else f"At {value} the series applies.")
    )
    if ends:
        text += steps([f"{bump} --dry-run  # which of them it carries"], 0)
    return Report(command="forecast", ok=found.ok, data=_data(found, value), text=tuple(text))


def _counted(number: int, verb: str, rest: str = "") -> str:
    """``1 breaks``, ``3 do not apply``."""
    one = {"do": "does"}.get(verb, f"{verb}s")
    return " ".join(filter(None, (str(number), one if number == 1 else verb, rest)))


def _block(p: Outlook, verbose: bool) -> list[str]:
    name = printable(p.name)
    if p.not_clean is None:
        return [f"{name}: stays clean"] if verbose else []
    turns = [p.not_clean]
    if p.not_applying is not None and p.not_applying.at != p.not_clean.at:
        turns.append(p.not_applying)
    rows = [f"{name}: {p.at_last} at the end"]
    for t in turns:
        rows += [f"    {t.status} from {_mark(t.at)}"[:WIDTH], *wrapped(t.why, 8)]
    return [*wrapped(rows[0]), *rows[1:]]


def _mark(m: Mark) -> str:
    return f"{m.number}: {m.oid[:12]} {m.date} {m.subject}"


def _line(label: str, mark: Mark) -> list[str]:
    return [f"{label}: {_mark(mark)}"[:WIDTH]]


def _data(found: Forecast, value: str) -> dict[str, Any]:
    return {
        "rev": printable(value),
        "pinned": _row(found.pinned),
        "last": _row(found.last),
        "commits": found.commits,
        "looked_at": found.looked_at,
        "all_clean": _row(found.all_clean) if found.all_clean else None,
        "all_apply": _row(found.all_apply) if found.all_apply else None,
        "patches": [
            {
                "name": printable(p.name),
                "not_clean": _turn(p.not_clean),
                "not_applying": _turn(p.not_applying),
                "at_last": p.at_last,
            }
            for p in found.patches
        ],
        "notes": list(found.notes),
    }


def _row(m: Mark) -> dict[str, Any]:
    """A commit as the document has it."""
    return {"commit": m.oid, "number": m.number, "date": m.date, "subject": m.subject}


def _turn(t: Turn | None) -> dict[str, Any] | None:
    return None if t is None else {**_row(t.at), "status": t.status, "why": t.why}
