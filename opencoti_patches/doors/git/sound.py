"""Whether a repository's objects are what their names say: git believes them, and does not look each time."""

from __future__ import annotations

import re
from pathlib import Path

from opencoti_patches.doors.git.call import call, environment

# Not what git thinks of a tree's or commit's contents ("error in tree …"): upstream's are as they are.
_WRONG = re.compile(
    r"(?m)^(?!error in |warning in )(?:error: |fatal: )?(.*(?:mismatch|corrupt|unable to unpack|inflate).*)$"
)


def unsound(objects: Path) -> str:
    """What is wrong with the objects of a repository, in git's words; empty if nothing is. Reads all of them."""
    args = ("fsck", "--full", "--no-dangling", "--no-reflogs", "--no-progress")
    done = call(args, env=environment(GIT_DIR=str(objects)), cwd=objects)
    wrong = _WRONG.search(f"{done.error_text}\n{done.out.decode('utf-8', 'replace')}") if done.code else None
    return wrong[1] if wrong else ""
