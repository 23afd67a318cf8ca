"""The interface of ggml as a tree has it, read from the store without a checkout."""

from __future__ import annotations

import re

from opencoti_patches.base.store import Store
from opencoti_patches.build import abi
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import TreeId
from opencoti_patches.doors import fs
from opencoti_patches.plan.listing import Listing

_TOP = "include/ggml.h"
_HEADER = re.compile(r"(?:include|src)/[^/]+\.h")


def rows_if_known(tree: TreeId, store: Store) -> tuple[str, ...] | None:
    """The rows of a build's tree; None where it has no ggml, or libclang or its headers are not there."""
    try:
        return rows_of(tree, store)
    except (UsageError, CouldNot):
        return None


def rows_of(tree: TreeId, store: Store) -> tuple[str, ...]:
    """The rows of the tree's ggml; the one with the shortest path, if it has several.

    Errors: UsageError ``no-folder`` if it has none; those of ``abi.rows``.
    """
    listing = Listing(store.repo.list_tree(tree))
    tops = _tops(listing)
    if not tops:
        raise UsageError("no-folder", f"the tree has no ggml ({_TOP})", "this is for trees of llama.cpp")
    top = min(tops, key=len)
    paths = [p for folder in ("include", "src") for p in listing.under(f"{top}{folder}")]
    wanted = {p: e for p in paths if _HEADER.fullmatch(p[len(top) :]) and (e := listing.get(p))}
    contents = store.repo.blobs(oid for _, oid in wanted.values())
    with fs.scratch(store.scratch, "abi-") as folder:
        for path, (_, oid) in wanted.items():
            fs.put(folder, f"ggml/{path[len(top) :]}", contents[oid], "100644")
        return abi.rows(folder / "ggml")


def has_ggml(tree: TreeId, store: Store) -> bool:
    """Whether there is an interface to know."""
    return bool(_tops(Listing(store.repo.list_tree(tree))))


def _tops(listing: Listing) -> list[str]:
    return [p.removesuffix(_TOP) for p in listing.named("ggml.h") if p == _TOP or p.endswith(f"/{_TOP}")]
