"""A patch that does not apply, merged into the tree before it as far as it goes: what fits is in, a hunk that does
not stands between conflict markers at the likeliest place, and what cannot be marked is said in a ``.rej`` file.
What ``quilt push -f --merge`` is for.

Everything is worked out on contents; nothing is written but objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import Match, SequenceMatcher
from typing import NamedTuple

from opencoti_patches.carry import ladder
from opencoti_patches.carry.align import Alignment
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import NOT_TEXT, Entry, FilePatch, Hunk, IndexEntry, encode, printable
from opencoti_patches.plan.nearest import Text, nearest
from opencoti_patches.plan.places import has_functions
from opencoti_patches.plan.replay import Lines, lines_of
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.series.repair import repaired

_MARKER = re.compile(rb"(?m)^(?:<{7} |>{7} |\|{7} )")
_MIDDLE = re.compile(rb"(?m)^={7}\r?$")
_END = re.compile(rb"(?m)^>{7} ")
_MORE = 3  # lines of the tree beyond what a hunk expects in which its end is looked for
Held = tuple[str, bytes]
"""A file: mode and content."""


class Left(NamedTuple):
    """What of the patch wants a person: a hunk between markers at ``line`` (from 1), or, with line 0, a hunk or
    (hunk 0) a whole file without any."""

    file: str
    hunk: int
    line: int
    why: str


class Merged(NamedTuple):
    """What the patch comes to: the files that change, None for those that go; what is left to do."""

    files: Mapping[str, Held | None]
    left: tuple[Left, ...]


class _Spot(NamedTuple):
    """Where a hunk goes, in lines of the file as it is: ``size`` of them from ``at`` on become ``new``."""

    hunk: Hunk
    at: int
    size: int
    new: Sequence[bytes]
    why: str = ""  # of a conflict


def merge(
    entry: Entry,
    read: Callable[[str], IndexEntry | None],
    content: Callable[[str], bytes],
    renamed: Mapping[str, str],
    aligned: Callable[[Parsed], Mapping[str, Alignment]] = lambda parsed: {},
) -> Merged:
    """Merge a patch. ``read`` gives what the tree before it has at a path, ``content`` the bytes of a blob, ``renamed``
    where the lines of files are that are not there, ``aligned`` by path how the contents that the patch was made on
    stand in those of the tree, as far as they are known.

    Errors: Refused ``does-not-apply`` for a patch file that is damaged: nobody knows what it does.
    """
    raw, _ = repaired(entry.raw, entry.strip)
    parsed = parse(raw, entry.strip, entry.reverse)
    if parsed.defects:
        what = parsed.defects[0]
        raise Refused(
            "does-not-apply",
            f"{entry.name} is damaged at line {what.at_line} ({what.message}), so it cannot be merged",
            "make its change by hand: bootstrap the tree before it, then 'opencoti-patches regen PATCH --from DIR'",
        )
    files: dict[str, Held | None] = {}
    left: list[Left] = []
    parts: list[bytes] = []
    known = aligned(parsed)
    for f in parsed.files:
        was = known.get(f.old or "")
        now = renamed.get(printable(f.old or ""))
        if now and f.operation == "modify":
            left.append(
                Left(now, 0, 0, f"{printable(f.old or '')} is not there; the change is here, where its lines are")
            )
            f = f._replace(old=now, new=now)
        found = _File(f, entry.name, read, content, was).merge(files)
        if any(not row.line for row in found) or now:
            parts.append(raw[f.span[0] : f.span[1]])
        left += found
    if parts:
        name = entry.name.rsplit("/", 1)[-1] + ".rej"
        files[name] = ("100644", _rejects(entry.name, [row for row in left if not row.line], parts))
    return Merged(files, tuple(left))


def markers(content: bytes) -> int:
    """How many conflict markers a file has."""
    return len(_MARKER.findall(content))


def first_marker(content: bytes) -> int:
    """The line, from 1, of the first conflict marker in a file; 0 if it has none."""
    m = _MARKER.search(content)
    return content.count(b"\n", 0, m.start()) + 1 if m else 0


def left_over(was: bytes, laid: bytes, now: bytes) -> int:
    """The line, from 1, of the first conflict marker in what a person made of a file; 0 if none is left. ``was`` is the file
    before the merge, which may have such lines of its own, ``laid`` the merge itself."""
    if markers(now) > markers(was):
        return first_marker(now)
    merges = len(_END.findall(laid)) - len(_END.findall(was))
    own = len(_MIDDLE.findall(laid)) - merges  # of the file and of the patch: a heading may look so
    middle = [m.start() for m in _MIDDLE.finditer(now)]
    return now.count(b"\n", 0, middle[own]) + 1 if merges and len(middle) > own else 0


def _rejects(name: str, rows: Sequence[Left], parts: Sequence[bytes]) -> bytes:
    """A file that says what has no markers of its own. It has one itself, so that it is not forgotten."""
    said = "".join(f"{r.file}{f', hunk {r.hunk}' if r.hunk else ''}: {r.why}\n" for r in rows)
    head = f"<<<<<<< left of {name}: see to this, then delete the file\n{said}\n"
    return encode(head) + b"".join(p if p.endswith(b"\n") else p + b"\n" for p in parts)


class _File:
    def __init__(
        self,
        f: FilePatch,
        label: str,
        read: Callable[[str], IndexEntry | None],
        content: Callable[[str], bytes],
        was: Alignment | None,
    ) -> None:
        self.f = f
        self.was = was
        self.label = encode(label)
        self.read = read
        self.content = content

    def merge(self, files: dict[str, Held | None]) -> list[Left]:
        """Put what becomes of the file into ``files``. The old content is always that of the tree."""
        f = self.f
        old, there = self.read(f.old) if f.old else None, self.read(f.new) if f.new else None
        if f.binary or not f.path:
            return [self._whole("a binary change is not merged")]
        if any(m in NOT_TEXT for m in (f.old_mode, f.new_mode, *(e[0] for e in (old, there) if e))):
            return [self._whole("a symbolic link or a submodule is not merged")]
        if f.operation == "create":
            return self._create(there, files)
        if old is None:
            return [self._whole(f"there is no file {printable(f.old or '')}")]
        lines = lines_of(self.content(old[1]))
        if f.operation == "delete":
            if lines != [x for h in f.hunks for x in h.old]:
                return [self._whole("the patch deletes it; it has other lines than the patch expects")]
            files[f.old or ""] = None
            return []
        if f.new != f.old and there is not None:
            return [self._whole("the patch makes it of another file; it is there already")]
        made, left = self._merged(lines)
        files[f.new or ""] = (f.new_mode or old[0], made)
        if f.operation == "rename":
            files[f.old or ""] = None
        return left

    def _create(self, there: IndexEntry | None, files: dict[str, Held | None]) -> list[Left]:
        made = b"".join(x for h in self.f.hunks for x in h.added)
        path, mode = self.f.new or "", self.f.new_mode or "100644"
        if there is None:
            files[path] = (mode, made)
            return []
        have = self.content(there[1])
        if have == made:
            return []
        _, _, block = self._block(lines_of(have), [], lines_of(made))
        files[path] = (there[0], b"".join(block))
        return [Left(printable(path), 0, 1, "the patch makes it; it is there already, with other lines")]

    def _merged(self, lines: Lines) -> tuple[bytes, list[Left]]:
        """Every hunk at its place in the file as it is: first those that have one, then the others between them."""
        spots: list[_Spot | None] = []
        refused: list[str] = []
        left: list[Left] = []
        begin = drift = 0
        for hunk in self.f.hunks:
            placed = ladder.place(lines, hunk, begin, hunk.old_start - 1 + drift)
            if isinstance(placed, ladder.NoPlace):
                spots.append(None)
                refused.append(placed.why)
                continue
            refused.append("")
            spots.append(_Spot(hunk, placed.at, placed.taken, placed.new))
            begin, drift = placed.at + placed.taken, placed.at - (hunk.old_start - 1)
            if not placed.function_kept and has_functions(self.f.path):
                why = f"it is in at line {placed.at + 1} of the tree's file, in another function than it was made in"
                left.append(Left(printable(self.f.path), hunk.number, 0, why))
        whole = [spot or self._conflict(lines, spots, i, refused[i]) for i, spot in enumerate(spots)]
        grown = 0
        for spot in whole:
            if spot.why:
                left.append(Left(printable(self.f.path), spot.hunk.number, spot.at + grown + 1, spot.why))
            lines[spot.at + grown : spot.at + grown + spot.size] = spot.new
            grown += len(spot.new) - spot.size
        return b"".join(lines), sorted(left, key=lambda row: row.hunk)

    def _conflict(self, lines: Lines, spots: list[_Spot | None], number: int, why: str) -> _Spot:
        """A hunk between markers, at the likeliest place between its neighbours; it takes its place in ``spots``."""
        hunk = self.f.hunks[number]
        before = next((s for s in reversed(spots[:number]) if s), None)
        behind = next((s for s in spots[number + 1 :] if s), None)
        low = before.at + before.size if before else 0
        high = behind.at if behind else len(lines)
        drift = before.at - (before.hunk.old_start - 1) if before and not before.why else 0
        if self.was:
            first, last = (min(max(at, low), high) - low for at in _now(self.was, hunk))
        else:
            first, last = _region(lines[low:high], hunk, hunk.old_start - 1 + drift - low)
        ours = lines[low + first : low + last]
        shared, count, block = self._block(ours, hunk.old, hunk.new)
        spot = _Spot(hunk, low + first + shared, count, block, why)
        spots[number] = spot
        return spot

    def _block(self, ours: Sequence[bytes], old: Sequence[bytes], new: Sequence[bytes]) -> tuple[int, int, list[bytes]]:
        """Both sides and what the patch expects, as diff3 writes them, in place of ``count`` lines of ours from
        ``shared`` on: lines at either end that all three share stay outside. (shared, count, block)."""
        head = _shared(ours, old, new)
        tail = _shared(*(side[head:][::-1] for side in (ours, old, new)))
        parts = [[_ended(x) for x in side[head : len(side) - tail]] for side in (ours, old, new)]
        marks = [b"<<<<<<< the tree", b"||||||| what the patch expects", b"======="]
        block = [x for mark, part in zip(marks, parts, strict=True) for x in (mark + b"\n", *part)]
        return head, len(ours) - head - tail, [*block, b">>>>>>> " + self.label + b"\n"]

    def _whole(self, why: str) -> Left:
        return Left(printable(self.f.path or ", ".join(self.f.raw_paths)), 0, 0, why)


def _now(was: Alignment, hunk: Hunk) -> tuple[int, int]:
    """The lines, from 0, that stand where a hunk was made: between the nearest around it that are still there."""
    begin, end = hunk.old_start - (hunk.old_count > 0), hunk.old_start - (hunk.old_count > 0) + hunk.old_count
    before = next((at for i in range(begin - 1, -1, -1) if (at := was.exact[i]) is not None), -1)
    behind = next((at for i in range(end, len(was.exact)) if (at := was.exact[i]) is not None), len(was.new))
    return before + 1, max(before + 1, behind)


def _region(lines: Lines, hunk: Hunk, expected: int) -> tuple[int, int]:
    """The lines, from 0, that stand where the hunk was made: from the first to the last that are like its own. Of the
    place where most lines stand and the one that the hunk names, that which has more of them. Where none are, an
    empty region at the line that the hunk names."""
    old = hunk.old
    expected = min(max(expected, 0), len(lines))
    near = nearest(Text(lines), hunk._replace(old_start=expected + 1))
    starts = dict.fromkeys([expected, *([near.line - 1] if near.line else [])])
    best = max(starts, key=lambda s: (sum(b.size for b in _blocks(old, lines, s)), -abs(s - expected)))
    blocks = _blocks(old, lines, best)
    if not blocks:
        return expected, expected
    # what the hunk expects before the first line that is there, and behind the last, may be there changed
    first = max(best + blocks[0].b - blocks[0].a, 0)
    last = min(best + blocks[-1].b + len(old) - blocks[-1].a, len(lines))
    return first, max(first, last)


def _blocks(old: Sequence[bytes], lines: Lines, start: int) -> list[Match]:
    found = lines[start : start + len(old) + _MORE]
    return [b for b in SequenceMatcher(None, old, found, autojunk=False).get_matching_blocks() if b.size]


def _shared(*sides: Sequence[bytes]) -> int:
    count = 0
    for rows in zip(*sides, strict=False):
        if len(set(rows)) != 1:
            break
        count += 1
    return count


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"
