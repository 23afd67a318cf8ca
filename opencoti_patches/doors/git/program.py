"""Which git it is, without running it."""

from __future__ import annotations

import os

from opencoti_patches.core.errors import CouldNot


def stamp() -> str:
    """A text that changes when the git program on PATH does; costs no process.

    Errors: CouldNot ``no-tool``.
    """
    for folder in os.get_exec_path():
        path = os.path.join(folder, "git")
        if os.access(path, os.X_OK) and os.path.isfile(path):
            real = os.path.realpath(path)
            st = os.stat(real)
            return f"{real} {st.st_size} {st.st_mtime_ns}"
    raise CouldNot("no-tool", "git is not installed", "install git 2.30 or newer")
