"""Regeneration of a series: over the patches in order, each on the tree that those before it make.

What git takes as it is stays untouched; what it takes with an offset gets new line numbers; what it
refuses goes up the ladder, and comes back as the diff of the tree before and after it. A patch that finds
no place is put aside as a conflict, and the rest goes on without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.carry import guards, heads, ladder, note, over, rows
from opencoti_patches.carry.compose import composed
from opencoti_patches.carry.ground import Ground, Tree, known
from opencoti_patches.carry.in_way import in_way, other_kind
from opencoti_patches.carry.model import Carried, HunkHow, Row
from opencoti_patches.carry.staged import staged
from opencoti_patches.carry.supposed import suppose
from opencoti_patches.core.model import (
    NOT_TEXT,
    Entry,
    FilePatch,
    IndexEntry,
    PatchName,
    Problem,
    Series,
    TreeId,
    printable,
)
from opencoti_patches.core.progress import Progress, Silent
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import Landing, runs_of
from opencoti_patches.plan.diagnose import diagnose
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.moved import moved_warnings
from opencoti_patches.plan.nearest import told_by
from opencoti_patches.plan.places import has_functions
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.series.naming import called
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.series.repair import repaired


def regen(
    series: Series,
    wanted: frozenset[PatchName] | None,
    base: TreeId,
    store: Store,
    *,
    project: str,
    tag: str = "",
    progress: Progress | None = None,
) -> tuple[Row, ...]:
    """A row a patch, in order. ``wanted`` are those that may be rewritten, None for all; ``project`` and
    ``tag`` go into the notes. Writes nothing but the store."""
    with fs.scratch(store.scratch, "regen-") as folder:
        walk = _Walk(series.entries, base, store, folder)
        return walk.run(wanted, project, tag, progress or Silent())


_WHY = {"zero-context": "it had no context lines, and git takes none such", "eol": "line ends changed"}


class _Conflict(Exception):
    """A patch finds no place; the message says why."""

    status: Carried = "conflict"
    cause = ""


class _Done(_Conflict):
    """Nothing is left of a patch; a person has to say what becomes of it."""

    cause = "already-applied"

    def __init__(self) -> None:
        super().__init__("nothing is left of it: the tree has all that it does")


class _Blocked(_Conflict):
    """A patch stands on one that finds no place."""

    status = "blocked"


class _Walk:
    def __init__(self, entries: Sequence[Entry], base: TreeId, store: Store, folder: Path) -> None:
        self.entries = entries
        self.base = base
        self.store = store
        self.folder = folder
        self.parsed = {e.name: parse(e.raw, e.strip, e.reverse) for e in entries}
        listing = Listing.of(base, store.listings)
        self.scratch = Scratch(store.repo, base, listing, folder, {}, touched(self.parsed.values()))
        self.rows: list[Row] = []
        self.failed: list[tuple[Entry, Parsed]] = []

    def run(self, wanted: frozenset[PatchName] | None, project: str, tag: str, progress: Progress) -> tuple[Row, ...]:
        self.wanted = wanted
        self.project, self.tag = project, tag
        while len(self.rows) < len(self.entries):
            progress.update("regenerating", len(self.rows), len(self.entries), "patches")
            run = self._next_run()
            landings, errors, doubts = self._take(run)
            for entry, landed, doubt in zip(run, landings, doubts, strict=False):
                self.rows.append(self._taken(entry, landed, doubt))
            if errors is not None:
                self.rows.append(self._refused(run[len(landings)], errors))
        return tuple(self.rows)

    def _take(
        self, run: Sequence[Entry]
    ) -> tuple[Sequence[tuple[Landing, ...]], tuple[str, ...] | None, Sequence[tuple[Problem, ...]]]:
        """What ``Scratch.take`` gives, and what is doubtful about the places of moved hunks."""
        before = dict(self.scratch.state())
        landings, errors = self.scratch.take(run)
        patches = [(self.parsed[e.name], landed) for e, landed in zip(run, landings, strict=False)]
        doubts = moved_warnings(patches, before, self.store.repo) if any(landings) else [()] * len(patches)
        return landings, errors, doubts

    def _next_run(self) -> Sequence[Entry]:
        """What to give git next: as much as goes in one call."""
        return next(runs_of(self.entries[len(self.rows) :]))

    def _may(self, entry: Entry) -> bool:
        return self.wanted is None or entry.name in self.wanted

    # -- git took it -------------------------------------------------------------------------

    def _taken(self, entry: Entry, landed: tuple[Landing, ...], doubts: Sequence[Problem] = ()) -> Row:
        if not landed:
            return Row(name=entry.name, status="kept")
        if not self._may(entry):
            return Row(name=entry.name, status="kept", reason="moved, but was not asked for")
        parsed = self.parsed[entry.name]
        mine = touched([parsed])
        for other, theirs in self.failed:
            if mine & touched([theirs]):
                return Row(name=entry.name, status="kept", reason=f"moved; its line numbers wait for {other.name}")
        # where the place is doubtful, new numbers would make a wrong one look right
        return rows.taken(entry, parsed, landed, [f"{d.file}, hunk {d.hunk}: {d.message}" for d in doubts])

    # -- git refused it ----------------------------------------------------------------------

    def _refused(self, entry: Entry, errors: tuple[str, ...]) -> Row:
        parsed = self.parsed[entry.name]
        if not self._may(entry):
            self.failed.append((entry, parsed))
            reason = "does not apply, and was not asked for"
            command = f"opencoti-patches regen {called(entry.name, [e.name for e in self.entries])}"
            return Row(name=entry.name, status="conflict", reason=reason, next=command)
        raw, mended = repaired(entry.raw, entry.strip)
        if mended:
            row = self._mended(entry, raw, mended)
            if row is not None:
                return row
            entry = self._staged(entry, raw)
            parsed = self.parsed[entry.name] = parse(raw, entry.strip, entry.reverse)
        if parsed.defects:  # what cannot be read would be lost
            self.failed.append((entry, parsed))
            return Row(
                name=entry.name,
                status="conflict",
                reason=f"{parsed.damage}; make it again",
                cause=parsed.defects[0].cause,
            )
        verdict = diagnose(entry, parsed, errors, self.scratch, self.failed, self.entries[: len(self.rows)])
        if verdict.status == "blocked":
            self.failed.append((entry, parsed))
            return Row(
                name=entry.name,
                status="blocked",
                reason=f"stands on {', '.join(verdict.blocked_by)}: {verdict.evidence}",
            )
        if verdict.cause == "wrong-strip" and not verdict.problems[0].other:  # what follows would be about other files
            self.failed.append((entry, parsed))
            why = verdict.problems[0].message
            return Row(name=entry.name, status="conflict", reason=why, next="opencoti-patches check")
        away = {p.file: p.other for p in verdict.problems if p.other}
        now = {f.path: it for f in parsed.files if f.operation == "modify" and (it := away.get(printable(f.path)))}
        if now:
            entry = self._staged(entry, heads.repointed(entry.raw, parsed, now))
            parsed = parse(entry.raw, entry.strip, entry.reverse)
            self.scratch.ask(touched([parsed]))
        elsewhere = [f"{printable(path)} is {printable(it)} now" for path, it in now.items()]
        why, status, cause = "", _Conflict.status, verdict.cause or ""
        tree = Tree(self.scratch, self.store.repo, self.folder)
        rungs: Sequence[Callable[[], Row]] = (
            lambda: self._carried(entry, parsed, mended, verdict.cause or "", elsewhere),
            lambda: self._from(self._known(entry, parsed, tree), entry, mended, elsewhere),
            lambda: self._from(self._supposed(entry, parsed, tree), entry, mended, elsewhere),
        )
        for rung in rungs:
            try:
                return rung()
            except _Conflict as e:
                why, status, cause = str(e) or why, e.status, e.cause or cause
        self.failed.append((entry, parsed))
        problems = tuple(HunkHow(file=p.file, hunk=p.hunk, how=f"{p.cause}: {p.message}") for p in verdict.problems)
        return Row(name=entry.name, status=status, reason=why or f"{verdict.cause}", hunks=problems, cause=cause)

    def _known(self, entry: Entry, parsed: Parsed, tree: Tree) -> Ground:
        """The contents that a patch was made on, where the store has them."""
        found = None if entry.reverse else known(parsed, tree)
        if found is None:
            raise _Conflict
        return found

    def _supposed(self, entry: Entry, parsed: Parsed, tree: Tree) -> Ground:
        """What a patch may have been made on; never beside lines that a patch before it has yet to bring."""
        if other := self._owing(parsed, tree):
            raise _Blocked(f"stands on {other}: it expects lines that this adds")
        found = "" if entry.reverse else suppose(parsed, tree)
        if isinstance(found, str):
            raise _Conflict(found)
        return found

    def _owing(self, parsed: Parsed, tree: Tree) -> PatchName | None:
        """The patch without a place, if one is, that adds lines which this one expects and its file has not."""
        for f in parsed.files if self.failed else ():
            have = lines_of(tree.content(f.old or "") or b"")
            lines = {h.old[i] for h in f.hunks for i in told_by(h.old)}.difference(have)
            for other, theirs in self.failed:
                if any(g.new == f.old and lines.intersection(h.added) for g in theirs.files for h in g.hunks):
                    return other.name
        return None

    def _staged(self, entry: Entry, raw: bytes) -> Entry:
        return staged(entry, raw, self.folder / f"{len(self.rows)}.patch")

    def _mended(self, entry: Entry, raw: bytes, mended: tuple[str, ...]) -> Row | None:
        """A damaged file that git takes once the damage is undone."""
        fresh = self._staged(entry, raw)
        self.parsed[entry.name] = parse(raw, entry.strip, entry.reverse)
        self.scratch.ask(touched([self.parsed[entry.name]]))
        landings, errors, doubts = self._take([fresh])
        if errors is not None:
            return None
        moved = self._taken(fresh, landings[0], doubts[0])
        return Row(
            name=entry.name,
            status="adapted" if moved.status == "adapted" else "regenerated",
            reason="; ".join(mended) + (f"; {moved.reason}" if moved.reason else ""),
            raw=moved.raw or raw,
        )

    def _carried(
        self, entry: Entry, parsed: Parsed, mended: tuple[str, ...], why: str, elsewhere: Sequence[str]
    ) -> Row:
        """Bring the patch's change in, and write the difference that it makes. ``elsewhere`` are its files that have
        other names now, in words."""
        hows: list[HunkHow] = []
        drift: Counter[ladder.Drift] = Counter()
        moved: list[str] = []
        contents: dict[str, bytes | None] = {}
        modes: dict[str, str] = {}
        for f in parsed.files:
            self._bring(f, parsed.files, contents, modes, hows, drift, moved)
        notes = [*mended, *elsewhere, *ladder.drift_words(drift)] or [_WHY.get(why, "it no longer applied")]
        before = self.store.repo.tree_with(self.base, self.scratch.changes())
        given = {p: c for p, c in contents.items() if c is not None}
        oids = dict(zip(given, self.store.repo.hash_blobs(list(given.values())), strict=True))
        changes: dict[str, IndexEntry | None] = {
            p: (modes[p], oids[p]) if c is not None else None for p, c in contents.items()
        }
        after = self.store.repo.tree_with(before, changes)
        if after == before:
            raise _Done
        raw = composed(entry, before, after, self.store.repo)
        found = guards.compare(parsed, parse(raw, entry.strip, entry.reverse))
        doubts = [*moved, *guards.words(found)]
        same = found.same_added and (found.same_removed or found.normalised)
        adapted = bool(doubts) or not same
        earlier = self.entries[len(self.rows) - 1].name if self.rows else None
        raw = note.headed(entry, raw, note.note(self.project, earlier, notes, adapted=adapted, tag=self.tag))
        fresh = self._staged(entry, raw)
        _, errors = self.scratch.take([fresh])
        if errors is not None:
            raise _Conflict(f"what was written for it does not apply: {'; '.join(errors[:1])}")
        return Row(
            name=entry.name,
            status="adapted" if adapted or elsewhere else "regenerated",
            reason="; ".join([*doubts, *notes]) or "written anew",
            gist="; ".join([*doubts, *rows.placed(notes, hows)]),
            hunks=tuple(hows),
            interdiff=found.interdiff,
            tree=after,
            raw=raw,
        )

    def _from(self, ground: Ground, entry: Entry, mended: tuple[str, ...], elsewhere: Sequence[str]) -> Row:
        """The row of a patch that is carried over from there."""
        try:
            carried = over.carry(entry, ground.parsed, ground.sides)
        except over.Conflict as e:
            raise _Conflict(rows.words(str(e), "the tree")) from None
        if not carried.left:
            raise _Done
        doubts = (*elsewhere, *(d.said for d in ground.doubts), *carried.doubts)
        row = rows.carried(
            entry,
            parse(entry.raw, entry.strip, entry.reverse),
            carried._replace(hows=(*ground.doubts, *carried.hows), doubts=tuple(dict.fromkeys(doubts))),
            "",
            earlier=self.entries[len(self.rows) - 1].name if self.rows else None,
            project=self.project,
            tag=self.tag,
            notes=[*mended, ground.what],
        )
        row = row._replace(  # on one base: whatever changed, a patch did
            reason=rows.words(row.reason, "the tree"),
            gist=rows.words(row.gist, "the tree"),
            hunks=tuple(h._replace(how=rows.words(h.how, "the tree")) for h in row.hunks),
        )
        raw = row.raw or b""
        self.scratch.ask(touched([parse(raw, entry.strip)]))
        _, errors = self.scratch.take([self._staged(entry, raw)])
        if errors is not None:
            raise _Conflict(f"what was written for it does not apply: {'; '.join(errors[:1])}")
        return row

    def _bring(
        self,
        f: FilePatch,
        files: Sequence[FilePatch],
        contents: dict[str, bytes | None],
        modes: dict[str, str],
        hows: list[HunkHow],
        drift: Counter[ladder.Drift],
        moved: list[str],
    ) -> None:
        """One file of the patch into ``contents`` and ``modes``."""
        state = self.scratch.state()
        path = printable(f.path)
        if f.binary or not (f.old or f.new):
            raise _Conflict(f"{path}: a binary change cannot be carried")
        if f.operation != "modify" and f.new and (why := in_way(f.new, state, files)):
            raise _Conflict(f"{why}, where the patch makes a file")
        if f.operation == "create":
            if f.new in state and contents.get(f.new or "", b"") is not None:
                raise _Conflict(f"{path} is there already")
            contents[f.new or ""] = b"".join(x for h in f.hunks for x in h.added)
            modes[f.new or ""] = f.new_mode or "100644"
            return
        old = f.old or ""
        if old not in state or state[old][0] in NOT_TEXT:
            raise _Conflict(f"{printable(old)} is not a file of the tree")
        if other_kind(f, state[old]):
            raise _Conflict(f"{printable(old)} is a file, and the patch takes it for something else")
        if f.new in contents or (old in contents and f.operation != "copy"):
            raise _Conflict(f"{path} is in the patch twice")
        lines = lines_of(self.store.repo.blobs([state[old][1]])[state[old][1]])
        shift, begin = 0, 0
        for hunk in f.hunks:
            placed = ladder.place(lines, hunk, begin, hunk.old_start - 1 + shift)
            if isinstance(placed, ladder.NoPlace):
                raise _Conflict(f"{path}, hunk {hunk.number}: {placed.why}")
            lines[placed.at : placed.at + placed.taken] = placed.new
            shift = placed.at - (hunk.old_start - 1) + len(placed.new) - placed.taken
            begin = placed.at + len(placed.new)
            hows.append(HunkHow(file=path, hunk=hunk.number, how=placed.how))
            drift.update(placed.drift)
            if not placed.function_kept and has_functions(f.path):
                moved.append(f"{path}, hunk {hunk.number} lands in another function")
        if f.operation in ("delete", "rename"):
            contents[old] = None
        if f.operation == "delete":
            if lines:
                raise _Conflict(f"{path} has lines that the patch does not delete")
            return
        if f.operation in ("rename", "copy") and f.new in state:
            raise _Conflict(f"{path} is there already")
        contents[f.new or ""] = b"".join(lines)
        modes[f.new or ""] = f.new_mode or state[old][0]
