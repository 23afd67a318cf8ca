"""A series carried from one base to another, in one pass.

Both bases are at hand. git is asked first, for as many patches at a time as it takes. What it refuses is
brought over by what upstream's own diff says (see threeway); what finds no place is a conflict, and the
rest goes on without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.carry import guess, over, remember, rows
from opencoti_patches.carry.again import as_before
from opencoti_patches.carry.bases import Bases
from opencoti_patches.carry.guess import Guess, places
from opencoti_patches.carry.left_out import missing
from opencoti_patches.carry.marks import marked
from opencoti_patches.carry.model import Bumped, Clash, First, HunkHow, Marked, Row
from opencoti_patches.carry.resolutions import Resolution
from opencoti_patches.carry.sides import clashes
from opencoti_patches.carry.staged import staged
from opencoti_patches.core.model import Entry, PatchName, Series, TreeId
from opencoti_patches.core.progress import Progress, Silent
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import Landing, runs_of
from opencoti_patches.plan.diagnose import diagnose
from opencoti_patches.plan.replay import Replay
from opencoti_patches.plan.scratch import touched
from opencoti_patches.plan.strict import check
from opencoti_patches.series import naming
from opencoti_patches.series.parse import Parsed, parse


def bump(
    series: Series,
    old_base: TreeId,
    new_base: TreeId,
    store: Store,
    *,
    project: str,
    tag: str = "",
    resolved: Mapping[PatchName, bytes] | None = None,
    skipped: frozenset[PatchName] = frozenset(),
    known: Sequence[Resolution] = (),
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Bumped:
    """Carry the series. ``resolved`` are patches that somebody carried by hand, ``skipped`` are left out,
    ``known`` is how conflicts were resolved before; new patches are put in the empty ``folder``, where there is one.
    Writes nothing else but the store."""
    with contextlib.ExitStack() as stack:
        folder = folder or stack.enter_context(fs.scratch(store.scratch, "bump-"))
        walk = _Walk(series.entries, old_base, new_base, store, folder, project, tag, known)
        found = walk.run(resolved or {}, skipped, progress or Silent())
        taken = [r.name for r in found if r.status in ("kept", "renumbered")]
        return Bumped(found, walk.conflict, walk.reused, walk.made, lambda: walk.bases.outdated(taken))


class _Walk:
    def __init__(
        self,
        entries: Sequence[Entry],
        old_base: TreeId,
        new_base: TreeId,
        store: Store,
        folder: Path,
        project: str,
        tag: str,
        known: Sequence[Resolution],
    ) -> None:
        self.entries = entries
        self.known = known
        self.store = store
        self.folder = folder
        self.project, self.tag = project, tag
        self.parsed = {e.name: parse(e.raw, e.strip, e.reverse) for e in entries}
        self.place = {e.name: i for i, e in enumerate(entries)}
        self.rows: list[Row] = []
        self.failed: list[tuple[Entry, Parsed]] = []
        self.skipped: frozenset[PatchName] = frozenset()
        self.made: dict[PatchName, Entry] = {}
        self.reused: dict[PatchName, tuple[Resolution, ...]] = {}
        self.conflict: First | None = None
        self.merged: dict[PatchName, Marked] = {}  # what is marked of those in conflict
        self.bases = Bases(entries, self.parsed, old_base, new_base, store, folder, self.failed)
        self.scratch = self.bases.scratch
        self.careful = False  # git answered otherwise than was expected: it is asked patch by patch

    def run(
        self, resolved: Mapping[PatchName, bytes], skipped: frozenset[PatchName], progress: Progress
    ) -> tuple[Row, ...]:
        self.skipped = skipped  # what stands on these is for a person to mend, now
        self.bases.set_aside({*resolved, *skipped})
        while len(self.rows) < len(self.entries):
            progress.update("carrying", len(self.rows), len(self.entries), "patches")
            entry = self.entries[len(self.rows)]
            if entry.name in skipped:
                self.rows.append(Row(name=entry.name, status="conflict", reason="skipped: the series leaves it out"))
                self.failed.append((entry, self.parsed[entry.name]))
            elif entry.name in resolved:
                self.rows.append(self._by_hand(entry, resolved[entry.name]))
            else:
                self._take(resolved.keys() | skipped)
        return tuple(self.rows)

    def _take(self, stops: set[PatchName] | frozenset[PatchName]) -> None:
        """Let git take as many as it does, then carry the one that it refuses."""
        run = []
        for e in next(runs_of(self.entries[len(self.rows) :])):
            if e.name in stops:
                break
            run.append(e)
        if not self.careful:
            guesses = self._guesses(run)
            if guesses:
                self._ask(guesses)
                return
            run = run[:1]
        now = self.bases.now(run)
        landings, errors = self.scratch.take(run)
        for e, landed in zip(run, landings, strict=False):
            self.rows.append(rows.taken(e, self.parsed[e.name], landed, self.bases.doubts(e, landed, now)))
            now.apply(self.parsed[e.name], {(w.file, w.hunk): w.offset for w in landed})
        if errors is not None:
            self.rows.append(self._refused(run[len(landings)], errors))

    def _guesses(self, run: Sequence[Entry]) -> list[Guess]:
        """How git is expected to take the patches of a run, those that it would refuse carried; up to the first
        that wants a closer look. In memory, so that git is asked once for all of them."""
        now = self.bases.now(run)
        guesses: list[Guess] = []
        for e in run:
            if e.name in self.bases.aside:
                guesses.append(Guess(e, (), Row(name=e.name, status="kept")))
                continue
            took = guess.took(self.parsed[e.name], now)
            if took is not None:
                row = rows.taken(e, self.parsed[e.name], took.landed, self.bases.doubts(e, took.landed, now))
                guesses.append(Guess(e, took.landed, row))
                now.advance(took.files)
                continue
            row_ = None if self.failed else self._carried(e, now)
            if row_ is None:
                return guesses
            if row_.raw is None:
                guesses.append(Guess(None, (), row_))
                continue
            fresh, parsed = self._staged(e, row_.raw), parse(row_.raw, e.strip, e.reverse)
            took = guess.took(parsed, now)
            if took is None or took.landed or not touched([parsed]) <= touched([self.parsed[e.name]]):
                return guesses
            guesses.append(Guess(fresh, (), row_))
            now.advance(took.files)
        return guesses

    def _carried(self, entry: Entry, now: Replay) -> Row | None:
        """The row of a patch that git would refuse; None if it cannot be carried as a matter of course."""
        self.bases.old.goto(entry)
        exact = self.bases.old.exact(entry)
        if exact is None or entry.reverse or not guess.readable(exact, self.scratch.state()):
            return None

        def content(path: str) -> bytes | None:
            lines = now.lines(path)
            return None if lines is None else b"".join(lines)

        try:
            return self._row(entry, over.carry(entry, exact, self.bases.sides()._replace(now=content)), "")
        except over.Conflict:
            return None

    def _ask(self, guesses: Sequence[Guess]) -> None:
        """Ask git for all of them at once. If it answers otherwise than expected, nothing was asked."""
        landings: Sequence[tuple[Landing, ...]]
        whole = len(guesses) == len(self.entries) and not any(g.landed for g in guesses)
        if not whole:  # up to one that git has to be asked about alone
            guesses = list(takewhile(lambda g: not self.parsed[g.row.name].alone, guesses)) or guesses[:1]
        asked = [g.entry for g in guesses if g.entry is not None]
        if whole:
            # the series as it will be: the answer goes on record, where the proof of it looks first
            found = check(Series(dir=self.folder, entries=tuple(asked)), self.bases.new_base, self.store)
            landings, right = (), all(v.status == "clean" for v in found.verdicts)
        else:
            landings, errors = self.scratch.take(asked) if asked else ((), None)
            wanted = [places(g.landed) for g in guesses if g.entry is not None]
            right = errors is None and list(map(places, landings)) == wanted
        if right:
            self.rows += [g.row for g in guesses]
            return
        if landings:
            self.scratch.undo()
        self.careful = not self.bases.aside  # the next guess is one with a look at each
        self.bases.look_at_all(self.entries[len(self.rows)])

    def _by_hand(self, entry: Entry, raw: bytes) -> Row:
        if errors := self._put(entry, raw):
            return self._conflict(entry, f"what was resolved by hand no longer applies: {errors[0]}", ())
        return rows.by_hand(entry, self.parsed[entry.name], raw, lambda: self.bases.renames)

    def _refused(self, entry: Entry, errors: tuple[str, ...]) -> Row:
        self.bases.old.goto(entry)
        exact = self.bases.old.exact(entry)
        left_out = ""
        if self.failed:
            verdict = diagnose(
                entry, self.parsed[entry.name], errors, self.scratch, self.failed, self.entries[: len(self.rows)]
            )
            if verdict.status == "blocked" and not self.skipped.issuperset(verdict.blocked_by):
                self.failed.append((entry, self.parsed[entry.name]))
                return Row(
                    name=entry.name,
                    status="blocked",
                    reason=f"stands on {', '.join(verdict.blocked_by)}: {verdict.evidence}",
                )
            if verdict.status == "blocked":
                left_out = f"stands on {', '.join(verdict.blocked_by)}, which is left out"
            if gone := missing(self.parsed[entry.name], self.scratch.state(), (one for _, one in self.failed)):
                return self._conflict(entry, f"{left_out or 'stands on what does not apply'}: {gone}", ())
        if exact is None:
            damage = self.parsed[entry.name].damage
            what = f": {damage}; make it again" if damage else "; regenerate it there first"
            row = self._conflict(entry, f"it did not apply on the old base either{what}", ())
            called = naming.called(entry.name, [e.name for e in self.entries])
            return row if damage else row._replace(next=f"opencoti-patches regen {called}")
        if entry.reverse:
            return self._conflict(entry, "a reversed entry that git refuses cannot be carried", ())
        try:
            carried = over.carry(entry, exact, self.bases.sides())
        except over.Conflict as e:
            again = self._as_before(entry, left_out)
            if isinstance(again, Row):
                return again
            more = [again] if again else []
            gist = "; ".join([*rows.gist(e.stuck, e.hows, "find no place"), *more])
            return self._conflict(entry, "; ".join([str(e), *more]), e.hows, gist)
        return self._written(entry, carried, left_out)

    def _conflict(self, entry: Entry, why: str, hows: Sequence[HunkHow], gist: str = "") -> Row:
        found: tuple[Clash, ...] = ()
        if self.conflict is None or any(h.how.startswith("conflict: ") for h in hows):
            merge = self._marked(entry)
            found = clashes(merge, entry.name)
            self.conflict = self.conflict or First(name=entry.name, before=self._before(), marked=merge)
        self.failed.append((entry, self.parsed[entry.name]))
        return Row(name=entry.name, status="conflict", reason=why, hunks=tuple(hows), gist=gist, clashes=found)

    def _before(self) -> TreeId:
        """The tree that the next patch has to go on."""
        return self.store.repo.tree_with(self.bases.new_base, self.scratch.changes())

    def _marked(self, entry: Entry) -> Marked:
        if entry.name not in self.merged:
            self.bases.old.goto(entry)
            patch = self.bases.old.exact(entry) or self.parsed[entry.name]
            self.merged[entry.name] = marked(entry.name, patch, self.bases.sides(), self.store.repo, self.folder)
        return self.merged[entry.name]

    def _as_before(self, entry: Entry, left_out: str) -> Row | str:
        """The row of a patch whose conflict was resolved before; else what is to be said of that, mostly
        nothing."""
        if not self.known:
            return ""
        merge = self._marked(entry)

        def read(path: str) -> remember.Held:
            held = self.bases.held(path)
            return None if held is None or held[0] == "160000" else (held[0], self.store.repo.blobs([held[1]])[held[1]])

        earlier = self.entries[len(self.rows) - 1].name if self.rows else None
        again = as_before(
            entry,
            merge,
            self._before,
            self.known,
            read,
            lambda: self.bases.renames,
            self.store,
            earlier=earlier,
            left_out=left_out,
            project=self.project,
            tag=self.tag,
        )
        if isinstance(again, str):
            return again
        if errors := self._put(entry, again.raw):
            return f"as it was resolved before it does not apply: {errors[0]}"
        self.reused[entry.name] = again.used
        return again.row

    def _written(self, entry: Entry, carried: over.Over, left_out: str) -> Row:
        """The row of a carried patch, once git has taken it."""
        row = self._row(entry, carried, left_out)
        if row.raw is None:
            return row
        if errors := self._put(entry, row.raw):
            return self._conflict(entry, f"what was written for it does not apply: {errors[0]}", carried.hows)
        return row

    def _put(self, entry: Entry, raw: bytes) -> tuple[str, ...]:
        """Let git take a new patch; what it says if it does not."""
        self.scratch.ask(touched([parse(raw, entry.strip, entry.reverse)]))
        landings, errors = self.scratch.take([self._staged(entry, raw)])
        if errors is None and landings[0]:
            self.scratch.undo()
            errors = ("git finds its lines elsewhere",)
        return () if errors is None else errors or ("git refuses it",)

    def _row(self, entry: Entry, carried: over.Over, left_out: str) -> Row:
        at = self.place[entry.name]
        earlier = self.entries[at - 1].name if at else None
        parsed = self.parsed[entry.name]
        stay = parsed._replace(files=tuple(f for f in parsed.files if f.path not in carried.renamed))
        carried = carried._replace(doubts=(*self.bases.astray.doubts(stay), *carried.doubts))
        return rows.carried(entry, parsed, carried, left_out, earlier=earlier, project=self.project, tag=self.tag)

    def _staged(self, entry: Entry, raw: bytes) -> Entry:
        fresh = staged(entry, raw, self.folder / f"{self.place[entry.name]}.patch")
        self.made[entry.name] = fresh
        return fresh
