"""A patch in conflict as git merges it, for a person: what fits is in, the rest stands between diff3 markers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from opencoti_patches.carry import doubtful, home, threeway
from opencoti_patches.carry.in_way import can_link, in_way, left_alone, obstacle, other_kind
from opencoti_patches.carry.merged import markers
from opencoti_patches.carry.model import Marked
from opencoti_patches.carry.place import Brought
from opencoti_patches.carry.tally import Sides
from opencoti_patches.core.model import NOT_TEXT, FilePatch, IndexEntry, PatchName, TreeId, blob_id, is_full_id
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import Repository
from opencoti_patches.plan.replay import Lines, put
from opencoti_patches.series.parse import Parsed


def marked(name: PatchName, exact: Parsed, sides: Sides, repo: Repository, folder: Path) -> Marked:
    """The files of a patch, ``exact`` with its hunks at their places in the old tree. What git cannot merge, or what
    has no place in the tree, stays as upstream has it, without markers. ``folder`` takes a few temporary files."""
    files: dict[str, tuple[str, bytes] | None] = {}
    olds: dict[str, Lines] = {}  # what parts before left; a file's second part goes on from there
    conflicts: list[str] = []
    gone: list[str] = []  # files to be deleted that are not there: only where nothing else does they want a person
    for part in exact.files:
        f = home.at_home(part, exact, sides)
        path, moves = f.new or f.old or "", f.operation in ("rename", "copy")
        if not all(fs.plain(p) for p in {path, f.old, f.new} if p is not None):
            conflicts.append(path or next(filter(None, reversed(f.raw_paths)), name))
            continue  # it names no file, or one that git refuses
        held = sides.held(f.old or path)
        before, now = list(sides.old(part.old) or []) if part.old else [], sides.now(f.old or path)
        if f.old in olds and not moves:
            before, now = list(olds[f.old]), _content(files, f.old)
        after = list(before)
        fits = not f.binary and all(put(after, h, 0) for h in f.hunks)
        whole = blob_id(b"".join(x for h in f.hunks for x in h.old))
        if f.operation == "delete" and not held:
            gone.append(path)
            continue
        if f.operation == "delete" and f.old != part.old:
            conflicts.append(path)
            continue
        if f.operation == "delete" and held and held[1] == whole:  # a link, too
            files[path] = None
            continue
        blocked = other_kind(f, held) or bool(in_way(path, sides.state, exact.files))
        if not blocked and left_alone(f, held) and (f.operation == "delete" or _at_hand(f, repo)):
            mode, oid = f.new_mode or (held[0] if held else "100644"), f.new_blob or ""
            files[path] = None if f.operation == "delete" else (mode, repo.blobs([oid])[oid])
            continue
        # a link is made, if it can be one, and never merged
        if any(mode in NOT_TEXT for mode in (f.old_mode, f.new_mode, held and held[0])):
            fits = fits and f.operation == "create" and can_link(b"".join(after))
        if not fits or blocked:
            conflicts.append(path)
            continue
        olds[path] = after
        if f.operation == "delete":
            if now == b"".join(before):
                files[path] = None
            elif now is not None:  # upstream changed what the patch deletes
                conflicts.append(path)
            continue
        if now is None and f.old and before == after:  # nothing to merge, and no empty file
            conflicts.append(path)
            continue
        merged: tuple[bytes, bool] | None = (now or b"", True)
        ours = after if now is None else _following(f, (before, now, after), sides)
        if before != after or now is None:
            merged = repo.merge_file(now or b"", b"".join(before), b"".join(ours), name, folder)
        if merged is not None and not merged[1] and now is not None:
            merged = _fewer(
                merged, f, (before, now, ours), sides, lambda a, b, c: repo.merge_file(a, b, c, name, folder)
            )
        there = sides.now(path) if moves and not _goes(path, exact) else None
        if merged is not None and there is not None:  # upstream has another file of that name
            merged = repo.merge_file(there, b"", merged[0], name, folder)
        if merged is None:
            conflicts.append(path)
            continue
        files[path] = (f.new_mode or (held[0] if held else "100644"), merged[0])
        if f.operation == "rename" and f.old and f.old not in files and held:
            files[f.old] = None
        if not merged[1] or (now is None and f.old) or (moves and f.old != part.old):
            conflicts.append(path)
    going = {p for p, held_ in files.items() if held_ is None}
    for path in [p for p, held_ in files.items() if held_ is not None and obstacle(p, sides.state, going)]:
        del files[path]  # what the patch takes out of its way stays, for upstream changed that
        conflicts.append(path)
    return Marked(files=files, conflicts=tuple(dict.fromkeys(conflicts or gone or files)))


def _following(f: FilePatch, three: tuple[Lines, bytes, Lines], sides: Sides) -> Lines:
    """The patched one of ``three`` (before, now, patched), with added lines as they follow upstream's edits of the file: as
    the report has them, and a merge would not."""
    before, now, after = three
    if b"".join(before) == now:
        return after
    follower = sides.follower(before, now)
    there: dict[int, list[Brought]] = {}
    for b in threeway.bring(f, follower.a, follower, threeway.NOWHERE).brought:
        there.setdefault(b.was, []).append(b)
    ours = []
    for c in threeway.changes_of(f):
        b, *others = there.get(c.lo, [Brought(c.hunk, c.lo, c.hi, c.added, "")])
        follows = not (others or b.done or b.moved) and follower.a.new[b.lo : b.hi] == before[c.lo : c.hi]
        ours.append(Brought(c.hunk, c.lo, c.hi, b.added if follows else c.added, ""))
    return threeway.applied(before, ours)


def _fewer(
    merged: tuple[bytes, bool],
    f: FilePatch,
    three: tuple[Lines, bytes, Lines],
    sides: Sides,
    merge: Callable[[bytes, bytes, bytes], tuple[bytes, bool] | None],
) -> tuple[bytes, bool]:
    """The merge of a file, before, now and patched, with what has a certain place in all ``three`` of them, if git leaves
    less between markers then: it takes for a conflict what merely stands beside an edit of upstream's. Something is left,
    unless all has such a place: what wants a look must not look done."""
    before, now, after = three
    follower = sides.follower(before, now)
    alignment = follower.a
    changes = {c.lo: c for c in threeway.changes_of(f)}
    result = threeway.bring(f, alignment, follower, threeway.NOWHERE)
    sure = [b for b in result.brought if b.sure]
    doubted = {number for number, _ in doubtful.doubts(f, alignment, sure)}
    placed = [b for b in sure if not b.done and b.hunk not in doubted and b.added == changes[b.was].added]
    if not placed:
        return merged
    stood = [b._replace(lo=b.was, hi=changes[b.was].hi) for b in placed]
    again = merge(
        b"".join(threeway.applied(alignment.new, placed)), b"".join(threeway.applied(before, stood)), b"".join(after)
    )
    if again is None or (again[1] and len(placed) < len(changes)):
        return merged
    return again if markers(again[0]) < markers(merged[0]) else merged


def _at_hand(f: FilePatch, repo: Repository) -> bool:
    """Whether what a binary change makes is in the store."""
    return is_full_id(f.new_blob or "") and repo.has(f.new_blob or "")


def _content(files: Mapping[str, tuple[str, bytes] | None], path: str) -> bytes | None:
    held = files.get(path)
    return None if held is None else held[1]


def _goes(path: str, parsed: Parsed) -> bool:
    """Whether a patch takes a file away."""
    return any(f.old == path and f.operation in ("rename", "delete") for f in parsed.files)


def tree_of(before: TreeId, files: Mapping[str, tuple[str, bytes] | None], repo: Repository) -> TreeId:
    """A tree with these files changed: mode and content, None for one that goes."""
    given = {p: held for p, held in files.items() if held is not None}
    oids = repo.hash_blobs([content for _, content in given.values()])
    changes: dict[str, IndexEntry | None] = dict.fromkeys(files)
    changes |= {p: (mode, oid) for (p, (mode, _)), oid in zip(given.items(), oids, strict=True)}
    return repo.tree_with(before, changes)
