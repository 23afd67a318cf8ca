"""The answer of ``import``: what came in under which name, what was mended, and what git says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencoti_patches.core.model import PatchName, Plan, Report, Verdict, printable
from opencoti_patches.core.shell import word
from opencoti_patches.core.words import plural
from opencoti_patches.report.advice import advice
from opencoti_patches.report.checked import place_of
from opencoti_patches.report.listed import options_of
from opencoti_patches.report.wrapping import Said, steps, wrapped
from opencoti_patches.series.importing import Imported, Incoming

_MENDED = {
    "final newline added": " lacks its final newline: added",
    "CRLF line ends taken out": " has CRLF line ends of its own: taken out",
}


def report(
    imported: Imported,
    plan: Plan | None,
    *,
    folder: str,
    strip: int,
    hints: Mapping[PatchName, str],
    broken: Sequence[Verdict] = (),
    claims: Sequence[str] = (),
    dry_run: bool = False,
    verbose: bool = False,
) -> Report:
    """``plan`` is the verdict on the series with the new patches, None without a base; ``hints`` say by
    patch what would mend its paths; ``broken`` are later patches that applied before."""
    series = imported.placement.series
    verdicts = {v.name: v for v in plan.verdicts} if plan else {}
    before: PatchName | None = None
    previous: dict[PatchName, PatchName | None] = {}
    for e in series.entries:
        previous[e.name], before = before, e.name
    text: list[str] = []
    rows = []
    for incoming, addition in zip(imported.incoming, imported.additions, strict=True):
        e = addition.entry
        v = verdicts.get(e.name)
        after = previous[e.name]
        fine = v is None or v.status == "clean"
        hint = (
            ()
            if v is None or fine
            else (hints[e.name],)
            if e.name in hints
            else advice(v, after, folder, tuple(verdicts.values()))
        )
        rows.append(_row(incoming, e.strip, e.reverse, v, hint, e.name, after))
        options = options_of(e.strip, e.reverse, strip)
        text += wrapped(" ".join(filter(None, (printable(e.name), options, f"from {printable(incoming.source)}"))))
        for note in incoming.notes:
            text += wrapped(printable(incoming.source) + _MENDED.get(note, f": {note}"), 4)
        if v is not None and (v.status != "clean" or verbose):
            text += wrapped(f"{v.status}{f': {v.cause}' if v.cause not in (None, v.status) else ''}", 4)
            for p in v.problems if v.status == "failed" else ():
                text += wrapped(printable(place_of(p) + p.message), 8, 2)
        if dry_run:  # only what another way of importing it would mend; the file is still where it came from
            hint = tuple(h.replace(word(f"{folder}/{e.name}"), word(incoming.source)) for h in hint if e.name in hints)
        text += steps(hint)
    for line in (
        *(f"skipped: {line}" for line in imported.skipped),
        *(f"renamed {printable(old)} to {printable(new)}" for old, new in imported.placement.renamed.items()),
        *(f"note: {claim}" for claim in claims),
    ):
        text += wrapped(line)
    for v in broken:
        text += wrapped(f"warning: {printable(v.name)}, which stands behind, does not apply any more ({v.cause})", 0)
    if imported.placement.listed_now:
        text += wrapped(f"{folder}/series was written, for the order needs one now")
    text.append(Said(_summary(imported, plan, folder, dry_run)))
    data = {
        "patches": rows,
        "renamed": [{"from": printable(a), "to": printable(b)} for a, b in imported.placement.renamed.items()],
        "claims": list(claims),
        "broken": [printable(v.name) for v in broken],
        "skipped": list(imported.skipped),
        "written": [] if dry_run else [f"{folder}/{printable(n)}" for n in _written(imported)],
        "dry_run": dry_run,
        "base": {"tree": plan.base} if plan else None,
        "tip": {"tree": plan.tip} if plan else None,
    }
    return Report(command="import", ok=True, data=data, text=tuple(text))


def _row(
    incoming: Incoming,
    strip: int,
    reverse: bool,
    v: Verdict | None,
    hint: Sequence[str],
    name: str,
    after: PatchName | None,
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": printable(name),
        "source": printable(incoming.source),
        "after": printable(after) if after else None,
        "strip": strip,
        "reverse": reverse,
        "repairs": list(incoming.notes),
        "status": v.status if v else None,
        "cause": v.cause if v else None,
    }
    return row | dict(zip(("next", "then"), hint, strict=False))


def _written(imported: Imported) -> list[str]:
    root = imported.placement.series.dir
    return sorted(str(p.relative_to(root)) for p, raw in imported.placement.changes.items() if raw is not None)


def _summary(imported: Imported, plan: Plan | None, folder: str, dry_run: bool) -> str:
    count = plural(len(imported.additions), "patch")
    done = f"{count} would come into {folder}" if dry_run else f"{count} imported into {folder}"
    if plan is None:
        return f"{done}; not judged, for there is no base yet: 'opencoti-patches bootstrap' fetches it"
    ours = {a.entry.name for a in imported.additions}
    bad = sum(v.name in ours and not v.applied for v in plan.verdicts)
    return (
        f"{done}; {bad} of them {'does' if bad == 1 else 'do'} not apply"
        if bad
        else f"{done}; git takes {'it' if len(ours) == 1 else 'them all'}"
    )
