"""The answer of ``regen`` and ``bump``: a row a patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from opencoti_patches.carry.model import Carried, Clash, Row
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.advice import after_regen
from opencoti_patches.report.files import listed
from opencoti_patches.report.wrapping import cut, steps, wrapped

_SHOWN = 30  # lines of an interdiff
_CLASHES, _SIDE = 3, 4  # conflicts of a patch, lines of each side
PLAIN = ("three-way: between unchanged lines", "three-way: its lines are unchanged")  # nothing to see
_ORDER: tuple[Carried, ...] = ("kept", "renumbered", "regenerated", "adapted", "upstreamed", "conflict", "blocked")

Next = Callable[[Row], Sequence[str]]
"""What to run next for a patch in conflict, and what then: commands that can be pasted, mostly."""


def report(
    command: str,
    rows: Sequence[Row],
    *,
    written: Sequence[str],
    deleted: Sequence[str] = (),
    dry_run: bool = False,
    into: str | None = None,
    refused: Sequence[str] = (),
    skipped: Set[str] = frozenset(),
    new_files: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
    tail: Sequence[str] = (),
    then: Sequence[str] = (),
    next_of: Next,
    quiet: bool = False,
    verbose: bool = False,
) -> Report:
    """``written`` and ``deleted`` are paths relative to the project; ``refused`` the adapted patches that nobody
    accepted, which keep everything from being written. ``more`` and ``tail`` are what a command has to say
    beside this, as data and as text; ``then`` what to run after it, which ``quiet`` leaves out where all is done."""
    ok = not refused and not any(r.status in ("conflict", "blocked") and r.name not in skipped for r in rows)
    text: list[str] = []
    for r in rows:
        if r.status != "kept" or r.reason or verbose:
            text += _block(r, () if r.name in skipped else next_of(r), skipped, verbose, dry_run or verbose)
    if new_files:
        text += wrapped(f"new files taken in: {', '.join(map(printable, new_files))}", 0)
    summary = counted(rows, skipped)
    if refused and into:
        summary += f". Look at what was adapted in {into} before you take it"
    elif refused and command == "bump" and any(r.status == "conflict" and r.name not in skipped for r in rows):
        summary += ". Nothing was written; what was adapted will have to be accepted, too"
    elif refused:
        summary += ". Nothing was written: look at what was adapted, then run it again with --accept-adapted"
    elif not written:
        summary += ". Nothing to write" if ok else ". Nothing was written"
    elif dry_run:
        gone = f", {len(deleted)} deleted" if deleted else ""
        summary += f". {plural(len(written), 'file')} would be written{gone}"
    else:
        summary += f". Written: {listed(written)}"
        summary += f". Deleted: {', '.join(deleted)}" if deleted else ""
    text += [*wrapped(summary + ".", 0), *tail, *(() if quiet and ok else steps(then, 0))]
    data = {
        "patches": [_row(r, () if r.name in skipped else next_of(r)) for r in rows],
        "written": [] if dry_run else [printable(w) for w in written],
        "dry_run": dry_run,
        "needs_acceptance": [printable(n) for n in refused],
        "new_files": [printable(p) for p in new_files],
        "next": [printable(s) for s in then],
        **(more or {}),
    }
    return Report(command=command, ok=ok, data=data, text=tuple(text), cases=tuple(r.name for r in rows))


def counted(rows: Sequence[Row], skipped: Set[str] = frozenset()) -> str:
    """How many patches became what: ``3 kept, 1 conflict, 1 skipped``."""
    counts = Counter(r.status for r in rows if r.name not in skipped)
    parts = [f"{counts[s]} {s}" for s in _ORDER if counts[s]]
    left_out = sum(r.name in skipped for r in rows)
    return ", ".join([*parts, *([f"{left_out} skipped"] if left_out else [])]) or "no patches"


def regen_next(rows: Sequence[Row]) -> Next:
    """What mends a conflict by hand: that of the first, for there is no tree before the others until then. ``rows`` are
    those of the whole series."""
    names = [r.name for r in rows]
    at = next((i for i, r in enumerate(rows) if r.status == "conflict"), None)

    def commands(r: Row) -> Sequence[str]:
        if r.status != "conflict" or at is None:
            return ()
        if said := r.next or rows[at].next:
            return (said,)
        return after_regen(rows[at].name, rows[at].cause, rows[at - 1].name if at else None, names)

    return commands


def _row(r: Row, next_: Sequence[str]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": printable(r.name),
        "status": r.status,
        "reason": r.gist or r.reason,
        "hunks": [{"file": h.file, "hunk": h.hunk, "how": h.how} for h in r.hunks],
    }
    if r.interdiff:
        row["interdiff"] = list(r.interdiff)
    if r.look:
        row["look"] = list(r.look)
    if r.clashes:
        row["conflicts"] = [c._asdict() for c in r.clashes]
    return row | dict(zip(("next", "then"), next_, strict=False))


def _block(r: Row, next_: Sequence[str], skipped: Set[str], verbose: bool, conflicts: bool) -> list[str]:
    reason = r.gist or r.reason
    lines = wrapped(
        ": ".join([printable(r.name), *([] if r.name in skipped else [r.status]), *filter(None, [reason])]), 0
    )
    for said in dict.fromkeys(h.said for h in r.hunks if verbose or telling(r.status, reason, h.said, h.how)):
        lines += wrapped(said, 4)
    if r.status == "adapted":
        seen = [*r.interdiff, *r.look]
        most = len(seen) if verbose else _SHOWN
        lines += cut([f"    {row}" for row in seen[:most]])
        if len(seen) > most:
            lines.append(f"    … {plural(len(seen) - most, 'more line')}; -v shows them")
    if conflicts:  # else they lie in the worktree, or will
        for c in r.clashes[:_CLASHES]:
            lines += [*wrapped(f"{c.file}, line {c.line}:", 4), *cut([f"      {x}" for x in marked(c, _SIDE)])]
        if len(r.clashes) > _CLASHES:
            lines.append(f"    … {plural(len(r.clashes) - _CLASHES, 'more conflict')}")
    return [*lines, *steps(next_)]


def telling(status: str, reason: str, said: str, how: str) -> bool:
    """Whether ``how`` a hunk went, ``said`` with its place, says more than the status and the reason of its patch."""
    plain = how in PLAIN or how.startswith("moved by ")
    return (
        status not in ("renumbered", "upstreamed") and not plain and said.replace(": conflict: ", ": ", 1) not in reason
    )


def marked(clash: Clash, most: int) -> list[str]:
    """A conflict as it stands in the merge, ``most`` lines of each side."""
    rows: list[str] = []
    for mark, side in (("<<<<<<< upstream", clash.upstream), ("||||||| before", clash.before), ("=======", clash.ours)):
        more = [f"… {plural(len(side) - most, 'more line')}"] if len(side) > most + 1 else side[most:]
        rows += [mark, *side[:most], *more]
    return [*rows, ">>>>>>> the patch"]
