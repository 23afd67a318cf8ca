"""``git blame``: which commit wrote a line."""

from __future__ import annotations

import re
from pathlib import Path

from opencoti_patches.core.model import CommitId
from opencoti_patches.doors.git.call import call, environment


def line_commit(objects: Path, tip: CommitId, path: str, line: int) -> CommitId | None:
    """The commit that last changed a line (from 1) of a file as it is at ``tip``, in the bare repository ``objects``; None if there is no such line."""
    env = environment(GIT_DIR=str(objects), GIT_CEILING_DIRECTORIES=str(objects.parent))
    done = call(["blame", "--porcelain", "-L", f"{line},{line}", tip, "--", path], env=env, cwd=objects)
    m = re.match(rb"([0-9a-f]{40}) ", done.out)
    return CommitId(m[1].decode()) if done.code == 0 and m else None
