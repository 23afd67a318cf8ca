"""One page of a series that needs nothing but itself.

Everything of a patch stands on it as escaped text, so it reads without the script too; the script parts and colours a
diff when it is opened, from that text. It is let in by its own hash and gets no data but what stands on the page.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.resources import files
from math import log2
from typing import Any, NamedTuple

from opencoti_patches.carry.note import today
from opencoti_patches.core.model import PatchName, decode, printable
from opencoti_patches.core.shell import word
from opencoti_patches.core.words import plural
from opencoti_patches.plan.overview import Hot, Seen
from opencoti_patches.report.overview import Answer, compared, headline, upstream_word, verdict
from opencoti_patches.report.page.arcs import Arcs, arcs
from opencoti_patches.report.wrapping import is_command
from opencoti_patches.series.naming import short

_LINES = 20_000  # of a patch, and
_WIDTH = 2_000  # characters of a line: what is more is for 'show'
_FILES = 60  # rows of the heat map
_STEPS = 5  # of its colour
_NAMED = 12  # patches that a row of it names


class Cell(NamedTuple):
    """A patch in a row of the heat map: its column from 0, its lines, how hot from 1 to 5."""

    at: int
    name: str
    added: int
    removed: int
    heat: int


class Strip(NamedTuple):
    """A row of the heat map. ``words`` names the patches for who does not see it."""

    base: str
    folder: str
    cells: tuple[Cell, ...]
    lines: int
    churn: int | None
    words: str


def page(found: Answer) -> str:
    """The page, without a last newline."""
    import jinja2

    env = jinja2.Environment(
        loader=jinja2.PackageLoader("opencoti_patches.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.tests["command"] = is_command
    env.filters |= {"plural": plural, "grouped": lambda n: f"{n:,}"}
    style, script = _asset("page.css"), _asset("page.js")
    return env.get_template("page.html").render(
        **_facts(found),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _asset(name: str) -> str:
    return files("opencoti_patches.report.page").joinpath(name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _facts(found: Answer) -> dict[str, Any]:
    seen, about, body = found.overview, found.about, found.body
    number = {s.entry.name: at for at, s in enumerate(seen.patches)}
    days = sorted(s.when.day for s in seen.patches if s.when)
    hottest = max((sum(lines) for f in seen.files for lines in f.changes.values()), default=0)
    drawn = arcs([[number[on] for on in seen.standing.on.get(s.entry.name, ())] for s in seen.patches])
    return {
        "name": printable(about.name) or "series",
        "headline": headline(about, seen),
        "verdict": verdict(seen),
        "compared": compared(seen),
        "body": body,
        "gone": body["lock"]["gone"] if body["lock"] else [],
        "days": days,
        "today": today(),
        "added": sum(s.added for s in seen.patches),
        "removed": sum(s.removed for s in seen.patches),
        "patches": [_patch(at, s, body["patches"][at], drawn) for at, s in enumerate(seen.patches)],
        "strips": [_strip(f, number, hottest) for f in seen.files[:_FILES]],
        "files": len(seen.files),
        "most_churn": max((f.churn or 0 for f in seen.files), default=0),
        "graph": drawn,
    }


def _patch(at: int, s: Seen, row: Mapping[str, Any], drawn: Arcs) -> dict[str, Any]:
    """What the page shows of one patch, all of it printable."""
    diff = [line[:_WIDTH] + ("…" if len(line) > _WIDTH else "") for line in _lines(s.entry.raw[len(s.parsed.header) :])]
    number = short(s.entry.name)
    return {
        **row,
        "id": f"p{at + 1}",
        "number": printable(number) if number != s.entry.name else str(at + 1),
        "called": word(s.entry.name),
        "news": s.news,
        "age": _age(s.when.day) if s.when else "",
        "word": upstream_word(s),
        "places": [{"path": printable(f.file.path), "does": f.file.operation, "added": f.added, "removed": f.removed} for f in s.files],
        "blocked_by": [*map(printable, s.verdict.blocked_by)],
        "on": drawn.below[at],
        "under": drawn.above[at],
        "header": "\n".join(_lines(s.parsed.header)).strip("\n"),
        "diff": "\n".join(diff[:_LINES]),
        "cut": max(0, len(diff) - _LINES),
    }  # fmt: skip


def _lines(raw: bytes) -> list[str]:
    """Lines that any screen takes: stray bytes, controls and what turns the direction of text become escapes."""
    lines = [printable(line) for line in decode(raw).split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _age(day: str) -> str:
    """How long ago a day was, in one number: ``today``, ``9 d``, ``14 wk``, ``2 y``."""
    gone = (date.fromisoformat(today()) - date.fromisoformat(day)).days
    for size, unit in ((365 * 2, "y"), (14, "wk"), (1, "d")):
        if gone >= size:
            return f"{gone // {'y': 365, 'wk': 7, 'd': 1}[unit]} {unit}"
    return "today" if gone == 0 else ""


def _strip(f: Hot, number: Mapping[PatchName, int], hottest: int) -> Strip:
    cells = [
        Cell(number[n], printable(short(n)), a, r, 1 + min(_STEPS - 1, int(_STEPS * log2(1 + a + r) / log2(2 + hottest))))
        for n, (a, r) in f.changes.items()
    ]  # fmt: skip
    folder, _, base = printable(f.path).rpartition("/")
    return Strip(base, folder, tuple(cells), f.lines, f.churn, _words(cells))


def _words(cells: Sequence[Cell]) -> str:
    named = [f"{c.name} +{c.added} -{c.removed}" for c in cells[:_NAMED]]
    return ", ".join(named + [f"and {len(cells) - _NAMED} more"] * (len(cells) > _NAMED))
