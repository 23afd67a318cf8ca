"""``series.lock``: what was verified, as a claim that ``check --locked`` proves or refutes.

Rows stand alone, so that a merge of two branches tells which patches each changed: a base row, ``NAME SHA256`` a patch,
a tip row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Plan, Series, is_full_id, printable
from opencoti_patches.doors import fs
from opencoti_patches.series.order import LOCK_FILE, MARKER

_HEAD = "# Written by 'opencoti-patches lock'. A claim: 'opencoti-patches check --locked' proves it.\n"


class BadLock(Refused):
    """What is there is no lock; ``line`` is the line that says so, from 1."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__("bad-lock", f"{LOCK_FILE} {why}", "run 'opencoti-patches lock'")
        self.line = line


class Lock(NamedTuple):
    """A lock file's claims: tree ids of base and tip, and each patch's sha256 in order."""

    base: str
    patches: tuple[tuple[str, str], ...]
    tip: str


def write(series: Series, plan: Plan) -> bytes:
    """The lock of a series that applies."""
    rows = "".join(f"{e.name} {e.sha256}\n" for e in series.entries)
    return f"{_HEAD}base {plan.base}\n{rows}tip {plan.tip}\n".encode("utf-8", "surrogateescape")


def read(folder: Path) -> Lock | None:
    """The lock of a patches folder; None if there is none. Errors: BadLock; CouldNot ``disk``."""
    file = folder / LOCK_FILE
    with fs.disk_errors(f"read {printable(str(file))}"):
        try:
            text = file.read_text("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None
    return parse(text)


def parse(text: str) -> Lock:
    """The claims in a lock's text. Errors: BadLock for conflict markers, lines that are no row, a row that is there twice,
    as a merge that keeps both sides leaves it, and a missing one."""
    trees: dict[str, str] = {}
    rows: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if MARKER.match(line):
            raise BadLock(number, f"line {number} is a conflict marker")
        if not line.strip() or line.startswith("#"):
            continue
        name, _, value = line.rpartition(" ")
        if name in ("base", "tip") and is_full_id(value):
            kind = trees
        elif name and re.fullmatch(r"[0-9a-f]{64}", value):
            kind = rows
        else:
            raise BadLock(number, f"line {number} is no row of a lock: {line[:40]!r}")
        if name in kind:
            raise BadLock(number, f"line {number} is a second row for {printable(name)}")
        kind[name] = value
    if missing := [name for name in ("base", "tip") if name not in trees]:
        raise BadLock(1, f"has no row for {' and '.join(missing)}")
    return Lock(base=trees["base"], patches=tuple(rows.items()), tip=trees["tip"])


class Compared(NamedTuple):
    """What a series has otherwise than a lock: names in the order of the series, those that are gone in the lock's."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    moved: bool  # the same patches in another order


def compare(lock: Lock, series: Series) -> Compared:
    """Hold a series to the patches that a lock has."""
    claimed, have = dict(lock.patches), {e.name: e.sha256 for e in series.entries}
    return Compared(
        new=tuple(n for n in have if n not in claimed),
        changed=tuple(n for n, sha in have.items() if n in claimed and claimed[n] != sha),
        gone=tuple(n for n in claimed if n not in have),
        moved=[n for n in claimed if n in have] != [n for n in have if n in claimed],
    )


_WHATS = ("not in the lock", "in the lock and not in the series", "not what was locked")
_NAMED = 3  # patches of which one thing is said


def told(differences: Sequence[str]) -> str:
    """What ``disagreements`` says, in one line: what is true of several patches stands there once."""
    by: dict[str, list[str]] = {}
    for line in differences:
        what = next((w for w in _WHATS if line.endswith(f" is {w}")), "")
        by.setdefault(what or line, []).append(line.removesuffix(f" is {what}"))
    parts = []
    for what, names in by.items():
        few = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        parts.append(f"{few} {'are' if len(names) > 1 else 'is'} {what}" if what in _WHATS else what)
    return "; ".join(parts)


def disagreements(lock: Lock | None, series: Series, plan: Plan) -> tuple[str, ...]:
    """In what the lock and the series, as it was judged, differ; empty without a lock or if in nothing."""
    if lock is None:
        return ()
    found = []
    if lock.base != plan.base:
        found.append(f"the lock is for base tree {lock.base[:12]}, this is {plan.base[:12]}")
    differ = compare(lock, series)
    for names, what in zip((differ.new, differ.gone, differ.changed), _WHATS, strict=True):
        found += [f"{n} is {what}" for n in names]
    if not found and differ.moved:
        found.append("the lock has the patches in another order")
    if not found and plan.tip and len(plan.verdicts) == len(series.entries) and lock.tip != plan.tip:
        found.append(f"the lock has tip tree {lock.tip[:12]}, this is {plan.tip[:12]}")
    return tuple(found)
