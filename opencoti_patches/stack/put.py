"""A rearranged series written: proven first, then all of it or none, with its step in the log."""

from __future__ import annotations

from pathlib import Path

from opencoti_patches.base import states
from opencoti_patches.carry.prove import prove
from opencoti_patches.carry.write import as_read, guard_plain
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import PatchName, TreeId, printable
from opencoti_patches.series import lock, order
from opencoti_patches.stack.desk import Desk
from opencoti_patches.stack.model import Change, Settled


def settle(change: Change, desk: Desk, *, dry_run: bool = False) -> Settled:
    """Write a change. Patches that git does not take now must not have been taken before either. Call with the
    store's lock held.

    Errors: Refused ``breaks-later``, ``exists``, ``changed-meanwhile``; CouldNot ``not-proven``, ``disk``. Then
    nothing is changed.
    """
    series, folder = desk.series, desk.series.dir
    before, after = desk.plan(series.entries), desk.plan(change.entries)
    was = {change.renamed.get(v.name, v.name) for v in before.verdicts if v.applied}
    broken = [v for v in after.verdicts if not v.applied and v.name in was - set(change.left)]
    if broken:
        raise Refused(
            "breaks-later",
            f"{printable(broken[0].name)} would not apply any more ({broken[0].cause})",
            "nothing was written",
        )
    had = {e.name: e for e in series.entries}
    new = {e.name: e.raw for e in change.entries if e.name not in had or had[e.name].raw != e.raw}
    for name in (new.keys() - had.keys() - set(change.there)) | change.beside.keys():
        _guard_free(folder / name, name, {folder / n for n in change.gone})
    aside = frozenset(v.name for v in after.verdicts if not v.applied)
    known = {e.raw for e in series.entries}  # under another name, a patch is no new one
    rewritten = {n: raw for n, raw in new.items() if raw not in known}
    plan = prove(
        change.entries,
        {n: raw for n, raw in rewritten.items() if n not in aside},
        aside,
        series,
        desk.base,
        desk.store,
        progress=desk.progress,
    )
    staying = {e.name for e in change.entries}  # another patch may have taken the name
    changes: dict[Path, bytes | None] = {folder / n: None for n in change.gone if n not in staying}
    changes |= {folder / n: raw for n, raw in (*new.items(), *change.beside.items())}
    if change.text is not None:
        changes[folder / order.SERIES_FILE] = change.text
    if not aside and (folder / order.LOCK_FILE).exists():
        changes[folder / order.LOCK_FILE] = lock.write(series._replace(entries=change.entries), plan)
    guard_plain(series, changes)
    changes = {p: raw for p, raw in changes.items() if raw is None or not p.is_file() or p.read_bytes() != raw}
    if not dry_run:
        states.put(changes, desk.store, as_read(series) | desk.read)
    return Settled(
        before=before.tip,
        after=after.tip,
        differs=differs(desk, before.tip, after.tip),
        written=tuple(p for p, raw in changes.items() if raw is not None),
        removed=tuple(p for p, raw in changes.items() if raw is None),
    )


def differs(desk: Desk, a: TreeId | None, b: TreeId | None) -> tuple[str, ...]:
    """The files in which two trees differ."""
    if a is None or b is None or a == b:
        return ()
    return tuple(sorted(desk.store.repo.diff_trees(a, b)))


def _guard_free(path: Path, name: PatchName, leaving: set[Path]) -> None:
    if path not in leaving and (path.is_symlink() or path.exists()):
        raise Refused("exists", f"there is a {printable(name)} in {path.parent.name}/ already", "nothing was changed")
