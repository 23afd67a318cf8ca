"""What each patch stands on, found by trying: does it still go in, at the same place, without the other?

The files of the series are woven once (see weave). What a hunk touches of an earlier patch makes that one a
candidate; then the file is made as it would be without the candidate, and the hunks of the patch are tried on it in
memory as git places them. Cost grows with what patches touch of one another, not with their pairs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry import guess
from opencoti_patches.core.model import FilePatch, PatchName, Series, TreeId, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.plan.chain import keys
from opencoti_patches.plan.replay import Replay, position
from opencoti_patches.plan.strict import check
from opencoti_patches.series.parse import Parsed
from opencoti_patches.stack.weave import Cell, Touch, Weave, Woven, without
from opencoti_patches.tree import trees

_VERSION = 1  # of what is kept


class On(NamedTuple):
    """One file in which a patch stands on an earlier one: the lines (from 1, as the file is before the patch) that
    it changes or expects, or, without lines, ``why`` the file as a whole."""

    file: str
    lines: tuple[int, ...]
    why: str


class Needs(NamedTuple):
    """A patch, and by earlier patch what it stands on."""

    name: PatchName
    on: Mapping[PatchName, tuple[On, ...]]


def deps(series: Series, base: TreeId, store: Store, *, progress: Progress) -> tuple[Needs, ...]:
    """What each patch stands on, in order; from the store where the same series was asked about before. Writes nothing
    but the store.

    Errors: Refused ``does-not-apply``.
    """
    kept = store.root / "deps" / f"{keys(base, series.entries, store.objects)[-1]}.json"
    names = [e.name for e in series.entries]
    if (known := _read(fs.read_json(kept), names)) is not None:
        return known
    plan = check(series, base, store, progress=progress)
    trees.applied(plan)
    woven = Woven(series.entries, plan, base, store)
    found: list[Needs] = []
    for at, name in enumerate(names):
        progress.update("trying patches without one another", at, len(names), "patches")
        one = _Tried(woven, at).found()
        found.append(Needs(name, {names[i]: tuple(rows) for i, rows in sorted(one.items())}))
    fs.write(kept, fs.json_bytes([_VERSION, [_row(n, names) for n in found]]), sync=False)
    return tuple(found)


class _Tried:
    """One patch, tried without each of those that it touches."""

    def __init__(self, woven: Woven, at: int) -> None:
        self.weave: Weave = woven.goto(at)
        self.parsed: Parsed = woven.parsed[at]
        self.offsets = woven.offsets[at]
        self.on: dict[int, list[On]] = {}

    def found(self) -> dict[int, list[On]]:
        """By earlier patch, from 0, what the patch stands on."""
        for number, f in enumerate(self.parsed.files):
            self._file(number, f)
        return self.on

    def _file(self, number: int, f: FilePatch) -> None:
        for path in dict.fromkeys(p for p in (f.old, f.new) if p):
            if path in self.weave.makers:
                maker, did = self.weave.makers[path]
                self.on.setdefault(maker, []).append(On(path, (), f"{did} the file"))
        if not f.old:
            return
        cells = self.weave.cells(f.old)
        if cells is None or f.binary:
            last = self.weave.last.get(f.old)
            if last is not None and last not in self.on:
                self.on.setdefault(last, []).append(On(f.old, (), "changed the file as a whole"))
            return
        touched: dict[int, list[Touch]] = {}
        grown = 0
        for hunk in f.hunks:
            offset = self.offsets.get((number, hunk.number), 0) - grown
            grown += hunk.new_count - hunk.old_count
            for t in self.weave.touches(f, hunk, offset, cells):
                touched.setdefault(t.patch, []).append(t)
        for other, touches in touched.items():
            if f.old in {on.file for on in self.on.get(other, ()) if on.why}:
                continue
            if any(t.sign == "+" and not t.context for t in touches) or not self._goes_in(number, f, cells, other):
                lines = tuple(dict.fromkeys(t.line for t in touches))
                self.on.setdefault(other, []).append(On(f.old, lines, ""))

    def _goes_in(self, number: int, f: FilePatch, cells: Sequence[Cell], other: int) -> bool:
        """Whether the hunks go in without the other, and at the same place: not by chance, at another that looks
        like it."""
        lines, where = without(cells, other)
        alone = self.parsed._replace(files=(f._replace(operation="modify", new=f.old),))
        took = guess.took(alone, Replay(lambda _: b"".join(lines), {f.old or ""}))
        if took is None:
            return False
        far = {w.hunk: w.offset for w in took.landed}
        grown = 0
        for hunk in f.hunks:
            lead = next(i for i, line in enumerate(hunk.lines) if line[:1] != b" ") - grown
            at = position(hunk, self.offsets.get((number, hunk.number), 0)) + lead
            there = position(hunk, far.get(hunk.number, 0)) + lead
            if there != where[at] and not (at and there == where[at - 1] + 1):
                return False
            grown += hunk.new_count - hunk.old_count
        return True


def _row(needs: Needs, names: Sequence[PatchName]) -> Any:
    return [[names.index(n), [list(on) for on in rows]] for n, rows in needs.on.items()]


def _read(doc: Any, names: Sequence[PatchName]) -> tuple[Needs, ...] | None:
    try:
        version, rows = doc
        if version != _VERSION or len(rows) != len(names):
            return None
        return tuple(
            Needs(name, {names[i]: tuple(On(file, tuple(lines), why) for file, lines, why in ons) for i, ons in row})
            for name, row in zip(names, rows, strict=True)
        )
    except (TypeError, ValueError, LookupError):  # damaged, or nobody's: as if it were not there
        return None


def standing_on(found: Sequence[Needs], name: PatchName) -> list[PatchName]:
    """The patches that stand on ``name``, straight."""
    return [n.name for n in found if name in n.on]


def dot(found: Sequence[Needs]) -> str:
    """The graph for graphviz: an arrow from a patch to what it stands on."""
    quote = json.dumps
    lines = ["digraph patches {", "  rankdir=BT;", "  node [shape=box];"]
    lines += [f"  {quote(printable(n.name))};" for n in found]
    for n in found:
        for other, rows in n.on.items():
            files = ", ".join(dict.fromkeys(on.file.rsplit("/", 1)[-1] for on in rows))
            lines.append(
                f"  {quote(printable(n.name))} -> {quote(printable(other))} [tooltip={quote(printable(files))}];"
            )
    return "\n".join([*lines, "}"])
