"""The answer of ``report``: the series as a whole, on a screen or as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.core.model import PatchName, Report, Status, printable
from opencoti_patches.core.words import plural
from opencoti_patches.plan.overview import Hot, Overview, Seen
from opencoti_patches.report.advice import advice
from opencoti_patches.report.checked import place_of
from opencoti_patches.report.there import in_document
from opencoti_patches.report.wrapping import steps, wrapped

_STATUSES: tuple[Status, ...] = ("clean", "offset", "failed", "blocked", "empty")
_HOT = 10  # files on the screen


class About(NamedTuple):
    """What the series belongs to: the project's name, the base as people call it, what of upstream it is (or empty), the
    patches folder as people type it, the project's as it was given with ``-C``."""

    name: str
    label: str
    upstream: str
    where: Path
    given: str = ""


class Answer(NamedTuple):
    """All that the forms of a report are made of: the document's body, and the overview behind it."""

    about: About
    overview: Overview
    body: dict[str, Any]


def answer(about: About, seen: Overview) -> Answer:
    """The facts of a report."""
    return Answer(about, seen, in_document(_data(about, seen), about.given))


def report(found: Answer, written: Sequence[str]) -> Report:
    """The answer for a terminal and as data; ``ok`` is always true, since nothing was asked to hold. ``written`` are
    the files that were."""
    text = [f"wrote {printable(name)}" for name in written] or _text(found)
    return Report(command="report", ok=True, data={**found.body, "written": [*map(printable, written)]}, text=tuple(text))  # fmt: skip


def headline(about: About, seen: Overview) -> str:
    """``5 patches on llama-cpp-python 0.3.24: 4 clean, 1 offset``."""
    states = Counter(s.verdict.status for s in seen.patches)
    counted = ", ".join(f"{states[s]} {s}" for s in _STATUSES if states[s]) or "nothing to apply"
    return f"{plural(len(seen.patches), 'patch')} on {printable(about.label)}: {counted}"


def verdict(seen: Overview) -> str:
    """Whether the series applies, as a sentence."""
    return "The series applies strictly." if seen.plan.ok else "The series does not apply."


def compared(seen: Overview) -> str:
    """How the series differs from the lock that it is held against; empty where there is none."""
    found = seen.against.compared
    if found is None or seen.against.lock is None:
        return ""
    counts = [(len(found.new), "new"), (len(found.changed), "changed"), (len(found.gone), "gone")]
    words = [f"{n} {word}" for n, word in counts if n]
    words += ["another order"] * found.moved + ["another base"] * (seen.against.lock.base != seen.plan.base)
    return f"Against {printable(seen.against.rev)}: {', '.join(words) or 'no change'}."


def upstream_word(s: Seen) -> str:
    """How a patch stands to upstream, in few words; empty if nobody knows."""
    has = {"all": "in the base already", "part": "partly in the base already"}.get(s.base_has, "")
    return "; ".join(filter(None, (has, printable(s.said))))


def _text(found: Answer) -> list[str]:
    seen = found.overview
    text = wrapped(f"{headline(found.about, seen)}. {verdict(seen)} {compared(seen)}".strip(), 0, 2)
    days = sorted(s.when.day for s in seen.patches if s.when)
    if days:
        text.append(f"oldest {days[0]}, newest {days[-1]}")
    if seen.files:
        shared = sum(len(f.changes) > 1 for f in seen.files)
        text += wrapped(f"{plural(len(seen.files), 'file')}, {shared} of which more than one patch touches:", 0, 2)
    rows = [
        (plural(len(f.changes), "patch"), plural(f.lines, "line"), _churn(f), printable(f.path))
        for f in seen.files[:_HOT]
    ]
    wide = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    text += [f"  {n:>{wide[0]}}  {lines:>{wide[1]}}  {churn:<{wide[2]}}  {path}".rstrip() if churn else
             f"  {n:>{wide[0]}}  {lines:>{wide[1]}}  {path}" for n, lines, churn, path in rows]  # fmt: skip
    if len(seen.files) > _HOT:
        text.append(f"  and {len(seen.files) - _HOT} more")
    return [*text, *steps(["opencoti-patches report --html report.html"])]


def _churn(f: Hot) -> str:
    return "" if f.churn is None else f"upstream {f.churn}"


def _data(about: About, seen: Overview) -> dict[str, Any]:
    against, differ = seen.against, seen.against.compared
    lock: dict[str, Any] | None = None
    if differ is not None and against.lock is not None:
        lock = {
            "against": printable(against.rev),
            "base": against.lock.base or None,
            "new": [*map(printable, differ.new)],
            "changed": [*map(printable, differ.changed)],
            "gone": [*map(printable, differ.gone)],
            "moved": differ.moved,
        }
    before: PatchName | None = None
    patches = []
    for s in seen.patches:
        patches.append(_row(s, before, seen, about))
        before = s.entry.name
    return {
        "name": printable(about.name),
        "base": {"tree": seen.plan.base, "label": printable(about.label), "upstream": printable(about.upstream)},
        "tip": {"tree": seen.plan.tip},
        "applies": seen.plan.ok,
        "lock": lock,
        "previous": seen.against.previous,
        "standing": seen.standing.by,
        "patches": patches,
        "files": [_file(f) for f in seen.files],
    }


def _row(s: Seen, before: PatchName | None, seen: Overview, about: About) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": printable(s.entry.name),
        "subject": printable(s.subject),
        "status": s.verdict.status,
        "cause": s.verdict.cause,
        "date": s.when.day if s.when else None,
        "date_by": s.when.by if s.when else None,
        "added": s.added,
        "removed": s.removed,
        "files": [printable(f.file.path) for f in s.files],
        "upstream": printable(s.said),
        "base_has": s.base_has,
        "stands_on": [*map(printable, seen.standing.on.get(s.entry.name, ()))],
    }
    if s.verdict.status != "clean":
        row["problems"] = [printable(place_of(p) + p.message) for p in s.verdict.problems]
        row |= dict(
            zip(("next", "then"), advice(s.verdict, before, str(about.where), seen.plan.verdicts), strict=False)
        )
    return row


def _file(f: Hot) -> dict[str, Any]:
    changes = [{"patch": printable(n), "added": a, "removed": r} for n, (a, r) in f.changes.items()]
    return {"path": printable(f.path), "churn": f.churn, "patches": changes}
