"""The answer of ``new``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencoti_patches.carry.new import Made
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import Said, wrapped
from opencoti_patches.series.counts import counts
from opencoti_patches.series.naming import called
from opencoti_patches.series.says import what_and_why


def report(made: Made, *, folder: str, new_files: Sequence[str]) -> Report:
    """``folder`` is the patches folder as people type it; ``new_files`` are files that were not in the
    tree before."""
    e = made.entry
    files = counts(e)
    added, removed = sum(f.added for f in files), sum(f.removed for f in files)
    path = f"{folder}/{printable(e.name)}"
    subject, why = what_and_why(e.raw[: files[0].file.span[0]])
    behind = f"behind {printable(made.previous)}" if made.previous else "as the first"
    text = wrapped(f"wrote {path}, {behind}: {plural(len(files), 'file')}, +{added} -{removed}")
    text += wrapped(f"new files taken in: {', '.join(map(printable, new_files))}") if new_files else []
    for said in (
        *(f"renamed {printable(old)} to {printable(new)}" for old, new in made.placement.renamed.items()),
        *(f"note: {claim}" for claim in made.claims),
    ):
        text += wrapped(said)
    names = [x.name for x in made.placement.series.entries]
    for v in made.moved:
        text.append(
            Said(
                f"{printable(v.name)} applies with an offset now; next: opencoti-patches regen {called(v.name, names)}"
            )
        )
    if made.placement.listed_now:
        text += wrapped(f"{folder}/series was written, for the order needs one now")
    if not why:
        text.append(Said(f"next: say why below the first line of {path}, then opencoti-patches lint"))
    data: dict[str, Any] = {
        "name": printable(e.name),
        "path": path,
        "after": printable(made.previous) if made.previous else None,
        "subject": printable(subject),
        "files": [printable(f.file.path) for f in files],
        "added": added,
        "removed": removed,
        "new_files": [printable(p) for p in new_files],
        "renamed": [{"from": printable(a), "to": printable(b)} for a, b in made.placement.renamed.items()],
        "claims": list(made.claims),
        "offset": [printable(v.name) for v in made.moved],
    }
    return Report(command="new", ok=True, data=data, text=tuple(text))
