"""What the repository around a project says of it: the commit that is checked out, and what is in none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.model import CommitId, decode, encode
from opencoti_patches.doors.git.call import call, environment, must


class Head(NamedTuple):
    """The commit that is checked out, and when it was made (seconds since 1970)."""

    commit: CommitId
    date: int


def head(folder: Path) -> Head | None:
    """The head of the repository around ``folder``; None without one, or before its first commit."""
    done = call(["log", "-1", "--no-show-signature", "--format=%H %ct"], env=environment(), cwd=folder)
    if done.code:
        return None
    commit, date = done.out.decode().split()
    return Head(CommitId(commit), int(date))


def not_committed(folder: Path, paths: Sequence[str]) -> list[str]:
    """Those of ``paths`` (files, from ``folder``) that the head has otherwise, or does not have. Call where there
    is a head."""
    args = ["ls-tree", "-r", "-z", "HEAD", "--", *paths]
    rows = must(call(args, env=environment(GIT_LITERAL_PATHSPECS="1"), cwd=folder), "list its files").split(b"\0")[:-1]
    known = {decode(path): head.split(b" ")[2] for head, path in (row.split(b"\t", 1) for row in rows)}
    missing = [p for p in paths if p not in known]
    there = [p for p in paths if p in known]
    read = "".join(f"{p}\n" for p in there)
    args = ["hash-object", "--no-filters", "--stdin-paths"]
    out = must(call(args, env=environment(), cwd=folder, input=encode(read)), "read its files")
    changed = [p for p, oid in zip(there, out.split(), strict=True) if known[p] != oid]
    return sorted(missing + changed)
