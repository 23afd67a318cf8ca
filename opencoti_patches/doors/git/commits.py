"""The commits that lead from a pinned one to a later one, and what each changed: for looking ahead.

They lie in a repository of their own, since the store's has commits without their parents. Of a repository on
this machine nothing is copied: its objects are read where they are. Of a far one the commits and folders are
fetched, and contents of files only when they are asked for, where the server can do that.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import CommitId, decode, printable
from opencoti_patches.doors import proc
from opencoti_patches.doors.git.call import call, environment, must
from opencoti_patches.doors.git.changes import TreeChanges, read_changes
from opencoti_patches.doors.git.fetch import Access, Remote, explained
from opencoti_patches.doors.git.history import path_item
from opencoti_patches.doors.git.repository import Repository

_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--filter=blob:none")
_FORMAT = "--format=%H%n%T%n%cs%n%s"  # id, tree, date of the commit in its own time zone, first line


class Mark(NamedTuple):
    """A commit on the way. ``number`` counts from the pinned one, which is 0."""

    number: int
    oid: CommitId
    date: str  # as 2026-05-31
    subject: str


class Step(NamedTuple):
    """One commit and what it changed against the one before it on the way: old and new entry by path, None
    for a side that lacks the path."""

    mark: Mark
    changes: TreeChanges


class Way(NamedTuple):
    """From the pinned commit to the last one by first parents, oldest first."""

    pinned: Mark
    steps: tuple[Step, ...]


class History(Remote):
    """The history of one repository: ``source`` is a folder on this machine or a URL. Wants the one writer's
    lock held for all but reading."""

    def __init__(self, repo: Repository, config: Path, source: Path | str) -> None:
        super().__init__(repo, config)
        self.source = source
        self._said: proc.Done | None = None  # of the last fetch of contents
        self._read_env = environment(
            GIT_DIR=str(repo.path), GIT_CEILING_DIRECTORIES=str(repo.path.parent), GIT_NO_LAZY_FETCH="1"
        )

    def reach(self, rev: str) -> CommitId:
        """The commit that ``rev`` is there, with all that leads to it at hand. Errors: as ``Remote.fetch``."""
        if isinstance(self.source, str):
            return self.fetch(self.source, rev)
        commit = self.resolve(self.source, rev)
        env = {**self._env, "GIT_CEILING_DIRECTORIES": str(self.source.parent)}
        args = ["rev-parse", "--git-path", "objects", "--git-path", "shallow"]
        rows = must(call(args, env=env, cwd=self.source), "find the objects").split(b"\n")
        objects, shallow = (self.source / decode(row) for row in rows[:2])
        self._read_env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = path_item(objects.resolve())
        if shallow.exists():
            self._read_env["GIT_SHALLOW_FILE"] = str(shallow.resolve())
        return commit

    def way(self, pinned: CommitId, last: CommitId) -> Way:
        """The commits behind ``pinned`` up to ``last``. Errors: UsageError ``not-ahead``."""
        if self._read("merge-base", "--is-ancestor", pinned, last).code:
            raise UsageError(
                "not-ahead",
                f"commit {last[:12]} does not come after the pinned {pinned[:12]}",
                "name a later one of the same history; in a shallow clone, fetch deeper first",
            )
        [first] = self._log("-1", pinned)
        rows = [first, *self._log("--first-parent", "--reverse", f"{pinned}..{last}")]
        changes = self._changes([tree for _, tree, _, _ in rows])
        marks = [Mark(i, CommitId(oid), day, printable(said)) for i, (oid, _, day, said) in enumerate(rows)]
        return Way(marks[0], tuple(Step(m, c) for m, c in zip(marks[1:], changes, strict=True)))

    def have(self, oids: Sequence[str]) -> None:
        """Fetch the contents of blobs; nothing to do where all objects are on this machine."""
        if oids and isinstance(self.source, str):
            ids = "".join(f"{o}\n" for o in oids).encode()
            self._said = self._call([*_FETCH, "--stdin", "upstream"], more=self._named(self.source), input=ids)

    def contents(self, oids: Sequence[str]) -> dict[str, bytes]:
        """Contents of blobs by id; call ``have`` first. Errors: CouldNot ``no-contents``, and as ``reach``."""
        try:
            return Repository(self.repo.path, self._read_env).blobs(oids)
        except CouldNot:
            if self._said is not None and self._said.code:
                raise explained(self._said, str(self.source), "the contents of files") from None
            raise CouldNot(
                "no-contents",
                "the history lacks the contents of files that the series touches",
                "a partial clone holds no contents: give the URL that it was cloned from",
            ) from None

    def _fetch(self, url: str, rev: str, ref: str, access: Access) -> proc.Done:
        return self._call([*_FETCH, "--force", "upstream", f"{rev}:{ref}"], access, more=self._named(url))

    @staticmethod
    def _named(url: str) -> tuple[str, ...]:
        """A name for this call alone: git would write a URL, which may hold a password, into its configuration,
        and would ask it for what is missing without being told to."""
        return ("-c", f"remote.upstream.url={url}")

    def _read(self, *args: str, input: bytes = b"") -> proc.Done:
        return call(args, env=self._read_env, cwd=self.repo.path, input=input)

    def _log(self, *args: str) -> list[tuple[str, str, str, str]]:
        done = self._read("log", "-z", "--no-show-signature", "--no-notes", "--encoding=UTF-8", _FORMAT, *args, "--")
        rows = decode(must(done, "walk the commits")).split("\0")[:-1]
        return [(oid, tree, day, said) for oid, tree, day, said in (row.split("\n", 3) for row in rows)]

    def _changes(self, trees: Sequence[str]) -> list[TreeChanges]:
        """What changed from each tree to the next, in one process."""
        pairs = "".join(f"{a} {b}\n" for a, b in pairwise(trees))
        args = ["diff-tree", "--stdin", "-r", "-z", "--no-renames", "--raw"]
        return read_changes(must(self._read(*args, input=pairs.encode()), "compare the commits"))
