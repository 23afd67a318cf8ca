"""A working tree that moves from one tree to another: all or nothing, only the files that differ.

What a folder is at stands in the store, with git's stat cache for it. A move first looks for local edits
and for files in its way, then stages every new content inside the folder, then writes down what it is
about to do, and only then renames. A kill before that leaves the folder as it was; after it, the next run
finishes the move.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencoti_patches.base.store import Store
from opencoti_patches.core.config import FILE_NAME, Config
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import IndexEntry, TreeId, printable
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import WorkFolder

_STAGE = ".opencoti-stage"
_SHOWN = 5  # edited files named in a refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class At:
    """What a folder holds: a tree, and the patch after which it is that (empty: the base)."""

    tree: TreeId
    patch: str = ""
    commits: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """What a move did, in files. ``saved`` names the patch file that holds local edits, if there were."""

    before: At | None
    after: At
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    kept: int = 0
    saved: tuple[Path, ...] = field(default=())


class WorkTree:
    """One folder, and what the store knows of it."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder.resolve()
        self.store = store
        self._own = store.trees / hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:20]
        self._state = self._own / "state.json"
        self.files = WorkFolder(store.repo, self.folder, self._own / "index")

    # -- what it is at -----------------------------------------------------------------------

    def at(self) -> At | None:
        """What the folder was last brought to; None if it is not ours, or is gone."""
        doc = fs.read_json(self._state)
        if not isinstance(doc, dict) or not self.folder.is_dir() or not self.store.repo.has(doc["tree"]):
            return None
        return At(tree=TreeId(doc["tree"]), patch=doc["patch"], commits=doc["commits"])

    def edits(self) -> list[str]:
        """Files that differ from what was written there."""
        return self.files.edits()

    def snapshot(self) -> tuple[TreeId, list[str]]:
        """The folder as a tree, and the new files in it. Ignored files are left out; so are folders that
        are repositories of their own."""
        new = [p for p in self.files.untracked() if not p.endswith("/") and not p.startswith(_STAGE)]
        with fs.scratch(self.store.scratch, "snapshot-") as scratch:
            index = scratch / "index"
            edits = self.files.edits()
            shutil.copyfile(self.files.index, index)
            return WorkFolder(self.store.repo, self.folder, index).snapshot([*edits, *new]), new

    # -- moving ------------------------------------------------------------------------------

    def move(self, target: At, *, force: bool = False) -> Moved:
        """Bring the folder to ``target``. Call with the store's lock held.

        Errors: Refused ``local-edits``, ``in-the-way``; UsageError ``bad-folder``; CouldNot ``disk``. In
        every case the folder is as it was.
        """
        self.finish()
        now = self.at()
        if not self.folder.exists() or (self.folder.is_dir() and not any(self.folder.iterdir())):
            return self._fresh(target)
        if not self.folder.is_dir():
            raise UsageError("bad-folder", f"{self.folder} is not a folder", "name another")
        if now is None:
            self._adopt(target)
        saved = self._set_aside(now, force)
        origin = now.tree if now else target.tree
        diff = self.store.repo.diff_trees(origin, target.tree)
        writes = {p: new for p, (_, new) in diff.items() if new}
        deletes = [p for p, (_, new) in diff.items() if not new]
        saved += self._clear_way([p for p, (old, new) in diff.items() if new and not old], deletes, force)
        if saved:  # what was edited comes back as it was
            self.files.write_files(self.folder, self.edits())
        if writes or deletes:
            self._switch(now or target, target, writes, deletes)
        self._save(target)
        total = self.store.repo.count(target.tree)
        return Moved(
            before=now,
            after=target,
            written=tuple(sorted(writes)),
            deleted=tuple(sorted(deletes)),
            kept=total - len(writes),
            saved=tuple(saved),
        )

    def _fresh(self, target: At) -> Moved:
        """A folder that is not there, or empty: written beside it, then renamed into place."""
        parent = self.folder.parent
        with fs.disk_errors(f"make {self.folder}"):
            parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._own, ignore_errors=True)
        with fs.disk_errors("write the store"):
            self._own.mkdir(parents=True)
        with fs.scratch(parent, fs.TEMP_PREFIX) as staging:
            new = staging / "tree"
            new.mkdir()
            new.chmod(0o755)
            files = WorkFolder(self.store.repo, new, self.files.index)
            files.read_tree(target.tree)
            files.write_files(new)
            files.refresh()
            with fs.disk_errors(f"make {self.folder}"):
                new.rename(self.folder)
        self._save(target)
        names = self.store.repo.list_tree(target.tree)
        return Moved(
            before=None,
            after=target,
            written=tuple(r.split("\t", 1)[1] for r in names.decode("utf-8", "surrogateescape").split("\0")[:-1]),
        )

    def _adopt(self, target: At) -> None:
        """A folder the store does not know (the store was deleted, or it is somebody's): it is measured
        against the target, so that nothing in it is overwritten unseen."""
        with fs.disk_errors("write the store"):
            self._own.mkdir(parents=True, exist_ok=True)
        self.files.index.unlink(missing_ok=True)
        self.files.read_tree(target.tree)

    def _set_aside(self, now: At | None, force: bool) -> list[Path]:
        edits = self.edits()
        gone = [p for p in edits if not os.path.lexists(self.folder / p)] if now is None else []
        if not edits or len(gone) == len(edits):
            return [] if not edits else [self._save_diff()] if force else self._missing_only(gone)
        if not force:
            what = (
                "is not one this project wrote, and differs from the tree asked for"
                if now is None
                else "has local edits"
            )
            raise Refused(
                "local-edits",
                f"{self.folder} {what}: {_few(edits)}",
                "keep them with 'opencoti-patches regen PATCH --from DIR', or use --force, which saves them as a patch first",
            )
        return [self._save_diff()]

    def _missing_only(self, gone: Sequence[str]) -> list[Path]:
        """Files of a folder that is not ours are simply not there: writing them overwrites nothing."""
        self.files.write_files(self.folder, gone)
        return []

    def _save_diff(self) -> Path:
        target = self._saved_name(".patch")
        fs.write(target, self.files.edits_diff())
        return target

    def _saved_name(self, suffix: str) -> Path:
        stem = f"{self.folder.name}-{time.strftime('%Y%m%d-%H%M%S')}"
        names = (self.store.saved / f"{stem}{f'-{n}' if n else ''}{suffix}" for n in range(10_000))
        return next(p for p in names if not p.exists())

    def _clear_way(self, created: Sequence[str], deletes: Sequence[str], force: bool) -> list[Path]:
        """Files of the user's where new ones belong: refused, or moved to the store."""
        going = set(deletes)
        in_way = sorted({hit for p in created if (hit := self._obstacle(p, going))})
        if not in_way:
            return []
        if not force:
            raise Refused(
                "in-the-way",
                f"{self.folder} has files of yours where new ones belong: {_few(in_way)}",
                "move them, or use --force, which puts them into the store",
            )
        keep = self._saved_name("")
        with fs.disk_errors("put your files into the store"):
            for path in in_way:
                (keep / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(self.folder / path, keep / path)
        return [keep]

    def _obstacle(self, path: str, going: set[str]) -> str:
        parts = path.split("/")
        for i in range(1, len(parts)):
            above = "/".join(parts[:i])
            full = self.folder / above
            if os.path.lexists(full) and (full.is_symlink() or not full.is_dir()) and above not in going:
                return above
        full = self.folder / path
        if not os.path.lexists(full):
            return ""
        if full.is_dir() and not full.is_symlink():
            inside = [f"{path}/{name}" for name, _ in fs.walk(full)]
            return path if any(p not in going for p in inside) else ""
        return path

    def _switch(self, now: At, target: At, writes: dict[str, IndexEntry], deletes: Sequence[str]) -> None:
        """Stage, decide, rename."""
        stage = self.folder / _STAGE
        shutil.rmtree(stage, ignore_errors=True)
        with fs.scratch(self.store.scratch, "move-") as scratch:
            index = scratch / "index"
            shutil.copyfile(self.files.index, index)
            staged = WorkFolder(self.store.repo, self.folder, index)
            try:
                with fs.disk_errors(f"write into {self.folder}"):
                    stage.mkdir()
                staged.read_tree(target.tree)
                staged.write_files(stage, list(writes))
            except BaseException:
                shutil.rmtree(stage, ignore_errors=True)
                raise
        with uninterrupted():
            self._save(
                now,
                moving={
                    "tree": target.tree,
                    "patch": target.patch,
                    "commits": target.commits,
                    "writes": list(writes),
                    "deletes": list(deletes),
                },
            )
            self.finish()

    def finish(self) -> bool:
        """Finish a move that was decided and then killed. True if there was one."""
        doc = fs.read_json(self._state)
        moving = doc.get("moving") if isinstance(doc, dict) else None
        stage = self.folder / _STAGE
        if not moving:
            if stage.is_dir():  # killed before it was decided
                shutil.rmtree(stage, ignore_errors=True)
            return False
        with fs.disk_errors(f"write into {self.folder}"):
            for path in moving["deletes"]:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                    (self.folder / path).unlink()
                _prune(self.folder, path)
            for path in moving["writes"]:
                source, goal = stage / path, fs.inside(self.folder, path)
                if os.path.lexists(source):
                    goal.parent.mkdir(parents=True, exist_ok=True)
                    source.replace(goal)
        shutil.rmtree(stage, ignore_errors=True)
        self.files.read_tree(TreeId(moving["tree"]))
        self.files.refresh()
        self._save(At(tree=TreeId(moving["tree"]), patch=moving["patch"], commits=moving["commits"]))
        return True

    def _save(self, at: At, moving: dict[str, Any] | None = None) -> None:
        doc = {"dir": str(self.folder), "tree": at.tree, "patch": at.patch, "commits": at.commits}
        fs.write(self._state, fs.json_bytes({**doc, "moving": moving} if moving else doc))


def _prune(root: Path, path: str) -> None:
    """Remove the folders above a deleted file that are empty now."""
    folder = (root / path).parent
    while folder != root:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _few(paths: Sequence[str]) -> str:
    shown = ", ".join(map(printable, paths[:_SHOWN]))
    return shown + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let an interrupt wait for the end of a few renames."""
    held = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def guard_folder(folder: Path, config: Config, store: Store) -> Path:
    """``folder`` if a tree may be written there. Errors: UsageError ``bad-folder``."""
    full = folder.resolve()
    for what, own in (
        ("the project", config.root),
        ("the patches folder", config.patches.resolve()),
        ("the store", store.root.resolve()),
    ):
        if full == own or own.is_relative_to(full) or (own != config.root and full.is_relative_to(own)):
            raise UsageError(
                "bad-folder",
                f"a tree cannot be written to {folder}: that is, or holds, {what}",
                "name a folder of its own",
            )
    if (full / FILE_NAME).exists():
        raise UsageError(
            "bad-folder", f"{folder} is another project (it has an {FILE_NAME})", "name a folder of its own"
        )
    return full


def describe(config: Config, store: Store) -> str:
    """The state of the project's tree in a few words."""
    if not config.tree.is_dir():
        return "not written yet (opencoti-patches apply)"
    tree = WorkTree(config.tree, store)
    at = tree.at()
    if at is None:
        return "not one this store knows"
    edits = len(tree.edits())
    where = f"after {at.patch}" if at.patch else "the base"
    return where + (f", {edits} file{'s' * (edits > 1)} edited" if edits else "")
