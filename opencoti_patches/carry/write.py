"""Putting rewritten patches in place: proven first, then all of them or none, and the lock with them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from opencoti_patches.base import states
from opencoti_patches.base.store import Store
from opencoti_patches.carry.model import Row
from opencoti_patches.carry.prove import prove
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import PatchName, Series, TreeId
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import transaction
from opencoti_patches.series import lock, order


def put_in_place(
    rows: Sequence[Row],
    series: Series,
    base: TreeId,
    store: Store,
    *,
    into: Path | None = None,
    dry_run: bool,
    progress: Progress,
) -> list[Path]:
    """Write the rows' new bytes over the patch files, or under their names to the folder ``into``. The
    lock follows if there is one and the whole series applies. Returns what was (or would be) written.
    Call with the store's lock held.

    Errors: CouldNot ``not-proven``, ``disk``; then nothing is changed.
    """
    written: dict[PatchName, bytes] = {r.name: r.raw for r in rows if r.raw is not None}
    if not written:
        return []
    made = {r.name: r.tree for r in rows if r.tree is not None}
    aside = frozenset(r.name for r in rows if r.status in ("conflict", "blocked"))
    plan = prove(series.entries, written, aside, series, base, store, made=made, progress=progress)
    home = into or series.dir
    changes: dict[Path, bytes | None] = {home / e.name: written[e.name] for e in series.entries if e.name in written}
    if not into and not aside and (series.dir / order.LOCK_FILE).exists():
        changes[series.dir / order.LOCK_FILE] = lock.write(_rewritten(series, written), plan)
    if not into:
        guard_plain(series, changes)
    if not dry_run:
        if into:
            transaction.replace_all(changes, store.journal)
        else:
            states.put(changes, store, as_read(series))
    return list(changes)


def as_read(series: Series) -> dict[Path, bytes]:
    """What the patch files held when the series was read."""
    return {e.path: e.raw for e in series.entries}


def guard_plain(series: Series, changes: Iterable[Path]) -> None:
    """Errors: Refused ``unsafe-path`` if a folder on the way to a patch file leads out of the patches folder."""
    root = series.dir.resolve()
    for path in changes:
        if path.is_relative_to(series.dir) and not path.parent.resolve().is_relative_to(root):
            raise Refused(
                "unsafe-path",
                f"{path} is not inside the patches folder: a folder on the way is a symbolic link",
                "put a folder in the place of the link",
            )


def _rewritten(series: Series, written: dict[PatchName, bytes]) -> Series:
    entries = tuple(
        order.entry_of(series.dir, e.name, written[e.name], strip=e.strip, reverse=e.reverse)
        if e.name in written
        else e
        for e in series.entries
    )
    return Series(dir=series.dir, entries=entries, listed=series.listed)
