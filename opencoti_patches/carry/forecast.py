"""Looking ahead: at which upstream commit each patch stops being clean.

A patch may break at one commit and fit again at a later one, so no search by halves is valid: every commit
on the way that changes a path of the series is judged, in order, by git and as strictly as ``check``. What
makes that cheap: only patches that share a path with the change are asked, on a tree of the paths that they
touch, and a state that was judged before, in this run or another, is on record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Config, Source
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import (
    EMPTY_TREE,
    Entry,
    IndexEntry,
    PatchName,
    Series,
    Status,
    TreeId,
    Verdict,
    encode,
    printable,
)
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.doors.git.commits import History, Mark, Step, Way
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.scratch import touched
from opencoti_patches.plan.strict import check
from opencoti_patches.series.parse import parse

_AT_ONCE = 256  # contents that are held in memory together
_GITLINK = "160000"
State = dict[str, IndexEntry]
"""Entries by path of what a group of patches may read."""


class Turn(NamedTuple):
    """A commit from which on a patch has another verdict, and why in one line."""

    at: Mark
    status: Status
    why: str


class Outlook(NamedTuple):
    """One patch: the first commit at which it is not clean, the first at which it does not apply (None: there
    is none), and what it is at the last one."""

    name: PatchName
    not_clean: Turn | None
    not_applying: Turn | None
    at_last: Status


class Forecast(NamedTuple):
    """``looked_at`` of the commits touch the series. ``all_clean`` and ``all_apply`` are the newest commits at
    which every patch is clean, or applies; None where there is none on the way."""

    pinned: Mark
    last: Mark
    commits: int
    looked_at: int
    all_clean: Mark | None
    all_apply: Mark | None
    patches: tuple[Outlook, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether every patch applies at the last commit."""
        return all(p.at_last in ("clean", "offset") for p in self.patches)


class _Group(NamedTuple):
    """Patches that share paths, in order, and those paths. No other patch has a say in their verdicts."""

    entries: tuple[Entry, ...]
    paths: frozenset[str]


class _Moment(NamedTuple):
    """A group's tree from one commit on."""

    number: int
    group: _Group
    tree: TreeId


_NO_COMMITS = "only those have commits; what a version of an sdist would bring: opencoti-patches bump VERSION --dry-run"


class Prepared(NamedTuple):
    """All that judging needs, in the store."""

    way: Way
    moments: tuple[_Moment, ...]
    notes: tuple[str, ...]
    renames: Mapping[int, Mapping[str, str]]  # by commit: a path and the one under which its content stands


def which(config: Config, wanted: int | None) -> int:
    """The git source to look ahead in, from 0. Errors: UsageError ``which-source``."""
    able = [i for i, s in enumerate(config.sources) if s.kind == "git"]
    if wanted is None and len(able) == 1:
        return able[0]
    if wanted is None:
        what = f"{len(able)} sources are git repositories" if able else "no source is a git repository"
        raise UsageError("which-source", what, "name it with --source N" if able else _NO_COMMITS)
    if wanted - 1 not in able:
        raise UsageError("which-source", f"source {wanted} is not a git repository", _NO_COMMITS)
    return wanted - 1


def prepare(
    series: Series, source: Source, base: TreeId, way: Way, history: History, store: Store, *, progress: Progress
) -> Prepared:
    """Bring what the commits make of the series' paths into the store. Call with the store's lock held.

    Errors: CouldNot ``no-contents`` and those of fetching.
    """
    groups = _groups(series)
    listing = Listing.of(base, store.listings)
    steps = [(s, {p: sides for raw, sides in s.changes.items() if (p := _inside(source, raw))}) for s in way.steps]
    plans = [_course(g, _start(g, listing), steps) for g in groups]
    known = {oid for g in groups for _, oid in _start(g, listing).values()}
    wanted = {oid for plan in plans for _, state in plan[1:] for _, oid in state.values()} - known
    new = store.repo.lacking(sorted(wanted))
    progress.update("fetching contents", 0, len(new), "files")
    history.have(new)
    for at in range(0, len(new), _AT_ONCE):
        store.repo.hash_blobs(list(history.contents(new[at : at + _AT_ONCE]).values()))
    moments: list[_Moment] = []
    for group, plan in zip(groups, plans, strict=True):
        if len(plan) > 1:
            trees = _trees([state for _, state in plan], store)
            moments += [_Moment(n, group, t) for (n, _), t in zip(plan[1:], trees[1:], strict=True)]
    return Prepared(
        way=way,
        moments=tuple(sorted(moments, key=lambda m: m.number)),
        notes=tuple(_notes(groups, steps)),
        renames={s.mark.number: _renamed(changes) for s, changes in steps},
    )


def forecast(series: Series, base: TreeId, ready: Prepared, store: Store, *, progress: Progress) -> Forecast:
    """Judge the series at every commit that touches it. Writes nothing but records."""
    marks = [ready.way.pinned, *(s.mark for s in ready.way.steps)]
    first = {v.name: v for v in check(series, base, store, progress=progress, tip=False).verdicts}
    now: dict[PatchName, Status] = {n: v.status for n, v in first.items()}
    not_clean: dict[PatchName, Turn] = {}
    not_applying: dict[PatchName, Turn] = {}
    clean: Mark | None = None
    applies: Mark | None = None

    def note(verdicts: Iterable[Verdict], number: int) -> None:
        for v in verdicts:
            now[v.name] = v.status
            turn = Turn(marks[number], v.status, _why(v, ready.renames.get(number, {})))
            if v.status != "clean":
                not_clean.setdefault(v.name, turn)
            if not v.applied:
                not_applying.setdefault(v.name, turn)

    note(first.values(), 0)
    at = 0
    for done, moment in enumerate((*ready.moments, None)):
        until = len(marks) if moment is None else moment.number
        if until > at:  # all changes of the commit before are in: what holds there holds up to the next one
            clean = marks[until - 1] if all(s == "clean" for s in now.values()) else clean
            applies = marks[until - 1] if all(s in ("clean", "offset") for s in now.values()) else applies
            at = until
        if moment is not None:
            progress.update("looking ahead", done, len(ready.moments), "states")
            part = series._replace(entries=moment.group.entries)
            note(check(part, moment.tree, store, tip=False).verdicts, moment.number)
    return Forecast(
        pinned=marks[0],
        last=marks[-1],
        commits=len(marks) - 1,
        looked_at=len({m.number for m in ready.moments}),
        all_clean=clean,
        all_apply=applies,
        patches=tuple(
            Outlook(e.name, not_clean.get(e.name), not_applying.get(e.name), now[e.name]) for e in series.entries
        ),
        notes=ready.notes,
    )


def _groups(series: Series) -> list[_Group]:
    """Parts of the series that share no path: neither one that they touch nor one above or below it."""
    head: dict[str, str] = {}

    def find(path: str) -> str:
        while head.setdefault(path, path) != path:
            head[path] = path = head[head[path]]
        return path

    mine = {e.name: touched([parse(e.raw, e.strip, e.reverse)]) for e in series.entries}
    every = set().union(*mine.values())
    for paths in mine.values():
        for path in paths:
            for near in (next(iter(paths)), *(a for a in _above(path) if a in every)):
                head[find(path)] = find(near)
    groups: dict[str, list[Entry]] = {}
    for e in series.entries:
        if mine[e.name]:
            groups.setdefault(find(next(iter(mine[e.name]))), []).append(e)
    return [_Group(tuple(entries), frozenset().union(*(mine[e.name] for e in entries))) for entries in groups.values()]


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:i]) for i in range(1, len(parts)))


def _start(group: _Group, listing: Listing) -> State:
    """What the base has of a group's paths, of what stands in their way and below them."""
    wanted = {near for path in group.paths for near in (path, *_above(path))}
    wanted |= {below for path in group.paths for below in listing.under(path)}
    return {path: entry for path in wanted if (entry := listing.get(path))}


def _inside(source: Source, path: str) -> str:
    """A path of the source as the base has it; empty if it is outside."""
    if source.subdir:
        if not path.startswith(f"{source.subdir}/"):
            return ""
        path = path[len(source.subdir) + 1 :]
    return f"{source.into}/{path}" if source.into else path


Changes = Mapping[str, tuple[IndexEntry | None, IndexEntry | None]]


def _course(group: _Group, start: State, steps: Sequence[tuple[Step, Changes]]) -> list[tuple[int, State]]:
    """The states of a group: at the pinned commit, then from each commit that changes one."""
    near = {a for path in group.paths for a in (path, *_above(path))}
    found = [(0, start)]
    for step, changes in steps:
        ours = {p: sides for p, sides in changes.items() if p in near or any(a in group.paths for a in _above(p))}
        if not ours:
            continue
        state = dict(found[-1][1])
        for path, (old, new) in ours.items():
            if new is None or new[0] == _GITLINK:
                state.pop(path, None)
            if old and old[0] == _GITLINK and new is None:  # a submodule is gone, and its files with it
                state = {p: e for p, e in state.items() if not p.startswith(f"{path}/")}
        state |= {p: _plain(new) for p, (_, new) in ours.items() if new and new[0] != _GITLINK}
        if state != found[-1][1]:
            found.append((step.mark.number, state))
    return found


def _plain(entry: IndexEntry) -> IndexEntry:
    """An entry with a mode that an index holds: the same rule as for the base."""
    if entry[0] in ("100644", "100755", "120000"):
        return entry
    return ("100755" if int(entry[0], 8) & 0o100 else "100644", entry[1])


def _trees(states: Sequence[State], store: Store) -> list[TreeId]:
    """The trees of a group's states, stored and listed as a base is."""
    steps: list[tuple[str, dict[str, IndexEntry | None]]] = []
    before: State = {}
    for state in states:
        gone: dict[str, IndexEntry | None] = {p: None for p in before if p not in state}
        steps.append(("", gone | {p: e for p, e in state.items() if before.get(p) != e}))
        before = state
    trees = [tree for _, tree in store.repo.chain(EMPTY_TREE, steps)]
    for tree, state in zip(trees, states, strict=True):
        if tree != EMPTY_TREE and not (store.listings / tree).exists():
            rows = sorted((encode(p), f"{mode} blob {oid}\t".encode()) for p, (mode, oid) in state.items())
            fs.write(store.listings / tree, b"".join(head + p + b"\0" for p, head in rows), sync=False)
    return trees


def _renamed(changes: Changes) -> dict[str, str]:
    """Paths that are gone, and where the same content is new."""
    fresh = {new[1]: p for p, (old, new) in changes.items() if new and not old}
    return {p: fresh[old[1]] for p, (old, new) in changes.items() if old and not new and old[1] in fresh}


def _notes(groups: Sequence[_Group], steps: Sequence[tuple[Step, Changes]]) -> Iterator[str]:
    """What was not looked at: submodules that move below a path of the series."""
    above = {a for g in groups for path in g.paths for a in _above(path)}
    seen: set[str] = set()
    for step, changes in steps:
        for path, (_, new) in changes.items():
            if new and new[0] == _GITLINK and path in above and path not in seen:
                seen.add(path)
                yield f"the submodule {printable(path)} moves at commit {step.mark.number}; its files are judged as the base has them"


def _why(verdict: Verdict, renames: Mapping[str, str]) -> str:
    """The reason in one line."""
    if verdict.status == "offset":
        p = verdict.places[0]
        more = f", and {len(verdict.places) - 1} more" if len(verdict.places) > 1 else ""
        return f"{p.file}, hunk {p.hunk} moves by {p.offset:+d} lines{more}"
    if verdict.status == "blocked":
        return f"stands on {', '.join(verdict.blocked_by)}: {verdict.evidence}"
    problem = next((p for p in verdict.problems if p.level == "error"), None)
    if problem is None:
        return verdict.cause or ""
    shown = {printable(a): printable(b) for a, b in renames.items()}
    if problem.file in shown:
        return f"upstream renamed {problem.file} to {shown[problem.file]}"
    hunk = f", hunk {problem.hunk}" if problem.hunk else ""
    return f"{problem.file}{hunk}: {problem.message}" if problem.file else problem.message
