"""File contents and their differences, asked of git for many files at a time and kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from opencoti_patches.core.model import NOT_TEXT, IndexEntry
from opencoti_patches.doors.git import Repository

_FILE = re.compile(rb"(?m)^diff --git \S*?/(\d+) \S*/\d+$")


class Contents:
    """What blobs of a repository hold, and how two contents differ. ``folder`` takes temporary files."""

    def __init__(self, repo: Repository, folder: Path) -> None:
        self._repo = repo
        self._folder = folder
        self._held: dict[str, bytes] = {}
        self._diffs: dict[tuple[bytes, bytes], bytes] = {}

    def fetch(self, entries: Iterable[IndexEntry | None]) -> None:
        """Read the files that are not at hand yet, in one process."""
        wanted = {e[1] for e in entries if e and e[0] not in NOT_TEXT} - self._held.keys()
        self._held |= self._repo.blobs(wanted)

    def of(self, entry: IndexEntry | None) -> bytes | None:
        """A file's content; None for no file and for what is none."""
        if entry is None or entry[0] in NOT_TEXT:
            return None
        if entry[1] not in self._held:
            self.fetch([entry])
        return self._held[entry[1]]

    def compare(self, pairs: Mapping[str, tuple[IndexEntry | None, IndexEntry | None]]) -> None:
        """Find how old and new files differ, in three processes for all of them and without a file on the disk."""
        differ = [(a, b) for a, b in pairs.values() if a and b and a[1] != b[1]]
        self.fetch(e for pair in differ for e in pair)
        texts = {}
        for a, b in differ:
            x, y = self.of(a), self.of(b)
            if x is not None and y is not None and (x, y) not in self._diffs:
                texts[x, y] = a[1], b[1]
        if len(texts) > 1:
            parts = _FILE.split(self._repo.diff_blobs(list(texts.values())))
            found = {int(n): text for n, text in zip(parts[1::2], parts[2::2], strict=True)}
            self._diffs |= {pair: found.get(number, b"") for number, pair in enumerate(texts)}

    def diff(self, a: bytes, b: bytes) -> bytes:
        """The diff of two contents without context, white space aside."""
        if (a, b) not in self._diffs:
            self._diffs[a, b] = self._repo.diff_contents(a, b, self._folder)
        return self._diffs[a, b]

    def another_diff(self, a: bytes, b: bytes) -> bytes:
        """The same by git's other way to tell which lines stayed, where several may have."""
        return self._repo.diff_contents(a, b, self._folder, "myers")
