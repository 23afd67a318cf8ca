"""The answer of ``lint``: a line a finding, in the form that editors jump from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.core.model import Finding, Report, Series, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import Said, wrapped


def report(findings: Sequence[Finding], series: Series, *, where: Path, strict: bool = False) -> Report:
    """``where`` is what the findings call the patches folder. ``strict`` makes a warning an error: readers of the
    report take its level for the verdict."""
    if strict:
        findings = [f._replace(level="error") if f.level == "warning" else f for f in findings]
    counts = Counter(f.level for f in findings)
    text: list[str] = []
    last = {(f.rule, f.hint): at for at, f in enumerate(findings)}
    for at, f in enumerate(findings):
        place = f"{f.path}:{f.line}:".replace(" ", "\0")  # editors want it in one piece
        rows = wrapped(f"{place} {f.level}: {f.message} ({f.rule})", 0, 2)
        text += [row.replace("\0", " ") for row in rows]
        if f.hint and last[f.rule, f.hint] == at:  # once
            text += [Said(row, 4, 2) for row in f.hint.split("\n")]
    parts = [plural(counts[level], level) for level in ("error", "warning", "note") if counts[level]]
    text.append(f"{plural(len(series.entries), 'patch')}: {', '.join(parts) or 'no findings'}")
    data = {
        "patches": len(series.entries),
        "errors": counts["error"],
        "warnings": counts["warning"],
        "listed": series.listed,
        "findings": [_row(f) for f in findings],
    }
    return Report(
        command="lint",
        ok=not counts["error"],
        data=data,
        text=tuple(text),
        findings=tuple(findings),
        cases=tuple(printable(e.name) for e in series.entries),
        folder=printable(str(where)),
    )


def _row(f: Finding) -> dict[str, Any]:
    row: dict[str, Any] = {"level": f.level, "rule": f.rule, "message": f.message, "path": f.path, "line": f.line}
    return row | ({"hint": f.hint} if f.hint else {})
