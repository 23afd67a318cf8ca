"""The door to git, and the only one. Every call runs under a scrubbed environment: no user or system
configuration, no attributes, no ``GIT_*`` from outside, no repository found by walking up. Fetching is
the one exception: it keeps the user's configuration (credentials, proxies, insteadOf).
"""

from opencoti_patches.doors.git.apply import Applied, Landing, apply_check, apply_reject, runs_of
from opencoti_patches.doors.git.call import stamp
from opencoti_patches.doors.git.publish import publish
from opencoti_patches.doors.git.repository import IndexEntry, NewFile, Repository
from opencoti_patches.doors.git.worktree import WorkFolder

__all__ = [
    "Applied",
    "IndexEntry",
    "Landing",
    "NewFile",
    "Repository",
    "WorkFolder",
    "apply_check",
    "apply_reject",
    "publish",
    "runs_of",
    "stamp",
]
