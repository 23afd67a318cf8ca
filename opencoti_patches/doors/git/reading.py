"""Files of a commit of somebody's repository, read without checking it out."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import CommitId, decode, printable
from opencoti_patches.doors.git.call import batch, call, environment, must

_FILES = ("100644", "100755")


def commit_of(folder: Path, rev: str) -> CommitId:
    """The commit that ``rev`` is in the repository around ``folder``. Errors: UsageError ``no-repository``; CouldNot
    ``no-rev``."""
    if call(["rev-parse", "--git-dir"], env=environment(), cwd=folder).code:
        raise UsageError(
            "no-repository",
            f"{printable(str(folder))} is not in a git repository",
            "name a commit of the project's own repository: git init makes one",
        )
    args = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}"]
    done = call(args, env=environment(), cwd=folder)
    if done.code:
        raise CouldNot("no-rev", f"the repository has no revision {printable(rev)}", "name a commit, a tag or a branch")
    return CommitId(decode(done.out).strip())


def files_at(folder: Path, commit: CommitId, path: str) -> dict[str, bytes]:
    """The plain files at or under ``path`` (from ``folder``) in a commit, by their path from ``folder``. Links
    are left out. Errors: CouldNot ``git``."""
    env = environment(GIT_LITERAL_PATHSPECS="1", GIT_NO_LAZY_FETCH="1")
    listed = must(call(["ls-tree", "-r", "-z", commit, "--", path], env=env, cwd=folder), "list the files of a commit")
    rows = [row.split(b"\t", 1) for row in listed.split(b"\0")[:-1]]
    found = {decode(name): head.decode().split(" ") for head, name in rows}
    ids = {name: oid for name, (mode, _, oid) in found.items() if mode in _FILES}
    asked = "".join(f"{oid}\n" for oid in ids.values()).encode()
    out = must(call(["cat-file", "--batch"], env=env, cwd=folder, input=asked), "read the files of a commit")
    contents = {}
    for (name, oid), content in zip(ids.items(), batch(out), strict=True):
        if content is None:
            raise CouldNot("git", f"the repository lacks the contents of {printable(name)} ({oid})", "fetch them")
        contents[name] = content
    return contents
