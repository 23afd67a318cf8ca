"""A working tree that moves from one tree to another: all or nothing, only the files that differ.

What a folder is at stands in the store, with git's stat cache for it. A move first looks for local edits
and for files in its way, then stages every new content inside the folder, then writes down what it is
about to do, and only then renames. A kill before that leaves the folder as it was; after it, the next run
finishes the move.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import EMPTY_TREE, Series, TreeId, decode, printable
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import WorkFolder
from opencoti_patches.tree.keeping import keep

_STAGE = ".opencoti-stage"
_SHOWN = 5  # edited files named in a refusal


class At(NamedTuple):
    """What a folder holds: a tree, and the patch after which it is that (empty: the base). ``also``: files that
    belong to what was put into it, though a .gitignore of the tree may ignore them. ``laid``: the tree that was put
    there to be edited, where that is another, such as one with conflict markers."""

    tree: TreeId
    patch: str = ""
    commits: bool = False
    also: tuple[str, ...] = ()
    laid: str = ""


class Moved(NamedTuple):
    """What a move did, in files. ``saved`` names the patch file that holds local edits, if there were."""

    before: At | None
    after: At
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    kept: int = 0
    saved: tuple[Path, ...] = ()


class WorkTree:
    """One folder, and what the store knows of it."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder.resolve()
        self.store = store
        self._own = store.state_of(self.folder)
        self._state = self._own / "state.json"
        self.files = WorkFolder(store.repo, self.folder, self._own / "index")

    # -- what it is at -----------------------------------------------------------------------

    def at(self) -> At | None:
        """What the folder was last brought to; None if it is not ours, or is gone."""
        doc = fs.read_json(self._state)
        if not isinstance(doc, dict) or not self.folder.is_dir() or not self.store.repo.has(doc["tree"]):
            return None
        also = tuple(doc.get("also", ()))
        return At(TreeId(doc["tree"]), doc["patch"], doc["commits"], also, doc.get("laid", ""))

    def moving(self) -> bool:
        """Whether a move of it was killed half way."""
        doc = fs.read_json(self._state)
        return isinstance(doc, dict) and "moving" in doc

    def forget(self) -> None:
        """Drop what the store knows of the folder."""
        shutil.rmtree(self._own, ignore_errors=True)

    def edits(self) -> list[str]:
        """Files that differ from what was written there."""
        return self.files.edits()

    def seen_unlocked(self) -> tuple[list[str], list[str]]:
        """The same and the new files, for a reader beside whom a writer may be at work."""
        with fs.scratch(self.store.scratch, "status-") as scratch:
            self._copy_index(scratch / "index")
            files = WorkFolder(self.store.repo, self.folder, scratch / "index")
            return files.edits(), _not_ours(files)

    def snapshot(self, also: Sequence[str] = ()) -> tuple[TreeId, list[str]]:
        """The folder as a tree, and the new files in it. Ignored files are left out but for those of
        ``also``; so are folders that are repositories of their own."""
        new = _not_ours(self.files)
        with fs.scratch(self.store.scratch, "snapshot-") as scratch:
            index = scratch / "index"
            edits = self.files.edits()
            self._copy_index(index)
            return WorkFolder(self.store.repo, self.folder, index).snapshot([*edits, *new, *also]), new

    def guard_files(self, also: Sequence[str] = ()) -> None:
        """That a snapshot takes no pipe in a file's place for its deletion. Errors: Refused ``wrong-kind``; CouldNot ``disk``
        for a file that cannot be read."""
        for path in [*self.edits(), *also]:
            if not fs.guard_readable(self.folder, path):
                hint = "put the file there, or remove that, and run it again"
                raise Refused("wrong-kind", f"{printable(path)} in {self.folder} is a pipe, a socket or a device", hint)

    # -- moving ------------------------------------------------------------------------------

    def move(self, target: At, *, force: bool = False, to_edit: bool = False, series: Series | None = None) -> Moved:
        """Bring the folder to ``target``. ``to_edit``: a patch will be made of what is changed there, so that new files
        are edits, too; else they stay, as build outputs do. ``series``: what edits could go into, for who has some.
        Call with the store's lock held.

        Errors: Refused ``local-edits``, ``in-the-way``, ``foreign-folder``; UsageError ``bad-folder``;
        CouldNot ``disk``. In every case the folder is as it was.
        """
        self.finish()
        if not self.folder.exists():
            return self._fresh(target)
        if not self.folder.is_dir():
            raise UsageError("bad-folder", f"{self.folder} is not a folder", "name another")
        now = self.at()
        empty = not any(self.folder.iterdir())
        start = At(tree=EMPTY_TREE) if empty else now or target
        if empty or now is None:
            self._measure(start.tree)
        edits = [] if empty else self.edits()
        strays = _not_ours(self.files) if to_edit and now and not empty else []
        if (edits or strays) and now and not force:
            raise self._has_edits(now, edits, strays, series)
        worth_saving = bool(edits) and (now is not None or self._look_at(edits, force=force))
        diff = self.store.repo.diff_trees(start.tree, target.tree)
        writes = [p for p, (_, new) in diff.items() if new] + [p for p in edits if p not in diff]
        deletes = [p for p, (_, new) in diff.items() if not new]
        in_way = self._in_way({p for p, (old, new) in diff.items() if new and not old}, edits, set(deletes))
        if in_way and not force:
            raise Refused(
                "in-the-way",
                f"{self.folder} has files of yours where new ones belong: {_few(in_way)}",
                "move them, or use --force, which puts them into the store",
            )
        aside = in_way + [p for p in strays if not any(f"{p}/".startswith(f"{hit}/") for hit in in_way)]
        saved = [self._save_diff()] if worth_saving else []
        if writes or deletes or aside:
            saved += self._switch(start, target, writes, deletes, aside)
        self.note(target)
        total = self.store.repo.count(target.tree)
        return Moved(
            before=None if empty else now,
            after=target,
            written=tuple(sorted(writes)),
            deleted=tuple(sorted(deletes)),
            kept=total - len(writes),
            saved=tuple(saved),
        )

    def _fresh(self, target: At) -> Moved:
        """A folder that is not there: written beside it, then renamed into place."""
        parent = self.folder.parent
        with fs.disk_errors(f"make {self.folder}"):
            parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(self._own, ignore_errors=True)
        with fs.disk_errors("write the store"):
            self._own.mkdir(parents=True)
        with fs.scratch(parent, "") as staging:
            new = staging / "tree"
            new.mkdir()
            new.chmod(0o755)
            files = WorkFolder(self.store.repo, new, self.files.index)
            files.read_tree(target.tree)
            files.write_files(new)
            files.refresh()
            with fs.uninterrupted(), fs.disk_errors(f"make {self.folder}"):
                self.note(target)  # says nothing as long as the folder is not there
                new.rename(self.folder)
        names = self.store.repo.list_tree(target.tree)
        return Moved(
            before=None, after=target, written=tuple(decode(r).split("\t", 1)[1] for r in names.split(b"\0")[:-1])
        )

    def _measure(self, tree: TreeId) -> None:
        """Hold a folder that the store does not know (the store was deleted, or it is somebody's) against
        a tree, so that nothing in it is overwritten unseen."""
        with fs.disk_errors("write the store"):
            self._own.mkdir(parents=True, exist_ok=True)
        self.files.index.unlink(missing_ok=True)
        self.files.read_tree(tree)

    def _has_edits(self, now: At, edits: Sequence[str], new: Sequence[str], series: Series | None) -> Refused:
        what = "; ".join([*([_few(edits)] if edits else []), *([f"new files: {_few(new)}"] if new else [])])
        ways = keep(str(self.folder), now.patch, series, merged=bool(now.also)) if series else ()
        hint = "use --force, which puts them into the store first"
        if ways:
            one = "one of these" if len(ways) > 1 else "this"
            hint = "\n".join([f"keep them with {one}, or {hint}:", *map(printable, ways)])
        return Refused("local-edits", f"{self.folder} has local edits: {what}", hint)

    def _look_at(self, edits: Sequence[str], *, force: bool) -> bool:
        """Whether a folder that the store does not know holds something to save. Errors: Refused unless ``force``."""
        if any(os.path.lexists(self.folder / p) for p in edits):
            if force:
                return True
            raise Refused(
                "local-edits",
                f"{self.folder} is not one this project wrote, and differs from the tree asked for: {_few(edits)}",
                "name a folder of its own, or use --force, which saves what differs as a patch first",
            )
        if not force and len(edits) == len(self.files.paths()):
            raise Refused(
                "foreign-folder",
                f"{self.folder} is not one this project wrote, and has other files in it",
                "name a folder of its own, or use --force, which leaves those files beside the tree",
            )
        return False  # files of the tree are simply not there: writing them overwrites nothing

    def _save_diff(self) -> Path:
        target = self._saved_name(".patch")
        fs.write(target, self.files.edits_diff())
        return target

    def _saved_name(self, suffix: str) -> Path:
        stem = f"{self.folder.name}-{time.strftime('%Y%m%d-%H%M%S')}"
        names = (self.store.saved / f"{stem}{f'-{n}' if n else ''}{suffix}" for n in range(10_000))
        return next(p for p in names if not p.exists())

    def _in_way(self, created: Set[str], edits: Sequence[str], going: Set[str]) -> list[str]:
        """Files and folders of the user's where others are to be written, shortest names only."""
        replaced = {p for p in edits if not os.path.islink(self.folder / p) and not (self.folder / p).is_file()}
        through = {p for p in edits if self._beyond_link(p)}
        hits = {hit for p in created | replaced | through if (hit := self._obstacle(p, going | set(edits)))}
        return sorted(h for h in hits if not any(h.startswith(f"{other}/") for other in hits))

    def _beyond_link(self, path: str) -> bool:
        parts = path.split("/")
        return any((self.folder / "/".join(parts[:i])).is_symlink() for i in range(1, len(parts)))

    def _obstacle(self, path: str, going: Set[str]) -> str:
        parts = path.split("/")
        for i in range(1, len(parts)):
            above = "/".join(parts[:i])
            full = self.folder / above
            if os.path.lexists(full) and (full.is_symlink() or not full.is_dir()):
                return "" if above in going else above
        full = self.folder / path
        if not os.path.lexists(full):
            return ""
        if full.is_dir() and not full.is_symlink():
            inside = [f"{path}/{name}" for name in _files_below(full)]
            return path if any(p not in going for p in inside) else ""
        return "" if path in going else path

    def _switch(
        self, now: At, target: At, writes: Sequence[str], deletes: Sequence[str], in_way: Sequence[str]
    ) -> list[Path]:
        """Stage, decide, rename. Returns where files of the user's that were in the way are now."""
        stage = self.folder / _STAGE
        seen = self.edits()  # already looked at: refused, or saved
        try:
            with fs.scratch(self.store.scratch, "move-") as scratch, fs.disk_errors(f"write into {self.folder}"):
                index = scratch / "index"
                self._copy_index(index)
                staged = WorkFolder(self.store.repo, self.folder, index)
                stage.mkdir()
                staged.read_tree(target.tree)
                staged.write_files(stage, writes)
        except BaseException:
            shutil.rmtree(stage, ignore_errors=True)
            raise
        with fs.uninterrupted():
            try:
                self._guard_still(writes, deletes, seen)
                aside = self._put_aside(in_way)
                moving = {"tree": target.tree, "patch": target.patch, "commits": target.commits}
                self.note(now, moving={**moving, "writes": list(writes), "deletes": list(deletes)})
            except BaseException:
                if not self.moving():
                    shutil.rmtree(stage, ignore_errors=True)
                raise
            self.finish()
        return aside

    def _guard_still(self, writes: Sequence[str], deletes: Sequence[str], seen: Sequence[str]) -> None:
        """Nobody saved a file that is about to change, while the new contents were staged."""
        fresh = sorted((set(self.edits()) - set(seen)) & {*writes, *deletes})
        if fresh:
            raise Refused("local-edits", f"{self.folder} was edited meanwhile: {_few(fresh)}", "run it again")

    def _put_aside(self, in_way: Sequence[str]) -> list[Path]:
        """Move files of the user's into the store; all, or none."""
        if not in_way:
            return []
        keep, done = self._saved_name(""), []
        try:
            with fs.disk_errors("put your files into the store"):
                for path in in_way:
                    (keep / path).parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(self.folder / path, keep / path)
                    done.append(path)
                    _prune(self.folder, path)
        except BaseException:
            for path in done:
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(keep / path, self.folder / path)
            raise
        return [keep]

    def _copy_index(self, goal: Path) -> None:
        """With its time, by which git knows what it must read again. git writes none for an empty tree."""
        if self.files.index.exists():
            shutil.copy2(self.files.index, goal)

    def finish(self) -> bool:
        """Finish a move that was decided and then killed. True if there was one."""
        fs.sweep_scratch(self.store.scratch)
        if self._own.is_dir():
            fs.sweep(self._own)
            self.files.unlock()
        doc = fs.read_json(self._state)
        moving = doc.get("moving") if isinstance(doc, dict) else None
        stage = self.folder / _STAGE
        if not moving or not self.folder.is_dir():
            if stage.is_dir():  # killed before it was decided
                shutil.rmtree(stage, ignore_errors=True)
            return False
        with fs.disk_errors(f"write into {self.folder}"):
            for path in moving["deletes"]:
                if self._beyond_link(path):  # not the file that was there
                    continue
                with contextlib.suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                    (self.folder / path).unlink()
                _prune(self.folder, path)
            for path in moving["writes"]:
                source, goal = stage / path, fs.inside(self.folder, path)
                if os.path.lexists(source):
                    if goal.is_dir() and not goal.is_symlink():
                        _remove_empty(goal)
                    goal.parent.mkdir(parents=True, exist_ok=True)
                    source.replace(goal)
        self.files.read_tree(TreeId(moving["tree"]))
        self.files.refresh()
        shutil.rmtree(stage, ignore_errors=True)
        self.note(At(tree=TreeId(moving["tree"]), patch=moving["patch"], commits=moving["commits"]))
        return True

    def note(self, at: At, moving: dict[str, Any] | None = None) -> None:
        """Write down what the folder is at; ``moving``: what a move is about to do, should it be killed."""
        doc = {
            "dir": str(self.folder),
            "tree": at.tree,
            "patch": at.patch,
            "commits": at.commits,
            "also": list(at.also),
            "laid": at.laid,
        }
        fs.write(self._state, fs.json_bytes({**doc, "moving": moving} if moving else doc))


def _not_ours(files: WorkFolder) -> list[str]:
    """Files that no tree put there; not those that are ignored, nor folders that are repositories of their own."""
    return [p for p in files.untracked() if not p.endswith("/") and not p.startswith(f"{_STAGE}/")]


def _files_below(folder: Path) -> Iterator[str]:
    """Every file under a folder, those of repositories too, relative to it."""
    for root, folders, files in os.walk(folder):
        links = [name for name in folders if os.path.islink(os.path.join(root, name))]
        yield from (os.path.relpath(os.path.join(root, name), folder) for name in [*files, *links])


def _remove_empty(folder: Path) -> None:
    """Remove a folder that holds nothing but folders."""
    for root, _, _ in os.walk(folder, topdown=False):
        with contextlib.suppress(OSError):
            os.rmdir(root)


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
