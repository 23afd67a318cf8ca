"""The answers of ``abi``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from opencoti_patches.build import abi
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import wrapped


def shown(name: str, rows: Sequence[str], *, verbose: bool = False) -> Report:
    """The digest of one tree; all rows with ``verbose`` and in JSON."""
    digest = abi.digest(rows)
    counts = Counter(row.split(" ", 1)[0] for row in rows)
    kinds = ", ".join(plural(n, kind) for kind, n in sorted(counts.items()))
    text = [f"{printable(name)}: {digest}", *wrapped(kinds, 4, 2)]
    return Report(
        command="abi",
        ok=True,
        data={"of": printable(name), "digest": digest, "rows": list(rows)},
        text=(*text, *rows) if verbose else tuple(text),
    )


def compared(old: tuple[str, Sequence[str]], new: tuple[str, Sequence[str]]) -> Report:
    """Row by row what differs between two trees."""
    found = abi.compare(old[1], new[1])
    text: list[str] = []
    for d in found:
        text.append(printable(d.key))
        text += [f"  {sign} {printable(what)}" for sign, what in (("-", d.old), ("+", d.new)) if what is not None]
    names = f"{printable(old[0])} and {printable(new[0])}"
    end = f"{plural(len(found), 'row')} differ" if len(found) != 1 else "1 row differs"
    text.append(f"{names}: {end}." if found else f"{names} have the same interface: {abi.digest(new[1])[:12]}.")
    data = {
        "of": [printable(old[0]), printable(new[0])],
        "digests": [abi.digest(old[1]), abi.digest(new[1])],
        "differences": [{"row": printable(d.key), "old": d.old, "new": d.new} for d in found],
    }
    return Report(command="abi", ok=not found, data=data, text=tuple(text))
