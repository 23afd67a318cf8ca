"""Whose the store is. What it holds is believed: verdicts, trees, what a download was. So it must have been
made here, and not have come with the project."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.core.errors import UsageError


def guard_untracked(root: Path, project: Path) -> None:
    """Errors: UsageError ``tracked-store`` if the project's own repository has files of the store ``root``, so
    that whoever wrote them could say what the verdict is."""
    index = _index_above(project)
    if index is None or not root.exists():
        return
    # an index may leave out what a path shares with the one before; a link or a submodule of that name ends there
    name = root.name.encode().lstrip(b".")
    try:
        held = index.read_bytes()
        if name + b"/" not in held and name + b"\0" not in held:
            return
    except OSError:
        return
    from opencoti_patches.doors.git import tracked

    if tracked(project, root):
        raise UsageError(
            "tracked-store",
            f"{root.name} is committed in this repository, and what it says of the series cannot be believed",
            f"git rm -r --cached {root.name}, then delete the folder: it is made anew",
        )


def _index_above(folder: Path) -> Path | None:
    for at in (folder, *folder.parents):
        git = at / ".git"
        if git.is_dir():
            return git / "index"
        if git.is_file():  # a worktree or a submodule
            goal = git.read_text("utf-8", "replace").partition("gitdir:")[2].strip()
            return (at / goal / "index") if goal else None
    return None
