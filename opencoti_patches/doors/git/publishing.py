"""Commits of the store as a repository of their own in a folder whose files are there already."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.core.model import CommitId
from opencoti_patches.doors import fs
from opencoti_patches.doors.git.call import call, environment, must
from opencoti_patches.doors.git.repository import RAW_ATTRIBUTES, Repository

_TIP = "refs/opencoti/tip"  # what the branch was set to last
_INDEX = "opencoti-index"  # the index until it is whole


def publish(repo: Repository, tip: CommitId, folder: Path, branch: str, marker: Path) -> None:
    """Make ``folder`` a repository with ``branch`` at ``tip`` and checked out; no file is written but
    in ``.git``. ``marker`` is made there with the repository. What somebody committed to the branch
    since the last time is kept as ``BRANCH-before-COMMIT``.
    """
    env = environment(GIT_CEILING_DIRECTORIES=str(folder.parent))
    if not marker.exists():
        _make(folder, branch, marker)
    for left in (folder / ".git" / f"{_TIP}.lock", folder / ".git" / f"{_INDEX}.lock"):
        left.unlink(missing_ok=True)  # of a git that was killed; these two are ours alone

    def run(*args: str, doing: str = "move the branch") -> str:
        return must(call(args, env=env, cwd=folder), doing).decode().strip()

    def value(ref: str) -> str:
        return call(["rev-parse", "-q", "--verify", ref], env=env, cwd=folder).out.decode().strip()

    kept = f"refs/opencoti/commits/{tip}"  # fetching wants a name, and objects without one may go
    repo.set_ref(kept, tip)
    theirs, ours = value(f"refs/heads/{branch}"), value(_TIP)
    if theirs and theirs not in (ours, tip):
        run("update-ref", f"refs/heads/{branch}-before-{theirs[:12]}", theirs, doing="keep your commits")
    run(
        "fetch", "-q", "--no-tags", "--no-write-fetch-head", str(repo.path), f"+{kept}:{_TIP}", doing="copy the commits"
    )
    run("update-ref", f"refs/heads/{branch}", tip)
    run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    env |= {"GIT_INDEX_FILE": str(folder / ".git" / _INDEX)}
    run("read-tree", tip)
    call(["update-index", "-q", "--refresh"], env=env, cwd=folder)
    with fs.disk_errors("write the repository's index"):
        (folder / ".git" / _INDEX).replace(folder / ".git" / "index")


def _make(folder: Path, branch: str, marker: Path) -> None:
    """A new repository, whole or not there."""
    with fs.scratch(folder, "") as made:
        env = environment(GIT_CEILING_DIRECTORIES=str(folder))
        must(call(["init", "-q", "--template=", "-b", branch, made], env=env, cwd=folder), "make a repository")
        # as in the store: the bytes of the tree are nobody's to convert
        fs.write(made / ".git" / "info" / "attributes", RAW_ATTRIBUTES.encode())
        must(call(["config", "core.autocrlf", "false"], env=env, cwd=made), "make a repository")
        fs.write(made / ".git" / marker.name, b"")
        with fs.disk_errors(f"make a repository in {folder}"):
            (made / ".git").replace(folder / ".git")
