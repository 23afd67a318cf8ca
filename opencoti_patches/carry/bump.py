"""A series carried from one base to another, in one pass.

Both bases are at hand. git is asked first, for as many patches at a time as it takes. What it refuses is
brought over by what upstream's own diff says (see threeway); what finds no place is a conflict, and the
rest goes on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.carry import confirm, guards, note, over
from opencoti_patches.carry.compose import renumbered
from opencoti_patches.carry.model import HunkHow, Marked, Row
from opencoti_patches.carry.regen import starts
from opencoti_patches.carry.staged import staged
from opencoti_patches.core.model import Entry, Hunk, IndexEntry, PatchName, Series, TreeId, printable
from opencoti_patches.core.progress import Progress, Silent
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import Landing, runs_of
from opencoti_patches.plan.diagnose import diagnose
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import Replay, put
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.series.header import with_note
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
    progress: Progress | None = None,
) -> Bumped:
    """Carry the series. ``resolved`` are patches that somebody carried by hand, ``skipped`` are left out.
    Writes nothing but the store."""
    with fs.scratch(store.scratch, "bump-") as folder:
        walk = _Walk(series.entries, old_base, new_base, store, folder, project, tag)
        rows = walk.run(resolved or {}, skipped, progress or Silent())
        return Bumped(rows=rows, conflict=walk.conflict)


@dataclass(frozen=True, kw_only=True, slots=True)
class First:
    """The first conflict: the patch, the tree it has to go on, its files for a person."""

    name: PatchName
    before: TreeId
    marked: Marked


@dataclass(frozen=True, kw_only=True, slots=True)
class Bumped:
    """A row a patch, in order, and the first conflict if there is one."""

    rows: tuple[Row, ...]
    conflict: First | None


class _Old:
    """The series on its old base: contents before each patch, exact places of every hunk."""

    def __init__(
        self, entries: Sequence[Entry], parsed: Mapping[PatchName, Parsed], base: TreeId, store: Store, folder: Path
    ) -> None:
        self.entries = entries
        self.parsed = parsed
        self.store = store
        folder.mkdir()
        self.listing = Listing.of(base, store.listings)
        scratch = Scratch(store.repo, base, self.listing, folder, {}, touched(parsed.values()))
        self.landings: dict[PatchName, tuple[Landing, ...]] = {}
        rest = list(entries)
        while rest:
            run = next(runs_of(rest))
            landings, errors = scratch.take(run)
            self.landings |= {e.name: landed for e, landed in zip(run, landings, strict=False)}
            rest = rest[len(landings) + (errors is not None) :]
        paths = {p for e in entries for p in touched([parsed[e.name]])}
        held = {p: entry for p in paths if (entry := self.listing.get(p)) and entry[0] not in ("120000", "160000")}
        contents = store.repo.blobs(oid for _, oid in held.values())
        self.replay = Replay(lambda p: contents[held[p][1]] if p in held else None, paths)
        self.at = 0

    def goto(self, entry: Entry) -> None:
        """Be just before a patch; patches are visited in order."""
        while self.entries[self.at].name != entry.name:
            done = self.entries[self.at]
            if done.name in self.landings:
                self.replay.apply(
                    self.parsed[done.name], {(w.file, w.hunk): w.offset for w in self.landings[done.name]}
                )
            self.at += 1

    def exact(self, entry: Entry) -> Parsed | None:
        """The patch with its hunks where they are in the old tree; None if it did not apply there."""
        landed = self.landings.get(entry.name)
        parsed = self.parsed[entry.name]
        if landed is None or not landed:
            return None if landed is None else parsed
        places = starts(parsed, landed, False)
        files = tuple(
            f._replace(hunks=tuple(_moved(h, places.get((i, h.number))) for h in f.hunks))
            for i, f in enumerate(parsed.files)
        )
        return parsed._replace(files=files)


def _moved(hunk: Hunk, place: tuple[int, int] | None) -> Hunk:
    return hunk if place is None else hunk._replace(old_start=place[0], new_start=place[1])


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
    ) -> None:
        self.entries = entries
        self.old_base, self.new_base = old_base, new_base
        self.store = store
        self.folder = folder
        self.project, self.tag = project, tag
        self.parsed = {e.name: parse(e.raw, e.strip, e.reverse) for e in entries}
        listing = Listing.of(new_base, store.listings)
        self.scratch = Scratch(store.repo, new_base, listing, folder, {}, touched(self.parsed.values()))
        self.rows: list[Row] = []
        self.failed: list[tuple[Entry, Parsed]] = []
        self.conflict: First | None = None
        self.skipped: frozenset[PatchName] = frozenset()
        self.old_listing = Listing.of(old_base, store.listings)

    @cached_property
    def old(self) -> _Old:
        """The old side, looked at once git has refused something."""
        return _Old(self.entries, self.parsed, self.old_base, self.store, self.folder / "old")

    @cached_property
    def renames(self) -> dict[str, str]:
        """What upstream renamed between the bases."""
        return self.store.repo.renames(self.old_base, self.new_base)

    def run(
        self, resolved: Mapping[PatchName, bytes], skipped: frozenset[PatchName], progress: Progress
    ) -> tuple[Row, ...]:
        self.skipped = skipped  # what stands on these is for a person to mend, now
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
        before = dict(self.scratch.state())
        landings, errors = self.scratch.take(run)
        taken = list(zip(run, landings, strict=False))
        now = Replay(self._reader(before), {p for e, _ in taken for p in touched([self.parsed[e.name]])})
        for e, landed in taken:
            self.rows.append(self._taken(e, landed, self._doubts(e, landed, now)))
            now.apply(self.parsed[e.name], {(w.file, w.hunk): w.offset for w in landed})
        if errors is not None:
            self.rows.append(self._refused(run[len(landings)], errors))

    def _reader(self, state: Mapping[str, IndexEntry]) -> Callable[[str], bytes | None]:
        def read(path: str) -> bytes | None:
            held = state.get(path)
            if held is None or held[0] in ("120000", "160000"):
                return None
            return self.store.repo.blobs([held[1]])[held[1]]

        return read

    def _doubts(self, entry: Entry, landed: Sequence[Landing], now: Replay) -> list[str]:
        """What upstream's diff does not confirm of a patch that git took."""
        found: list[str] = []
        for number, f in enumerate(self.parsed[entry.name].files):
            offsets = {w.hunk: w.offset for w in landed if w.file == number}
            same = f.old and self.old_listing.get(f.old) == self.scratch.listing.get(f.old)
            if f.operation != "modify" or not f.old or (same and not offsets) or entry.reverse:
                continue
            self.old.goto(entry)
            exact, before, after = self.old.exact(entry), self.old.replay.lines(f.old), now.lines(f.old)
            if exact is not None and before is not None and after is not None and before != after:
                found += confirm.doubts(f, exact.files[number], offsets, before, after, self._diff)
        return found

    def _diff(self, a: bytes, b: bytes) -> bytes:
        return self.store.repo.diff_contents(a, b, self.folder)

    def _taken(self, entry: Entry, landed: tuple[Landing, ...], doubts: Sequence[str]) -> Row:
        if not landed and not doubts:
            return Row(name=entry.name, status="kept")
        parsed = self.parsed[entry.name]
        if not landed:
            return Row(name=entry.name, status="adapted", reason="; ".join(doubts), raw=entry.raw)
        raw = renumbered(entry.raw, parse(entry.raw, entry.strip), starts(parsed, landed, entry.reverse))
        offsets = sorted({w.offset for w in landed})
        far = f"{offsets[0]:+d}" + (f" to {offsets[-1]:+d}" if len(offsets) > 1 else "")
        hows = tuple(
            HunkHow(file=printable(parsed.files[w.file].path), hunk=w.hunk, how=f"moved by {w.offset:+d} lines")
            for w in landed
        )
        if doubts:
            why = "; ".join(doubts)
            return Row(name=entry.name, status="adapted", reason=f"moved ({far}), and {why}", hunks=hows, raw=raw)
        return Row(name=entry.name, status="renumbered", reason=f"line numbers only ({far})", hunks=hows, raw=raw)

    def _by_hand(self, entry: Entry, raw: bytes) -> Row:
        fresh = self._staged(entry, raw)
        self.scratch.ask(touched([parse(raw, entry.strip, entry.reverse)]))
        _, errors = self.scratch.take([fresh])
        if errors is not None:
            return self._conflict(entry, f"what was resolved by hand no longer applies: {'; '.join(errors[:1])}", ())
        found = guards.compare(self.parsed[entry.name], parse(raw, entry.strip, entry.reverse))
        return Row(
            name=entry.name,
            status="adapted" if not found.same else "regenerated",
            reason="resolved by hand",
            interdiff=found.interdiff,
            raw=raw,
        )

    def _refused(self, entry: Entry, errors: tuple[str, ...]) -> Row:
        self.old.goto(entry)
        exact = self.old.exact(entry)
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
        if exact is None:
            return self._conflict(
                entry, "it did not apply on the old base either; 'opencoti-patches regen' there first", ()
            )
        if entry.reverse:
            return self._conflict(entry, "a reversed entry that git refuses cannot be carried", ())
        try:
            carried = over.carry(entry, exact, self._sides())
        except over.Conflict as e:
            return self._conflict(entry, str(e), e.hows)
        return self._written(entry, carried, left_out)

    def _conflict(self, entry: Entry, why: str, hows: Sequence[HunkHow]) -> Row:
        if self.conflict is None:
            before = self.store.repo.tree_with(self.new_base, self.scratch.changes())
            self.conflict = First(name=entry.name, before=before, marked=self._marked(entry))
        self.failed.append((entry, self.parsed[entry.name]))
        return Row(name=entry.name, status="conflict", reason=why, hunks=tuple(hows))

    def _marked(self, entry: Entry) -> Marked:
        """The patch's files as git merges them, markers where it cannot."""
        self.old.goto(entry)
        exact = self.old.exact(entry) or self.parsed[entry.name]
        files: dict[str, tuple[str, bytes] | None] = {}
        conflicts: list[str] = []
        sides = self._sides()
        for f in exact.files:
            path = f.new or f.old or ""
            before = list(sides.old(f.old) or []) if f.old else []
            now = sides.now(f.old) if f.old else sides.now(f.new or "")
            after = list(before)
            if f.binary or not all(put(after, h, 0) for h in f.hunks):
                conflicts.append(path)
                continue
            if f.operation == "delete":
                if now is None or now == b"".join(before):
                    files[path] = None
                else:  # upstream changed what the patch deletes
                    conflicts.append(path)
                continue
            text, clean = self.store.repo.merge_file(
                now or b"", b"".join(before), b"".join(after), entry.name, self.folder
            )
            held = sides.state.get(f.old or path)
            files[path] = (f.new_mode or (held[0] if held else "100644"), text)
            if f.operation == "rename" and f.old and f.old != path:
                files[f.old] = None
            if not clean or (now is None and f.old):
                conflicts.append(path)
        return Marked(files=files, conflicts=tuple(conflicts))

    def _sides(self) -> over.Sides:
        state = self.scratch.state()

        def now(path: str) -> bytes | None:
            held: IndexEntry | None = state.get(path) or self.scratch.listing.get(path)
            if held is None or held[0] in ("120000", "160000"):
                return None
            return self.store.repo.blobs([held[1]])[held[1]]

        return over.Sides(
            old=self.old.replay.lines,
            now=now,
            state=state,
            diff=self._diff,
            renamed=lambda p: self.renames.get(p),
        )

    def _written(self, entry: Entry, carried: over.Over, left_out: str) -> Row:
        if not carried.left:
            return Row(name=entry.name, status="upstreamed", reason="upstream has all of it", hunks=carried.hows)
        parsed = self.parsed[entry.name]
        found = guards.compare(parsed, parse(carried.raw, entry.strip, entry.reverse))
        doubts = [*([left_out] if left_out else []), *carried.doubts, *carried.done]
        doubts += [f"would remove {x}" for x in found.clobbered]
        adapted = bool(doubts) or not found.same_added or not (found.same_removed or found.normalised)
        why = list(dict.fromkeys(h.how for h in carried.hows if not h.how.startswith("three-way")))
        earlier = self.entries[len(self.rows) - 1].name if self.rows else None
        line = note.note(self.project, earlier, why or ["context changed by upstream"], adapted=adapted, tag=self.tag)
        raw = with_note(parsed.header, line) + carried.raw[len(parsed.header) :]
        fresh = self._staged(entry, raw)
        self.scratch.ask(touched([parse(raw, entry.strip, entry.reverse)]))
        _, errors = self.scratch.take([fresh])
        if errors is not None:
            return self._conflict(
                entry, f"what was written for it does not apply: {'; '.join(errors[:1])}", carried.hows
            )
        return Row(
            name=entry.name,
            status="adapted" if adapted else "regenerated",
            reason="; ".join(doubts) or "; ".join(why) or "three-way, context changed by upstream",
            hunks=carried.hows,
            interdiff=found.interdiff,
            raw=raw,
        )

    def _staged(self, entry: Entry, raw: bytes) -> Entry:
        return staged(entry, raw, self.folder / f"{len(self.rows)}.patch")
