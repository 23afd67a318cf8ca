"""Whether somebody's repository holds a path."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.doors.git.call import call, environment


def tracked(folder: Path, path: Path) -> bool:
    """Whether the repository around ``folder`` tracks anything at or under ``path``."""
    done = call(["ls-files", "-z", "--", str(path)], env=environment(GIT_LITERAL_PATHSPECS="1"), cwd=folder)
    return done.code == 0 and bool(done.out)
