"""A bump as Markdown, to be put into a pull request: what became of every patch, and what wants a look.

Names and texts come from patches and from upstream, so nothing of them is left to mean something: in tables
and sentences all that Markdown or HTML could read is escaped, lines of patches stand in fences longer than
any of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from opencoti_patches.carry.model import Clash, HunkHow
from opencoti_patches.core.model import Report
from opencoti_patches.core.words import plural
from opencoti_patches.report.carried import marked, telling
from opencoti_patches.report.there import run_there

_ORDER = ("kept", "renumbered", "regenerated", "adapted", "upstreamed", "conflict", "blocked", "skipped", "disabled")
_SIGNS = re.compile(r"([\\`*_\[\]|~$])")  # that mean something within a line
_CALLS = re.compile(r"([@#])(?=\w)|(?<=:)(?=//)")  # people and issues that would hear of it, addresses
_BEHIND = {"reason": "not carried; its file stays as made for an older base"}
_CLASHES, _SIDE = 10, 12  # conflicts of a patch, lines of each side
_LONGEST = 400  # lines of an interdiff

Row = Mapping[str, Any]


def markdown(report: Report, given: str = "") -> str:
    """The report's own facts as Markdown, without a last newline. ``given`` is the folder of ``-C``. What is no carried series (a session's
    state, an answer of one line) is its text in a fence."""
    data = report.body()
    if "patches" not in data or "base" not in data:
        return "\n".join(fenced(report.text))
    return "\n".join(_document(data, given)).rstrip("\n")


def text(plain: str) -> str:
    """Plain text as a sentence or a table cell takes it."""
    flat = escape(_CALLS.sub("\\1\u200b", " ".join(plain.split())), quote=False)
    return _SIGNS.sub(r"\\\1", flat).replace("\u200b", "&#8203;")


def html(plain: str) -> str:
    """Plain text within a line of HTML, be that a block of it or a part of a sentence."""
    flat = escape(_CALLS.sub("\\1\u200b", " ".join(plain.split())), quote=False)
    return _SIGNS.sub(lambda m: f"&#{ord(m[0])};", flat).replace("\u200b", "&#8203;")


def code(plain: str) -> str:
    """A name as code. In HTML's own element a backtick ends nothing, and an entity is no sign."""
    return f"<code>{html(plain).replace('&#8203;', '')}</code>"


def fenced(lines: Sequence[str], kind: str = "") -> list[str]:
    """Lines as they are, in a fence that none of them can close."""
    longest = max((len(m[0]) for line in lines for m in re.finditer("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + kind, *lines, fence]


def _document(data: Mapping[str, Any], given: str) -> Iterator[str]:
    old, new = data["from"], data["base"]
    yield f"## {text(old['source'])} {text(old['rev'])} → {text(new['rev'])}"
    yield ""
    yield "| | before | after |"
    yield "|---|---|---|"
    yield f"| base | {text(old['rev'])} | {text(new['rev'])} |"
    if old["upstream"] or new["upstream"]:
        yield f"| upstream | {_short(old)} | {_short(new)} |"
    yield f"| tree | {code(old['tree'][:12])} | {code(new['tree'][:12])} |"
    yield ""
    rows = [(row, "skipped" if row["name"] in data["skipped"] else row["status"]) for row in data["patches"]]
    rows += [({"name": name}, "disabled") for name in data["disabled"]]
    rows = [(row | _BEHIND if status in ("skipped", "disabled") else row, status) for row, status in rows]
    yield f"**{_counted([status for _, status in rows])}.** {_outcome(data)}"
    yield ""
    for note in data["notes"]:
        yield f"> {text(note)}"
        yield ""
    if rows:
        yield "| patch | status | reason |"
        yield "|---|---|---|"
        yield from (f"| {code(row['name'])} | {status} | {text(row['reason'])} |" for row, status in rows)
        yield ""
    if data["skipped"] or data["disabled"]:
        enable = code(run_there("opencoti-patches enable NAME", given))
        yield f"What is skipped or disabled stays behind; {enable} brings one back, later."
        yield ""
    looked = [row for row, status in rows if status == "adapted"]
    if looked:
        yield "### To be looked at"
        yield ""
        for row in looked:
            yield from _adapted(row)
    stuck = [row for row, status in rows if status == "conflict"]
    if stuck:
        yield "### In conflict"
        yield ""
        for row in stuck:
            yield from _conflict(row, data)
    if data["next"] and not data["dry_run"]:
        yield from ["Next:", "", *fenced(data["next"], "sh")]


def _short(base: Mapping[str, str]) -> str:
    """What of upstream a base is, ids as short as people write them."""
    known = re.sub(r"\b([0-9a-f]{12})[0-9a-f]{28}\b", r"\1", base["upstream"])
    return text(known or (base["rev"] if base["kind"] == "git" else "not known"))


def _counted(statuses: Sequence[str]) -> str:
    return ", ".join(f"{n} {s}" for s in _ORDER if (n := statuses.count(s))) or "no patches"


def _outcome(data: Mapping[str, Any]) -> str:
    if data["dry_run"]:
        return "Nothing was written: it was a trial."
    if data["written"]:
        gone = f", {', '.join(map(code, data['deleted']))} deleted" if data["deleted"] else ""
        return f"{plural(len(data['written']), 'file')} written{gone}; the series applies strictly."
    if data["needs_acceptance"]:
        return "Nothing was written: what is adapted has to be accepted."
    return "Nothing was written."


def _hows(row: Row) -> list[str]:
    """What the hunks say that the table does not, each once."""
    found: list[str] = []
    for h in (HunkHow(**h) for h in row["hunks"]):
        if telling(row["status"], row["reason"], h.said, h.how):
            found.append(f"- {code(h.file)}{f', hunk {h.hunk}' if h.hunk else ''}: {text(h.how)}")
    return list(dict.fromkeys(found))


def _adapted(row: Row) -> Iterator[str]:
    yield f"<details><summary>{code(row['name'])}</summary>"
    yield ""
    if hows := _hows(row):
        yield from [*hows, ""]
    for key, what in (
        ("interdiff", "What changed of its lines (first column: `-` the old patch, `+` the new one):"),
        ("look", "Where its lines, which are what they were, stand now:"),
    ):
        lines = row.get(key, [])
        if lines:
            yield from [what, "", *fenced(lines[:_LONGEST])]
            yield from [f"… {plural(len(lines) - _LONGEST, 'more line')}"] if len(lines) > _LONGEST else []
            yield ""
    yield from ["</details>", ""]


def _conflict(row: Row, data: Mapping[str, Any]) -> Iterator[str]:
    yield code(row["name"])
    yield ""
    hows = [h for h in _hows(row) if ": conflict: " in h] or _hows(row)
    if hows:
        yield from [*hows, ""]
    for c in row.get("conflicts", [])[:_CLASHES]:
        yield from [f"<details><summary>{code(c['file'])}, line {c['line']}</summary>", ""]
        yield from [*fenced(marked(Clash(**c), _SIDE)), "", "</details>", ""]
    if (more := len(row.get("conflicts", [])) - _CLASHES) > 0:
        yield from [f"… {plural(more, 'more conflict')}", ""]
    if data.get("waits_for") == row["name"]:
        yield f"To be resolved in {code(data['worktree'])}: {', '.join(map(code, data['files']))}. Then:"
        yield ""
    if "next" in row:
        yield from [*fenced([row["next"]], "sh"), ""]
