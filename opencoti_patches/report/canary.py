"""The answer of ``canary``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.core.model import Report, TreeId, printable
from opencoti_patches.report.smoked import failure
from opencoti_patches.report.wrapping import from_here, wrapped
from opencoti_patches.smoke.canary import Row


def report(
    profile: str,
    tree: TreeId,
    server: str,
    samples: int,
    rows: Sequence[Row],
    at_least: float | None,
    log: Path,
    start: Path,
) -> Report:
    """A line a length and type; the answers that missed, and what failed."""
    kv = max(7, *(len(r.kv) for r in rows))
    text = [f"context  {'KV type':<{kv}}   found", *(row for r in rows for row in _lines(r, samples, kv))]
    wanted = 0.0 if at_least is None else at_least
    bad = [r for r in rows if not r.holds(wanted)]
    if any(r.failure for r in rows):
        text += [
            *wrapped(f"{profile}: the server failed", 0, 2),
            *wrapped(f"the whole log: {from_here(log, start)}", 4, 2),
        ]
    elif at_least is not None:
        said = (
            f"less than {at_least:.0%} in {len(bad)} of {len(rows)}" if bad else f"at least {at_least:.0%} everywhere"
        )
        text.append(f"{profile}: {said}")
    data = {
        "profile": profile,
        "tree": tree,
        "server": printable(server),
        "samples": samples,
        "at_least": at_least,
        "log": printable(str(log)),
        "rows": [_row(r) for r in rows],
    }
    return Report(command="canary", ok=not bad, data=data, text=tuple(text))


def _lines(row: Row, samples: int, width: int) -> list[str]:
    found = sum(s.found for s in row.samples)
    text = [f"{row.context:>7}  {printable(row.kv):<{width}}  {found:>3} of {samples}  {row.score:>4.0%}"]
    for s in row.samples:
        if not s.found:
            text += wrapped(f'{s.code} at {s.depth:.0%} of {s.tokens} tokens: "{printable(s.answer)}"', 4, 2)
    if row.failure:
        text += wrapped(f"{row.failure.where}: {printable(row.failure.message)}", 4, 2)
        text += [f"    | {printable(line)}" for line in row.lines]
    return text


def _row(row: Row) -> dict[str, Any]:
    return {
        "context": row.context,
        "kv": printable(row.kv),
        "found": sum(s.found for s in row.samples),
        "score": row.score,
        "samples": [s._asdict() | {"found": s.found} for s in row.samples],
        "failure": failure(row.failure, row.lines) if row.failure else None,
    }
