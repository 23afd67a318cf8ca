"""``kind = "directory"``: a folder taken whole, bytes and modes as they are.

Every ``.git`` entry is left out at any depth, and so is the store itself where it lies inside. Empty
folders do not exist in a tree.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opencoti_patches.base.limits import refusal
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import TreeId, decode, encode, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs

if TYPE_CHECKING:
    from opencoti_patches.doors.git import NewFile

# A file changed within the clock's grain of the scan may keep its size and time: git's "racy" problem.
_RACY_NS = 2_000_000_000
_CHUNK = 1 << 20
_KEPT = (stat.S_IFREG, stat.S_IFLNK)


class Scan(NamedTuple):
    """What a folder holds, without reading any contents. ``rows``, sorted, are one a file or symlink:
    ``path NUL mode size mtime ctime inode``; text, for a warm check makes thousands of them."""

    root: Path
    rows: list[str]
    racy: bool  # a file is so fresh that a later change could leave its row as it is

    @property
    def fingerprint(self) -> str:
        """Equal for equal contents, short of changes that restore size, times and inode."""
        return hashlib.sha256(encode("\n".join(self.rows))).hexdigest()


def folder_of(source: Source) -> Path:
    """The folder that is taken. Errors: UsageError ``no-folder``."""
    folder = Path(source.path, source.subdir)
    if not folder.is_dir():
        raise UsageError(
            "no-folder",
            f"the base folder {folder} is {'not a folder' if folder.exists() else 'not there'}",
            "a relative path is relative to opencoti.toml",
        )
    return folder


def scan(folder: Path, *, without: Path) -> Scan:
    """Look at everything under ``folder``, in sorted order; ``without`` (the store) is not entered.

    Errors: CouldNot ``disk`` for a folder that cannot be read, ``special-file`` for what is neither a
    file, a folder nor a symlink, ``unsafe-path`` for a path that could never be written.
    """
    begun = time.time_ns()
    rows: list[str] = []
    racy = False
    skip = os.path.realpath(without)
    skip_name = os.path.basename(skip)
    utf8 = sys.getfilesystemencoding() == "utf-8"
    # The store is met by its real name only if the folder is spelled that way too.
    stack = [("", os.path.realpath(folder))]
    with fs.disk_errors(f"read the folder {folder}"):
        while stack:
            prefix, at = stack.pop()
            with os.scandir(at) as entries:
                for entry in entries:
                    name = entry.name
                    if name.lower() == ".git" or (name == skip_name and entry.path == skip):
                        continue
                    path = prefix + (name if utf8 else decode(os.fsencode(name)))
                    if entry.is_dir(follow_symlinks=False):
                        _refuse(path + "/", False, folder)
                        stack.append((path + "/", entry.path))
                        continue
                    st = entry.stat(follow_symlinks=False)
                    if stat.S_IFMT(st.st_mode) not in _KEPT:
                        raise CouldNot(
                            "special-file",
                            f"{printable(entry.path)} is neither a file, a folder nor a symbolic link",
                            "remove it: a tree cannot hold sockets, pipes or devices",
                        )
                    if len(path) > 1000 or entry.is_symlink():
                        _refuse(path, entry.is_symlink(), folder)
                    mtime = st.st_mtime_ns
                    racy = racy or abs(begun - mtime) < _RACY_NS
                    rows.append(f"{path}\0{st.st_mode} {st.st_size} {mtime} {st.st_ctime_ns} {st.st_ino}")
    rows.sort()
    return Scan(folder, rows, racy)


def _refuse(path: str, link: bool, folder: Path) -> None:
    if why := refusal(path, link=link):
        raise CouldNot("unsafe-path", f"{folder} is refused: {why}", "rename it, or take it out of the folder")


def fingerprint(source: Source, store: Store) -> str:
    """The folder's present fingerprint: one walk, no contents. Errors: as ``scan``."""
    return scan(folder_of(source), without=store.root).fingerprint


def make_tree(source: Source, store: Store, *, progress: Progress) -> tuple[TreeId, dict[str, str]]:
    """Store the folder. Returns (tree, {"fingerprint"}), the latter only where it can be trusted.

    Errors: as ``scan``; CouldNot ``disk`` for a file that cannot be read, ``changed`` for one that
    changes meanwhile.
    """
    folder = folder_of(source)
    before = scan(folder, without=store.root)
    tree = store.repo.import_tree(_files(before, progress))
    after = scan(folder, without=store.root)
    if before.racy or after.fingerprint != before.fingerprint:
        return tree, {}
    return tree, {"fingerprint": before.fingerprint}


def _files(scanned: Scan, progress: Progress) -> Iterator[NewFile]:
    from opencoti_patches.doors.git import NewFile  # walking a known folder needs no git

    total = len(scanned.rows)
    for done, row in enumerate(scanned.rows):
        progress.update(f"reading {scanned.root}", done, total, "files")
        path, _, facts = row.partition("\0")
        mode, size = map(int, facts.split(" ")[:2])
        full = os.path.join(os.fsencode(scanned.root), encode(path))
        if stat.S_ISLNK(mode):
            with fs.disk_errors("read a link of the base"):
                target = os.fsencode(os.readlink(os.fsdecode(full)))
            yield NewFile(path=path, mode="120000", size=len(target), chunks=(target,))
        else:
            kind = "100755" if mode & stat.S_IXUSR else "100644"
            yield NewFile(path=path, mode=kind, size=size, chunks=_contents(full, size))
    progress.update(f"reading {scanned.root}", total, total, "files")


def _contents(path: bytes, size: int) -> Iterator[bytes]:
    left = size
    with fs.disk_errors("read a file of the base"), open(os.fsdecode(path), "rb", buffering=0) as f:
        while chunk := f.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
    if left:
        raise CouldNot(
            "changed", f"{printable(decode(path))} changed while it was read", "run it again when it is at rest"
        )
