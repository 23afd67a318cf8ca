"""Objects that a makefile would leave stale: many know nothing of headers, and compare an object with its source
alone. So every source that includes a changed file, however deep, gets a new time.

Which file an ``#include`` means is not looked up: every file of the tree whose path ends so is taken for it. Too
much is compiled rather than too little.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from opencoti_patches.base.store import Store
from opencoti_patches.core.model import TreeId
from opencoti_patches.doors import fs

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*(?:include|import)[ \t]*[<"]([^>"\n]+)[>"]', re.M)
_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".cu", ".m", ".mm", ".S", ".s")
_HEADERS = (".h", ".hh", ".hpp", ".hxx", ".cuh", ".inc", ".inl", ".def", ".metal", ".comp", ".glsl")
_RULES = re.compile(r"(?:^|/)(?:GNUm|[Mm])akefile$|\.mk$")


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
        return any(p.endswith(".sh") or (p.endswith(_SOURCES) and not (tree / p).exists()) for p in paths)
    return any(_RULES.search(p) for p in paths)


def refresh(tree: Path, paths: set[str], *, anew: bool = False) -> list[str]:
    """Give every source that includes one of ``paths`` (files of ``tree``) the time of now; which these were.
    ``anew``: every source at all."""
    if anew:
        return _touch(tree, (path for path, _ in _files(tree) if path.endswith(_SOURCES)))
    if not any(p.endswith((*_HEADERS, *_SOURCES)) for p in paths):
        return []
    including = _including(tree)
    reached, todo = set(paths), list(paths)
    while todo:
        for other in including.get(todo.pop(), ()):
            if other not in reached:
                reached.add(other)
                todo.append(other)
    return _touch(tree, (p for p in reached - paths if p.endswith(_SOURCES)))


def _touch(tree: Path, paths: Iterable[str]) -> list[str]:
    touched = sorted(paths)
    for path in touched:
        os.utime(tree / path)
    return touched


def _including(tree: Path) -> Mapping[str, list[str]]:
    """For each file of a tree those that may include it."""
    wanted: dict[str, list[str]] = {}  # last component of an include -> files with one
    said: dict[str, list[str]] = {}  # file -> what it includes
    files = []
    for path, entry in _files(tree):
        files.append(path)
        with open(entry.path, "rb") as f:
            names = [m.decode("utf-8", "surrogateescape") for m in _INCLUDE.findall(f.read())]
        said[path] = [_plain(n) for n in names]
        for name in said[path]:
            wanted.setdefault(name.rsplit("/", 1)[-1], []).append(path)
    found: dict[str, list[str]] = {}
    for path in files:
        for other in wanted.get(path.rsplit("/", 1)[-1], ()):
            if any(path == n or path.endswith(f"/{n}") for n in said[other]):
                found.setdefault(path, []).append(other)
    return found


def _files(tree: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """The sources and headers of a tree, without those of a toolchain that lies in it."""
    for path, entry in fs.walk(tree):
        if path.endswith((*_SOURCES, *_HEADERS)) and not entry.is_symlink() and ".cosmocc/" not in path:
            yield path, entry


def _plain(name: str) -> str:
    """An include without its way up: ``../x/y.h`` may be any ``x/y.h``."""
    return re.sub(r"^(?:\.{1,2}/)+", "", name)
