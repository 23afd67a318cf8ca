"""The answer of ``doctor``."""

from __future__ import annotations

from collections.abc import Sequence

from opencoti_patches.build.doctor import Need
from opencoti_patches.core.model import Report, printable
from opencoti_patches.report.wrapping import wrapped


def report(rows: Sequence[Need]) -> Report:
    """A line a program, under the profile that needs it; missing ones with what mends that."""
    text: list[str] = []
    profile = ""
    for row in rows:
        if row.profile != profile:
            profile = row.profile
            text.append(f"{profile}:")
        indent = 4 if profile else 0
        word = printable(row.version) if row.ok else f"{printable(row.version) or 'not there'}; {row.mend}"
        text += wrapped(f"{printable(row.tool)}: {word}", indent, 2)
        text += [f"{' ' * (indent + 4)}{printable(command)}" for command in row.commands]
    ok = all(row.ok for row in rows)
    text.append("All is there." if ok else "Something is missing.")
    data = {
        "tools": [
            {"profile": r.profile or None, "tool": printable(r.tool), "version": printable(r.version) or None}
            | ({"mend": printable(r.mend)} if r.mend else {})
            | ({"commands": [printable(c) for c in r.commands]} if r.commands else {})
            for r in rows
        ]
    }
    return Report(command="doctor", ok=ok, data=data, text=tuple(text))
