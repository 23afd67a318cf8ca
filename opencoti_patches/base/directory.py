"""``kind = "directory"``: a folder taken whole, bytes and modes as they are.

Every ``.git`` entry is left out at any depth, and so is the store itself where it lies inside. Empty
folders do not exist in a tree.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import TreeId, decode, encode, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import NewFile

# A file changed within the clock's grain of the scan may keep its size and time: git's "racy" problem.
_RACY_NS = 2_000_000_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Item:
    """One file or symlink: relative path and what ``lstat`` says."""

    path: str
    stat: os.stat_result


@dataclass(frozen=True, slots=True)
class Scan:
    """What a folder holds, without reading any contents."""

    root: Path
    items: tuple[Item, ...]
    begun_ns: int

    @property
    def fingerprint(self) -> str:
        """Equal for equal contents, short of changes that restore size, times and inode."""
        digest = hashlib.sha256()
        for item in self.items:
            st = item.stat
            row = f"{item.path}\0{st.st_mode:o} {st.st_size} {st.st_mtime_ns} {st.st_ctime_ns} {st.st_ino}\n"
            digest.update(encode(row))
        return digest.hexdigest()

    @property
    def racy(self) -> bool:
        """Whether a file is so fresh that a later change could leave the fingerprint as it is."""
        return any(abs(self.begun_ns - item.stat.st_mtime_ns) < _RACY_NS for item in self.items)


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
    file, a folder nor a symlink.
    """
    begun = time.time_ns()
    items: list[Item] = []
    left_out = os.path.realpath(without)
    # The store is met by its real name only if the folder is spelled that way too.
    stack = [("", os.path.realpath(folder))]
    with fs.disk_errors(f"read the folder {folder}"):
        while stack:
            prefix, at = stack.pop()
            with os.scandir(at) as entries:
                for entry in entries:
                    if entry.name.lower() == ".git" or entry.path == left_out:
                        continue
                    path = prefix + decode(os.fsencode(entry.name))
                    if entry.is_dir(follow_symlinks=False):
                        stack.append((f"{path}/", entry.path))
                        continue
                    st = entry.stat(follow_symlinks=False)
                    if not stat.S_ISREG(st.st_mode) and not stat.S_ISLNK(st.st_mode):
                        raise CouldNot(
                            "special-file",
                            f"{printable(entry.path)} is neither a file, a folder nor a symbolic link",
                            "remove it: a tree cannot hold sockets, pipes or devices",
                        )
                    items.append(Item(path, st))
    items.sort(key=lambda item: item.path)
    return Scan(folder, tuple(items), begun)


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
    total = len(scanned.items)
    for done, item in enumerate(scanned.items):
        progress.update(f"reading {scanned.root}", done, total, "files")
        full = os.path.join(os.fsencode(scanned.root), encode(item.path))
        if stat.S_ISLNK(item.stat.st_mode):
            with fs.disk_errors(f"read {printable(decode(full))}"):
                target = os.readlink(full)
            yield NewFile(path=item.path, mode="120000", size=len(target), chunks=(target,))
        else:
            mode = "100755" if item.stat.st_mode & stat.S_IXUSR else "100644"
            size = item.stat.st_size
            yield NewFile(path=item.path, mode=mode, size=size, chunks=_contents(full, size))
    progress.update(f"reading {scanned.root}", total, total, "files")


def _contents(path: bytes, size: int) -> Iterator[bytes]:
    left, name = size, printable(decode(path))
    with fs.disk_errors(f"read {name}"), open(path, "rb", buffering=0) as f:
        while chunk := f.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
    if left:
        raise CouldNot("changed", f"{name} changed while it was read", "run it again when it is at rest")
