"""Folders that trees are written to: which may be, and how the project's own one stands."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.core.config import FILE_NAME, Config
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Plan
from opencoti_patches.core.words import plural
from opencoti_patches.tree.worktree import At, WorkTree


def guard_folder(folder: Path, config: Config, store: Store) -> Path:
    """``folder`` if a tree may be written there. Errors: UsageError ``bad-folder``."""
    full = folder.resolve()
    owned = [
        ("the project", config.root),
        ("the patches folder", config.patches.resolve()),
        ("the store", store.root.resolve()),
    ]
    owned += [
        ("a folder of the base", Path(s.path, s.subdir).resolve()) for s in config.sources if s.kind == "directory"
    ]
    if any(part.lower() == ".git" for part in full.parts):
        raise UsageError(
            "bad-folder", f"a tree cannot be written to {folder}: that is git's own", "name another folder"
        )
    for what, own in owned:
        if full == own or own.is_relative_to(full) or (own != config.root and full.is_relative_to(own)):
            raise UsageError(
                "bad-folder",
                f"a tree cannot be written to {folder}: that is, or holds, {what}",
                "name a folder of its own",
            )
    if (full / FILE_NAME).exists():
        raise UsageError(
            "bad-folder", f"{folder} is another project (it has an {FILE_NAME})", "name a folder of its own"
        )
    return full


def describe(config: Config, store: Store, plan: Plan | None) -> str:
    """The state of the project's tree in a few words; ``plan`` is the verdict on the series as it is now."""
    if not config.tree.is_dir():
        return "not written yet (opencoti-patches apply)"
    tree = WorkTree(config.tree, store)
    at = tree.at()
    if at is None:
        return "not one this store knows"
    if tree.moving():
        return "half way: the next apply finishes what was interrupted"
    edits, new = map(len, tree.seen_unlocked())
    tip = plan.verdicts[-1].name if plan and plan.verdicts and plan.tip == at.tree else ""
    where = f"after {tip or at.patch}" if at.patch else "the base"
    if plan and _outdated(at, plan):
        where += " as it was before base or series changed ('opencoti-patches apply' follows)"
    return (
        where + (f", {plural(edits, 'file')} edited" if edits else "") + (f", {plural(new, 'new file')}" if new else "")
    )


def _outdated(at: At, plan: Plan) -> bool:
    """Whether it was the tip or the base and that is another tree now; of what lies between nothing is said."""
    if not at.patch:
        return at.tree != plan.base
    return bool(plan.tip and at.patch == plan.verdicts[-1].name and at.tree != plan.tip)
