"""A patch that does not apply, laid into a folder as far as it goes: what fits is in, the rest stands
between conflict markers at the likeliest place. What ``quilt push -f --merge`` is for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.carry import ladder
from opencoti_patches.core.model import Entry, FilePatch, Hunk, printable
from opencoti_patches.doors import fs
from opencoti_patches.plan.nearest import nearest
from opencoti_patches.plan.replay import Lines, lines_of
from opencoti_patches.series.parse import parse

MARKER = re.compile(rb"(?m)^(<{7} |>{7} |\|{7} )")
_CONTEXT = 3  # lines of the tree beyond what a hunk expects in which its end is looked for


class Left(NamedTuple):
    """What of the patch wants a person: a hunk between markers (``line`` of the file, from 1), or, with hunk
    and line 0, a file as a whole."""

    file: str
    hunk: int
    line: int
    why: str


def merge(folder: Path, entry: Entry) -> list[Left]:
    """Change the files of ``folder``, which is the tree before the patch, by what the patch does to them.
    Returns what is left to do; nothing, if every hunk found its one place.

    Errors: CouldNot ``unsafe-path``, ``disk``.
    """
    left: list[Left] = []
    for f in parse(entry.raw, entry.strip, entry.reverse).files:
        left += _File(folder, f, entry.name).merge()
    return left


class _File:
    def __init__(self, folder: Path, f: FilePatch, label: str) -> None:
        self.folder = folder
        self.f = f
        self.label = label.encode("utf-8", "surrogateescape")

    def merge(self) -> list[Left]:
        f = self.f
        if f.binary or not f.path:
            return [self._whole("a binary change is not merged")]
        old = self._read(f.old) if f.old else None
        if f.operation == "create":
            return self._create()
        if old is None:
            return [self._whole(f"there is no file {printable(f.old or '')}")]
        lines, left = lines_of(old), []
        if f.operation == "delete":
            if lines != [x for h in f.hunks for x in h.old]:
                return [self._whole("the patch deletes it; it has other lines than the patch expects")]
            fs.inside(self.folder, f.old or "").unlink()
            return []
        if f.new != f.old and self._read(f.new or "") is not None:
            return [self._whole("the patch makes it of another file; it is there already")]
        begin = shift = 0
        for hunk in f.hunks:
            placed = ladder.place(lines, hunk, begin, hunk.old_start - 1 + shift)
            if isinstance(placed, ladder.NoPlace):
                at, count = self._conflict(lines, hunk, begin)
                left.append(Left(printable(f.path), hunk.number, at + 1, placed.why))
                begin = at + count
                continue
            lines[placed.at : placed.at + placed.count] = placed.new
            shift = placed.at - (hunk.old_start - 1) + len(placed.new) - placed.count
            begin = placed.at + len(placed.new)
        self._put(b"".join(lines))
        return left

    def _create(self) -> list[Left]:
        made = b"".join(x for h in self.f.hunks for x in h.added)
        there = self._read(self.f.new or "")
        if there is None:
            self._put(made)
        elif there != made:
            block, _ = self._block(lines_of(there), [], lines_of(made))
            self._put(b"".join(block))
            return [Left(printable(self.f.path), 0, 1, "the patch makes it; it is there already, with other lines")]
        return []

    def _conflict(self, lines: Lines, hunk: Hunk, begin: int) -> tuple[int, int]:
        """Put a hunk between markers into ``lines``; where, from 0, and how many lines it takes there."""
        first, last = _region(lines, hunk, begin)
        block, trimmed = self._block(lines[first:last], hunk.old, hunk.new)
        at = first + trimmed
        lines[first:last] = block
        return at, len(block) - trimmed

    def _block(self, ours: Sequence[bytes], old: Sequence[bytes], new: Sequence[bytes]) -> tuple[list[bytes], int]:
        """Both sides and what the patch expects, as diff3 writes them; lines at either end that all three
        share stay outside. With it how many of these stand before the markers."""
        head = _shared(ours, old, new)
        tail = _shared(ours[head:][::-1], old[head:][::-1], new[head:][::-1])
        parts = [[_ended(x) for x in side[head : len(side) - tail]] for side in (ours, old, new)]
        marks = [b"<<<<<<< the tree", b"||||||| what the patch expects", b"======="]
        block = [x for mark, part in zip(marks, parts, strict=True) for x in (mark + b"\n", *part)]
        return [*ours[:head], *block, b">>>>>>> " + self.label + b"\n", *ours[len(ours) - tail :]], head

    def _whole(self, why: str) -> Left:
        return Left(printable(self.f.path or ", ".join(self.f.raw_paths)), 0, 0, why)

    def _read(self, path: str) -> bytes | None:
        file = fs.inside(self.folder, path)
        return file.read_bytes() if file.is_file() and not file.is_symlink() else None

    def _put(self, content: bytes) -> None:
        f = self.f
        mode = f.new_mode
        if f.old and f.operation != "create":
            was = fs.inside(self.folder, f.old)
            mode = mode or ("100755" if was.stat().st_mode & 0o100 else "100644")
            if f.operation != "copy":
                was.unlink()
        fs.inside(self.folder, f.new or "").unlink(missing_ok=True)
        fs.put(self.folder, f.new or "", content, mode or "100644")


def first_marker(content: bytes) -> int:
    """The line, from 1, of the first conflict marker in a file; 0 if it has none."""
    m = MARKER.search(content)
    return content.count(b"\n", 0, m.start()) + 1 if m else 0


def _region(lines: Lines, hunk: Hunk, begin: int) -> tuple[int, int]:
    """The lines, from 0, that stand where the hunk was made: from the first to the last that are like its
    own. Where none are, an empty region at the line that the hunk names."""
    old = hunk.old
    near = nearest(lines[begin:], hunk)
    start = begin + max(near.line - 1, 0)
    found = lines[start : start + len(old) + _CONTEXT]
    blocks = [b for b in SequenceMatcher(None, old, found, autojunk=False).get_matching_blocks() if b.size]
    if not near.line or not blocks:
        at = min(max(hunk.old_start - 1, begin), len(lines))
        return at, at
    # what the hunk expects before the first line that is there, and behind the last, may be there changed
    first = max(start + blocks[0].b - blocks[0].a, begin)
    last = min(start + blocks[-1].b + len(old) - blocks[-1].a, len(lines))
    return first, last


def _shared(*sides: Sequence[bytes]) -> int:
    count = 0
    for rows in zip(*sides, strict=False):
        if len(set(rows)) != 1:
            break
        count += 1
    return count


def _ended(line: bytes) -> bytes:
    return line if line.endswith(b"\n") else line + b"\n"
