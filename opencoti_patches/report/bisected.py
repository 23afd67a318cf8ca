"""The answer of ``bisect``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import from_here, wrapped
from opencoti_patches.smoke.bisect import Bisected, Step

_WORDS = {"pass": "passes", "fail": "fails", "skip": "skipped"}


def report(
    profile: str | None, how: str, names: Sequence[str], ends: tuple[int, int], found: Bisected, start: Path
) -> Report:
    """Every tree that was tried, then the patch. ``names`` are by the number of patches, ``base`` first."""
    text = [row for step in found.steps for row in _line(step, names)]
    if found.first:
        text.append(f"{printable(names[found.first])} is the first at which it fails.")
        last = [s for s in found.steps if s.at == found.first][-1]
        if last.tried.log:
            text += wrapped(f"its log: {from_here(last.tried.log, start)}", 4, 2)
    elif found.between:
        text += wrapped(f"It is one of {plural(len(found.between), 'patch')}: {found.why}.", 0, 2)
        text += [f"    {printable(names[n])}" for n in found.between]
    else:
        text += wrapped(f"There is nothing to look for: {found.why}.", 0, 2)
        if log := found.steps[-1].tried.log:
            text += wrapped(f"its log: {from_here(log, start)}", 4, 2)
    data: dict[str, Any] = {
        "profile": profile,
        "how": how,
        "from": printable(names[ends[0]]),
        "to": printable(names[ends[1]]),
        "first": printable(names[found.first]) if found.first else None,
        "between": [printable(names[n]) for n in found.between],
        "why": found.why,
        "steps": [_step(s, names) for s in found.steps],
    }
    return Report(command="bisect", ok=bool(found.first), data=data, text=tuple(text))


def _line(step: Step, names: Sequence[str]) -> list[str]:
    why = f": {step.tried.why}" if step.tried.why else ""
    return wrapped(f"{printable(names[step.at])}: {_WORDS[step.tried.outcome]}{why}", 0, 4)


def _step(step: Step, names: Sequence[str]) -> dict[str, Any]:
    t = step.tried
    return {
        "patch": printable(names[step.at]),
        "tree": t.tree,
        "outcome": t.outcome,
        "why": t.why,
        "log": printable(str(t.log)) if t.log else None,
    }
