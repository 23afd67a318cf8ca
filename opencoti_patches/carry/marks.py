"""A patch in conflict as git merges it, for a person: what fits is in, the rest stands between diff3 markers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from opencoti_patches.carry.model import Marked
from opencoti_patches.carry.over import Sides
from opencoti_patches.core.model import IndexEntry, PatchName, TreeId
from opencoti_patches.doors.git import Repository
from opencoti_patches.plan.replay import put
from opencoti_patches.series.parse import Parsed


def marked(name: PatchName, exact: Parsed, sides: Sides, repo: Repository, folder: Path) -> Marked:
    """The files of a patch, ``exact`` with its hunks at their places in the old tree. ``folder`` takes a few
    temporary files."""
    files: dict[str, tuple[str, bytes] | None] = {}
    conflicts: list[str] = []
    for f in exact.files:
        path = f.new or f.old or ""
        before = list(sides.old(f.old) or []) if f.old else []
        now = sides.now(f.old) if f.old else sides.now(f.new or "")
        after = list(before)
        if f.binary or not all(put(after, h, 0) for h in f.hunks):
            conflicts.append(path)
            continue
        if f.operation == "delete":
            if now is None or now == b"".join(before):
                files[path] = None
            else:  # upstream changed what the patch deletes
                conflicts.append(path)
            continue
        text, clean = repo.merge_file(now or b"", b"".join(before), b"".join(after), name, folder)
        held = sides.state.get(f.old or path)
        files[path] = (f.new_mode or (held[0] if held else "100644"), text)
        if f.operation == "rename" and f.old and f.old != path:
            files[f.old] = None
        if not clean or (now is None and f.old):
            conflicts.append(path)
    return Marked(files=files, conflicts=tuple(conflicts))


def tree_of(before: TreeId, files: Mapping[str, tuple[str, bytes] | None], repo: Repository) -> TreeId:
    """A tree with these files changed: mode and content, None for one that goes."""
    given = {p: held for p, held in files.items() if held is not None}
    oids = repo.hash_blobs([content for _, content in given.values()])
    changes: dict[str, IndexEntry | None] = dict.fromkeys(files)
    changes |= {p: (mode, oid) for (p, (mode, _)), oid in zip(given.items(), oids, strict=True)}
    return repo.tree_with(before, changes)
