"""The door to git, and the only one. Every call runs under a scrubbed environment: no user or system
configuration, no attributes, no ``GIT_*`` from outside, no repository found by walking up. Fetching is
the one exception: it keeps the user's configuration (credentials, proxies, insteadOf).

Names come from the modules below when they are first used: a warm ``check`` runs no git, and should not
pay for the code that would.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opencoti_patches.doors.git.apply import Applied, Landing, apply_check, apply_reject, runs_of
    from opencoti_patches.doors.git.blaming import line_commit
    from opencoti_patches.doors.git.changes import lines_between
    from opencoti_patches.doors.git.heading import Head, head, not_committed
    from opencoti_patches.doors.git.program import stamp
    from opencoti_patches.doors.git.publishing import publish
    from opencoti_patches.doors.git.reading import commit_of, files_at
    from opencoti_patches.doors.git.repository import NewFile, Repository
    from opencoti_patches.doors.git.sound import unsound
    from opencoti_patches.doors.git.tracking import Tracked, tracked
    from opencoti_patches.doors.git.worktree import WorkFolder

_WHERE = {
    "Applied": "apply",
    "Head": "heading",
    "Landing": "apply",
    "NewFile": "repository",
    "Repository": "repository",
    "Tracked": "tracking",
    "WorkFolder": "worktree",
    "apply_check": "apply",
    "apply_reject": "apply",
    "commit_of": "reading",
    "files_at": "reading",
    "head": "heading",
    "line_commit": "blaming",
    "not_committed": "heading",
    "lines_between": "changes",
    "publish": "publishing",
    "runs_of": "apply",
    "stamp": "program",
    "tracked": "tracking",
    "unsound": "sound",
}

__all__ = [
    "Applied",
    "Head",
    "Landing",
    "NewFile",
    "Repository",
    "Tracked",
    "WorkFolder",
    "apply_check",
    "apply_reject",
    "commit_of",
    "files_at",
    "head",
    "line_commit",
    "lines_between",
    "not_committed",
    "publish",
    "runs_of",
    "stamp",
    "tracked",
    "unsound",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
