"""Objects that a makefile would leave stale: many know nothing of headers, and compare an object with its source
alone. So every source that includes a changed file, however deep, gets a new time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.build.includes import READ, SOURCES, Graph, Include, includes_of
from opencoti_patches.core.model import TreeId
from opencoti_patches.doors import fs

_RULES = re.compile(r"(?:^|/)(?:GNUm|[Mm])akefile$|\.mk$")
_TOOLCHAIN = ".cosmocc/"  # it may lie in the tree, and is no part of it


class Trees:
    """The trees that objects in a build folder may come from: that of the last whole build, and those of the
    builds since that did not end well."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "trees.json"

    def begin(self, tip: TreeId) -> list[TreeId]:
        """Note that a build of ``tip`` begins; the trees before it."""
        known = fs.read_json(self._file)
        before = [TreeId(t) for t in known if isinstance(t, str)] if isinstance(known, list) else []
        fs.write(self._file, fs.json_bytes([*(t for t in before if t != tip), tip]))
        return before

    def whole(self, tip: TreeId) -> None:
        """Note that every object is of ``tip`` now."""
        fs.write(self._file, fs.json_bytes([tip]))


def changed(before: Iterable[TreeId], tip: TreeId, store: Store) -> set[str]:
    """The files that differ between ``tip`` and any of the trees before."""
    return {path for tree in before if store.repo.has(tree) for path in store.repo.diff_trees(tree, tip)}


def all_stale(tree: Path, paths: set[str], kind: str) -> bool:
    """Whether a change of ``paths`` makes every object stale: flags stand in a makefile, or in a script, which links
    the object of a source that is gone too."""
    if kind == "script":
        return any(p.endswith(".sh") or (p.endswith(SOURCES) and not (tree / p).exists()) for p in paths)
    return any(_RULES.search(p) for p in paths)


def refresh(tree: Path, paths: set[str], *, anew: bool = False) -> list[str]:
    """Give every source that includes one of ``paths`` (files of ``tree``, or such as were in it) the time of now;
    which these were. ``anew``: every source at all."""
    if not paths and not anew:
        return []
    said: dict[str, tuple[Include, ...]] = {}
    others, links = [], set()
    for path, entry in fs.walk(tree):
        if _TOOLCHAIN in path:
            continue
        if entry.is_symlink():
            said[path] = (Include('"', os.readlink(entry.path)),)
            links.add(path)  # whose times are those of what they point to
        elif path.endswith(READ) and not anew:
            with open(entry.path, "rb") as f:
                said[path] = includes_of(f.read())
        else:
            others.append(path)
    stale = others if anew else Graph(said, others, paths).including(paths) - paths
    touched = sorted(p for p in stale if p.endswith(SOURCES) and p not in links)
    for path in touched:
        os.utime(tree / path)
    return touched
