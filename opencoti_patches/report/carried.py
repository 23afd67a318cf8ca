"""The answer of ``regen``: a row a patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from typing import Any

from opencoti_patches.carry.model import Carried, Row
from opencoti_patches.core.model import Report, printable
from opencoti_patches.report.wrapping import WIDTH, wrapped

_SHOWN = 30  # lines of an interdiff
_PLAIN = ("three-way: between unchanged lines", "three-way: its lines are unchanged")  # nothing to see


def report(
    command: str,
    rows: Sequence[Row],
    *,
    written: Sequence[str],
    dry_run: bool = False,
    into: str | None = None,
    refused: Sequence[str] = (),
    skipped: Set[str] = frozenset(),
    waits: tuple[str, str, Sequence[str]] | None = None,
    new_files: Sequence[str] = (),
    verbose: bool = False,
) -> Report:
    """``written`` are paths relative to the project; ``refused`` the adapted patches that nobody
    accepted, which keep everything from being written."""
    ok = not refused and not any(r.status in ("conflict", "blocked") and r.name not in skipped for r in rows)
    text: list[str] = []
    for r in rows:
        if r.status != "kept" or r.reason or verbose:
            text += _block(r, verbose)
    if new_files:
        text += wrapped(f"new files taken in: {', '.join(map(printable, new_files))}", 0)
    counts = Counter(r.status for r in rows)
    order: tuple[Carried, ...] = ("kept", "renumbered", "regenerated", "adapted", "upstreamed", "conflict", "blocked")
    summary = ", ".join(f"{counts[s]} {s}" for s in order if counts[s]) or "no patches"
    if refused and into:
        summary += f". Look at what was adapted in {into} before you take it"
    elif refused:
        summary += ". Nothing was written: look at what was adapted, then run it again with --accept-adapted"
    elif not written:
        summary += ". Nothing to write"
    elif dry_run:
        summary += f". {len(written)} file{'s' * (len(written) > 1)} would be written"
    else:
        summary += f". Written: {', '.join(written[:3])}" + (
            f" and {len(written) - 3} more" if len(written) > 3 else ""
        )
    text += wrapped(summary + ".", 0)
    if waits:
        name, folder, files = waits
        text += wrapped(f"{name} waits for you in {folder}:", 0)
        text += [f"    {f}" for f in files]
        text += wrapped(
            "next: resolve it there, then 'opencoti-patches bump --continue'; or 'bump --skip "
            + name
            + "', 'bump --abort'",
            0,
        )
    data = {
        "patches": [_row(r) for r in rows],
        "written": [] if dry_run else [printable(w) for w in written],
        "dry_run": dry_run,
        "needs_acceptance": [printable(n) for n in refused],
        "new_files": [printable(p) for p in new_files],
        **(
            {"waits_for": printable(waits[0]), "worktree": printable(waits[1]), "files": list(waits[2])}
            if waits
            else {}
        ),
    }
    return Report(command=command, ok=ok, data=data, text=tuple(text), cases=tuple(r.name for r in rows))


def _row(r: Row) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": printable(r.name),
        "status": r.status,
        "reason": r.reason,
        "hunks": [{"file": h.file, "hunk": h.hunk, "how": h.how} for h in r.hunks],
    }
    return row | ({"interdiff": list(r.interdiff)} if r.interdiff else {})


def _block(r: Row, verbose: bool) -> list[str]:
    lines = wrapped(f"{printable(r.name)}: {r.status}" + (f": {r.reason}" if r.reason else ""), 0)
    if r.status != "renumbered" or verbose:
        for h in r.hunks if verbose else [h for h in r.hunks if h.how not in _PLAIN]:
            lines += wrapped(f"{h.file}{f', hunk {h.hunk}' if h.hunk else ''}: {h.how}", 4)
    if r.status == "adapted":
        lines += [f"    {row}"[:WIDTH] for row in r.interdiff[:_SHOWN]]
        if len(r.interdiff) > _SHOWN:
            lines.append(f"    … {len(r.interdiff) - _SHOWN} more lines")
    return lines
