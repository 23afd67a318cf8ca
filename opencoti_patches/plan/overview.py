"""A series seen as a whole: each patch with what is known of it, each file with the patches that touch it, and what
all that is held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Entry, PatchName, Plan, Series, TreeId, Verdict
from opencoti_patches.doors.git import Tracked, lines_between
from opencoti_patches.series import lock
from opencoti_patches.series.counts import FileCount, counts
from opencoti_patches.series.dated import When, upstream, when
from opencoti_patches.series.header import read_header
from opencoti_patches.series.order import LOCK_FILE
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.series.says import what_and_why

Needs = Mapping[PatchName, tuple[PatchName, ...]]
"""By patch, the earlier ones that it stands on."""


class Standing(NamedTuple):
    """What each patch stands on, and how that was found: ``files``, by the files that they share."""

    by: Literal["files", "lines"]
    on: Needs


class Seen(NamedTuple):
    """One patch. ``said`` is what its header says of upstream; ``base_has``: whether the base has what it does already,
    as far as a failed verdict told."""

    entry: Entry
    parsed: Parsed
    verdict: Verdict
    subject: str
    when: When | None
    said: str
    base_has: Literal["no", "part", "all"]
    files: tuple[FileCount, ...]
    news: Literal["", "new", "changed"]  # against the lock

    @property
    def added(self) -> int:
        """Lines that it adds."""
        return sum(f.added for f in self.files)

    @property
    def removed(self) -> int:
        """Lines that it removes."""
        return sum(f.removed for f in self.files)


class Hot(NamedTuple):
    """One file that the series touches. ``changes``: by patch, the lines that it adds and removes there; ``churn``: the
    lines that upstream changed in it between the previous base and this one, None if that is not known."""

    path: str
    changes: Mapping[PatchName, tuple[int, int]]
    churn: int | None

    @property
    def lines(self) -> int:
        """Lines that the series adds and removes in it."""
        return sum(a + r for a, r in self.changes.values())


class Against(NamedTuple):
    """What the series is held against: the lock as a commit has it. ``rev`` as people type it, empty where there is no
    such lock; ``previous`` is the base before this one, None if the history or the store does not know it."""

    rev: str = ""
    lock: lock.Lock | None = None
    compared: lock.Compared | None = None
    previous: TreeId | None = None


class Overview(NamedTuple):
    """The series, hot files first."""

    plan: Plan
    patches: tuple[Seen, ...]
    files: tuple[Hot, ...]
    standing: Standing
    against: Against


def overview(series: Series, plan: Plan, standing: Standing, against: Against, store: Store) -> Overview:
    """Read every patch of a series that was judged, whole. Asks git for the churn, and for days where a header has none."""
    names = against.compared
    days: Mapping[str, str] | None = None
    seen: list[Seen] = []
    for entry, verdict in zip(series.entries, plan.verdicts, strict=True):
        parsed = parse(entry.raw, entry.strip, entry.reverse)
        day = when(parsed.header, read_header(parsed.header))
        if day is None:
            days = Tracked(series.dir).days() if days is None else days
            day = When(days[entry.name], "commit") if entry.name in days else None
        row = Seen(
            entry=entry,
            parsed=parsed,
            verdict=verdict,
            subject=what_and_why(parsed.header)[0],
            when=day,
            said=upstream(parsed.header),
            base_has=_base_has(verdict),
            files=counts(entry, parsed),
            news="" if names is None else "new" if entry.name in names.new else "changed" if entry.name in names.changed else "",
        )  # fmt: skip
        seen.append(row)
    return Overview(plan, tuple(seen), _hot(seen, plan.base, against.previous, store), standing, against)


def by_files(series: Series) -> Standing:
    """Each patch on the last one before it that touches the same file: a guess that costs nothing."""
    last: dict[str, PatchName] = {}
    on: dict[PatchName, tuple[PatchName, ...]] = {}
    order = {e.name: at for at, e in enumerate(series.entries)}
    for e in series.entries:
        touched = {p for f in parse(e.raw, e.strip, e.reverse).files for p in (f.old, f.new) if p}
        on[e.name] = tuple(sorted({last[p] for p in touched if p in last}, key=order.__getitem__))
        last |= dict.fromkeys(touched, e.name)
    return Standing("files", on)


def held_against(series: Series, rev: str, base: TreeId, store: Store) -> Against:
    """The lock as the project's commit ``rev`` has it, and the base before this one: that lock's own where it is
    another, else the one before it in the history.

    Errors: Refused ``bad-lock``.
    """
    history = Tracked(series.dir)
    commit = history.commit(rev)
    raw = history.content(commit, LOCK_FILE) if commit else None
    if raw is None:
        return Against()
    claim = lock.parse(raw.decode("utf-8", "surrogateescape"))
    previous = claim.base if claim.base != base else _base_before(history, commit)
    known = previous not in ("", base) and store.repo.has(previous)
    return Against(rev, claim, lock.compare(claim, series), TreeId(previous) if known else None)


def _base_before(history: Tracked, commit: str) -> str:
    """The base that the lock had before it got the one of ``commit``; empty if the history does not tell."""
    before = history.changed_before(commit, LOCK_FILE, "^base ")
    raw = history.content(before, LOCK_FILE) if before else None
    try:
        return lock.parse(raw.decode("utf-8", "surrogateescape")).base if raw else ""
    except Refused:  # damaged at that time
        return ""


def _base_has(verdict: Verdict) -> Literal["no", "part", "all"]:
    if verdict.cause == "already-applied" and all(p.cause == "already-applied" for p in verdict.problems):
        return "all"
    return "part" if any(p.cause == "already-applied" for p in verdict.problems) else "no"


def _hot(seen: Sequence[Seen], base: TreeId, previous: TreeId | None, store: Store) -> tuple[Hot, ...]:
    changes: dict[str, dict[PatchName, tuple[int, int]]] = {}
    for s in seen:
        for f in s.files:
            row = changes.setdefault(f.file.path, {})
            added, removed = row.get(s.entry.name, (0, 0))
            row[s.entry.name] = (added + f.added, removed + f.removed)
    churn = lines_between(store.objects, previous, base, list(changes)) if previous else None
    files = [Hot(path, row, None if churn is None else churn.get(path, 0)) for path, row in changes.items()]
    return tuple(sorted(files, key=lambda f: (-len(f.changes), -(f.churn or 0), -f.lines, f.path)))
