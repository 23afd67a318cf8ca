"""The series as Markdown for a pull request: short, and escaped as a bump's is."""

from __future__ import annotations

from collections.abc import Iterator

from opencoti_patches.core.model import printable
from opencoti_patches.core.words import plural
from opencoti_patches.plan.overview import Seen
from opencoti_patches.report.checked import place_of
from opencoti_patches.report.markdown import code, fenced, text
from opencoti_patches.report.overview import Answer, compared, headline, verdict
from opencoti_patches.report.there import run_there
from opencoti_patches.report.wrapping import is_command

_FEW = 25  # patches that are all shown
_FAILURES = 10  # that are explained
_ROWS = 200


def overview_markdown(found: Answer) -> str:
    """The report, without a last newline."""
    return "\n".join(_document(found)).rstrip("\n")


def _document(found: Answer) -> Iterator[str]:
    seen = found.overview
    yield f"**{text(headline(found.about, seen))}.** {verdict(seen)} {text(compared(seen))}".rstrip()
    yield ""
    telling = [s for s in seen.patches if s.verdict.status != "clean" or s.news]
    rows = list(seen.patches) if len(seen.patches) <= _FEW else telling[:_ROWS]
    gone = seen.against.compared.gone if seen.against.compared else ()
    if rows or gone:
        news = seen.against.compared is not None
        yield f"| patch | status | lines |{' against the lock |' * news}"
        yield f"|---|---|---|{'---|' * news}"
        yield from (
            f"| {_name(s)} | {s.verdict.status} | +{s.added} -{s.removed} |{f' {s.news} |' * news}" for s in rows
        )
        yield from (f"| {code(printable(name))} | | | gone |" for name in gone[:_ROWS])
        yield ""
    left = len(seen.patches) - len(rows)
    if left:
        as_locked = ", as locked" if seen.against.compared else ""
        kind = "more patch" if len(telling) > len(rows) else "clean patch"
        yield f"{plural(left, kind)}{as_locked if kind == 'clean patch' else ''}."
        yield ""
    failed = [at for at, s in enumerate(seen.patches) if not s.verdict.applied and not s.verdict.blocked_by]
    if failed:
        yield "### What fails"
        yield ""
    for at in failed[:_FAILURES]:
        s = seen.patches[at]
        yield f"{code(printable(s.entry.name))}: {_why(s)}"
        yield ""
        row = found.body["patches"][at]
        steps = [printable(row[key]) for key in ("next", "then") if key in row]
        yield from fenced(steps, "sh") if is_command(steps[0]) else [text("; ".join(steps))]
        yield ""
    if len(failed) > _FAILURES:
        yield f"{plural(len(failed) - _FAILURES, 'more failure')}: {code(run_there('opencoti-patches check', found.about.given))} tells of all."


def _name(s: Seen) -> str:
    subject = f" {text(printable(s.subject))}" if s.subject else ""
    return f"{code(printable(s.entry.name))}{subject}"


def _why(s: Seen) -> str:
    p = s.verdict.problems[0]
    return text(printable(place_of(p) + p.message))
