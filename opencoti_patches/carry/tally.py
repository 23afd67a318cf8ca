"""What a carry of one patch may look at, and what it has found out so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.carry.align import aligned
from opencoti_patches.carry.follow import Follower
from opencoti_patches.carry.in_way import in_way
from opencoti_patches.carry.model import HunkHow
from opencoti_patches.core.model import Entry, FilePatch, IndexEntry, printable
from opencoti_patches.plan.replay import Lines
from opencoti_patches.series.parse import Parsed

_KEPT = 50  # files whose edits are kept worked out


class Sides(NamedTuple):
    """What a carry may look at: a file's lines before the patch on the old base and its content now, git's
    diff of two contents, and what upstream renamed."""

    old: Callable[[str], Lines | None]
    now: Callable[[str], bytes | None]
    state: Mapping[str, IndexEntry]
    diff: Callable[[bytes, bytes], bytes]
    renamed: Callable[[str], str | None]
    held: Callable[[str], IndexEntry | None] = lambda path: None  # what stands at any path now
    displaced: Callable[[str], str | None] = lambda path: None  # where a file went in whose place stands another
    # by each of these lines, the files that have it by now, and had it not
    holding: Callable[[Sequence[bytes]], Mapping[bytes, Sequence[str]]] = lambda lines: dict.fromkeys(lines, ())
    followers: dict[tuple[bytes, bytes], Follower] | None = None  # what was worked out, for the next who asks
    another_diff: Callable[[bytes, bytes], bytes] | None = None  # which lines stayed where several may have

    def follower(self, old: Lines, now: bytes) -> Follower:
        """What upstream made of a file. A conflict asks twice: where all goes, and what is left to a person."""
        known = {} if self.followers is None else self.followers
        key = b"".join(old), now
        if key not in known:
            if len(known) >= _KEPT:
                known.clear()
            known[key] = Follower(aligned(old, now, self.diff))
        return known[key]

    def by_another_diff(self, old: Lines, now: bytes) -> Follower | None:
        """The same by git's other diff."""
        return Follower(aligned(old, now, self.another_diff)) if self.another_diff else None


class Both(NamedTuple):
    """A file's lines on the old base, its content on the new one; None where it is not there, or not known."""

    old: Lines | None
    now: bytes | None


class Tally:
    """What was found out of a patch, file by file. A part without a place is among ``stuck``, in a sentence."""

    def __init__(self, entry: Entry, parsed: Parsed, sides: Sides) -> None:
        self.entry = entry
        self.parsed = parsed
        self.sides = sides
        self.hows: list[HunkHow] = []
        self.doubts: list[str] = []
        self.done: list[str] = []
        self.stuck: list[str] = []
        self.live = 0  # changes that upstream does not have
        self.made: dict[str, Both] = {}  # what parts before left; a file's second part goes on from there

    def text(self, f: FilePatch) -> bytes:
        """A part of the patch as it is."""
        return self.entry.raw[f.span[0] : f.span[1]]

    def both(self, path: str) -> Both:
        """A file as the part that is next finds it, before and now."""
        return self.made.get(path) or Both(self.sides.old(path), self.sides.now(path))

    def held(self, path: str | None) -> IndexEntry | None:
        """What stands at a path now; not what an earlier part took away."""
        made = self.made.get(path or "")
        return None if made and made.now is None else self.sides.state.get(path or "")

    def is_free(self, f: FilePatch, path: str) -> bool:
        """Whether nothing else stands where a part makes a file."""
        why = in_way(path, self.sides.state, self.parsed.files)
        gone = any(g.old == path and g.operation in ("rename", "delete") for g in self.parsed.files)
        if not why and f.operation != "create" and not gone and self.both(path).now is not None:
            why = f"{printable(path)} is there already"
        if why:
            self.stuck.append(f"{why}, where the patch makes a file")
        return not why

    def is_renamed_away(self, path: str) -> bool:
        """Whether a file that is not there any more stands under another name: no change to it as a whole is done."""
        new_path = self.sides.renamed(path)
        if new_path:
            self.stuck.append(f"{printable(path)}: upstream renamed it to {printable(new_path)}")
        return bool(new_path)

    def whole_is_done(self, path: str, what: str) -> None:
        """A file is already what the patch makes of it."""
        self.done.append(f"{path} is {what} already")
        self.hows.append(HunkHow(file=path, hunk=0, how=f"it is {what} already", done=True))
