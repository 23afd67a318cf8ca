"""What the system says that it cannot do, as one clear line, with what to do about it."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

from opencoti_patches.core.errors import CouldNot

HINTS = {
    errno.ENOSPC: "free some space and run it again; nothing was changed",
    errno.EDQUOT: "the disk quota is used up; nothing was changed",
    errno.EACCES: "check the permissions",
    errno.EROFS: "the file system is read-only; OPENCOTI_STORE moves the store elsewhere",
}
_MORE = {
    errno.EPERM: HINTS[errno.EACCES],
    errno.EISDIR: "move the folder out of the way",
    errno.ENOTDIR: "move the file that is in the folder's place out of the way",
    errno.ENOENT: "put it back, and run it again",
    errno.ELOOP: "take the symbolic link away, which leads to itself",
    errno.ENAMETOOLONG: "give it a shorter name, or work in a folder less deep",
    errno.EIO: "the disk may be failing: see the log of the system",
}


def hint_of(e: OSError) -> str:
    """What to do about an error of the system, in a few words."""
    return (HINTS | _MORE).get(e.errno or 0, "mend that, and run it again")


@contextlib.contextmanager
def disk_errors(doing: str) -> Iterator[None]:
    """Turn an OSError inside into one clear line: ``doing`` completes "cannot …"."""
    try:
        yield
    except OSError as e:
        other = e.filename if e.filename and str(e.filename) not in doing else ""
        what = f"cannot {doing}: {e.strerror or e}{f' ({other})' if other else ''}"
        raise CouldNot("disk", what, hint_of(e)) from None
