"""The answer of ``impact``: a table of patches and artefacts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.build.artefacts import is_build_file
from opencoti_patches.build.impact import Impact, Reach, Row
from opencoti_patches.core.model import Finding, Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import Said, from_here, wrapped

_ALWAYS = ("host", "base", "cpu", "cuda", "vulkan")  # a column each, where the tree has it
_WIDE = 40  # columns of the screen that the marks may take
_MARKS = {
    "X": "reached, as depfiles of a build confirm",
    "x": "reached by the includes; no build tells",
    "?": "includes and depfiles disagree",
    "-": "not reached, as depfiles confirm",
    ".": "not reached",
}


def report(impact: Impact, start: Path, patches: Path, *, ways: bool = False, verbose: bool = False) -> Report:
    """The table, with ``ways`` how each artefact is reached, false claims, and with ``verbose`` what could not be
    followed. Paths are shown from ``start``; ``patches`` is the folder of the patch files."""
    findings = tuple(_findings(impact, patches, start))
    shown = _columns(impact)
    text = [*_table(impact, shown, ways or verbose), *(f"{f.path}:{f.line}: {f.message}" for f in findings)]
    text += [*_notes(impact, shown, verbose), *_summary(impact, len(findings))]
    return Report(
        command="impact",
        ok=not findings,
        data=_data(impact),
        text=tuple(text),
        findings=findings,
        cases=tuple(printable(p.name) for p in impact.patches),
    )


def _findings(impact: Impact, folder: Path, start: Path) -> Iterator[Finding]:
    for patch in impact.patches:
        path = folder / patch.name
        shown = from_here(path, start)
        for claim in patch.claims:
            if claim.wrong:
                message = f'it says "{printable(claim.text)}", but {printable(claim.wrong)}'
                yield Finding(level="error", rule="reach-claim", message=message, path=shown, line=claim.line)


def _table(impact: Impact, shown: Sequence[str], ways: bool) -> list[str]:
    """Marks first, since names have any length."""
    text = ["  ".join(shown)]
    used = set()
    for patch in impact.patches:
        rows = {r.artefact: r for r in patch.rows}
        marks = [_mark(rows[n]) for n in shown]
        used.update(marks)
        cells = "  ".join(mark.center(len(n)) for mark, n in zip(marks, shown, strict=True))
        text.append(f"{cells}  {printable(patch.name)}{_word(patch, shown)}")
        if ways:
            text += [line for r in patch.rows if r.reached for line in wrapped(f"{r.artefact}: {_way(r)}", 4, 4)]
    return [*text, *(f"{mark} {what}" for mark, what in _MARKS.items() if mark in used)]


def _columns(impact: Impact) -> list[str]:
    """The artefacts with a column: those that people ask for first, then such as something reaches."""
    reached = {r.artefact for p in impact.patches for r in p.rows if r.reached or r.disputed}
    names = [a.name for a in impact.artefacts]
    shown: list[str] = []
    for name in [*(n for n in names if n in _ALWAYS), *(n for n in names if n in reached - {*_ALWAYS})] or names:
        if sum(len(n) + 2 for n in (*shown, name)) <= _WIDE:
            shown.append(name)
    return shown


def _mark(row: Row) -> str:
    if row.disputed:
        return "?"
    sure = row.depfiles is not None
    return ("X" if sure else "x") if row.reached else ("-" if sure else ".")


def _word(patch: Reach, shown: Sequence[str]) -> str:
    rest = [name for name in patch.reached if name not in shown]
    if rest:
        return f" ({'' if len(rest) == len(patch.reached) else 'also '}{', '.join(rest)})"
    return ": host only" if patch.host_only else "" if patch.reached else ": none"


def _way(row: Row) -> str:
    if not row.via:
        return "by the depfiles alone; the includes do not lead there"
    path, *rest = map(printable, row.via)
    how = f", which governs {rest[-1]}" if rest and is_build_file(path) else "".join(f", in {by}" for by in rest)
    doubt = " (by the includes alone: no object of the build read it)" if row.disputed else ""
    return f"{path}{how}{doubt}"


def _notes(impact: Impact, shown: Sequence[str], verbose: bool) -> list[str]:
    text = []
    for build in impact.builds:
        said = f"confirmed by the build of {build.profile}: {plural(len(build.objects), 'object')}"
        if not build.objects:
            said = f"the build of {build.profile} confirms nothing: no depfile tells what its objects are made of "
            said += "(gcc and clang write them with -MMD)"
        text += wrapped(said, 0, 2)
    if not impact.builds:
        text.append(Said("no build of this very series confirms it: opencoti-patches build PROFILE makes one", 0, 2))
    unread: dict[str, list[str]] = {}
    for artefact, path, include in impact.unread:
        if artefact in shown:
            unread.setdefault(path, []).append(include.name if include.how else f"{include.name} (a macro)")
    if unread:
        count = plural(sum(map(len, unread.values())), "include")
        more = ":" if verbose else "; -v names them"
        text += wrapped(f"not followed, for the tree has no such file, or a macro names it: {count}{more}", 0, 2)
    if verbose:
        for path, names in unread.items():
            text += wrapped(printable(f"{path}: {', '.join(names)}"), 4, 4)
    if impact.binary:
        text += wrapped(f"changed in binary form, so not read: {', '.join(map(printable, impact.binary))}", 0, 2)
    return text


def _summary(impact: Impact, false: int) -> list[str]:
    counts = Counter(name for p in impact.patches for name in p.reached)
    host = sum(p.host_only for p in impact.patches)
    parts = [f"{host} host only"] if host else []
    parts += [f"{n} reach {name}" if n != 1 else f"1 reaches {name}" for name, n in counts.items() if name != "host"]
    if none := sum(not p.reached for p in impact.patches):
        parts.append(f"{none} none")
    text = wrapped(f"{plural(len(impact.patches), 'patch')}: {', '.join(parts) or 'none'}.", 0, 2)
    return text + ([f"{plural(false, 'claim')} {'is' if false == 1 else 'are'} false."] if false else [])


def _data(impact: Impact) -> dict[str, Any]:
    return {
        "artefacts": [{"name": a.name, "sources": list(map(printable, a.sources))} for a in impact.artefacts],
        "builds": [{"profile": b.profile, "objects": len(b.objects)} for b in impact.builds],
        "patches": [_patch(p) for p in impact.patches],
        "unread": [
            {"artefact": name, "file": printable(path), "include": printable(i.name), "macro": not i.how}
            for name, path, i in impact.unread
        ],
        "binary": list(map(printable, impact.binary)),
    }


def _patch(patch: Reach) -> dict[str, Any]:
    rows = [
        {"artefact": r.artefact, "closure": r.closure, "depfiles": r.depfiles, "via": list(map(printable, r.via))}
        for r in patch.rows
        if r.reached or r.depfiles is not None
    ]
    claims = [
        {"line": c.line, "claim": printable(c.text), "holds": not c.wrong, "why": printable(c.wrong)}
        for c in patch.claims
    ]
    return {
        "name": printable(patch.name),
        "reaches": list(patch.reached),
        "host_only": patch.host_only,
        "rows": rows,
        "claims": claims,
    }
