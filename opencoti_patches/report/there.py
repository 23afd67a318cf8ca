"""An answer's commands for a run that was given the project's folder with ``-C``: they name it, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from opencoti_patches.core.model import Report
from opencoti_patches.core.shell import inline, quoted
from opencoti_patches.report.wrapping import Said

_KEYS = ("next", "then", "hint")  # where a document says what to run
# one in quotes of its own, which may have to be others then, or one that has none
_COMMAND = re.compile(r"(['\"`])(opencoti-patches [a-z](?:(?!\1).)*)\1|(?<![\w/.-])opencoti-patches (?=[a-z])")


def run_there(line: str, given: str) -> str:
    """A line with the project's folder in the commands that it names, where the program was given one with ``-C``."""
    if given in ("", "."):
        return line
    where = f"opencoti-patches -C {quoted(given)} "
    return _COMMAND.sub(lambda m: inline(run_there(m[2], given)) if m[2] else where, line)


def there(report: Report, given: str, form: str) -> Report:
    """The report with that folder in the commands of what to run next; ``form`` is the one it is printed in."""
    if given in ("", "."):
        return report
    if form in ("text", "markdown"):
        report = report._replace(
            text=tuple(
                row.with_line(run_there(row.line, given)) if isinstance(row, Said) else row for row in report.text
            )
        )
    if form in ("json", "markdown"):
        return report._replace(data=in_document(report.body(), given))
    return report._replace(findings=tuple(f._replace(hint=run_there(f.hint, given)) for f in report.findings))


def in_document(value: Any, given: str, says: bool = False) -> Any:
    """A part of a document with that folder in its commands; ``says``: it stands where these do."""
    if isinstance(value, str):
        return run_there(value, given) if says else value
    if isinstance(value, Mapping):
        return {key: in_document(part, given, key in _KEYS) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [in_document(part, given, says) for part in value]
    return value
