"""Fetching: the one kind of call that keeps the user's git configuration (credentials, proxies, insteadOf)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import CommitId, TreeId, decode, encode, is_full_id, printable
from opencoti_patches.core.shell import word
from opencoti_patches.doors import fs, proc
from opencoti_patches.doors.git.call import LOST, call
from opencoti_patches.doors.git.repository import Repository

Access = Literal["own", "near", "far"]
"""Whose word a URL is: the user's own; that of a repository on this machine, which may point at files here but
start no helper program; that of a far one, which may not even do that."""


_OPTIONS = (
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", f"core.hooksPath={os.devnull}",  # reference-transaction would run
    "-c", "core.fsmonitor=false",
    "-c", "fetch.recurseSubmodules=false",  # they are flattened, not checked out
    "-c", "fetch.writeCommitGraph=false",
    "-c", "fetch.prune=false",  # it would drop the refs of the other sources
    "-c", "fetch.pruneTags=false",
    "-c", "fetch.unpackLimit=1",  # one pack is written faster than its objects one by one
)  # fmt: skip

_FETCH = ("fetch", "--quiet", "--force", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
_BASES = "refs/opencoti/base/"

# What would point git at another repository than the one named; the rest of GIT_* is the user's to set.
_NOT_OURS = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_REPLACE_REF_BASE",
    "GIT_CONFIG", "GIT_IMPLICIT_WORK_TREE", "GIT_QUARANTINE_PATH", "GIT_DEFAULT_HASH", "GIT_TRACE", "GIT_CURL_VERBOSE",
}  # fmt: skip


class Remote:
    """Fetches into a store's repository. ``config`` is a file of ours that stands for the user's global
    configuration: it includes that, and adds that any owner's repository may be read. An option ``-c``
    would not do: git does not pass it on to upload-pack. Wants the one writer's lock held."""

    def __init__(self, repo: Repository, config: Path) -> None:
        self.repo = repo
        text = _including(_global_files()).encode()
        if not config.exists() or config.read_bytes() != text:
            fs.write(config, text, sync=False)
        env = {k: v for k, v in os.environ.items() if k not in _NOT_OURS and k != "LANGUAGE"}
        env |= {"GIT_CONFIG_GLOBAL": str(config), "LC_ALL": "C"}
        env.setdefault("GIT_TERMINAL_PROMPT", "0")  # our own standard error may hide a question
        self._env = env
        # What was asked in this run: a branch that moves meanwhile means one commit all along.
        self._revs: dict[tuple[Path, str], CommitId] = {}
        self._trees: dict[str, TreeId] = {}  # of commits that are in the store
        # A killed fetch leaves these, and git would wait for their owner forever. We are the one writer.
        for lock in (repo.path / "shallow.lock", *(repo.path / "refs" / "opencoti").rglob("*.lock")):
            lock.unlink(missing_ok=True)

    def resolve(self, path: Path, rev: str) -> CommitId:
        """The commit that ``rev`` is in the repository at ``path``: anything rev-parse takes.

        Errors: CouldNot ``no-repository``, ``no-rev``, ``git``.
        """
        if (path, rev) not in self._revs and not (path.is_dir() and self.seek(path, [rev])):
            raise CouldNot("no-repository", f"{path} is not a git repository", "look at 'url' of the base source")
        if (path, rev) not in self._revs:
            raise no_rev(str(path), rev)
        if _is_sha256(self._revs[path, rev]):
            raise _other_format(str(path))
        return self._revs[path, rev]

    def seek(self, path: Path, revs: Sequence[str]) -> bool:
        """Look for several revisions there in one process, for ``resolve``. False where there is no repository."""
        wanted = [r for r in revs if (path, r) not in self._revs and "\n" not in r]
        env = {**self._env, "GIT_CEILING_DIRECTORIES": str(path.parent)}  # a plain folder inside another's is none
        names = b"".join(encode(f"{r}^{{commit}}\n") for r in wanted)
        done = _readable(call(["cat-file", "--batch-check"], env=env, cwd=path, options=_OPTIONS, input=names))
        rows = (row.split(b" ") for row in done.out.splitlines())
        found = {
            (path, r): CommitId(row[0].decode())
            for r, row in zip(wanted, rows, strict=False)
            if row[1:2] == [b"commit"] and len(row) == 3  # what is not there comes back as it was asked, blanks and all
        }
        self._revs |= found
        # git gives up altogether on some, such as a time that its log of a branch does not reach
        return not done.code or not call(["rev-parse", "--git-dir"], env=env, cwd=path, options=_OPTIONS).code

    def origin(self, path: Path) -> str:
        """URL of the remote that the repository at ``path`` was cloned from, or empty."""
        env = {**self._env, "GIT_CEILING_DIRECTORIES": str(path.parent)}
        done = call(["config", "--get", "remote.origin.url"], env=env, cwd=path, options=_OPTIONS)
        return decode(done.out.rstrip(b"\n"))

    def fetch(self, url: str, rev: str, *, access: Access = "own") -> CommitId:
        """Bring one commit of ``url`` (full id, tag or branch) into the store, without its history.

        ``access`` says whose word the URL is: see ``Access``. Errors: UsageError ``bad-rev``; CouldNot ``no-rev``,
        ``no-repository``, ``denied``, ``network``, ``git``.
        """
        if not re.fullmatch(r"[^-+^:*?\[\\~\s\x00-\x1f][^:*?^\[\\~\s\x00-\x1f]*", rev) or ".." in rev:
            raise UsageError(
                "bad-rev", f"rev = {rev!r} cannot be asked of a server", "a full commit id, a tag or a branch"
            )
        if is_full_id(rev) and self._has_commit(rev):
            return CommitId(rev)
        ref = f"refs/opencoti/incoming-{os.getpid()}"
        done = self._fetch(url, rev, ref, access)
        if done.code and is_full_id(rev) and (named := self._advertised(url, rev, access)):
            done = self._fetch(url, named, ref, access)  # an old server gives only what a ref points at
        if done.code:
            raise explained(done, url, rev, theirs=access != "own")
        commit = CommitId(self._ask("rev-parse", "--verify", f"{ref}^{{commit}}").decode().strip())
        # Kept under its own name, for the next fetch to build upon and for a gc by hand to spare.
        refs = f"update {_BASES}{commit} {commit}\ndelete {ref}\n"
        self._ask("update-ref", "--stdin", input=refs.encode())
        return commit

    def fetch_ids(self, url: str, ids: Sequence[str], meanwhile: Callable[[], None] | None = None) -> None:
        """Bring commits known by their full ids into the store, in one go. Where that cannot be had ``fetch`` says why,
        one by one. ``meanwhile`` is called while git is at it."""
        if ids:
            wanted = [f"{oid}:{_BASES}{oid}" for oid in dict.fromkeys(ids)]
            self._call([*_FETCH, "--depth=1", "--", url, *wanted], meanwhile=meanwhile)
            self._look(ids)

    def has(self, rev: str) -> bool:
        """Whether ``rev`` is the full id of a commit in the store."""
        return is_full_id(rev) and self._has_commit(rev)

    def tree_of(self, commit: CommitId) -> TreeId:
        """The tree of a commit in the store."""
        if not self._has_commit(commit):
            raise CouldNot("git", f"commit {commit} is not in the store", LOST)
        return self._trees[commit]

    def subtree(self, tree: TreeId, path: str) -> TreeId | None:
        """The folder ``path`` of a tree in the store; None if it is none."""
        row = self._ask("ls-tree", "-z", "--full-tree", tree, "--", f"{path}")
        head = row.split(b"\t")[0].decode().split(" ")
        return TreeId(head[2]) if head[0] == "040000" else None

    def gitmodules(self, blob: str) -> dict[str, str]:
        """Submodule paths and URLs, as a ``.gitmodules`` in the store has them."""
        done = self._call(["config", "-z", "--blob", blob, "--get-regexp", r"^submodule\..*\.(path|url)$"])
        found: dict[str, dict[str, str]] = {}
        for row in done.out.split(b"\0")[:-1]:
            key, _, value = decode(row).partition("\n")
            name, _, what = key.removeprefix("submodule.").rpartition(".")
            found.setdefault(name, {})[what] = value
        return {m["path"]: m["url"] for m in found.values() if "path" in m and "url" in m}

    def _has_commit(self, oid: str) -> bool:
        if oid not in self._trees:
            self._look([oid])
        return oid in self._trees

    def _look(self, oids: Sequence[str]) -> None:
        """Note which of these are commits in the store, and their trees."""
        names = "".join(f"{oid}^{{commit}}\n{oid}^{{tree}}\n" for oid in oids)
        rows = self._call(["cat-file", "--batch-check"], input=names.encode()).out.decode().splitlines()
        for oid, commit, tree in zip(oids, rows[::2], rows[1::2], strict=False):
            if commit.startswith(f"{oid} commit ") and " tree " in tree:
                self._trees[oid] = TreeId(tree.split(" ")[0])

    def _fetch(self, url: str, rev: str, ref: str, access: Access) -> proc.Done:
        done = self._call([*_FETCH, "--depth=1", "--", url, f"{rev}:{ref}"], access)
        if done.code and b"dumb http transport does not support shallow" in done.err:
            done = self._call([*_FETCH, "--", url, f"{rev}:{ref}"], access)
        return done

    def _advertised(self, url: str, oid: str, access: Access) -> str:
        """A ref of the server that is this commit (or a tag of it), or empty."""
        out = self._call(["ls-remote", "--quiet", "--", url], access).out
        rows = (row.partition("\t") for row in decode(out).splitlines())
        return next((name.removesuffix("^{}") for at, _, name in rows if at == oid and name != "HEAD"), "")

    def _call(
        self,
        args: list[str],
        access: Access = "own",
        *,
        more: tuple[str, ...] = (),
        input: bytes = b"",
        meanwhile: Callable[[], None] | None = None,
    ) -> proc.Done:
        env = {**self._env, "GIT_DIR": str(self.repo.path), "GIT_NO_REPLACE_OBJECTS": "1"}
        options: tuple[str, ...] = (*_OPTIONS, *more)
        if access != "own":
            env["GIT_PROTOCOL_FROM_USER"] = "0"
            files = "always" if access == "near" else "user"
            options = (*options, "-c", "protocol.ext.allow=never", "-c", f"protocol.file.allow={files}")
            if allowed := env.get("GIT_ALLOW_PROTOCOL"):  # git asks nothing else, where it is set
                never = {"ext"} if access == "near" else {"ext", "file"}
                env["GIT_ALLOW_PROTOCOL"] = ":".join(x for x in allowed.split(":") if x not in never)
        plain = [os.fsdecode(encode(a)) for a in args]
        done = call(plain, env=env, cwd=self.repo.path, options=options, input=input, meanwhile=meanwhile)
        return _readable(done)

    def _ask(self, *args: str, input: bytes = b"") -> bytes:
        done = self._call(list(args), input=input)
        if done.code:
            raise CouldNot("git", f"git could not {args[0]} in the store: {_line(done)}", LOST)
        return done.out


def no_rev(where: str, rev: str) -> CouldNot:
    """There is no such revision."""
    return CouldNot("no-rev", f"{where} has no revision {printable(rev)}", "a full commit id, a tag or a branch of it")


def _is_sha256(oid: str) -> bool:
    return len(oid) == 64 and not oid.strip("0123456789abcdef")


def _other_format(where: str) -> CouldNot:
    return CouldNot(
        "git",
        f"{where} names its objects by SHA-256, and the store has SHA-1 names only",
        "name a repository with SHA-1 names, such as the one that it was converted from",
    )


def _global_files() -> list[str]:
    """The user's global configuration files, in git's order."""
    own = os.environ.get("GIT_CONFIG_GLOBAL")
    if own is not None:
        return [own] if own else []
    home = os.environ.get("HOME")
    xdg = os.environ.get("XDG_CONFIG_HOME") or (os.path.join(home, ".config") if home else "")
    files = [os.path.join(xdg, "git", "config")] if xdg else []
    return [*files, os.path.join(home, ".gitconfig")] if home else files


def _including(files: list[str]) -> str:
    quoted = (os.path.abspath(f).replace("\\", "\\\\").replace('"', '\\"') for f in files if f != os.devnull)
    includes = "".join(f'[include]\n\tpath = "{f}"\n' for f in quoted)
    return (
        "# Written by opencoti-patches. The user's own configuration, and any owner's repository; one of this machine\n"
        "# need not look for new deltas, nor pack tightly.\n"
        f"{includes}[safe]\n\tdirectory = *\n[pack]\n\twindow = 0\n\tcompression = 1\n"
    )


def _line(done: proc.Done) -> str:
    lines = [line for line in done.error_text.splitlines() if line.startswith(("fatal: ", "error: ", "ERROR: "))]
    line = next(iter(lines), "") or next(iter(done.error_text.splitlines()), f"exit {done.code}")
    return line.partition(": ")[2] if lines else line


def _readable(done: proc.Done) -> proc.Done:
    """What git answered. Errors: CouldNot ``git-config`` if it did not get beyond the user's configuration."""
    wrong = re.search(
        r"^fatal: (bad (?:numeric |boolean )?config .*|.*reading the configuration files)$", done.error_text, re.M
    )
    if done.code and wrong:
        seen = re.search(r"^warning: (unable to access .*)$", done.error_text, re.M)
        said = printable(seen[1] if seen else wrong[1])
        hint = "mend that file: no git works before. 'git config --list --show-origin' says whether it can be read"
        raise CouldNot("git-config", f"git cannot read its configuration: {said}", hint)
    return done


def _not_allowed(where: str, transport: str, theirs: bool) -> CouldNot:
    """git may not use a transport: that is the user's word, or ours of what a repository elsewhere points at."""
    if transport not in os.environ.get("GIT_ALLOW_PROTOCOL", transport).split(":"):
        hint = f"GIT_ALLOW_PROTOCOL lists what is allowed: add {transport} to it"
    elif theirs:
        hint = "clone the repository that names it, with its submodules, and name the clone"
    else:
        hint = f"if you trust what is there: 'git config --global protocol.{transport}.allow always'"
    return CouldNot("denied", f"{where}: git's transport '{transport}' is not allowed", hint)


def explained(done: proc.Done, url: str, rev: str, theirs: bool = False) -> CouldNot:
    """Why a fetch of ``rev`` failed, from what git said; ``theirs``: not the user named the URL, but a repository."""
    from opencoti_patches.doors.net import shown

    text, where = done.error_text, shown(url)
    line = _line(done).replace(url, where)
    if "mismatched algorithms" in text or _is_sha256(rev):
        return _other_format(where)
    if re.search("find remote ref|not our ref|no such remote ref|unadvertised object|[Ii]nvalid refspec", text):
        return no_rev(where, rev)
    if m := re.search(r"transport '([\w+.-]+)' not allowed", text):
        return _not_allowed(where, m[1], theirs)
    if re.search(
        "Authentication failed|could not read (Username|Password)|Permission denied|HTTP 40[13]|error: 40[13]", text
    ):
        return CouldNot("denied", f"{where}: {line}", "git asks no questions here: set up a credential helper or a key")
    if re.search("[Nn]ot found|does not appear to be a git repository|does not exist|not a git repository", text):
        return CouldNot("no-repository", f"{where} is not a git repository, or not open to you", "look at its URL")
    if re.search("resolve host|[Cc]onnection|timed out|unable to access|[Nn]etwork", text):
        return CouldNot("network", f"{where} cannot be reached: {line}", "check the network and git's proxy settings")
    hint = "git itself may say more: git ls-remote " + word(where)
    return CouldNot("git", f"git could not fetch {rev} of {where}: {line}", hint)
