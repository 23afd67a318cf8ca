"""Where git will put the hunks of a patch, found out in memory: git is asked once for many patches then, and
what it says must be what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.carry.model import Row
from opencoti_patches.core.model import Entry, Hunk, IndexEntry
from opencoti_patches.doors.git import Landing
from opencoti_patches.plan.replay import Lines, Replay, position
from opencoti_patches.series.parse import Parsed


class Guess(NamedTuple):
    """What git is asked for (None: nothing is left of it), the offsets that it is expected to say, the answer
    if it does."""

    entry: Entry | None
    landed: tuple[Landing, ...]
    row: Row


def places(landed: Sequence[Landing]) -> set[tuple[int, int, int]]:
    """Offsets as they are compared."""
    return {(w.file, w.hunk, w.offset) for w in landed}


class Took(NamedTuple):
    """A patch that git would take: the hunks that it would move, and what each file holds afterwards."""

    landed: tuple[Landing, ...]
    files: dict[str, Lines | None]


def readable(parsed: Parsed, state: Mapping[str, IndexEntry]) -> bool:
    """Whether a patch is of plain text, each file once: of others only git can tell whether it takes them. ``state`` has
    what stands at its paths."""
    names = [p for f in parsed.files for p in {f.old, f.new} if p]
    modes = {m for f in parsed.files for m in (f.old_mode, f.new_mode)} | {state[p][0] for p in names if p in state}
    plain = bool(parsed.files) and not parsed.defects and not any(f.binary for f in parsed.files)
    return plain and len(set(names)) == len(names) and all(m[:3] == "100" for m in modes if m)


def took(parsed: Parsed, now: Replay) -> Took | None:
    """What git would make of a patch on the files as ``now`` has them; None where it would refuse the patch, or only git
    can tell."""
    if not readable(parsed, {}):
        return None
    found: list[Landing] = []
    files: dict[str, Lines | None] = {}
    for number, f in enumerate(parsed.files):
        names = {p for p in (f.old, f.new) if p}
        lines: Lines = []
        end = 0  # of the hunk before: git puts none on lines of another
        if f.operation in ("create", "rename", "copy") and now.lines(f.new or "") is not None:
            return None
        if f.operation == "create":
            for hunk in f.hunks:
                lines += hunk.new
        else:
            held = now.lines(f.old or "")
            if held is None:
                return None
            lines += held
            for hunk in f.hunks:
                old = hunk.old
                at = _found(lines, hunk, old)
                if at is None or at < end:
                    return None
                offset = at - position(hunk, 0)
                if offset:
                    found.append(Landing(number, hunk.number, at + 1, offset))
                new = hunk.new
                lines[at : at + len(old)], end = new, at + len(new)
        files |= dict.fromkeys(names)
        if f.operation == "copy":
            files[f.old or ""] = now.lines(f.old or "")
        if f.new:
            files[f.new] = lines
    return Took(tuple(found), files)


def _found(lines: Lines, hunk: Hunk, old: Lines) -> int | None:
    """The line, from 0, at which git finds a hunk: the named one, else the nearest, the later of two as near. One
    that begins with the file's first line, or has no context behind, fits that end of the file alone."""
    at = position(hunk, 0)
    last = len(lines) - len(old)
    if hunk.old_start <= 1:
        return 0 if _fits(lines, old, 0) and (hunk.lines[-1][:1] == b" " or last == 0) else None
    if hunk.lines[-1][:1] != b" ":
        return last if _fits(lines, old, last) else None
    if _fits(lines, old, at):
        return at
    longest = max(range(len(old)), key=lambda i: len(old[i]))  # which hardly stands in many places
    places = (i - longest for i, line in enumerate(lines) if line == old[longest])
    return min((p for p in places if _fits(lines, old, p)), key=lambda p: (abs(p - at), -p), default=None)


def _fits(lines: Lines, old: Sequence[bytes], at: int) -> bool:
    return at >= 0 and lines[at : at + len(old)] == old and at + len(old) <= len(lines)
