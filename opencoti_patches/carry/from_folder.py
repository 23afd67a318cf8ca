"""A patch from a folder that somebody edited: exactly the difference of two snapshots."""

from __future__ import annotations

import re
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry import guards, note
from opencoti_patches.carry.compose import composed
from opencoti_patches.carry.merged import left_over
from opencoti_patches.carry.model import Row
from opencoti_patches.carry.trial import judged
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import Entry, PatchName, Series, TreeId, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.core.shell import word
from opencoti_patches.plan.strict import check
from opencoti_patches.series.order import entry_of
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.tree import trees
from opencoti_patches.tree.worktree import WorkTree

AS_BEFORE = "as before"  # ends the reason of a patch that the run has nothing to do with


class Snapshot(NamedTuple):
    """An edited folder: the tree it began as, the tree it is now, the files that are new in it, and what was merged into
    it to be resolved, if that was more than it began as."""

    began: TreeId
    now: TreeId
    new_files: tuple[str, ...]
    laid: TreeId | None = None


def take(work: WorkTree) -> Snapshot:
    """Take the snapshot. Errors: UsageError ``unknown-folder`` if the folder was not made by bootstrap
    or apply on this store."""
    work.finish()
    at = work.at()
    if at is None:
        raise UsageError(
            "unknown-folder",
            f"{work.folder} was not made by this project",
            "make a folder to edit in with 'opencoti-patches bootstrap --to PATCH DIR'",
        )
    work.guard_files(at.also)
    now, new = work.snapshot(also=at.also)
    return Snapshot(began=at.tree, now=now, new_files=tuple(new), laid=TreeId(at.laid) if at.laid else None)


def rewritten(
    series: Series,
    name: PatchName,
    snapshot: Snapshot,
    base: TreeId,
    store: Store,
    *,
    project: str,
    tag: str,
) -> Row:
    """Patch ``name`` as the difference between the tree before it and the snapshot.

    Errors: Refused ``wrong-bootstrap`` if the folder began as neither the tree before the patch nor the
    tree after it: its difference would hold other patches' changes.
    """
    entry = next(e for e in series.entries if e.name == name)
    previous = trees.before(series, name)
    before = trees.tree_after(series, previous, base, store)
    began = {before: "before"} | _after(series, name, base, store)
    if snapshot.began not in began:
        raise Refused(
            "wrong-bootstrap",
            f"the folder is neither the tree before {name} nor the tree after it",
            _make_again(name if len(began) > 1 else previous),
        )
    if snapshot.now == before:
        raise Refused(
            "no-change",
            f"the folder is the tree before {name}: there is nothing for the patch to do",
            "edit the folder first",
        )
    guard_markers(before, snapshot, store)
    old = parse(entry.raw, entry.strip, entry.reverse)
    if old.defects:  # what cannot be read of it is not kept beside what is written
        entry = entry._replace(raw=old.header)
    raw = composed(entry, before, snapshot.now, store.repo)
    if raw == entry.raw:
        return Row(name=name, status="kept", reason="the folder is what the patch makes")
    new = parse(raw, entry.strip, entry.reverse)
    found = guards.compare(old, new)
    adapted = (
        not found.same or bool(found.lost or old.defects) or _beside_lines(entry.raw, old) != _beside_lines(raw, new)
    )
    reason = "the folder's edits" if adapted else "same content"
    if adapted and snapshot.began == before and len(began) > 1 and not _shares(old, new):
        reason += ", which replace all that the patch added"
    if not adapted and _numbers_only(entry, raw):
        return Row(
            name=name,
            status="renumbered",
            reason="line numbers and index lines only",
            tree=snapshot.now,
            raw=raw,
        )
    return Row(
        name=name,
        status="adapted" if adapted else "regenerated",
        reason="; ".join([reason, *(f"dropped {x}" for x in found.lost)]),
        interdiff=found.interdiff,
        tree=snapshot.now,
        raw=note.headed(entry, raw, note.note(project, previous, [reason], adapted=adapted, tag=tag)),
    )


def guard_markers(before: TreeId, snapshot: Snapshot, store: Store) -> None:
    """Errors: Refused ``markers`` if a conflict marker came into a file since the tree ``before``. Where they were laid
    into the folder, it is known how many lines between the sides belong to file and patch: one that is left is found."""
    changed = store.repo.diff_trees(before, snapshot.now)
    laid = store.repo.diff_trees(before, snapshot.laid) if snapshot.laid else {}
    sides = {path: (was, laid.get(path, (was, was))[1], now) for path, (was, now) in changed.items()}
    contents = store.repo.blobs(e[1] for three in sides.values() for e in three if e and e[0] != "160000")
    for path, three in sides.items():
        if line := left_over(*(contents.get(e[1], b"") if e else b"" for e in three)):
            raise Refused(
                "markers",
                f"{printable(path)} line {line} still has a conflict marker",
                "resolve it, then run this again",
            )


def among(series: Series, row: Row, base: TreeId, store: Store, *, progress: Progress) -> list[Row]:
    """The rewritten patch among the others. These stay as they are; those that do not apply on what it
    makes now are in conflict."""
    if row.raw is None:
        return [row if e.name == row.name else Row(name=e.name, status="kept") for e in series.entries]
    raw = row.raw
    entries = tuple(
        entry_of(series.dir, e.name, raw, strip=e.strip, reverse=e.reverse) if e.name == row.name else e
        for e in series.entries
    )
    before = {v.name: v.applied for v in check(series, base, store, progress=progress).verdicts}
    plan = judged(series._replace(entries=entries), {row.name}, base, store, progress=progress)
    broken = {v.name: v.cause for v in plan.verdicts if not v.applied and v.name != row.name}

    def other(name: PatchName) -> Row:
        if name not in broken:
            return Row(name=name, status="kept")
        if not before[name]:
            return Row(name=name, status="conflict", reason=f"does not apply ({broken[name]}), {AS_BEFORE}")
        why = f"does not apply with {row.name} as it is now ({broken[name]})"
        return Row(name=name, status="conflict", reason=why, next="opencoti-patches regen")

    return [row if e.name == row.name else other(e.name) for e in series.entries]


def _shares(old: Parsed, new: Parsed) -> bool:
    """Whether any added line of the one, blank ones aside, is one of the other's."""
    a, b = ({x for f in p.files for h in f.hunks for x in h.added if x.strip()} for p in (old, new))
    return bool(a & b) or not a


def _beside_lines(raw: bytes, parsed: Parsed) -> list[tuple[str | bytes, ...]]:
    """What a patch does beside adding and removing lines: the files it makes, moves or removes, their
    modes, binary contents."""
    return sorted(
        (
            str(f.path),
            f.operation,
            str(f.old),
            f.new_mode or "100644" if f.operation == "create" else "",
            str(f.new_mode) if f.operation != "create" and f.old_mode != f.new_mode else "",
            re.sub(rb"\Aindex .*\n", b"", raw[f.span[0] : f.span[1]].partition(b"\nGIT binary patch\n")[2]),
        )
        for f in parsed.files
    )


def _after(series: Series, name: PatchName, base: TreeId, store: Store) -> dict[TreeId, str]:
    try:
        return {trees.tree_after(series, name, base, store): "after"}
    except Refused:  # the patch does not apply: that is why it is being rewritten
        return {}


def _make_again(previous: PatchName | None) -> str:
    return f"make it again: opencoti-patches bootstrap {f'--to {word(previous)} ' if previous else ''}DIR"


def _numbers_only(entry: Entry, raw: bytes) -> bool:
    def bodies(data: bytes) -> list[tuple[str, tuple[bytes, ...]]]:
        return [(f.path, h.lines) for f in parse(data, entry.strip).files for h in f.hunks]

    return bodies(entry.raw) == bodies(raw)
