"""Resolving a conflict as it was resolved before: what a person changed in a merge is taken down, and put
into the next merge that has the same conflict."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry import resolutions
from opencoti_patches.carry.model import Marked
from opencoti_patches.carry.resolutions import BEGIN, END, Edit, Resolution
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import PatchName, TreeId, decode, encode, printable
from opencoti_patches.doors import fs
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.series import order

_CONTEXT = 3  # lines around an edit that no conflict marks
_FILES = ("100644", "100755")

Held = tuple[str, bytes] | None
"""A file, (mode, content), or that there is none."""


class Learned(NamedTuple):
    """What was taken down; or, with None, why that could not be."""

    resolution: Resolution | None
    why_not: str = ""


class Fitted(NamedTuple):
    """A merge with its conflicts resolved: the files that differ from the tree before the patch, and the
    resolutions that served."""

    files: Mapping[str, Held]
    used: tuple[Resolution, ...]


# -- where they lie ----------------------------------------------------------------------------


def shared(folder: Path) -> tuple[Resolution, ...]:
    """Those of the patches folder. Errors: UsageError ``bad-resolutions`` and those of ``order.read_file``."""
    return resolutions.parse(shared_bytes(folder))


def shared_bytes(folder: Path) -> bytes:
    """The file of the patches folder as it is; empty if there is none."""
    file = folder / resolutions.FILE
    if not file.exists():
        return b""
    with fs.disk_errors(f"read {file}"):
        return order.read_file(file, resolutions.FILE)[0]


def own(store: Store) -> tuple[Resolution, ...]:
    """Those of bumps that are not finished, or were given up: they wait in the store for the next one."""
    file = _own_file(store)
    return resolutions.parse(file.read_bytes()) if file.exists() else ()


def keep(store: Store, kept: Sequence[Resolution]) -> None:
    """Let the store have these and no others."""
    file = _own_file(store)
    if kept:
        fs.write(file, resolutions.text(kept))
    else:
        file.unlink(missing_ok=True)


def finished(store: Store, used: Sequence[Resolution], by_hand: Collection[str], to: str) -> tuple[Resolution, ...]:
    """Those of the store that a finished bump leaves to the patches folder: that served again, or that were
    made on the way ``to`` where it went, of patches resolved ``by_hand``."""
    mine = {printable(name) for name in by_hand}
    return tuple(r for r in own(store) if r in used or (r.patch in mine and r.to == to))


@contextlib.contextmanager
def none_lost(store: Store, folder: Path) -> Iterator[list[str]]:
    """Around what puts the shared file back to what it was: what it loses waits in the store, as after a bump that was
    given up, and what it has again waits no more. Gives the patches that wait, once it is done. A file that is no
    list of resolutions is put back like any other. Call with the store's lock held."""
    waiting: list[str] = []
    before = _readable(folder)
    keep_too(store, before)  # first, so that a kill loses nothing
    try:
        yield waiting
    finally:
        left = wait_no_more(store, folder)
    waiting += dict.fromkeys(r.patch for r in before if r not in left)


def wait_no_more(store: Store, folder: Path) -> tuple[Resolution, ...]:
    """Take what the shared file has out of the store, and give it."""
    there = _readable(folder)
    if there:
        keep(store, [r for r in own(store) if r not in there])
    return there


def keep_too(store: Store, more: Sequence[Resolution]) -> None:
    """Let the store have these, too."""
    if more:
        keep(store, resolutions.with_new(own(store), more))


def _readable(folder: Path) -> tuple[Resolution, ...]:
    """Those of the patches folder; none where its file is damaged."""
    try:
        return shared(folder)
    except UsageError:
        return ()


def _own_file(store: Store) -> Path:
    return store.own / resolutions.FILE


# -- taking down -------------------------------------------------------------------------------


def learn(name: PatchName, to: str, laid: TreeId, made: TreeId, conflicts: Sequence[str], store: Store) -> Learned:
    """What a person changed between the merge as it was ``laid`` out and what they ``made`` of it.

    A conflict without markers (a binary file, one that upstream changed and the patch deletes) has no text
    to be found by, so then nothing is taken down.
    """
    changed = store.repo.diff_trees(laid, made)
    sides = [side for both in changed.values() for side in both if side]
    if odd := next((m for m, _ in sides if m not in _FILES), ""):
        return Learned(None, f"it changes a file of mode {odd}")
    contents = store.repo.blobs(oid for _, oid in sides)
    edits: list[Edit] = []
    for path, (was, now) in changed.items():
        texts = [_texts(contents[side[1]], name) if side else None for side in (was, now)]
        if any(t is not None and any("\0" in x for x in t) for t in texts):
            return Learned(None, f"{printable(path)} is binary")
        if was and now and was[0] != now[0]:
            return Learned(None, f"the mode of {printable(path)} changes")
        before, after = texts
        if before is None:
            edits.append(Edit(path, None, tuple(after or ()), now[0] if now else ""))
        elif after is None:
            edits.append(Edit(path, tuple(before), None))
        else:
            edits += [Edit(path, found, put) for found, put in _edits(before, after)]
    if empty := next((e for e in edits if e.found == ()), None):
        return Learned(None, f"{printable(empty.path)} is empty in the merge")
    resolved = {e.path for e in edits if e.conflict}
    if left := [p for p in conflicts if p not in resolved]:
        return Learned(None, f"the conflict in {printable(left[0])} has no markers to know it by")
    if not resolved:
        return Learned(None, "git found nothing in conflict there")
    return Learned(Resolution(printable(name), to, tuple(edits)))


def _texts(content: bytes, name: str) -> list[str]:
    """A file's lines, markers without the name of the patch."""
    return [_plain(line, name) for line in map(decode, lines_of(content))]


def _plain(line: str, name: str) -> str:
    if line[:7] == ">>>>>>>" and line.rstrip("\r\n") == f">>>>>>> {name}":
        return END
    if line[:7] == "|||||||" and line.rstrip("\r\n") == f"||||||| before {name}":
        return "||||||| before\n"
    return BEGIN if line.rstrip("\r\n") == BEGIN.rstrip() else line


class _Region(NamedTuple):
    """Lines ``lo:hi`` of the merge gave way to ``to_lo:to_hi`` of the result, all from 0."""

    lo: int
    hi: int
    to_lo: int
    to_hi: int


def _edits(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The edits that lead from one text to the other: each with enough lines around it to stand there once."""
    regions = [_Region(*op[1:]) for op in _opcodes(before, after) if op[0] != "equal"]
    for begin, end in _conflicts(before):  # a conflict is one thing, even where a line of it stayed
        regions = _joined(regions, [r for r in regions if r.lo < end and begin < r.hi])
    while True:
        around = [_around(r, before) for r in regions]
        meet = next((i for i in range(1, len(around)) if around[i][0] < around[i - 1][1]), None)
        if meet is None:
            break
        regions = _joined(regions, regions[meet - 1 : meet + 1])
    for r, (lo, hi) in zip(regions, around, strict=True):
        yield tuple(before[lo:hi]), (*before[lo : r.lo], *after[r.to_lo : r.to_hi], *before[r.hi : hi])


def _opcodes(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """How one text becomes the other; what both begin and end with is not looked at, for files are long."""
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    ops = SequenceMatcher(None, a[head : len(a) - tail], b[head : len(b) - tail]).get_opcodes()
    yield from ((tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in ops)


def _conflicts(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where conflicts stand, from the first marker to behind the last."""
    begin = None
    for i, line in enumerate(lines):
        if line == BEGIN:
            begin = i
        elif line == END and begin is not None:
            yield begin, i + 1
            begin = None


def _joined(regions: Sequence[_Region], some: Sequence[_Region]) -> list[_Region]:
    """The regions with some neighbours among them made one."""
    if len(some) < 2:
        return list(regions)
    whole = _Region(some[0].lo, some[-1].hi, some[0].to_lo, some[-1].to_hi)
    return sorted([whole, *(r for r in regions if r not in some)])


def _around(r: _Region, lines: Sequence[str]) -> tuple[int, int]:
    """The region with lines around it, as many as make it unlike any other place."""
    pad = 0 if BEGIN in lines[r.lo : r.hi] else _CONTEXT
    while True:
        lo, hi = max(r.lo - pad, 0), min(r.hi + pad, len(lines))
        if (lo, hi) == (0, len(lines)) or (hi > lo and len(_places(lines, lines[lo:hi])) == 1):
            return lo, hi
        pad += 1


def _places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where a run of lines stands."""
    size, first = len(wanted), wanted[0]
    return [i for i, x in enumerate(lines) if x == first and list(lines[i : i + size]) == list(wanted)]


# -- putting in --------------------------------------------------------------------------------


def fit(
    known: Sequence[Resolution], merge: Marked, name: PatchName, read: Callable[[str], Held]
) -> Fitted | str | None:
    """The merge with every conflict resolved as before, if all can be. ``read`` gives a file of the tree
    before the patch. None if a conflict is not known; a sentence if it is, and still does not fit."""
    here = _Merge(merge, name, read)
    if here.unmarked:
        return None
    used = [r for r in known if any(here.has(e) for e in r.edits if e.conflict)]
    ways: dict[tuple[str, tuple[str, ...] | None], set[tuple[str, ...] | None]] = {}
    for r in used:
        for e in r.edits:
            if e.conflict and here.has(e):
                ways.setdefault((e.path, e.found), set()).add(e.put)
    for (path, found), puts in ways.items():
        if len(puts) > 1 or not here.put(Edit(path, found, next(iter(puts)))):
            return f"{resolutions.FILE} resolves the conflict in {printable(path)} in two ways"
    if here.conflicts():
        return None
    for e, to in {e: r.to for r in used for e in r.edits if not e.conflict}.items():
        if not here.put(e):
            return f"it was resolved before, for {to}, and with it {printable(e.path)}, which is another now"
    return Fitted(here.files(), tuple(used))


class _Merge:
    """A merge, and the edits that resolve it: each has its place in the merge as it was, so that none of them
    changes where another belongs."""

    def __init__(self, merge: Marked, name: PatchName, read: Callable[[str], Held]) -> None:
        self.name = name
        self.read = read
        self.held: dict[str, Held] = dict(merge.files)
        self.lines: dict[str, list[str] | None] = {}  # None: no text is there
        self.edits: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}  # lines lo:hi give way to others
        self.whole: dict[str, Held] = {}  # files that are made or deleted
        self.unmarked = any(not any(_conflicts(self._at(p) or [])) for p in merge.conflicts)

    def _at(self, path: str) -> list[str] | None:
        if path not in self.lines:
            held = self.held[path] if path in self.held else self.read(path)
            self.held[path] = held
            self.lines[path] = None if held is None or held[0] not in _FILES else _texts(held[1], self.name)
        return self.lines[path]

    def has(self, e: Edit) -> bool:
        """Whether the edit's lines stand here once; a file that it deletes has them and no others."""
        lines = self._at(e.path)
        if e.found is None or lines is None:
            return False
        return lines == list(e.found) if e.put is None else len(_places(lines, e.found)) == 1

    def put(self, e: Edit) -> bool:
        """Take the edit, if it fits and no other has a part of its place."""
        lines = self._at(e.path)
        if e.path in self.whole:
            return False
        if e.found is None:
            if self.held[e.path] is not None:
                return False
            self.whole[e.path] = (e.mode, encode("".join(e.put or ())))
            return True
        if lines is None or not self.has(e):
            return False
        taken = self.edits.setdefault(e.path, [])
        if e.put is None:
            self.whole[e.path] = None
            return not taken
        lo = _places(lines, e.found)[0]
        hi = lo + len(e.found)
        if any(lo < end and begin < hi for begin, end, _ in taken):
            return False
        taken.append((lo, hi, e.put))
        return True

    def conflicts(self) -> bool:
        """Whether a conflict is left."""
        return any(any(_conflicts(self._resolved(p))) for p in list(self.held) if p not in self.whole)

    def _resolved(self, path: str) -> list[str]:
        lines = list(self._at(path) or [])
        for lo, hi, put in sorted(self.edits.get(path, []), reverse=True):
            lines[lo:hi] = put
        return lines

    def files(self) -> dict[str, Held]:
        """The files as they are then."""
        found = dict(self.held) | self.whole
        for path, edits in self.edits.items():
            held = self.held[path]
            if edits and held is not None:
                found[path] = (held[0], encode("".join(self._resolved(path))))
        return found
