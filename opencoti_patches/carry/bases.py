"""The two bases of a bump, and the series between them: its files as they were before a patch, and as they are by now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.carry import confirm, outdated
from opencoti_patches.carry.apart import unreached
from opencoti_patches.carry.astray import Astray
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.follow import Follower
from opencoti_patches.carry.old_side import Old
from opencoti_patches.carry.tally import Sides
from opencoti_patches.core.model import Entry, IndexEntry, PatchName, TreeId
from opencoti_patches.doors.git import Landing
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import Replay
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.series.parse import Parsed


class Bases:
    """``scratch`` is the new side, which goes from patch to patch as git takes them. ``parsed`` has every patch of the
    series; ``failed`` are those that are not in, a list that grows; ``folder`` takes what is written for git."""

    def __init__(
        self,
        entries: Sequence[Entry],
        parsed: Mapping[PatchName, Parsed],
        old_base: TreeId,
        new_base: TreeId,
        store: Store,
        folder: Path,
        failed: Sequence[tuple[Entry, Parsed]],
    ) -> None:
        self.entries, self.parsed = entries, parsed
        self.old_base, self.new_base = old_base, new_base
        self.store = store
        self.folder = folder
        self.paths = touched(parsed.values())
        self.old_listing = Listing.of(old_base, store.listings)
        self.listing = Listing.of(new_base, store.listings)
        self.scratch = Scratch(store.repo, new_base, self.listing, folder, {}, self.paths)
        self.contents = Contents(store.repo, folder)
        moved = cache(lambda: store.repo.renames(old_base, new_base, replaced=True))
        self.astray = Astray(self.old_listing, self.listing, self.contents, moved, failed)
        self.aside: frozenset[PatchName] = frozenset()  # taken to be as they were, without a look
        self._compared = False
        self._followers: dict[tuple[bytes, bytes], Follower] = {}

    @cached_property
    def old(self) -> Old:
        """The old side, looked at once git has refused something."""
        old = Old(self.entries, self.parsed, self.old_base, self.store, self.folder / "old", self.contents)
        old.rewind(self.aside)
        return old

    def look_at_all(self, entry: Entry) -> None:
        """None is left aside any more: the old side goes once more from the first patch on, up to this one."""
        self.aside = frozenset()
        if "old" in self.__dict__:
            self.old.rewind()
            self.old.goto(entry)

    def set_aside(self, stops: Collection[PatchName]) -> None:
        """Leave those patches aside that upstream does not reach, nor one of ``stops``."""
        touching = {name: touched([one]) for name, one in self.parsed.items()}
        differ = {p for p in self.paths if not self.same(p)}
        differ.update(p for one in self.parsed.values() for p in self.astray.homeless(one))
        self.aside = unreached(touching, differ.union(*(touching[name] for name in stops)))

    @cached_property
    def renames(self) -> dict[str, str]:
        """What upstream renamed between the bases."""
        return self.store.repo.renames(self.old_base, self.new_base)

    def same(self, path: str) -> bool:
        """Whether a path holds the same in both bases."""
        return self.old_listing.get(path) == self.listing.get(path)

    def held(self, path: str) -> IndexEntry | None:
        """What stands at a path by now."""
        return self.scratch.held(path)

    def now(self, run: Sequence[Entry]) -> Replay:
        """The files that these patches touch, as they are by now; but for those that are left aside."""
        state = dict(self.scratch.state())
        paths = touched(self.parsed[e.name] for e in run if e.name not in self.aside)
        was = {p: self.old_listing.get(p) for p in paths}
        self.contents.fetch(e for p in paths for e in (state.get(p), was[p] if was[p] != state.get(p) else None))
        # by the scratch index, of what the series touches; upstream may have renamed a file to another
        return Replay(lambda p: self.contents.of(state.get(p) if p in self.paths else self.listing.get(p)), paths)

    def sides(self) -> Sides:
        """What a carry of the patch that is next may look at."""
        return Sides(
            old=self.old.replay.lines,
            now=lambda p: self.contents.of(self.held(p)),
            state=self.scratch.state(),
            held=self.held,
            diff=self.diff,
            renamed=lambda p: self.renames.get(p),
            followers=self._followers,
            another_diff=self.contents.another_diff,
            displaced=lambda p: self.renames.get(p) if self.astray.is_unlike(p) else None,
            holding=lambda lines: self.old.gained(lines, self.new_base),
        )

    def doubts(self, entry: Entry, landed: Sequence[Landing], now: Replay) -> list[str]:
        """What upstream's diff does not confirm of a patch that git took."""
        found = self.astray.doubts(self.parsed[entry.name])
        for number, f in enumerate(self.parsed[entry.name].files):
            offsets = {w.hunk: w.offset for w in landed if w.file == number}
            if not f.hunks or not f.old or (self.same(f.old) and not offsets):
                continue
            self.old.goto(entry)
            exact, before, after = self.old.exact(entry), self.old.replay.lines(f.old), now.lines(f.old)
            if exact is not None and before is not None and after is not None and before != after:
                found += confirm.doubts(f, exact.files[number], offsets, before, after, self.diff)
        return found

    def outdated(self, taken: Sequence[PatchName]) -> tuple[str, ...]:
        """What upstream calls otherwise by now in patches that git took; see ``outdated``."""
        sides = outdated.Sides(self.old_listing, self.listing, self.contents, self.diff)
        return outdated.notes([name for name in taken if name not in self.aside], self.parsed, sides)

    def diff(self, a: bytes, b: bytes) -> bytes:
        """git's diff of two contents; the first time, those of all files of the series at once."""
        if not self._compared:
            self._compared = True
            self.contents.compare({p: (self.old_listing.get(p), self.listing.get(p)) for p in self.paths})
        return self.contents.diff(a, b)
