"""The answer of ``upstreamed``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opencoti_patches.carry.upstreamed import Has, Share
from opencoti_patches.core.model import Report, TreeId, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import Said, wrapped

_SAYS: dict[Share, str] = {
    "all": "all is there",
    "some": "some is there",
    "none": "nothing is there",
    "unknown": "not known",
}
_COUNTED: dict[Share, str] = {
    "all": "{} wholly there",
    "some": "{} in part",
    "none": "{} not",
    "unknown": "{} not known",
}


def report(found: Sequence[Has], base: TreeId, called: str, *, verbose: bool = False) -> Report:
    """``called`` is what people call the base that was looked at."""
    text: list[str] = []
    for p in found:
        if p.share == "none" and not verbose:
            continue
        head = f"{printable(p.name)}: {_SAYS[p.share]}{f': {p.why}' if p.why else ''}"
        text += [Said(head, 0)] if p.share == "unknown" else wrapped(head, 0)
        for t in p.there:
            part = f", hunk {t.hunk}" if t.hunk else ""
            less = "" if t.whole else ", a part of it"
            line = f", line {t.line}" if t.line else ""
            text += wrapped(f"{t.file}{part}{less}{line}: {t.how}", 4, 2)
    counts = Counter(p.share for p in found)
    said = ", ".join(_COUNTED[s].format(counts[s]) for s in _SAYS if counts[s])
    text += wrapped(
        f"{plural(len(found), 'patch')} held against {printable(called)}: {said or 'none to look for'}.", 0, 2
    )
    data = {
        "base": {"tree": base, "name": printable(called)},
        "patches": [
            {
                "name": printable(p.name),
                "share": p.share,
                "why": printable(p.why),
                "hunks": [t._asdict() for t in p.there],
            }
            for p in found
        ],
    }
    return Report(command="upstreamed", ok=True, data=data, text=tuple(text))
