"""The licence texts of all that is in a release: those that the patched tree holds, and those that the project adds.

Every folder of somebody else's code (below ``vendor`` and its like) needs a text: a file of that name in it, one
of the project or the tree that is called after it, or a licence that stands in a comment of its own files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import TreeId, decode, printable
from opencoti_patches.core.words import plural
from opencoti_patches.plan.listing import Listing
from opencoti_patches.series import order

_FILE = re.compile(r"(?i)(?:.*/)?(?:(?:licen[cs]e|copying|notice)[^/.]*(?:\.txt|\.md|\.rst)?|licen[cs]es/[^/]+)")
_FOREIGN = re.compile(r"((?:.*/)?(?:vendor|third[_-]?party|3rdparty|external)/[^/]+)/.+")
_SAYS = re.compile(
    r"Permission is hereby granted|released into the public domain|Redistribution and use in source|"
    r"Licensed under the Apache License|placed in the public domain",
    re.I,
)
_COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*(?://|#)[^\n]*\n)+", re.S | re.M)
_CODE = (".h", ".hpp", ".hh", ".c", ".cc", ".cpp", ".cu", ".cuh", ".py")
_LARGEST = 1 << 20
# files of llama.cpp whose names do not tell which folder they are for
_CALLED = {"nlohmann": "LICENSE-jsonhpp"}
CUDA = "cuda"  # NVIDIA's runtime, where it is linked into a library


class Licence(NamedTuple):
    """A text, and where it stands: a path of the tree, or of the project."""

    where: str
    text: str


def gather(tree: TreeId, store: Store, root: Path, added: Sequence[str]) -> tuple[Licence, ...]:
    """The texts of a tree and the project's files ``added``, sorted by where they stand.

    Errors: Refused ``no-licence``; UsageError ``no-file``.
    """
    listing = Listing(store.repo.list_tree(tree))
    paths = [p for p in listing.paths() if (e := listing.get(p)) and e[0] in ("100644", "100755")]
    named = [p for p in paths if _FILE.fullmatch(p)]
    own = [_of_project(root, path) for path in added]
    foreign: dict[str, list[str]] = {}
    for path in paths:
        if m := _FOREIGN.fullmatch(path):
            foreign.setdefault(m[1], []).append(path)
    lacking = [f for f in sorted(foreign) if not _named_for(f, named, added)]
    inside = [_inside(f, foreign[f], listing, store) for f in lacking]
    missing = [f for f, found in zip(lacking, inside, strict=True) if found is None]
    if missing:
        last = missing[0].rsplit("/", 1)[-1]
        raise Refused(
            "no-licence",
            f"no licence text for {', '.join(map(printable, missing))}",
            f'put it into the project, and name it: [release] licences = ["licences/{printable(last)}.txt"]',
        )
    if not named and not own:
        raise Refused(
            "no-licence",
            "the tree holds no licence text",
            'put it into the project, and name it: [release] licences = ["LICENSE"]',
        )
    oids = {p: e[1] for p in named if (e := listing.get(p))}
    contents = store.repo.blobs(oids.values())
    of_tree = [Licence(p, _text(contents[oid])) for p, oid in oids.items()]
    return tuple(sorted([*of_tree, *own, *(found for found in inside if found)]))


def guard_runtime(licences: Iterable[Licence], component: str) -> None:
    """A library with NVIDIA's runtime linked into it needs NVIDIA's text. Errors: Refused ``no-licence``."""
    if not any(CUDA in licence.where.lower().rsplit("/", 1)[-1] for licence in licences):
        raise Refused(
            "no-licence",
            f"{component}: the CUDA runtime is linked into it, and no licence text is there for that",
            'put NVIDIA\'s EULA.txt into the project, and name it: [release] licences = ["licences/cuda.txt"]',
        )


def _of_project(root: Path, path: str) -> Licence:
    try:
        return Licence(path, _text(order.read_file(root / path, path)[0]))
    except OSError as e:
        raise UsageError(
            "no-file", f"release.licences: cannot read {path}: {e.strerror}", "put the text there"
        ) from None


def _named_for(folder: str, named: Sequence[str], added: Sequence[str]) -> bool:
    name = folder.rsplit("/", 1)[-1].lower()
    called = _CALLED.get(name, name).lower()
    word = re.compile(rf"(?<![a-z0-9]){re.escape(called)}(?![a-z0-9])")
    return any(p.startswith(f"{folder}/") or word.search(p.lower().rsplit("/", 1)[-1]) for p in (*named, *added))


def _inside(folder: str, paths: Sequence[str], listing: Listing, store: Store) -> Licence | None:
    """The comment with a licence in the files of a folder; the first, and the longest where a file has several."""
    oids = {p: e[1] for p in sorted(paths) if p.endswith(_CODE) and (e := listing.get(p))}
    contents = store.repo.blobs(oids.values())
    for path, oid in oids.items():
        found = [m[0] for m in _COMMENT.finditer(decode(contents[oid])) if _SAYS.search(m[0])]
        if found:
            return Licence(path, max(found, key=len))
    return None


def _text(raw: bytes) -> str:
    return raw[:_LARGEST].decode("utf-8", "replace").replace("\r\n", "\n")


def page(licences: Sequence[Licence], title: str) -> bytes:
    """All texts in one file, each below where it stands."""
    parts = [f"Licence texts of {title}\n", f"\n{plural(len(licences), 'text')}, each below where it stands.\n"]
    for licence in licences:
        parts.append(f"\n{'=' * 78}\n{printable(licence.where)}\n{'=' * 78}\n\n{licence.text.rstrip()}\n")
    return "".join(parts).encode("utf-8")
