"""A series on the base that it leaves: what each file was before each patch, and where every hunk stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.carry.rows import starts
from opencoti_patches.core.model import Entry, Hunk, PatchName, TreeId
from opencoti_patches.doors.git import Landing, runs_of
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import Replay
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.series.parse import Parsed


class Old:
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
        self._read = lambda p: contents[held[p][1]] if p in held else None
        self._paths = paths
        self.rewind()

    def rewind(self) -> None:
        """Be before the first patch again."""
        self.replay = Replay(self._read, self._paths)
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
