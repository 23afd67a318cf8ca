"""An answer's commands for a run that was given the project's folder with ``-C``: they name it, too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from opencoti_patches.core.model import Report
from opencoti_patches.core.shell import quoted
from opencoti_patches.report.wrapping import is_command, wrapped

_STEPS = ("next: ", "then: ")
_KEYS = ("next", "then", "hint")  # where a document says what to run
_HANG = {"status": 9}
_OURS = {
    # command: how a line begins that names commands, beside the steps; others may quote what patches say
    "status": "",
    "lint": " {4}",
    "bump": " {4}opencoti-patches |to have ",
    "new": ".*; next: ",
    "import": ".*'opencoti-patches bootstrap'",
}


def run_there(line: str, given: str) -> str:
    """A line with the project's folder in the commands that it names, where the program was given one with ``-C``."""
    if given in ("", "."):
        return line
    return re.sub(r"(?<![\w/.-])opencoti-patches (?=[a-z])", lambda _: f"opencoti-patches -C {quoted(given)} ", line)


def there(report: Report, given: str, form: str) -> Report:
    """The report with that folder in the commands of what to run next; ``form`` is the one it is printed in."""
    if given in ("", "."):
        return report
    if form == "text":
        return report._replace(text=tuple(_text(report.text, given, report.command)))
    if form == "json":
        return report._replace(data=_data(report.body(), given))
    return report._replace(findings=tuple(f._replace(hint=run_there(f.hint, given)) for f in report.findings))


def _data(value: Any, given: str, says: bool = False) -> Any:
    """A part of a document; ``says``: it stands where commands do."""
    if isinstance(value, str):
        return run_there(value, given) if says else value
    if isinstance(value, Mapping):
        return {key: _data(part, given, key in _KEYS) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_data(part, given, says) for part in value]
    return value


def _text(rows: Sequence[str], given: str, command: str) -> list[str]:
    found: list[str] = []
    ours = _OURS.get(command)
    step = -1  # how far in the step stands whose lines these are
    for row in "\n".join(rows).split("\n"):
        line = row.lstrip()
        indent = len(row) - len(line)
        step = indent if line.startswith(_STEPS) else step if 0 <= step < indent else -1
        plain = step < 0 and not (ours is not None and re.match(ours, row))
        now = line if plain else run_there(line, given)
        pasted = is_command(now.partition(": ")[2] if step >= 0 else now)
        hang = max(_HANG.get(command, 2) - indent, 0)
        found += [row] if now == line else [" " * indent + now] if pasted else wrapped(now, indent, hang)
    return found
