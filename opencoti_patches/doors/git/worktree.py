"""A folder of files under an index of the store: edits found by git's own stat cache, files written by
git itself, raw."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from opencoti_patches.core.model import TreeId, decode, encode
from opencoti_patches.doors.git.call import call, environment, must
from opencoti_patches.doors.git.repository import Repository


class WorkFolder:
    """``folder`` as a working tree of the store's repository, with ``index`` as its stat cache."""

    def __init__(self, repo: Repository, folder: Path, index: Path) -> None:
        self.folder = folder
        self.index = index
        self._repo = repo
        self._env = environment(
            GIT_DIR=str(repo.path),
            GIT_WORK_TREE=str(folder),
            GIT_INDEX_FILE=str(index),
            GIT_CEILING_DIRECTORIES=str(folder.parent),
        )

    def _run(self, *args: str, doing: str, input: bytes = b"") -> bytes:
        return must(call(args, env=self._env, cwd=self.folder, input=input), doing)

    def read_tree(self, tree: TreeId) -> None:
        """The index holds ``tree`` from now on; what it knew of unchanged files stays."""
        had = self.index.exists()
        self._run("read-tree", *(["-i", "-m"] if had else []), tree, doing="read a tree")

    def unlock(self) -> None:
        """Remove the lock that a killed git left on the index. For the only writer."""
        self.index.with_name(f"{self.index.name}.lock").unlink(missing_ok=True)

    def paths(self) -> list[str]:
        """The files of the index."""
        return [decode(p) for p in self._run("ls-files", "-z", doing="list files").split(b"\0")[:-1]]

    def refresh(self) -> None:
        """Compare files with the index; only those whose times changed are read."""
        call(["update-index", "-q", "--refresh"], env=self._env, cwd=self.folder)  # exits 1 where some differ

    def edits(self) -> list[str]:
        """Files of the index that are changed or gone in the folder."""
        self.refresh()
        out = self._run("diff-files", "--name-only", "--no-renames", "-z", doing="look for local edits")
        return [decode(p) for p in out.split(b"\0")[:-1]]

    def edits_diff(self) -> bytes:
        """The local edits as a patch."""
        return self._run(
            "diff-files",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            doing="save local edits",
        )

    def untracked(self) -> list[str]:
        """Files that are not in the index and that no .gitignore of the tree ignores. A folder that is a
        repository of its own comes as ``name/``."""
        args = ("-c", f"core.excludesFile={os.devnull}", "ls-files", "-o", "-z", "--exclude-standard")
        out = self._run(*args, doing="look for new files")
        return [decode(p) for p in out.split(b"\0")[:-1]]

    def write_files(self, prefix: Path, paths: Sequence[str] | None = None) -> None:
        """Write files of the index under ``prefix``, all of them for None."""
        which = ["-a"] if paths is None else ["-z", "--stdin"]
        given = b"" if paths is None else b"".join(encode(p) + b"\0" for p in paths)
        self._run(
            "checkout-index", "-q", "-f", f"--prefix={os.fspath(prefix)}/", *which, doing="write files", input=given
        )

    def snapshot(self, paths: Iterable[str]) -> TreeId:
        """The tree of the index once these paths are taken from the folder as they are there. Changes
        the index."""
        there: list[bytes] = []
        gone: list[bytes] = []
        for path in paths:
            full = self.folder / path
            beyond = any(p.is_symlink() for p in list(full.parents)[: path.count("/")])
            (gone if beyond or not (full.is_symlink() or full.is_file()) else there).append(encode(path) + b"\0")
        for how, given in (("--force-remove", gone), ("--add", there)):
            self._run("update-index", how, "-z", "--stdin", doing="take a snapshot", input=b"".join(given))
        return TreeId(self._run("write-tree", doing="take a snapshot").decode().strip())
