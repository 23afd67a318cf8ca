"""The history of somebody's repository: GitPython lists its commits, git itself writes them as mails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.errors import CouldNot, Refused, UsageError
from opencoti_patches.core.model import CommitId, decode, printable
from opencoti_patches.doors.git.call import call, environment, must
from opencoti_patches.doors.git.repository import Repository

# Everything that format-patch would take from a configuration, said: the same bytes on any machine.
_MAIL = (
    "-1", "--stdout", "--root", "-N", "--no-stat", "--subject-prefix=PATCH", "--no-signature", "--no-cover-letter",
    "--no-attach", "--no-thread", "--no-add-header", "--no-to", "--no-cc", "--no-from", "--no-notes", "--no-base",
    "--encoding=UTF-8", "--full-index", "--binary", "--abbrev=10", "-U3", "-M", "--no-ext-diff", "--no-textconv",
    "--no-color", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


class Commit(NamedTuple):
    """One commit: its id and the first line of its message."""

    oid: CommitId
    subject: str


def commits_of(path: Path, wanted: str) -> tuple[tuple[Commit, ...], Path]:
    """The commits of a range ``A..B`` of the repository at ``path``, oldest first, and where its objects
    are.

    Errors: UsageError ``bad-range``, ``no-repository``; CouldNot ``no-rev``; Refused ``merge``, naming it,
    and ``no-commits``.
    """
    import git
    from git.exc import GitCommandError, InvalidGitRepositoryError, NoSuchPathError

    if not re.fullmatch(r"(?!-)[^\s.]*(?:\.[^\s.]+)*\.\.(?!\.)(?!-)\S*", wanted):
        raise UsageError("bad-range", f"--range {wanted!r} is not of the form A..B", "for instance b9445..HEAD")
    try:
        repo = git.Repo(path, search_parent_directories=True)
    except (InvalidGitRepositoryError, NoSuchPathError):
        raise UsageError(
            "no-repository", f"{path} is not in a git repository", "--repo names the one to take from"
        ) from None
    with repo:
        trusted = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        repo.git.update_environment(**environment(**trusted, GIT_DIR=str(repo.git_dir)))
        try:
            found = list(repo.iter_commits(wanted, reverse=True, topo_order=True))
        except GitCommandError:
            raise CouldNot("no-rev", f"{path} has no commits {wanted}", "look at the names on both sides") from None
        for commit in found:
            if len(commit.parents) > 1:
                raise Refused(
                    "merge",
                    f"{commit.hexsha[:12]} ({_subject(commit.message)}) is a merge, which no patch can say",
                    "rebase the branch, or import the commits on both sides of it",
                )
        if not found:
            raise Refused("no-commits", f"{wanted} holds no commit", "A..B: what is in B and not in A")
        rows = tuple(Commit(oid=CommitId(c.hexsha), subject=_subject(c.message)) for c in found)
        return rows, Path(repo.common_dir).resolve() / "objects"


def mails_of(repo: Repository, commits: Sequence[Commit], objects: Path) -> list[bytes]:
    """Each commit as ``git format-patch`` writes it; empty for one that changes nothing.

    Asked of the store's own repository, with the other's objects beside: neither its configuration nor
    its attributes have a say.
    """
    env = environment(
        GIT_DIR=str(repo.path),
        GIT_ALTERNATE_OBJECT_DIRECTORIES=path_item(objects),
        GIT_CEILING_DIRECTORIES=str(repo.path.parent),
    )
    return [
        must(call(["format-patch", *_MAIL, c.oid], env=env, cwd=repo.path), f"write commit {c.oid[:12]} as a mail")
        for c in commits
    ]


def _subject(message: str | bytes) -> str:
    text = decode(message) if isinstance(message, bytes) else message
    return printable(text.lstrip().split("\n", 1)[0])


def path_item(path: Path) -> str:
    """A path as ``GIT_ALTERNATE_OBJECT_DIRECTORIES`` takes it: a colon would part it."""
    text = str(path)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if ":" in text or text.startswith('"') else text
