"""Edits at the tip, hunk by hunk, into the patches whose lines they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.carry import guards
from opencoti_patches.carry.forward import forward
from opencoti_patches.carry.from_folder import Snapshot, guard_markers
from opencoti_patches.carry.rows import words
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Entry, IndexEntry, PatchName, TreeId, printable
from opencoti_patches.core.words import plural
from opencoti_patches.plan.replay import Lines, lines_of
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.stack.arrange import note
from opencoti_patches.stack.desk import Desk, index_of
from opencoti_patches.stack.model import Change, Fated
from opencoti_patches.stack.weave import BASE, Cell, Woven


class Edit(NamedTuple):
    """One run of changed lines at the tip: lines ``lo:hi`` of the file, from 0, give way to ``added``. A file made,
    removed or changed as a whole has none. ``into`` is its patch, None where it stays; ``why`` says why."""

    file: str
    lo: int
    hi: int
    added: tuple[bytes, ...]
    into: PatchName | None
    why: str = ""


class Absorbed(NamedTuple):
    """The change, every edit, and the tree at the tip from now on."""

    change: Change
    edits: tuple[Edit, ...]
    tip: TreeId


def absorb(desk: Desk, snapshot: Snapshot) -> Absorbed:
    """Fold each edit of a folder at the tip into the one patch that owns its lines; those with two owners or none
    are left.

    Errors: Refused ``wrong-bootstrap``, ``no-change``, ``markers``.
    """
    entries = desk.series.entries
    plan = desk.plan(entries)
    if plan.tip is None or snapshot.began != plan.tip:
        raise Refused(
            "wrong-bootstrap",
            "the folder was not made as the tree after the last patch",
            "for another: 'opencoti-patches refresh PATCH DIR'; for this: 'opencoti-patches apply'",
        )
    if snapshot.now == snapshot.began:
        raise Refused(
            "no-change",
            "nothing was edited in the folder",
            "edit it first, or name the one that was: opencoti-patches absorb DIR",
        )
    guard_markers(snapshot.began, snapshot, desk.store)
    woven = Woven(entries, plan, desk.base, desk.store)
    found = _Edits(desk, snapshot, woven)
    work, tip = desk, plan.tip
    rows: dict[PatchName, Fated] = {}
    done: list[Edit] = []
    left: dict[Edit, str] = {}
    owners = sorted({e.into for e in found.edits if e.into}, key=lambda n: index_of(entries, n))
    groups = [(name, [e for e in found.edits if e.into == name]) for name in owners]
    while groups:
        name, group = groups.pop(0)
        goal = found.tree(plan.tip, [*done, *group])
        now, more, why = _folded(work, name, tip, goal)
        if now is not None:
            work, tip = work.holding(now), goal
            done += group
            rows |= {n: r for n, r in more.items() if n not in rows or r.fate != "kept"}
        elif len(group) > 1:
            groups[:0] = [(name, [e]) for e in group]
        else:
            left[group[0]] = why
    edits = [e._replace(into=None, why=left[e]) if e in left else e for e in found.edits]
    for name in {e.into for e in done if e.into}:
        mine = [e for e in done if e.into == name]
        files = ", ".join(dict.fromkeys(printable(e.file) for e in mine))
        rows[name] = Fated(name, "refreshed", f"{plural(len(mine), 'edit')} of {files}")
    refused = "" if done else "no edit has one patch that it belongs to"
    order = [e.name for e in entries if e.name in rows]
    change = Change(work.series.entries, tuple(rows[n] for n in order), None, refused=refused)
    return Absorbed(change, tuple(edits), tip)


def _folded(
    desk: Desk, name: PatchName, tip: TreeId, goal: TreeId
) -> tuple[Sequence[Entry] | None, dict[PatchName, Fated], str]:
    """The patches with what is between two tips in ``name``; None, and why not."""
    entries, repo = desk.series.entries, desk.store.repo
    at = index_of(entries, name)
    before, after = desk.tree(entries[:at]), desk.tree(entries[: at + 1])
    edits = desk.carry([desk.made("edits", forward(repo, tip, goal))], tip, after)
    if edits.stuck:
        return None, {}, f"has no place in {printable(name)}: {words(edits.stuck[0].reason, 'a later patch')}"
    now = desk.tree((*entries[: at + 1], *edits.entries))
    if now == before:
        return None, {}, f"nothing would be left of {printable(name)}"
    fresh = desk.composed(entries[at], before, now)
    carried = desk.carry(entries[at + 1 :], after, now)
    if carried.stuck:
        return None, {}, f"{printable(carried.stuck[0].name)} stands in the way"
    new = (*entries[:at], fresh, *carried.entries)
    if desk.plan(new).tip != goal:
        return None, {}, f"in {printable(name)} it would make another tree"
    for e, was in zip(carried.entries, entries[at + 1 :], strict=True):
        if e is not was and not guards.compare(_read(was), _read(e)).same:
            return None, {}, f"{printable(e.name)} would have to change with it"
    rows: dict[PatchName, Fated] = {}
    note(rows, carried.rows, f"the new {printable(name)}")
    rows = {
        n: r._replace(fate="regenerated", reason="", interdiff=()) if r.fate == "adapted" else r
        for n, r in rows.items()
    }
    return new, rows, ""


def _read(entry: Entry) -> Parsed:
    return parse(entry.raw, entry.strip, entry.reverse)


class _Edits:
    """The edits of a snapshot, each with its owner, and trees with some of them in."""

    def __init__(self, desk: Desk, snapshot: Snapshot, woven: Woven) -> None:
        self.repo = desk.store.repo
        self.entries = desk.series.entries
        self.weave = woven.goto(len(woven.entries))
        changed = self.repo.diff_trees(snapshot.began, snapshot.now)
        self.held: dict[str, IndexEntry] = {}
        self.edits: list[Edit] = []
        for path, (old, new) in changed.items():
            why = _whole(old, new)
            if why or old is None:
                self.edits.append(Edit(path, 0, 0, (), None, why))
            else:
                self.held[path] = old
        self.contents = self.repo.blobs(oid for _, oid in self.held.values())
        paths = list(self.held)
        diff = self.repo.diff_text(snapshot.began, snapshot.now, context=0, paths=paths) if paths else b""
        for f in parse(diff).files:
            self._file(f.path, [(h.old_start, h.old_count, tuple(h.added)) for h in f.hunks])

    def _file(self, path: str, hunks: Sequence[tuple[int, int, tuple[bytes, ...]]]) -> None:
        cells = self.weave.cells(path) if path in self.weave.last else None
        lines = lines_of(self.contents[self.held[path][1]])
        if not hunks or (cells is not None and [c.line for c in cells[:-1]] != lines):
            self.edits.append(Edit(path, 0, 0, (), None, "its lines cannot be told apart"))
            return
        for start, count, added in hunks:
            lo = start - 1 if count else start
            into, why = self._owner(cells, lo, lo + count)
            self.edits.append(Edit(path, lo, lo + count, added, into, why))

    def _owner(self, cells: Sequence[Cell] | None, lo: int, hi: int) -> tuple[PatchName | None, str]:
        """The patch that put in what is changed, or what an insertion stands beside."""
        if cells is None:
            return None, "no patch changes this file"
        near = cells[lo:hi] if hi > lo else [*cells[max(lo - 1, 0) : lo], *cells[lo:-1][:1]]
        owners = sorted({c.owner for c in near} - {BASE})
        if not owners:
            return None, "the lines are the base's own"
        names = [self.entries[i].name for i in owners]
        if len(names) > 1:
            return None, f"{' and '.join(map(printable, names[:3]))} own its lines"
        return names[0], ""

    def tree(self, tip: TreeId, edits: Sequence[Edit]) -> TreeId:
        """The tip with these edits in."""
        now: dict[str, Lines] = {}
        for e in sorted(edits, key=lambda e: (e.file, -e.lo, -e.hi)):
            lines = now.setdefault(e.file, lines_of(self.contents[self.held[e.file][1]]))
            lines[e.lo : e.hi] = e.added
        oids = dict(zip(now, self.repo.hash_blobs([b"".join(x) for x in now.values()]), strict=True))
        changes: Mapping[str, IndexEntry | None] = {p: (self.held[p][0], oid) for p, oid in oids.items()}
        return self.repo.tree_with(tip, changes)


def _whole(old: IndexEntry | None, new: IndexEntry | None) -> str:
    """Why a file's change is not one of lines; empty if it is."""
    if old is None:
        return "a new file: 'opencoti-patches new' makes a patch of it, 'opencoti-patches refresh' takes it into one"
    if new is None:
        return "the file is removed: 'opencoti-patches refresh' takes that into a patch"
    return (
        "the kind or mode of the file changed: 'opencoti-patches refresh' takes that into a patch"
        if old[0] != new[0]
        else ""
    )
