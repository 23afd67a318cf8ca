"""The end of a bump: patches, series, lock and configuration change together, once all is proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry import remember, resolutions
from opencoti_patches.carry.model import Row
from opencoti_patches.carry.prove import prove
from opencoti_patches.carry.resolutions import Resolution
from opencoti_patches.carry.target import Target, edited
from opencoti_patches.carry.write import as_read, guard_plain
from opencoti_patches.core.config import Config
from opencoti_patches.core.model import Entry, PatchName, Series, TreeId
from opencoti_patches.core.progress import Progress
from opencoti_patches.series import lock, order


class Settled(NamedTuple):
    """What is to be written (None: deleted), what the files held when they were read, and the tree after the last
    patch."""

    changes: Mapping[Path, bytes | None]
    read: Mapping[Path, bytes]
    tip: TreeId | None


def settle(
    rows: Sequence[Row],
    series: Series,
    config: Config,
    target: Target,
    value: str,
    store: Store,
    *,
    made: Mapping[PatchName, Entry],
    progress: Progress,
    skipped: frozenset[PatchName] = frozenset(),
    learned: Sequence[Resolution] = (),
) -> Settled:
    """Everything that the bump changes, proven. ``skipped`` patches stay as files, their lines in the series become
    comments; ``learned`` goes into the file of resolutions; ``made`` are new patches that lie in files already.

    Errors: CouldNot ``not-proven``, ``disk``; Refused ``unsafe-path``.
    """
    written: dict[PatchName, bytes] = {r.name: r.raw for r in rows if r.raw is not None and r.name not in skipped}
    leaves = frozenset(r.name for r in rows if r.status == "upstreamed")
    entries = [made.get(e.name, e) for e in series.entries]
    plan = prove(entries, written, leaves | skipped, series, target.base, store, progress=progress)
    changes: dict[Path, bytes | None] = {e.path: written[e.name] for e in series.entries if e.name in written}
    changes |= {e.path: None for e in series.entries if e.name in leaves}
    file = series.dir / order.SERIES_FILE
    if (leaves and series.listed) or skipped:
        text = (
            file.read_text("utf-8", "surrogateescape")
            if series.listed
            else "".join(f"{e.name}\n" for e in series.entries)
        )
        for name in leaves:
            text = order.without(text, name)
        listed = {line.name: line.text.strip() for line in order.read_lines(text)}  # -pN and -R stay, for 'enable'
        for name in skipped:
            text = order.without(text, name, f"# {listed[name]}  # skipped in the bump to {value}")
        changes[file] = text.encode("utf-8", "surrogateescape")
    if (series.dir / order.LOCK_FILE).exists():
        kept = tuple(
            order.entry_of(series.dir, e.name, written.get(e.name, e.raw), strip=e.strip, reverse=e.reverse)
            for e in series.entries
            if e.name not in leaves | skipped
        )
        changes[series.dir / order.LOCK_FILE] = lock.write(
            Series(dir=series.dir, entries=kept, listed=series.listed), plan
        )
    changes[config.file] = edited(config.file, target)
    read = as_read(series)
    if learned:
        file, before = series.dir / resolutions.FILE, remember.shared_bytes(series.dir)
        after = resolutions.text(resolutions.with_new(resolutions.parse(before), learned))
        if after != before:
            changes[file] = after
            read |= {file: before} if file.exists() else {}
    guard_plain(series, changes)
    return Settled(changes, read, plan.tip)
