"""Whose line is which: the files of a series with every line that any patch ever had in them.

A file is a row of cells, the lines that stand in it now, each with the patch that put it there. Lines that patches
took out stay too, in front of the cell behind them. So one can ask what a hunk touches, and what a file would be
without one patch. Everything is replayed in memory from where git says that each hunk landed; a file whose replay
does not fit (a binary one, say) is unknown from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.model import Entry, FilePatch, Hunk, PatchName, Plan, TreeId, printable
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import lines_of, position
from opencoti_patches.plan.scratch import touched
from opencoti_patches.series.parse import Parsed, parse

BASE = -1
"""The owner of the base's own lines."""


class Gone(NamedTuple):
    """A line that was taken out: who had put it in, who took it out."""

    line: bytes
    owner: int
    killer: int


class Cell:
    """A line that stands in the file; ``before`` are lines that stood in front of it. The last cell of a file has
    no line."""

    __slots__ = ("before", "line", "owner")

    def __init__(self, line: bytes, owner: int, before: tuple[Gone, ...] = ()) -> None:
        self.line = line
        self.owner = owner
        self.before = before


class Touch(NamedTuple):
    """What a hunk has to do with an earlier patch: a line of the file (from 1, before the hunk) that the patch put
    there (``+``) or took out there (``-``). ``context``: the hunk only expects it."""

    patch: int
    line: int
    sign: str
    text: bytes
    context: bool


Offsets = Mapping[tuple[int, int], int]


class Weave:
    """The files that a series touches, patch by patch."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._files: dict[str, list[Cell] | None] = {}
        self.makers: dict[str, tuple[int, str]] = {}  # who made, moved or removed a path last, and what that was
        self.last: dict[str, int] = {}  # who changed a path last

    def cells(self, path: str) -> list[Cell] | None:
        """The cells of a file now, the one without a line last; None if it is not there, or not known."""
        if path not in self._files:
            content = self._read(path)
            self._files[path] = None if content is None else woven(lines_of(content))
        return self._files[path]

    def apply(self, patch: int, parsed: Parsed, offsets: Offsets) -> None:
        """Go over one patch that git took."""
        before = {f.old: self.cells(f.old) for f in parsed.files if f.old}
        for number, f in enumerate(parsed.files):
            cells = before.get(f.old) if f.old else woven([])
            if cells is None and not f.git_style and [h.old_count for h in f.hunks] == [0]:
                cells = woven([])
            after = None if cells is None or f.binary else _after(f, cells, patch, number, offsets)
            if f.operation in ("delete", "rename") and f.old:
                self._files[f.old] = None
                self.makers[f.old] = (patch, "removes" if f.operation == "delete" else "renames")
                self.last[f.old] = patch
            if f.new:
                self._files[f.new] = after
                self.last[f.new] = patch
                if f.operation != "modify":
                    self.makers[f.new] = (patch, "makes")

    def touches(self, f: FilePatch, hunk: Hunk, offset: int, cells: Sequence[Cell]) -> list[Touch]:
        """What one hunk, about to go in, has to do with earlier patches."""
        at = position(hunk, offset)
        found: list[Touch] = []
        kinds = [line[:1] for line in hunk.lines if line[:1] in b" -"]
        end = at + len(kinds)
        for i, kind in enumerate(kinds, at):
            cell = cells[i]
            if i > at or at == 0:
                found += _gone(cell, i, kind == b" ")
            if cell.owner != BASE:
                found.append(Touch(cell.owner, i + 1, "+", cell.line, kind == b" "))
        if end == len(cells) - 1:
            found += _gone(cells[end], end, True)
        return found


def _gone(cell: Cell, at: int, context: bool) -> Iterator[Touch]:
    for gone in cell.before:
        if gone.owner != gone.killer:
            yield Touch(gone.killer, at + 1, "-", gone.line, context)


def woven(lines: Iterable[bytes], owner: int = BASE) -> list[Cell]:
    """A file of one owner."""
    return [*(Cell(line, owner) for line in lines), Cell(b"", BASE)]


def _after(f: FilePatch, cells: Sequence[Cell], patch: int, number: int, offsets: Offsets) -> list[Cell] | None:
    """The cells once the hunks are in; None if one does not stand where git put it."""
    now = list(cells)
    for hunk in f.hunks:
        at = position(hunk, offsets.get((number, hunk.number), 0))
        if at < 0 or [c.line for c in now[at : at + len(hunk.old)]] != hunk.old:
            return None
        i = at
        waiting: list[Gone] = []  # lines that are taken out, until there is a cell behind them
        for line in hunk.lines:
            cell = now[i]
            if line[:1] == b"-":
                waiting += [*cell.before, Gone(cell.line, cell.owner, patch)]
                del now[i]
                continue
            if line[:1] == b"+":
                now.insert(i, Cell(line[1:], patch, tuple(waiting)))
            elif waiting:
                now[i] = Cell(cell.line, cell.owner, (*waiting, *cell.before))
            waiting = []
            i += 1
        if waiting:
            now[i] = Cell(now[i].line, now[i].owner, (*waiting, *now[i].before))
    return now


def without(cells: Sequence[Cell], patch: int) -> tuple[list[bytes], list[int]]:
    """The file's lines as they would be had one patch not been there, and for each cell how many stand before it."""
    lines: list[bytes] = []
    where: list[int] = []
    for cell in cells:
        lines += [g.line for g in cell.before if g.killer == patch and g.owner != patch]
        where.append(len(lines))
        if cell.owner != patch:
            lines.append(cell.line)
    return lines[:-1], where


def offsets_of(parsed: Parsed, plan: Plan, name: PatchName) -> dict[tuple[int, int], int]:
    """How far git moved each hunk of a patch, by (file from 0, hunk from 1)."""
    places = next((v.places for v in plan.verdicts if v.name == name), ())
    return {(i, p.hunk): p.offset for p in places for i, f in enumerate(parsed.files) if printable(f.path) == p.file}


class Woven:
    """A series that applies, woven as far as was asked for. ``plan`` is git's verdict on it."""

    def __init__(self, entries: Sequence[Entry], plan: Plan, base: TreeId, store: Store) -> None:
        self.entries = entries
        self.parsed = [parse(e.raw, e.strip, e.reverse) for e in entries]
        self.plan = plan
        moved = {v.name for v in plan.verdicts if v.places}
        self.offsets: list[Offsets] = [
            offsets_of(one, plan, e.name) if e.name in moved else {}
            for e, one in zip(entries, self.parsed, strict=True)
        ]
        listing = store_listing(base, store)
        held = {p: entry for p in touched(self.parsed) if (entry := listing.get(p)) and entry[0] != "160000"}
        contents = store.repo.blobs(oid for _, oid in held.values())
        self.weave = Weave(lambda p: contents[held[p][1]] if p in held else None)
        self.at = 0

    def goto(self, index: int) -> Weave:
        """The weave just before patch ``index``, from 0; patches are visited in order."""
        while self.at < index:
            self.weave.apply(self.at, self.parsed[self.at], self.offsets[self.at])
            self.at += 1
        return self.weave


def store_listing(tree: TreeId, store: Store) -> Listing:
    """The listing of any tree: the base's from the store's own, another's from git."""
    if (store.listings / tree).is_file():
        return Listing.of(tree, store.listings)
    return Listing(store.repo.list_tree(tree))
