"""What of a series upstream has already, by content.

Against another base the series is carried there as a bump would, and what its three-way step finds done counts. On
its own base git is asked first: of what it takes nothing is there. Of the rest each change is looked for: with the
contents that the patch was made on, where the store has them, else by what the hunk itself shows of its surroundings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal, NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry import over, threeway
from opencoti_patches.carry.align import Alignment, Region
from opencoti_patches.carry.ground import Tree, known
from opencoti_patches.carry.model import HunkHow, Row
from opencoti_patches.carry.place import Change
from opencoti_patches.core.model import (
    NOT_TEXT,
    Entry,
    FilePatch,
    Hunk,
    IndexEntry,
    PatchName,
    Series,
    TreeId,
    printable,
)
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import runs_of
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.nearest import Text, nearest
from opencoti_patches.plan.places import occurrences, squeezed
from opencoti_patches.plan.replay import Lines, lines_of
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.series.parse import Parsed, parse

_LIKE = 0.5  # of a hunk's lines that must stand at a place for it to be looked at
_AROUND = 6  # lines beside that place

Share = Literal["all", "some", "none", "unknown"]


class There(NamedTuple):
    """A hunk that is there, or the file as a whole (hunk 0): at ``line`` of the tree before the patch, from 1; 0 where
    there is none. ``whole``: all of its changes are."""

    file: str
    hunk: int
    line: int
    whole: bool
    how: str


class Has(NamedTuple):
    """How much of one patch is there, and which hunks; ``why`` it is not known."""

    name: PatchName
    share: Share
    there: tuple[There, ...] = ()
    why: str = ""


def carried(rows: Sequence[Row], series: Series, base: TreeId, store: Store) -> tuple[Has, ...]:
    """Against another base: what the rows of a bump to it say."""
    listing = Listing.of(base, store.listings)
    found, owed = [], set[bytes]()
    for row, entry in zip(rows, series.entries, strict=True):
        parsed = parse(entry.raw, entry.strip, entry.reverse)
        has = _row(row)
        if has.share != "all" and row.status in ("adapted", "conflict") and row.hunks:
            has = _closer(has, parsed, lambda path: _lines(listing.get(path), store), owed)
        if has.share != "all":
            owed |= _adds(parsed)
        found.append(has)
    return tuple(found)


def _closer(has: Has, parsed: Parsed, lines_at: Callable[[str], Lines], owed: set[bytes]) -> Has:
    """Hunks that stand there as a whole, although the three-way step could not tell it of each change: one that has
    but a blank line between itself and the next is told by both together."""
    there = {(t.file, t.hunk): t for t in has.there}
    for f in parsed.files:
        for h in f.hunks if f.operation == "modify" else ():
            key, known = (printable(f.path), h.number), there.get((printable(f.path), h.number))
            if (known and known.whole) or owed.intersection(h.removed):
                continue
            lines = lines_at(f.new or "")
            if (at := _stands(lines, h)) is not None and not occurrences(lines, h.old):
                there[key] = There(*key, at + 1, True, "upstream has it already")
    hunks = {(printable(f.path), h.number) for f in parsed.files for h in f.hunks}
    whole = {key for key, t in there.items() if t.whole}
    plain = all(f.operation == "modify" and f.hunks and f.new_mode == f.old_mode for f in parsed.files)
    share: Share = "all" if plain and hunks == whole else "some" if there else "none"
    return has._replace(share=share, there=tuple(there.values()))


def _stands(lines: Sequence[bytes], hunk: Hunk) -> int | None:
    """Where the result of a hunk stands to the letter, from 0: its first change."""
    exact = occurrences(lines, hunk.new) if len(hunk.new) > 1 else []
    if not exact:
        return None
    first = next((i for i, x in enumerate(hunk.lines) if x[:1] != b" "), 0)
    return min(exact, key=lambda i: abs(i - (hunk.new_start - 1))) + first


def _adds(parsed: Parsed) -> set[bytes]:
    return {x for f in parsed.files for h in f.hunks for x in h.added}


def _lines(held: IndexEntry | None, store: Store) -> Lines:
    """A file's lines; none of what is no file."""
    if held is None or held[0] in NOT_TEXT:
        return []
    return lines_of(store.repo.blobs([held[1]])[held[1]])


def _row(r: Row) -> Has:
    if r.status == "upstreamed":
        return Has(r.name, "all", _grouped(r.hunks))
    if there := _grouped(r.hunks):
        return Has(r.name, "some", there)
    if r.status == "blocked" or (r.status == "conflict" and not r.hunks):
        return Has(r.name, "unknown", why=r.reason)
    return Has(r.name, "none")


def _grouped(hows: Sequence[HunkHow]) -> tuple[There, ...]:
    """The hunks of which a change is done, each once."""
    found = []
    for key in dict.fromkeys((h.file, h.hunk) for h in hows if h.done):
        mine = [h for h in hows if (h.file, h.hunk) == key]
        first = next(h for h in mine if h.done)
        found.append(There(*key, first.line, all(h.done for h in mine), first.how))
    return tuple(found)


def in_base(series: Series, base: TreeId, store: Store, *, progress: Progress) -> tuple[Has, ...]:
    """On the base of the series itself, a row a patch, in order. Writes nothing but the store."""
    with fs.scratch(store.scratch, "upstreamed-") as folder:
        return _Walk(series.entries, base, store, folder).run(progress)


class _Walk:
    def __init__(self, entries: Sequence[Entry], base: TreeId, store: Store, folder: Path) -> None:
        self.entries = entries
        self.store = store
        self.folder = folder
        self.parsed = {e.name: parse(e.raw, e.strip, e.reverse) for e in entries}
        listing = Listing.of(base, store.listings)
        self.scratch = Scratch(store.repo, base, listing, folder, {}, touched(self.parsed.values()))
        self.owed: set[bytes] = set()  # lines that refused patches would have added

    def run(self, progress: Progress) -> tuple[Has, ...]:
        rows: list[Has] = []
        while len(rows) < len(self.entries):
            progress.update("looking", len(rows), len(self.entries), "patches")
            run = next(runs_of(self.entries[len(rows) :]))
            landings, errors = self.scratch.take(run)
            rows += [Has(e.name, "none") for e in run[: len(landings)]]
            if errors is not None:
                rows.append(self._refused(run[len(landings)]))
        return tuple(rows)

    def _refused(self, entry: Entry) -> Has:
        parsed = self.parsed[entry.name]
        if parsed.defects or not parsed.files:
            return Has(entry.name, "unknown", why="the patch file is damaged; see 'opencoti-patches check'")
        hows, whole = self._three_way(entry, parsed) or self._by_content(parsed)
        there = _grouped(hows)
        has = Has(entry.name, "all" if whole else "some" if there else "none", there)
        if not whole:
            has = _closer(has, parsed, lambda path: _lines(self.scratch.state().get(path), self.store), self.owed)
        if has.share != "all":
            self.owed |= _adds(parsed)
        return has

    def _three_way(self, entry: Entry, parsed: Parsed) -> tuple[Sequence[HunkHow], bool] | None:
        """With the contents that its index lines name; None without them."""
        ground = None if entry.reverse else known(parsed, Tree(self.scratch, self.store.repo, self.folder))
        if ground is None:
            return None
        try:
            found = over.carry(entry, ground.parsed, ground.sides)
        except over.Conflict as e:
            return e.hows, False
        return found.hows, not found.left

    def _by_content(self, parsed: Parsed) -> tuple[Sequence[HunkHow], bool]:
        hows = [h for f in parsed.files for h in self._file(f)]
        return hows, all(h.done for h in hows)

    def _file(self, f: FilePatch) -> Iterator[HunkHow]:
        """Every change to a file, done or not."""
        state, path = self.scratch.state(), printable(f.path)
        old, new = state.get(f.old or ""), state.get(f.new or "")
        if f.operation == "delete":
            yield HunkHow(path, 0, "it is deleted already", done=old is None)
            return
        lines = _lines(new, self.store)
        if f.operation == "create":
            done = new is not None and not f.binary and lines == [x for h in f.hunks for x in h.added]
            yield HunkHow(path, 0, "it is there already", done=done)
            return
        if f.binary:
            done = bool(new and f.new_blob and new[1].startswith(f.new_blob))
            yield HunkHow(path, 0, "it has the new contents already", done=done)
        if f.operation in ("rename", "copy"):
            done = new is not None and (old is None or f.operation == "copy")
            yield HunkHow(path, 0, f"the {f.operation} is done already", done=done)
        if f.new_mode and f.old_mode != f.new_mode:
            yield HunkHow(path, 0, "it has the mode already", done=new is not None and new[0] == f.new_mode)
        for hunk in f.hunks:
            for change in threeway.changes_of(f._replace(hunks=(hunk._replace(old_start=1),))):
                at = self._at(lines, hunk, change)
                how = "upstream has it already" if change.added else "upstream removed it, too"
                yield HunkHow(path, hunk.number, how, done=at is not None, line=0 if at is None else at + 1)

    def _at(self, lines: Sequence[bytes], hunk: Hunk, change: Change) -> int | None:
        """Where a change of a hunk stands already, from 0."""
        if self.owed.intersection(hunk.old[change.lo : change.hi]):
            return None  # what it takes out never came in
        if occurrences(lines, hunk.old):
            return None
        if len(hunk.new) > 1 and (exact := occurrences(lines, hunk.new)):
            at = min(exact, key=lambda i: abs(i - (hunk.new_start - 1)))
            return at + _in_new(hunk, change)
        near = nearest(Text(lines), _flipped(hunk))
        if near.share < _LIKE:
            return None
        begin = max(near.line - 1 - _AROUND, 0)
        window = lines[begin : near.line - 1 + len(hunk.new) + _AROUND]
        if change.lo == 0 and (begin or hunk.old_start > 1):
            return None  # nothing before it says where it goes
        if change.hi == len(hunk.old) and begin + len(window) < len(lines):
            return None
        found = threeway.has(change, Alignment(hunk.old, window, _regions(hunk.old, window)))
        return None if found is None else begin + found.lo


def _in_new(hunk: Hunk, change: Change) -> int:
    """How many lines of a hunk's result stand before a change of it."""
    old = new = 0
    for line in hunk.lines:
        if old == change.lo and line[:1] != b" ":
            return new
        old += line[:1] in b" -"
        new += line[:1] in b" +"
    return new


def _flipped(hunk: Hunk) -> Hunk:
    """The hunk that takes the change back."""
    signs = {b"+": b"-", b"-": b"+"}
    lines = tuple(signs.get(x[:1], x[:1]) + x[1:] for x in hunk.lines)
    return hunk._replace(old_start=hunk.new_start, new_start=hunk.old_start, lines=lines)


def _regions(old: Sequence[bytes], new: Sequence[bytes]) -> list[Region]:
    """Where two runs of lines differ, white space aside."""
    a, b = ([squeezed(x) for x in side] for side in (old, new))
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [Region(i, j, m, n) for tag, i, j, m, n in codes if tag != "equal"]
