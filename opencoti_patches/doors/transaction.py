"""Several files written together, all or none, even through a kill or a full disk."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.core.errors import CouldNot, Refused
from opencoti_patches.doors.fs import disk_errors, fsync, mode_for, stage, sweep, uninterrupted, write

_AT_ONCE = 7  # threads beside ours that wait for the disk


def replace_all(changes: Mapping[Path, bytes | None], journal: Path, read: Mapping[Path, bytes] | None = None) -> None:
    """Write or delete several files, all or none, even through a kill or a full disk. ``read`` is what
    the files held when the change was worked out: if somebody saved one since, nothing is written.

    Every new content is staged and synced first; then the journal (a file in the store) names
    the renames; then they happen. ``recover`` finishes what a kill interrupted after that point;
    before it, nothing has changed. Content None deletes. Errors: CouldNot ``disk``; Refused
    ``changed-meanwhile``, ``unsafe-path`` (a symbolic link stands there).
    """
    if not changes:
        return
    for folder in {journal.parent, *(target.parent for target in changes)}:
        sweep(folder)
    staged: dict[Path, Path] = {}
    try:
        with disk_errors("write the new patch files"):
            for folder in {target.parent for target in changes}:
                folder.mkdir(parents=True, exist_ok=True)
            for target, data in changes.items():
                if data is not None:
                    staged[target] = stage(target, data, mode_for(target), sync=False)
            _sync_all(staged.values())
        plan = {
            "renames": [[str(t), str(p)] for p, t in staged.items()],
            "deletes": [str(p) for p, d in changes.items() if d is None],
        }
        _guard_unchanged(changes, read or {})
        with uninterrupted():
            write(journal, json.dumps(plan).encode())
            _finish(plan, journal)
    except BaseException:
        if not journal.exists():  # else it is decided, and the next run finishes it
            for temp in staged.values():
                with contextlib.suppress(OSError):
                    temp.unlink()
        raise


def recover(journal: Path, inside: Sequence[Path]) -> bool:
    """Finish what ``replace_all`` had decided when it was killed. True if there was something. Nothing
    outside these folders is touched. Errors: CouldNot ``journal``."""
    try:
        plan = json.loads(journal.read_bytes())
        names = [*(n for pair in plan["renames"] for n in pair), *plan["deletes"]]
    except FileNotFoundError:
        return False
    except (ValueError, KeyError, TypeError):  # it is written atomically, so this one is not ours
        raise CouldNot("journal", f"{journal} is damaged", "look at it, then delete it") from None
    roots = [root.resolve() for root in inside]
    for name in names:
        if not any(Path(name).parent.resolve().is_relative_to(root) for root in roots):
            raise CouldNot(
                "journal", f"{journal} names {name}, which is not the project's", "look at it, then delete it"
            )
    _finish(plan, journal)
    return True


def _guard_unchanged(changes: Mapping[Path, bytes | None], read: Mapping[Path, bytes]) -> None:
    for target in changes:
        if target.is_symlink():
            raise Refused(
                "unsafe-path", f"{target} is a symbolic link; nothing was written", "put the file itself there"
            )
        if target in read and (not target.exists() or target.read_bytes() != read[target]):
            raise Refused(
                "changed-meanwhile", f"{target} was changed while this ran; nothing was written", "run it again"
            )


def _sync_all(files: Collection[Path]) -> None:
    """Make files last, several at a time: a disk takes them together."""
    waiting, failed = list(files), list[OSError]()

    def sync() -> None:
        while waiting and not failed:
            with contextlib.suppress(IndexError):  # another thread took the last one
                file = waiting.pop()
                try:
                    fsync(file)
                except OSError as e:
                    failed.append(e)

    several = [threading.Thread(target=sync) for _ in range(min(_AT_ONCE, len(waiting) // 4))]
    for thread in several:
        thread.start()
    sync()
    for thread in several:
        thread.join()
    if failed:
        raise failed[0]


def _finish(plan: Mapping[str, Any], journal: Path) -> None:
    with disk_errors("put the new patch files in place"):
        folders = set()
        for temp, target in plan["renames"]:
            folders.add(Path(target).parent)
            with contextlib.suppress(FileNotFoundError):  # already renamed before the kill
                os.replace(temp, target)
        for target in plan["deletes"]:
            folders.add(Path(target).parent)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(target)
        for folder in folders:
            if folder.is_dir():
                fsync(folder)
        journal.unlink()
