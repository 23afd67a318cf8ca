"""The contents of files between patches, replayed from where git says that each hunk landed.

For explaining only: no verdict rests on it. Where a replayed hunk does not stand where git put it, or a
change is none that can be replayed (a binary one), the file's contents are unknown from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set

from opencoti_patches.core.model import FilePatch, Hunk
from opencoti_patches.series.parse import Parsed

Lines = list[bytes]


def lines_of(content: bytes) -> Lines:
    """A file's lines, split at ``\\n`` alone, each with its end."""
    if b"\r" not in content:
        return content.splitlines(keepends=True)
    parts = content.split(b"\n")
    last = parts.pop()
    return [p + b"\n" for p in parts] + ([last] if last else [])


class Replay:
    """Files as they stand between patches. ``read`` gives a file's content at the start, None if it
    is not there."""

    def __init__(self, read: Callable[[str], bytes | None], only: Set[str]) -> None:
        self._read = read
        self._only = only  # the paths that anybody will ask for
        self._files: dict[str, Lines | None] = {}

    def lines(self, path: str) -> Lines | None:
        """A file's lines now; None if it is not there or its contents are unknown."""
        if path not in self._files:
            content = self._read(path)
            self._files[path] = None if content is None else lines_of(content)
        return self._files[path]

    def advance(self, files: Mapping[str, Lines | None]) -> None:
        """Go over one patch after which these files hold these lines."""
        self._files.update(files)

    def apply(self, parsed: Parsed, offsets: Mapping[tuple[int, int], int]) -> None:
        """Go over one patch that git took. ``offsets`` by (file from 0, hunk from 1)."""
        ours = [(i, f) for i, f in enumerate(parsed.files) if f.old in self._only or f.new in self._only]
        before = {f.old: self.lines(f.old) for _, f in ours if f.old}
        made: dict[str | None, Lines | None] = {}  # a file's second part goes on from its first
        for number, f in ours:
            given = before if f.operation in ("rename", "copy") or f.old not in made else made
            after = self._after(f, given.get(f.old) if f.old else [], number, offsets)
            if f.operation in ("delete", "rename") and f.old:
                self._files[f.old] = None
            if f.new:
                self._files[f.new] = made[f.new] = after

    @staticmethod
    def _after(f: FilePatch, lines: Lines | None, number: int, offsets: Mapping[tuple[int, int], int]) -> Lines | None:
        if lines is None and not f.git_style and [h.old_count for h in f.hunks] == [0]:
            lines = []  # "@@ -0,0" alone makes the file, with no word about it
        if lines is None or f.binary:
            return None
        lines = list(lines)
        for hunk in f.hunks:
            if not put(lines, hunk, offsets.get((number, hunk.number), 0)):
                return None
        return lines


def put(lines: Lines, hunk: Hunk, offset: int) -> bool:
    """Change ``lines`` by one hunk at its place; False, and no change, if it does not stand there."""
    at = position(hunk, offset)
    old = hunk.old
    if at < 0 or lines[at : at + len(old)] != old:
        return False
    lines[at : at + len(old)] = hunk.new
    return True


def position(hunk: Hunk, offset: int) -> int:
    """The line from 0 where git put a hunk, in the file as the hunks before it left it."""
    return max(hunk.new_start - 1, 0) + offset
