"""Where a series is rearranged before anything is written: trees between patches, and patches carried from one
tree to another by what ``bump`` knows, their headers untouched."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Sequence, Set
from itertools import count
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry.bump import bump
from opencoti_patches.carry.compose import composed
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.heads import indexed
from opencoti_patches.carry.model import Row
from opencoti_patches.carry.staged import staged
from opencoti_patches.core.model import Entry, PatchName, Plan, Series, TreeId
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import Replay
from opencoti_patches.plan.scratch import touched
from opencoti_patches.plan.strict import check
from opencoti_patches.series import diffstat
from opencoti_patches.series.order import SERIES_FILE, entry_of
from opencoti_patches.series.parse import parse
from opencoti_patches.tree import trees


class Carried(NamedTuple):
    """Patches on another tree: a row each, and the entries as they are now, without those that are ``stuck``."""

    rows: tuple[Row, ...]
    entries: tuple[Entry, ...]

    @property
    def stuck(self) -> tuple[Row, ...]:
        """Those that have no place, stand on one that has none, or would have nothing left to do."""
        return tuple(r for r in self.rows if r.status in ("conflict", "blocked", "upstreamed"))

    def leaving(self, was: Sequence[Entry]) -> Carried:
        """As they may be written while those stay that are stuck; ``was`` are the patches before. One behind them that
        shares a file with one of them was carried to a tree in which that is missing: at the place that it has there
        another may stand once that one is mended, which git would take for it. So it stays as it was."""
        now = {e.name: e for e in self.entries}
        rows: list[Row] = []
        failed: list[tuple[PatchName, Set[str]]] = []
        for e, row in zip(was, self.rows, strict=True):
            mine = touched([parse(e.raw, e.strip, e.reverse)])
            first = next((name for name, theirs in failed if mine & theirs), None)
            if first and row.status == "renumbered":
                row = Row(name=row.name, status="kept", reason=f"moved; its line numbers wait for {first}")
                now[e.name] = e
            elif first and row.status in ("regenerated", "adapted"):
                row = Row(name=row.name, status="blocked", reason=f"waits for {first}, which changes the same file")
            rows.append(row)
            if row in Carried((row,), ()).stuck:
                now.pop(e.name, None)
                failed.append((e.name, mine))
        return Carried(tuple(rows), tuple(now[e.name] for e in was if e.name in now))


class Desk:
    """A series that applies, its patches' new bytes in files of ``folder``."""

    def __init__(self, series: Series, base: TreeId, store: Store, folder: Path, progress: Progress) -> None:
        self.series = series
        self.base = base
        self.store = store
        self.folder = folder
        self.progress = progress
        file = series.dir / SERIES_FILE
        self.read = {file: file.read_bytes()} if series.listed else {}  # what is worked on: see states.put
        self._numbers = count(1)

    def plan(self, entries: Sequence[Entry]) -> Plan:
        """git's verdict on these patches in this order, on the base."""
        return check(self.series._replace(entries=tuple(entries)), self.base, self.store, progress=self.progress)

    def tree(self, entries: Sequence[Entry]) -> TreeId:
        """The tree after these patches. Errors: Refused ``does-not-apply``."""
        return trees.applied(self.plan(entries))

    def holding(self, entries: Sequence[Entry]) -> Desk:
        """The same desk with these patches on it."""
        other = copy.copy(self)
        other.series = self.series._replace(entries=tuple(entries))
        return other

    def made(self, name: str, raw: bytes) -> Entry:
        """A patch of its own, which is in no folder."""
        return self.fresh(entry_of(self.series.dir, name, raw), raw)

    def fresh(self, entry: Entry, raw: bytes) -> Entry:
        """The entry with other bytes."""
        return staged(entry, raw, self.folder / f"{next(self._numbers)}.patch")

    def composed(self, entry: Entry, before: TreeId, after: TreeId) -> Entry:
        """The entry as the difference of two trees, in its own manner."""
        return self.headed(entry, composed(entry, before, after, self.store.repo))

    def headed(self, entry: Entry, raw: bytes) -> Entry:
        """The entry with other content, whatever header that has, under its own one."""
        return self.fresh(entry, _headed(entry, raw))

    def carry(self, entries: Sequence[Entry], old: TreeId, new: TreeId) -> Carried:
        """Patches that apply on tree ``old``, brought to ``new``. Whatever the carry says in a header is left out:
        the stack was rearranged, no upstream moved."""
        if old == new or not entries:
            return Carried(tuple(Row(name=e.name, status="kept") for e in entries), tuple(entries))
        series = self.series._replace(entries=tuple(entries))
        aside = self._listing(old, new)
        found = bump(series, old, new, aside, project="", progress=self.progress).rows
        rows: list[Row] = []
        now: list[Entry] = []
        for e, row in zip(entries, found, strict=True):
            if row.raw is not None:
                row = row._replace(raw=_headed(e, row.raw))
            rows.append(row)
            if row.raw is not None:
                now.append(self.fresh(e, row.raw))
            elif row.status == "kept":
                now.append(e)
        moved = {r.name for r in rows if r.status == "renumbered"}
        return Carried(tuple(rows), tuple(self._named_anew(now, moved, new, aside) if moved else now))

    def _named_anew(
        self, entries: Sequence[Entry], moved: Set[PatchName], tree: TreeId, aside: Store
    ) -> Iterator[Entry]:
        """The entries, those that moved with index lines that name what is there now: moved back, a patch is the
        same to the byte."""
        parsed = [parse(e.raw, e.strip, e.reverse) for e in entries]
        listing = Listing.of(tree, aside.listings)
        texts = Contents(self.store.repo, self.folder)
        texts.fetch(map(listing.get, touched(parsed)))
        replay = Replay(lambda path: texts.of(listing.get(path)), touched(parsed))
        for e, one in zip(entries, parsed, strict=True):
            before = {f.old: list(replay.lines(f.old) or ()) for f in one.files if f.old}
            replay.apply(one, {})
            if e.name not in moved or e.reverse:
                yield e
                continue
            parts, at = [], 0
            for f in (f for f in one.files if f.operation == "modify" and f.hunks and f.old and f.new):
                begin, end = f.span[0], f.hunks[0].span[0]
                sides = before[f.old or ""], replay.lines(f.new or "") or ()
                parts += [e.raw[at:begin], indexed(e.raw[begin:end], *map(b"".join, sides))]
                at = end
            yield self.fresh(e, b"".join(parts) + e.raw[at:])

    def _listing(self, *wanted: TreeId) -> Store:
        """The store as ``bump`` wants it, these trees listed: in the scratch folder, for nobody asks again."""
        aside = copy.copy(self.store)
        aside.listings = self.folder / "listings"
        for tree in wanted:
            if not (aside.listings / tree).exists():
                fs.write(aside.listings / tree, self.store.repo.list_tree(tree), sync=False)
        return aside


@contextlib.contextmanager
def desk(series: Series, base: TreeId, store: Store, progress: Progress) -> Iterator[Desk]:
    """A desk with a scratch folder of its own. Call with the store's lock held."""
    with fs.scratch(store.scratch, "stack-") as folder:
        yield Desk(series, base, store, folder, progress)


def index_of(entries: Sequence[Entry], name: PatchName) -> int:
    """Where a patch stands, from 0."""
    return [e.name for e in entries].index(name)


def _headed(entry: Entry, raw: bytes) -> bytes:
    """The new bytes under the entry's own header, to the byte but for a diffstat, and without headings of hunks where
    the old ones had none."""
    old, new = parse(entry.raw, entry.strip), parse(raw, entry.strip)
    parts, at = [diffstat.follow(old.header, entry.raw, raw)], len(new.header)
    bare = not any(h.section for f in old.files for h in f.hunks)
    for h in (h for f in new.files for h in f.hunks if bare and h.section):
        end = raw.index(b"\n", h.span[0])
        parts += [raw[at : raw.index(b" @@", h.span[0]) + 3], b"\r" * (raw[end - 1 : end] == b"\r")]
        at = end
    return b"".join(parts) + raw[at:]
