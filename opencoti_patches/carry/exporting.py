"""A series as mails, each the forward change that its patch makes, and a folder made of what is exported."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.carry.forward import forward
from opencoti_patches.core.config import Config
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import Plan, Series, TreeId
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs
from opencoti_patches.plan.strict import check
from opencoti_patches.series.mailing import NOBODY, mail
from opencoti_patches.series.parse import parse
from opencoti_patches.tree import trees


def mails(
    series: Series, base: TreeId, store: Store, *, sender: bytes = NOBODY, progress: Progress
) -> tuple[list[bytes], Plan]:
    """Each patch as a mail that ``git am`` takes. Bytes stay as they are, but for patches that are applied
    in reverse or with another strip level than 1: these become what they do. ``sender`` is the
    From of those that name no author. Call with the store's lock held.

    Errors: Refused ``does-not-apply``: what would come out has no tree to end at.
    """
    plan = check(series, base, store, progress=progress)
    trees.applied(plan)
    odd = [e for e in series.entries if e.reverse or e.strip != 1]
    chain = [tree for _, tree in trees.commits(series, base, store, progress=progress)] if odd else []
    found = []
    for i, e in enumerate(series.entries):
        header = parse(e.raw, e.strip, e.reverse).header
        diff = e.raw[len(header) :]
        if e in odd:
            diff = forward(store.repo, chain[i - 1] if i else base, chain[i])
        found.append(mail(header, diff, e.name, sender))
    return found, plan


def guard_target(folder: Path, config: Config, store: Store) -> Path:
    """The folder, if it may be written. Errors: Refused ``not-empty``; UsageError ``bad-folder``."""
    full = folder.resolve()
    if os.path.lexists(full) and not full.is_dir():
        raise UsageError("bad-folder", f"{folder} is not a folder", "name another, or one to make")
    if full.is_dir() and any(full.iterdir()):
        raise Refused("not-empty", f"{folder} is not empty", "name a folder that is, or one to make")
    for what, own in (("the patches folder", config.patches), ("the store", store.root)):
        if full == own.resolve() or full.is_relative_to(own.resolve()):
            raise UsageError("bad-folder", f"{folder} is in {what}", "name a folder elsewhere")
    return full


def put(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make ``folder`` with these files in it, whole or not at all.

    Errors: CouldNot ``disk``, ``unsafe-path``.
    """
    with fs.disk_errors(f"make {folder}"):
        folder.parent.mkdir(parents=True, exist_ok=True)
    with fs.scratch(folder.parent, fs.TEMP_PREFIX) as staging:
        new = staging / "export"
        with fs.disk_errors(f"make {folder}"):
            new.mkdir()
            new.chmod(0o755)
        for name, content in files.items():
            fs.put(new, name, content, "100644")
        with fs.disk_errors(f"make {folder}"):
            new.rename(folder)
