"""What a base tree holds, looked up by path without unpacking the tree."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import EMPTY_TREE, IndexEntry, TreeId, decode, encode

_MANY = 16  # look-ups that a table of as many files costs


class Listing:
    """The files of a tree, in git's order, from the bytes of ``ls-tree -r -z``.

    The order is that of the paths' bytes, so a look-up is a bisection: 80,000 files cost a few
    milliseconds to open and microseconds to ask.
    """

    def __init__(self, raw: bytes) -> None:
        self._rows = raw.split(b"\0")[:-1]  # "mode type id TAB path": parted when one is asked for
        self._known: dict[str, IndexEntry | None] = {}
        self._by_path: dict[bytes, bytes] = {}  # of all, once so many were asked for that it costs less

    @classmethod
    def of(cls, tree: TreeId, folder: Path) -> Listing:
        """The listing of a base tree that the store holds."""
        if tree == EMPTY_TREE:
            return cls(b"")
        try:
            return _read(folder / tree)
        except FileNotFoundError:
            raise CouldNot(
                "store", f"the store does not list tree {tree[:12]}", "run 'opencoti-patches bootstrap'"
            ) from None

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, path: str) -> IndexEntry | None:
        """The mode and blob of a file; None if there is no such file."""
        if path not in self._known:
            self._known[path] = self._find(path)
        return self._known[path]

    def _find(self, path: str) -> IndexEntry | None:
        key = encode(path)
        if not self._by_path and _MANY * len(self._known) > len(self._rows):
            self._by_path = {_path(row): row for row in self._rows}
        if self._by_path:
            row = self._by_path.get(key, b"")
        else:
            at = bisect_left(self._rows, key, key=_path)
            row = self._rows[at] if at < len(self._rows) and _path(self._rows[at]) == key else b""
        if not row:
            return None
        mode, _type, oid = row.split(b"\t", 1)[0].split(b" ")
        return mode.decode(), oid.decode()

    def under(self, folder: str) -> Iterator[str]:
        """The files below a folder, in order."""
        prefix = encode(folder) + b"/"
        for at in range(bisect_left(self._rows, prefix, key=_path), len(self._rows)):
            path = _path(self._rows[at])
            if not path.startswith(prefix):
                return
            yield decode(path)

    def paths(self) -> Iterator[str]:
        """All files, in order."""
        return (decode(_path(row)) for row in self._rows)

    def named(self, base_name: str) -> list[str]:
        """Files with this last component, anywhere in the tree."""
        key = encode(base_name)
        found = (_path(row) for row in self._rows if row.endswith(key))
        return [decode(p) for p in found if p == key or p.endswith(b"/" + key)]


@lru_cache(maxsize=4)
def _read(file: Path) -> Listing:
    """A listing that was written once and never changes: a bump asks for each of its two many times."""
    return Listing(file.read_bytes())


def _path(row: bytes) -> bytes:
    return row[row.index(b"\t") + 1 :]
