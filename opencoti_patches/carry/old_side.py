"""A series on the base that it leaves: what each file was before each patch, and where every hunk stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.carry import guess
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.rows import exact
from opencoti_patches.core.model import EMPTY_TREE, NOT_TEXT, Entry, PatchName, TreeId
from opencoti_patches.doors.git import Landing, runs_of
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import Replay
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.series.parse import Parsed


class Old:
    """The series on its old base: contents before each patch, exact places of every hunk.

    Where every hunk stands at the very line that it names there is nothing to ask; of a series that lacks one such
    hunk git says where each went. ``folder`` takes the index for that.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        parsed: Mapping[PatchName, Parsed],
        base: TreeId,
        store: Store,
        folder: Path,
        contents: Contents,
    ) -> None:
        self.entries = entries
        self.parsed = parsed
        self.store = store
        self.base = base
        self.folder = folder
        self._contents = contents
        self.listing = Listing.of(base, store.listings)
        self._asked: dict[PatchName, tuple[Landing, ...]] | None = None
        self._paths = touched(parsed.values())
        self._gained: dict[bytes, list[str]] = {}  # by a line, what was found out
        self._others: TreeId | None = None
        self._read = lambda p: contents.of(self.listing.get(p))
        self.rewind()

    def rewind(self, aside: Set[PatchName] = frozenset()) -> None:
        """Be before the first patch again; those ``aside`` are passed over, for nobody asks for their files."""
        self.aside = aside
        self.replay = Replay(self._read, self._paths)
        self.at = 0
        self._took: guess.Took | None = None  # what the patch that is next does, where all stands at its lines

    def goto(self, entry: Entry) -> None:
        """Be just before a patch; patches are visited in order."""
        while self.entries[self.at].name != entry.name:
            done = self.entries[self.at]
            landed = None if done.name in self.aside else self._landings(done)
            if self._took is not None:
                self.replay.advance(self._took.files)
            elif landed is not None:
                self.replay.apply(self.parsed[done.name], {(w.file, w.hunk): w.offset for w in landed})
            self.at, self._took = self.at + 1, None

    def exact(self, entry: Entry) -> Parsed | None:
        """The patch that ``goto`` went to with its hunks where they are in the old tree; None if it did not apply
        there."""
        landed = self._landings(entry)
        return None if landed is None else exact(self.parsed[entry.name], landed)

    def gained(self, lines: Sequence[bytes], base: TreeId) -> dict[bytes, list[str]]:
        """By each of these lines, the files that have it on another base and had it not on this."""
        texts = {x: x.rstrip(b"\r\n") for x in lines}
        there = self.store.repo.files_with(self._fresh(base), [t for t in set(texts.values()) if t not in self._gained])
        paths = {p for found in there.values() for p in found}
        self._contents.fetch(e for p in paths if (e := self.listing.get(p)))
        had = {p: self._contents.of(self.listing.get(p)) or b"" for p in paths}
        self._gained |= {text: [p for p in found if text not in had[p]] for text, found in there.items()}
        return {x: self._gained[text] for x, text in texts.items()}

    def _fresh(self, base: TreeId) -> TreeId:
        """The files of another base that are others there: no other can have gained a line."""
        if not self._others:
            changed = self.store.repo.diff_trees(self.base, base)
            files = {p: new for p, (_, new) in changed.items() if new and new[0] not in NOT_TEXT}
            self._others = self.store.repo.tree_with(EMPTY_TREE, dict(files))
        return self._others

    def _landings(self, entry: Entry) -> tuple[Landing, ...] | None:
        """Where the hunks of the patch that is next went; None if it did not apply."""
        if self._took is None and self._asked is None:
            self._took = guess.took(self.parsed[entry.name], self.replay)
            if self._took is None or self._took.landed:
                self._took, self._asked = None, self._ask()
        return () if self._asked is None else self._asked.get(entry.name)

    def _ask(self) -> dict[PatchName, tuple[Landing, ...]]:
        self.folder.mkdir()
        scratch = Scratch(self.store.repo, self.base, self.listing, self.folder, {}, self._paths)
        found: dict[PatchName, tuple[Landing, ...]] = {}
        rest = list(self.entries)
        while rest:
            run = next(runs_of(rest))
            landings, errors = scratch.take(run)
            found |= {e.name: landed for e, landed in zip(run, landings, strict=False)}
            rest = rest[len(landings) + (errors is not None) :]
        return found
