"""The answer of ``check``: every patch that is not clean, why, and the command to run next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.core.model import (
    Finding,
    Level,
    PatchName,
    Place,
    Plan,
    Problem,
    Report,
    Series,
    Verdict,
    printable,
)
from opencoti_patches.core.words import plural
from opencoti_patches.report.advice import advice
from opencoti_patches.report.wrapping import WIDTH, Said, steps, with_short_ids, wrapped
from opencoti_patches.series.lock import told
from opencoti_patches.series.order import NO_SERIES, SERIES_FILE
from opencoti_patches.series.unmerged import Unmerged

_UNMERGED = "a merge left its conflict markers in the patch file"


def report(
    plan: Plan,
    series: Series,
    *,
    where: Path,
    label: str,
    typed: str = "",
    no_offset: bool = False,
    stale: Sequence[str] = (),
    unlisted: Sequence[str] = (),
    unmerged: Sequence[Unmerged] = (),
    other_base: bool = False,
    stale_level: Level = "warning",
    stale_line: int = 1,
    verbose: bool = False,
) -> Report:
    """The report on a plan. ``where`` is the patches folder from where the program was started, ``typed`` from the folder
    of ``-C``, if that is another, ``stale`` what the lock and the series disagree about (in line ``stale_line`` of the
    lock), ``unlisted`` patch files that are not in the series, ``unmerged`` those with conflict markers, ``other_base`` whether
    the lock is for another base."""
    ok = (
        plan.ok
        and not (no_offset and any(v.status == "offset" for v in plan.verdicts))
        and not (stale and stale_level == "error")
    )
    text: list[str] = []
    findings: list[Finding] = []
    before: PatchName | None = None
    hints: dict[PatchName, tuple[str, ...]] = {}
    for v in plan.verdicts:
        if v.status != "clean":
            hints[v.name] = advice(v, before, typed or str(where), plan.verdicts)
            findings += _findings(v, where, "\nthen: ".join(hints[v.name]), no_offset)
        elif v.problems:
            findings += _findings(v, where, "", no_offset)
        if v.status != "clean" or v.problems or verbose:
            text += _block(v, hints.get(v.name, ()), verbose)
        before = v.name
    relock = "opencoti-patches lock" + ("" if plan.ok else "  # once the series applies")
    for line in stale:
        path = str(where / "series.lock")
        findings.append(
            Finding(level=stale_level, rule="stale-lock", message=line, path=path, line=stale_line, hint=relock)
        )
    if stale:
        text += wrapped(f"{stale_level}: {printable(told(stale))}", 0, 2)
        text += steps([relock])
    if other_base and not plan.ok:
        words = (
            "note: the base is not the one that was locked. To carry the series to it, put the old one back into "
            "opencoti.toml and run 'opencoti-patches bump': it knows both"
        )
        text.append(Said(words, 0, 2))
    for u in unmerged:
        path, hint = str(where / u.name), "settle the merge, then check again"
        findings.append(
            Finding(level="warning", rule="conflict-marker", message=_UNMERGED, path=path, line=u.line, hint=hint)
        )
        text += wrapped(f"warning: {printable(u.name)}, patch line {u.line}: {_UNMERGED}", 0, 2)
        text += steps([hint])
    if unlisted:
        few = f"{plural(len(unlisted), 'patch file')} not in the series: {_few([*map(printable, unlisted)])}"
        text += wrapped(f"note: {few}", 0, 2)
        said = "the series does not have this patch"
        findings += [Finding(level="note", rule="not-listed", message=said, path=str(where / n)) for n in unlisted]
    if not series.listed:
        text.append(f"note: {NO_SERIES}")
        path = str(where / SERIES_FILE)
        findings.append(Finding(level="note", rule="no-series", message=NO_SERIES, path=path))
    text += wrapped(with_short_ids(_summary(plan, label, no_offset)), 0, 2)

    def data() -> dict[str, Any]:
        rows = [_row(v, hints.get(v.name, ())) for v in plan.verdicts]
        return {
            "base": {"tree": plan.base},
            "tip": {"tree": plan.tip},
            "patches": rows,
            "stale": [printable(line) for line in stale],
            "unlisted": [printable(name) for name in unlisted],
            "unmerged": [{"name": printable(u.name), "patch_line": u.line} for u in unmerged],
            "listed": series.listed,
        }

    return Report(
        command="check",
        ok=ok,
        data=data,
        text=tuple(text),
        findings=tuple(findings),
        cases=tuple(v.name for v in plan.verdicts),
        folder=printable(str(where)),
    )


def _summary(plan: Plan, label: str, no_offset: bool) -> str:
    counts = Counter(v.status for v in plan.verdicts)
    n = len(plan.verdicts)
    parts = ", ".join(f"{counts[s]} {s}" for s in ("clean", "offset", "failed", "blocked", "empty") if counts[s])
    head = f"{plural(n, 'patch')} on {label}: {parts or 'nothing to apply'}"
    if not plan.ok:
        return f"{head}. The series does not apply."
    if no_offset and counts["offset"]:
        return f"{head}. It applies, but not without offsets."
    return f"{head}. The series applies strictly."


def _row(v: Verdict, hint: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": printable(v.name), "status": v.status, "files": list(v.files), "cause": v.cause}
    if v.places:
        row["offsets"] = [{"file": p.file, "hunk": p.hunk, "line": p.line, "offset": p.offset} for p in v.places]
    if v.problems:
        row["problems"] = [_problem(p) for p in v.problems]
    if v.blocked_by:
        row["blocked_by"], row["evidence"] = [printable(n) for n in v.blocked_by], printable(v.evidence)
    if v.without:
        row["without"] = [printable(n) for n in v.without]
    row |= dict(zip(("next", "then"), hint, strict=False))
    return row


def _problem(p: Problem) -> dict[str, Any]:
    row: dict[str, Any] = {"cause": p.cause, "level": p.level, "message": p.message}
    extra = {"file": p.file, "hunk": p.hunk, "line": p.line, "patch_line": p.at_line, "diff": list(p.diff)}
    extra["other"] = printable(p.other)
    return row | {k: value for k, value in extra.items() if value}


def _block(v: Verdict, hint: Sequence[str], verbose: bool) -> list[str]:
    word = {"failed": f"failed: {v.cause}", "blocked": "blocked", "empty": "empty"}.get(v.status, v.status)
    lines = [f"{printable(v.name)}: {word}"]
    if v.blocked_by:
        lines += wrapped(f"stands on {', '.join(v.blocked_by)}, which failed: {v.evidence}", 4, 2)
    for place in v.places if verbose else ():
        moved = f"{place.file}, hunk {place.hunk}: landed at line {place.line}, {plural(abs(place.offset), 'line')} {'down' if place.offset > 0 else 'up'}"
        lines += wrapped(moved, 4, 2)
    if v.places and not verbose:
        lines += wrapped(_moves(v.places), 4, 2)
    for p in v.problems:
        lines += wrapped(place_of(p) + p.message, 4, 2)
        lines += [f"      {row[: WIDTH - 6]}" for row in p.diff]
    if v.without and not v.applied:
        lines += wrapped(f"judged without {_few(v.without)}", 4, 2)
    lines += steps(hint)
    return lines


def _moves(places: Sequence[Place]) -> str:
    """The moved hunks in one line: how many in which file, and how far."""
    by_file: dict[str, list[int]] = {}
    for p in places:
        by_file.setdefault(p.file, []).append(p.offset)
    parts = []
    for file, offsets in by_file.items():
        low, high = min(offsets), max(offsets)
        far = f"{low:+d}" if low == high else f"{low:+d} to {high:+d}"
        parts.append(
            f"{plural(len(offsets), 'hunk')} of {file} moved by {far} line{'s' * ({low, high} - {1, -1} != set())}"
        )
    return "; ".join(parts[:3]) + (f"; {plural(len(parts) - 3, 'more file')}" if len(parts) > 3 else "")


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def place_of(p: Problem) -> str:
    """What a problem is about, to stand before its message; empty if that is the patch as a whole."""
    parts = [p.file] if p.file else []
    if p.hunk:
        parts.append(f"hunk {p.hunk}")
    if p.line:
        parts.append(f"near line {p.line}")
    if p.at_line:
        parts.append(f"patch line {p.at_line}")
    return f"{'warning: ' if p.level == 'warning' else ''}{', '.join(parts)}: " if parts else ""


def _findings(v: Verdict, where: Path, hint: str, no_offset: bool) -> list[Finding]:
    path = str(where / v.name)
    found = [
        Finding(
            level=p.level, rule=p.cause, message=f"{place_of(p)}{p.message}", path=path, line=p.at_line or 1, hint=hint
        )
        for p in v.problems
    ]
    if v.status == "blocked":
        found = [
            Finding(
                level="error",
                rule="blocked",
                message=f"stands on {', '.join(v.blocked_by)}: {v.evidence}",
                path=path,
                hint=hint,
            ),
            *found,
        ]
    if v.places:
        shown = ", ".join(f"{p.file} hunk {p.hunk} {p.offset:+d}" for p in v.places[:4]) + (
            ", …" if len(v.places) > 4 else ""
        )
        found.append(
            Finding(
                level="error" if no_offset else "warning",
                rule="offset",
                message=f"applies with an offset: {shown}",
                path=path,
                hint=hint,
            )
        )
    return found
