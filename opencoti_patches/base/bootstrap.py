"""From the configuration to the base tree: each source once, then from the store's records.

A record is a small JSON file in ``store.bases``, named by the sha256 of what it answers: for a source,
``Source.key()``; for several sources together, their trees and places. It is written only after the
objects are. Writing functions want the one writer's lock held (``Store.writing``).
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Config, Source
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import EMPTY_TREE, IndexEntry, TreeId, decode, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs

_RULES = 1  # raise it when the same source would give another tree than before


class Kind(Protocol):
    """What a module for a kind of source offers."""

    def make_tree(self, source: Source, store: Store, *, progress: Progress) -> tuple[TreeId, dict[str, str]]:
        """Bring the source into the store. Returns (its tree, facts that its record keeps)."""


def base_if_ready(config: Config, store: Store) -> TreeId | None:
    """The base tree if the records know it: no git, no network, nothing written.

    A ``directory`` source is walked, to see whether it is still what was recorded. None: call
    ``ensure_base``, which says what is wrong if something is.
    """
    trees = [_recorded(source, store) for source in config.sources]
    known = [tree for tree in trees if tree is not None]
    if len(known) != len(trees):
        return None
    tree = _combined(config, known, store)
    return tree if tree is not None and _listed(tree, store) else None


def ensure_base(config: Config, store: Store, *, progress: Progress) -> TreeId:
    """The base tree of all sources, each under its ``into``; fetched, verified and stored if need be.

    Errors: UsageError ``missing-sha256``, ``overlap``, …; CouldNot where a source cannot be had.
    """
    store.open()
    recorded = [_recorded(source, store) for source in config.sources]
    if not all(tree in (None, EMPTY_TREE) or store.repo.has(tree) for tree in recorded):
        _start_anew(store)
    known = [source_tree(source, store, progress=progress) for source in config.sources]
    tree = _combined(config, known, store)
    if tree is not None and tree not in (EMPTY_TREE, *known) and not store.repo.has(tree):
        tree = None
    if tree is None:
        tree = _combine(config, known, store)
        _write(store, _combined_name(config, known), {"tree": tree})
    _list(tree, store)
    return tree


def source_tree(source: Source, store: Store, *, progress: Progress) -> TreeId:
    """The tree of one source, without its ``into``. Errors: as ``ensure_base``."""
    if (tree := _recorded(source, store)) is not None:
        return tree
    if _objects(store) is None and _objects_file(store).exists():
        _start_anew(store)
    store.open()
    tree, facts = _kind(source).make_tree(source, store, progress=progress)
    _write(
        store, _name(source.key()), {"tree": tree, "label": printable(source.label), "origin": source.origin, **facts}
    )
    return tree


def source_commit(source: Source, store: Store) -> str:
    """The commit that the recorded tree of a git source was made of; empty if there is no record."""
    known = _read(store, _name(source.key()))
    return str(known.get("commit", "")) if known else ""


def source_sha256(source: Source, store: Store, *, progress: Progress) -> str:
    """The sum of the file behind a pypi-sdist or archive source, pinned or not yet; the file is kept, so
    that the source with this sum needs no network. Errors: as ``ensure_base``."""
    from opencoti_patches.base import archive, pypi

    store.open()
    obtain = pypi.obtain if source.kind == "pypi-sdist" else archive.obtain
    return obtain(source, store, progress=progress)[1]


def _kind(source: Source) -> Kind:
    # Modules of one Protocol, each imported only when a tree must be made of its kind.
    if source.kind == "pypi-sdist":
        from opencoti_patches.base import pypi

        return pypi
    if source.kind == "git":
        from opencoti_patches.base import gitsource

        return gitsource
    if source.kind == "archive":
        from opencoti_patches.base import archive

        return archive
    from opencoti_patches.base import directory

    return directory


def _recorded(source: Source, store: Store) -> TreeId | None:
    known = _read(store, _name(source.key()))
    if known is None:
        return None
    if source.origin and known.get("origin") != source.origin:
        return None  # from when a download counted for any version of that sum
    if source.kind == "directory":
        from opencoti_patches.base import directory

        if known.get("fingerprint") != directory.fingerprint(source, store):
            return None
    return TreeId(known["tree"])


def _combined(config: Config, trees: list[TreeId], store: Store) -> TreeId | None:
    if len(trees) == 1 and not config.sources[0].into:
        return trees[0]
    known = _read(store, _combined_name(config, trees))
    return TreeId(known["tree"]) if known else None


def _combined_name(config: Config, trees: list[TreeId]) -> str:
    return _name("\n".join(f"{tree} {source.into}" for source, tree in zip(config.sources, trees, strict=True)))


def _combine(config: Config, trees: list[TreeId], store: Store) -> TreeId:
    """One tree of all: the first source as a whole, the files of the others one by one beside it."""
    changes: dict[str, IndexEntry | None] = {}
    first = config.sources[0]
    if trees[0] != EMPTY_TREE:
        changes[first.into] = ("040000", trees[0])
    if len(trees) > 1:
        owner: dict[str, str] = {}  # of files
        folders: dict[str, str] = {}
        for source, tree in zip(config.sources, trees, strict=True):
            for path, entry in _entries(store.repo.list_tree(tree)):
                full = f"{source.into}/{path}" if source.into else path
                parts = full.split("/")
                above = ["/".join(parts[:i]) for i in range(1, len(parts))]
                other = owner.get(full) or folders.get(full) or next((owner[a] for a in above if a in owner), None)
                if other is not None:
                    raise UsageError(
                        "overlap",
                        f"two base sources hold {printable(full)}: {printable(other)} and {printable(source.label)}",
                        "give one of them another 'into', or a 'subdir' without it",
                    )
                owner[full] = source.label
                folders.update(dict.fromkeys(above, source.label))
                if source is not first:
                    changes[full] = entry
    return store.repo.tree_with(EMPTY_TREE, changes)


def _entries(listing: bytes) -> list[tuple[str, IndexEntry]]:
    rows = [row.split(b"\t", 1) for row in listing.split(b"\0")[:-1]]
    heads = [(head.decode().split(" "), decode(path)) for head, path in rows]
    return [(path, (head[0], head[2])) for head, path in heads]


def _list(tree: TreeId, store: Store) -> None:
    if not _listed(tree, store):
        listing = store.repo.list_tree(tree)
        fs.write(store.listings / tree, listing, sync=False)
        _write(store, _name(f"listing of {tree}"), {"tree": tree, "sum": _sum(listing)})


def _listed(tree: TreeId, store: Store) -> bool:
    """Whether the listing is there and is as it was written: a damaged one would make files missing."""
    known = _read(store, _name(f"listing of {tree}"))
    try:
        return known is not None and known.get("sum") == _sum((store.listings / tree).read_bytes())
    except OSError:
        return False


def _sum(data: bytes) -> str:
    return f"{len(data)} {zlib.crc32(data):08x}"  # against accidents; milliseconds count in a warm check


def _name(key: str) -> str:
    return hashlib.sha256(f"{_RULES}\n{key}".encode("utf-8", "surrogateescape")).hexdigest()


def _read(store: Store, name: str) -> dict[str, Any] | None:
    known = fs.read_json(store.bases / name)
    good = isinstance(known, dict) and isinstance(known.get("tree"), str) and len(known["tree"]) == 40
    return known if good and known.get("objects") == _objects(store) else None


def _write(store: Store, name: str, record: Mapping[str, str]) -> None:
    objects = _objects(store)
    if objects is None:
        objects = os.urandom(16).hex()
        fs.write(_objects_file(store), objects.encode(), sync=False)
    path: Path = store.bases / name
    fs.write(path, json.dumps({**record, "objects": objects}, indent=1).encode() + b"\n", sync=False)


def _objects(store: Store) -> str | None:
    """Which repository it is: records of one that was deleted and made anew count for nothing."""
    try:
        stamp = _objects_file(store).read_text()
        found = os.listdir(store.objects / "objects")
        loose = any(len(name) == 2 for name in found)
        some = loose or any(p.endswith(".pack") for p in os.listdir(store.objects / "objects" / "pack"))
    except OSError:
        return None
    return stamp if some and (store.objects / "HEAD").exists() else None


def _start_anew(store: Store) -> None:
    """Give up a repository that has lost objects, and what was recorded of it."""
    import shutil

    for folder in (store.objects, store.verdicts):
        shutil.rmtree(folder, ignore_errors=True)
    store.open()


def _objects_file(store: Store) -> Path:
    return store.objects / "opencoti-objects"
