"""Objects that a build which did not end well may have left half made, or made in one of their two halves.

cosmocc makes two objects of a source, ``x.o`` and ``.aarch64/x.o``, and make knows of the first alone: where the second
compiler fails, or the run is killed between the two, the next make would link halves of two sources.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from opencoti_patches.doors import fs

_OTHER = ".aarch64"
_OBJECTS = (".o", ".a")


class Mark:
    """A file in the build folder that stands while a build runs. One that is found later is of a run that was
    killed."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "began"

    def since(self) -> int | None:
        """When the build began that has not ended, in nanoseconds, by the clock of the disk."""
        try:
            return self._file.stat().st_mtime_ns
        except FileNotFoundError:
            return None

    def begin(self) -> None:
        """A build begins."""
        fs.write(self._file, b"")

    def end(self) -> None:
        """It has ended, and what it left is in order."""
        self._file.unlink(missing_ok=True)


def remove_written(folder: Path, since: int) -> None:
    """Remove every file written since then, and the other halves of objects. After a kill nobody knows which of them
    are whole."""
    _remove(folder, [pair for pair in _pairs(folder) if any(_time(p) >= since for p in pair)])
    _remove(folder, [(p,) for p in _files(folder) if _time(p) >= since])


def remove_odd(folder: Path, since: int) -> None:
    """Remove both halves where one is not there, or only one was written since then."""
    _remove(folder, [pair for pair in _pairs(folder) if _odd([_time(p) for p in pair], since)])


def remove_archives(folder: Path) -> None:
    """Remove the archives: ``ar`` adds to one that is there, and a member whose source is gone would stay."""
    _remove(folder, [pair for pair in _pairs(folder) if pair[0].suffix == ".a"])


def _odd(times: list[int], since: int) -> bool:
    return not all(times) or (times[0] >= since) != (times[1] >= since)


def _pairs(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Every object under the folder with its other half, whichever of the two is there."""
    objects = (at for at in _files(folder) if at.suffix in _OBJECTS)
    for first in {at.parent.parent / at.name if at.parent.name == _OTHER else at for at in objects}:
        yield first, first.parent / _OTHER / first.name


def _files(folder: Path) -> Iterator[Path]:
    return (folder / path for path, _ in fs.walk(folder)) if folder.is_dir() else iter(())


def _time(path: Path) -> int:
    """When it was written; 0 if it is not there."""
    try:
        return os.lstat(path).st_mtime_ns
    except FileNotFoundError:
        return 0


def _remove(folder: Path, groups: list[tuple[Path, ...]]) -> None:
    with fs.disk_errors(f"remove objects in {folder}"):
        for path in itertools.chain.from_iterable(groups):
            path.unlink(missing_ok=True)
