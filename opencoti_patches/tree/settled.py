"""A folder that is at a tree already, because somebody edited it until it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opencoti_patches.base import states
from opencoti_patches.base.store import Store
from opencoti_patches.tree.worktree import At, WorkTree


def settle(work: WorkTree, at: At) -> None:
    """Record that the folder is at ``at`` as it stands. No file of it is written. Call with the store's lock held."""
    work.files.read_tree(at.tree)
    work.files.refresh()
    work.note(at)


def adopt(work: WorkTree, at: At) -> None:
    """Settle a folder whose edits are a patch's now, not local ones, and remember that with the step that wrote the
    patch: its ``undo`` makes them edits again."""
    was = work.at()
    settle(work, at)
    if was:
        states.note_folder(work.store, work.folder, was._asdict(), at._asdict())


def follow(store: Store, step: states.Step) -> list[Path]:
    """The folders whose edits went into patches with a step, once it was undone (their edits are edits again) or done
    again. One that is somewhere else by now stays as it is."""
    found = []
    for row in states.folders(store, step.number):
        work = WorkTree(Path(row["dir"]), store)
        before, after = _at(row["before"]), _at(row["after"])
        if work.at() == (after if step.undone else before) and (step.undone or work.snapshot()[0] == after.tree):
            settle(work, before if step.undone else after)
            found.append(work.folder)
    return found


def _at(row: dict[str, Any]) -> At:
    return At(**{**row, "also": tuple(row["also"])})
