"""A plain ``check`` that is on record as a whole and all well: answered without the command line's library, which
costs more to import than everything else that the answer takes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def answer(args: Sequence[str]) -> str | None:
    """What ``check`` would print, for ``[-C DIR] check`` and a project of which nothing changed since it was found
    clean. None for all else, errors too: then it is to be asked the usual way."""
    folder = args[1] if len(args) == 3 and args[0] == "-C" else "."
    if list(args) not in (["check"], ["-C", folder, "check"]):
        return None
    from opencoti_patches.core.errors import OpencotiError

    try:
        return _answer(Path(folder))
    except (OpencotiError, OSError, ValueError):
        return None


def _answer(folder: Path) -> str | None:
    from opencoti_patches.base.bootstrap import base_if_ready
    from opencoti_patches.base.store import Store
    from opencoti_patches.core.config import load
    from opencoti_patches.core.model import Plan
    from opencoti_patches.plan.chain import Records, keys
    from opencoti_patches.report.checked import report
    from opencoti_patches.series import lock, order
    from opencoti_patches.series.beside import unlisted
    from opencoti_patches.series.unmerged import unmerged

    config = load(folder.resolve())
    store = Store.of(config.root)
    if store.journal.exists():
        return None
    series = order.load(config.patches, config.strip)
    base = base_if_ready(config, store)
    if base is None or not series.entries:
        return None
    known = Records(store.verdicts, keys(base, series.entries, store.objects)).longest()
    if known is None or [v.name for v in known.verdicts] != [e.name for e in series.entries]:
        return None
    try:
        claim = lock.read(config.patches)
    except lock.BadLock:
        return None
    plan = Plan(base=base, tip=known.tree, verdicts=known.verdicts)
    if not plan.ok or (claim and not plan.tip) or lock.disagreements(claim, series, plan):
        return None
    said = report(
        plan,
        series,
        where=Path(os.path.relpath(config.patches)),
        label=", ".join(s.label for s in config.sources),
        unlisted=unlisted(series),
        unmerged=unmerged(series),
    )
    return None if any(f.level != "note" for f in said.findings) else "\n".join(said.text)
