"""The store, ``.opencoti/`` beside the configuration: objects, downloads, records. Deleting it loses
nothing but time."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from opencoti_patches.base.own import guard_untracked
from opencoti_patches.core.errors import UsageError
from opencoti_patches.doors import fs, transaction

if TYPE_CHECKING:
    from opencoti_patches.doors.git import Repository
    from opencoti_patches.doors.git.fetch import Remote


_AT_REST = 60.0  # seconds without a byte


class Store:
    """Folders and files of one store. Constructing it touches nothing."""

    def __init__(self, root: Path, project: Path | None = None) -> None:
        self.root = root
        self.project = (project or root.parent).absolute()
        self.inside = root.parent == self.project  # it moves with the project, and is copied with it
        self.own = self._own()  # what belongs to one project, where several share the store
        self.objects = root / "objects.git"
        self.downloads = root / "downloads"  # one file a sha256, and a note of what it was fetched as
        self.fetching = root / "fetching"  # git's configuration for fetches
        self.bases = root / "bases"  # what a source's contents are, by its key
        self.listings = root / "listings"  # ls-tree of base trees, by tree id
        self.verdicts = root / "verdicts"  # by chain
        self.trees = root / "trees"  # state of working trees, by folder
        self.saved = root / "saved"  # local edits that --force put aside
        self.scratch = root / "scratch"
        self.journal = self.own / "journal.json"
        self.session = self.own / "session"
        self.writer = ""  # the command that holds the lock

    @cached_property
    def repo(self) -> Repository:
        """The bare repository that holds the objects."""
        from opencoti_patches.doors.git import Repository  # a warm check asks git nothing

        return Repository(self.objects)

    @cached_property
    def remote(self) -> Remote:
        """What fetches into it, one for the whole run. With the lock held."""
        from opencoti_patches.doors.git.fetch import Remote

        return Remote(self.repo, self.fetching / "gitconfig")

    @classmethod
    def of(cls, project: Path) -> Store:
        """The project's store; ``OPENCOTI_STORE`` moves it (worktrees, CI caches)."""
        moved = os.environ.get("OPENCOTI_STORE")
        if not moved:
            guard_untracked(project.absolute() / ".opencoti", project.absolute())
        try:
            return cls(Path(moved).expanduser().resolve() if moved else project.absolute() / ".opencoti", project)
        except RuntimeError:  # ~nobody
            raise UsageError(
                "bad-value", f"OPENCOTI_STORE={moved}: there is no such user", "write the whole path"
            ) from None

    def _own(self) -> Path:
        """By the project's place. A store that came along to another place has it by the old one."""
        projects = self.root / "projects"
        own = projects / hashlib.sha256(os.fsencode(self.project)).hexdigest()[:12]
        if not self.inside or own.exists() or not projects.is_dir():
            return own
        there = [p for p in projects.iterdir() if p.is_dir()]
        return there[0] if len(there) == 1 else own

    def state_of(self, folder: Path) -> Path:
        """Where the state of a working tree lies: by its place in the project, if the store is there, too."""
        project = self.project.resolve()
        whole = self._state(os.fsencode(folder))
        if not (self.inside and folder.is_relative_to(project)):
            return whole
        within = self._state(b"./" + os.fsencode(folder.relative_to(project)))
        return whole if whole.is_dir() and not within.is_dir() else within

    def _state(self, key: bytes) -> Path:
        return self.trees / hashlib.sha256(key).hexdigest()[:20]

    def open(self) -> Store:
        """Make it usable: the folder, its own ignore entry, the repository."""
        if not (self.root / ".gitignore").exists():
            fs.write(self.root / ".gitignore", b"*\n", sync=False)
        with fs.disk_errors(f"make the store {self.root}"):
            self.repo.create()
        return self

    @contextlib.contextmanager
    def writing(self, command: str, *folders: Path) -> Iterator[None]:
        """Be the one writer. What a killed writer left is finished or swept first."""
        self.open()
        with fs.lock(self.root / "lock", command):
            transaction.recover(self.journal, (self.project, self.own, *folders))
            self.writer = command
            for folder in (*folders, self.own, self.fetching, self.bases, self.listings, self.downloads):
                fs.sweep(folder)
            self._sweep()
            yield

    def kept(self, sha256: str, origin: str) -> Path | None:
        """The stored download of this sum, if it is whole and was fetched as ``origin``."""
        from opencoti_patches.doors import net

        file = self.downloads / sha256
        known = fs.read_json(self._origins(sha256))
        if not isinstance(known, list) or origin not in known or not file.is_file():
            return None
        return file if net.sha256_of(file) == sha256 else None

    def note_origin(self, sha256: str, origin: str) -> None:
        """Record that the stored download of this sum is what ``origin`` gave."""
        known = fs.read_json(self._origins(sha256))
        origins = {str(o) for o in known} if isinstance(known, list) else set()
        if origin not in origins:
            fs.write(self._origins(sha256), fs.json_bytes(sorted({*origins, origin})), sync=False)

    def _origins(self, sha256: str) -> Path:
        return self.downloads / f"{sha256}.from.json"

    def _sweep(self) -> None:
        """Remove the packs that killed imports left half-written, and the lock files of a git that was killed;
        whoever is no writer makes such for an instant only. With the lock held."""
        packs = (self.objects / "objects" / "pack").glob("tmp_pack_*")
        for left in (*packs, *self.objects.glob("*.lock"), *(self.objects / "refs").rglob("*.lock")):
            with contextlib.suppress(OSError):
                if left.stat().st_mtime < time.time() - _AT_REST:
                    left.unlink()
