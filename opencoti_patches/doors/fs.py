"""The door to the disk: writes that are whole or not there, one writer at a time, safe removal."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from opencoti_patches.core.errors import CouldNot
from opencoti_patches.doors.failures import disk_errors as disk_errors
from opencoti_patches.doors.failures import hint_of as hint_of

TEMP_PREFIX = ".opencoti-tmp-"
_MEMORY = Path("/dev/shm")
_QUICK = 8 << 20  # bytes
_FILES = 10_000


def fsync(path: Path) -> None:
    """Make a file's content last, or the renames in a folder."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def stage(target: Path, data: bytes, mode: int = 0o644, sync: bool = True) -> Path:
    """Write ``data`` to a temporary sibling of ``target``, ready to be renamed over it."""
    import tempfile  # a warm check writes nothing

    fd, name = tempfile.mkstemp(prefix=TEMP_PREFIX, dir=target.parent)
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(data)
            f.flush()
            os.fchmod(f.fileno(), mode)
            if sync:
                os.fsync(f.fileno())
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    return Path(name)


def write(target: Path, data: bytes, sync: bool = True) -> None:
    """Replace or create one file, atomically: sibling, fsync, rename."""
    with disk_errors(f"write {target}"):
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = mode_for(target)
        temp = stage(target, data, mode, sync)
        try:
            os.replace(temp, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temp.unlink()
            raise
        if sync:
            fsync(target.parent)


def scribble(target: Path, data: bytes) -> None:
    """Write one file of a scratch folder of our own, that nobody else looks at: at once, and of any mode."""
    with disk_errors(f"write {target}"), open(target, "wb") as f:
        f.write(data)


@contextlib.contextmanager
def create(target: Path, sync: bool = True) -> Iterator[IO[bytes]]:
    """A new file to be written piece by piece, in a folder that nobody looks at yet."""
    with disk_errors(f"write {target}"), open(target, "xb") as f:
        yield f
        f.flush()
        if sync:
            os.fsync(f.fileno())


def publish_folder(made: Path, target: Path) -> None:
    """Put a whole folder in place of none, or of an empty one. Errors: CouldNot ``disk``."""
    with disk_errors(f"write {target}"):
        made.chmod(0o755)
        fsync(made)
        os.replace(made, target)
        fsync(target.parent)


def mode_for(target: Path) -> int:
    """The mode that a file has, or that a new one would get."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0o077)
        os.umask(mask)
        return 0o666 & ~mask


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let an interrupt wait for the end of a few renames."""
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def sweep(folder: Path) -> None:
    """Remove staged siblings that a killed run left in ``folder``. Call with the lock held."""
    import shutil

    for item in folder.glob(TEMP_PREFIX + "*"):
        with contextlib.suppress(OSError):
            shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink()


@contextlib.contextmanager
def lock(path: Path, command: str) -> Iterator[None]:
    """Hold the one writer's lock. The kernel drops it when the holder dies, however it dies.

    Errors: CouldNot ``locked``, naming the holder.
    """
    import fcntl

    with disk_errors(f"open the lock {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(fd, 400).decode("utf-8", "replace").strip() or "another run"
            raise CouldNot(
                "locked", f"{holder} is at work on this store", "wait for it to end, then run this again"
            ) from None
        try:
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"'opencoti-patches {command}' (process {os.getpid()})".encode(), 0)
            yield
        finally:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, 0)
    finally:
        os.close(fd)


@contextlib.contextmanager
def scratch(parent: Path, prefix: str = "scratch-") -> Iterator[Path]:
    """A folder of our own in ``parent``, gone afterwards. One that a killed run left there goes first: its
    owner holds a lock on it, which the kernel drops when the owner dies."""
    import shutil

    with disk_errors(f"make a folder in {parent}"):
        parent.mkdir(parents=True, exist_ok=True)
        folder, held = _own_folder(parent, prefix)
    try:
        yield folder
    except CouldNot as e:
        if e.code in ("disk", "git") and _MEMORY in folder.parents and not _room(1 << 20, 1):
            hint = "run it again: where little is free there, the disk is used; nothing was changed"
            raise CouldNot("disk", f"{_MEMORY} ran full, and with it the scratch files there", hint) from None
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def quick(size: int, otherwise: Path) -> Path:
    """Where to make a scratch folder for many small files, ``size`` bytes in all: a folder of ours in memory, where the
    machine has one with room; a disk may take a millisecond a file."""
    home = _MEMORY / f"opencoti-{os.getuid()}"
    try:
        if size > _QUICK or not _room(4 * _QUICK, _FILES):
            return otherwise
        home.mkdir(mode=0o700, exist_ok=True)
        st = home.lstat()
    except OSError:
        return otherwise
    # anybody may make a folder there, under this name, too
    return home if stat.S_ISDIR(st.st_mode) and st.st_uid == os.getuid() and not st.st_mode & 0o077 else otherwise


def _room(size: int, files: int) -> bool:
    """Whether the folder in memory takes so many bytes and files. A file system may have no bound on files."""
    room = os.statvfs(_MEMORY)
    return room.f_bavail * room.f_frsize >= size and (room.f_favail >= files or not room.f_files)


def sweep_scratch(parent: Path) -> None:
    """Remove the scratch folders in ``parent`` whose owners are dead."""
    if parent.is_dir():
        top = os.open(parent, os.O_RDONLY)
        try:
            _sweep_dead(parent, top)
        finally:
            os.close(top)


def _own_folder(parent: Path, prefix: str) -> tuple[Path, int]:
    """Make a folder and hold it, after removing those that nobody holds any more."""
    import fcntl
    import tempfile

    # Makers share the parent's lock, so that nobody sweeps between making and holding. The parent may be
    # such a folder itself, shared by its owner too: then nothing is swept, and nothing waits.
    top = os.open(parent, os.O_RDONLY)
    try:
        _sweep_dead(parent, top)
        _hold(top, fcntl.LOCK_SH)
        folder = Path(tempfile.mkdtemp(prefix=TEMP_PREFIX + prefix, dir=parent))
        held = os.open(folder, os.O_RDONLY)
        _hold(held, fcntl.LOCK_SH)
        return folder, held
    finally:
        os.close(top)


def _hold(fd: int, how: int) -> bool:
    import fcntl

    try:
        fcntl.flock(fd, how)
    except OSError:  # held by another, or a file system without locks: then nothing is swept
        return False
    return True


def _sweep_dead(parent: Path, top: int) -> None:
    import fcntl
    import shutil

    if not _hold(top, fcntl.LOCK_EX | fcntl.LOCK_NB):
        return
    for item in parent.glob(f"{TEMP_PREFIX}*"):
        if not item.is_dir() or item.is_symlink():
            continue
        with contextlib.suppress(OSError):
            fd = os.open(item, os.O_RDONLY)
            try:
                if _hold(fd, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    shutil.rmtree(item, ignore_errors=True)
            finally:
                os.close(fd)


def inside(root: Path, relative: str) -> Path:
    """``root/relative``, proven to lie under ``root`` with no symlink on the way.

    Errors: CouldNot ``unsafe-path``.
    """
    _guard_plain(relative)
    at = root
    for part in relative.split("/")[:-1]:
        at = at / part
        if at.is_symlink():
            raise CouldNot(
                "unsafe-path",
                f"refused to write {relative!r}: {at} is a symbolic link",
                "remove the link; nothing was written through it",
            )
    return root / relative


def plain(relative: str) -> bool:
    """Whether a path is one inside a tree, and none of git's own."""
    return not any(p in ("", ".", "..") or p.lower() == ".git" for p in relative.split("/"))


def _guard_plain(relative: str) -> None:
    if not plain(relative):
        raise CouldNot(
            "unsafe-path",
            f"refused to write {relative!r}: it is not a plain path inside the tree",
            "see where that patch or archive came from",
        )


def put_all(root: Path, files: Mapping[str, tuple[str, bytes | None]]) -> None:
    """Make many files of a tree under ``root``, an empty folder of our own: mode and content by path, None for a
    submodule, which is an empty folder. Errors: as ``put``."""
    made = {""}
    later = {}
    for path, (mode, content) in files.items():
        if content is None or mode == "120000":
            later[path] = mode, content  # so that no folder below is a link
            continue
        _guard_plain(path)
        with disk_errors(f"write {path}"):
            folder = path.rpartition("/")[0]
            if folder not in made:
                (root / folder).mkdir(parents=True, exist_ok=True)
                made.add(folder)
            _create(f"{root}/{path}", content, mode)
    for path, (mode, content) in later.items():
        if content is None:
            inside(root, path).mkdir(parents=True)
        else:
            put(root, path, content, mode)


def put(root: Path, relative: str, content: bytes, mode: str) -> None:
    """Make one file of a tree under ``root``: a symlink for mode 120000, executable for 100755.

    Errors: CouldNot ``unsafe-path``, ``disk``. Nothing may stand there yet.
    """
    target = inside(root, relative)
    with disk_errors(f"write {relative}"):
        target.parent.mkdir(parents=True, exist_ok=True)
        if mode == "120000":
            os.symlink(content, os.fsencode(target))
            return
        _create(target, content, mode)


def remove(root: Path, relative: str) -> None:
    """Remove a file of a tree under ``root``, if it is there, and the folders above it that are empty then. Errors: as
    ``put``."""
    target = inside(root, relative)
    with disk_errors(f"remove {relative}"):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            target.unlink()
        with contextlib.suppress(OSError):
            for folder in [*target.parents][: relative.count("/")]:
                folder.rmdir()


def _create(target: Path | str, content: bytes, mode: str) -> None:
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o755 if mode == "100755" else 0o644)
    with os.fdopen(fd, "wb") as f:
        f.write(content)


def guard_readable(root: Path, relative: str) -> bool:
    """Whether what stands at a path of a folder is a file that can be read, a link, a folder, or nothing: no pipe, socket or
    device, which are not opened. Errors: CouldNot ``disk`` for a file that cannot be read."""
    target = root / relative
    try:
        kind = target.lstat().st_mode
    except OSError:
        return True
    if stat.S_ISREG(kind):
        with disk_errors(f"read {relative}"):
            target.open("rb").close()
    return stat.S_ISREG(kind) or stat.S_ISLNK(kind) or stat.S_ISDIR(kind)


def read_json(path: Path) -> Any:
    """The document in ``path``; None if it is not there or damaged (the store may lose anything)."""
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None


def json_bytes(doc: Any) -> bytes:
    """A document as the store keeps it."""
    return json.dumps(doc).encode()


def walk(root: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every file and symlink under ``root`` as (relative path, entry), in sorted order; folders are
    entered, links are not, and every ``.git`` entry is left out."""
    stack = [("", root)]
    while stack:
        prefix, folder = stack.pop()
        with os.scandir(folder) as it:
            entries = sorted(it, key=lambda e: e.name, reverse=True)
        below = []
        for entry in entries:
            if entry.name.lower() == ".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                below.append((f"{prefix}{entry.name}/", Path(entry.path)))
            else:
                yield prefix + entry.name, entry
        stack.extend(below)
