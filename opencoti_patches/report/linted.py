"""The answer of ``lint``: a line a finding, in the form that editors jump from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from opencoti_patches.core.model import Finding, Report, Series, printable
from opencoti_patches.core.words import plural


def report(findings: Sequence[Finding], series: Series, *, strict: bool = False) -> Report:
    """``strict`` makes a warning a no."""
    counts = Counter(f.level for f in findings)
    text: list[str] = []
    last = {(f.rule, f.hint): at for at, f in enumerate(findings)}
    for at, f in enumerate(findings):
        text.append(f"{f.path}:{f.line}: {f.level}: {f.message} ({f.rule})")
        if f.hint and last[f.rule, f.hint] == at:  # once
            text.append(f"    {f.hint}")
    parts = [plural(counts[level], level) for level in ("error", "warning") if counts[level]]
    text.append(f"{plural(len(series.entries), 'patch')}: {', '.join(parts) or 'no findings'}")
    data = {
        "patches": len(series.entries),
        "errors": counts["error"],
        "warnings": counts["warning"],
        "findings": [_row(f) for f in findings],
    }
    return Report(
        command="lint",
        ok=not counts["error"] and not (strict and findings),
        data=data,
        text=tuple(text),
        findings=tuple(findings),
        cases=tuple(printable(e.name) for e in series.entries),
    )


def _row(f: Finding) -> dict[str, Any]:
    row: dict[str, Any] = {"level": f.level, "rule": f.rule, "message": f.message, "path": f.path, "line": f.line}
    return row | ({"hint": f.hint} if f.hint else {})
