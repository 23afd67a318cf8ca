"""The interface of ggml as a tree has it, read from the store without a checkout."""

from __future__ import annotations

import re

from opencoti_patches.base.store import Store
from opencoti_patches.build import abi
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import TreeId, decode
from opencoti_patches.doors import fs

_HEADER = re.compile(r"(.*?)(include|src)/[^/]+\.h")


def rows_of(tree: TreeId, store: Store) -> tuple[str, ...]:
    """The rows of the tree's ggml; the one with the shortest path, if it has several.

    Errors: UsageError ``no-folder`` if it has none; those of ``abi.rows``.
    """
    entries: dict[str, tuple[str, str]] = {}
    for row in store.repo.list_tree(tree).split(b"\0")[:-1]:
        head, raw = row.split(b"\t", 1)
        mode, _, oid = head.decode().split(" ")
        entries[decode(raw)] = (mode, oid)
    tops = [p.removesuffix("include/ggml.h") for p in entries if p == "include/ggml.h" or p.endswith("/include/ggml.h")]
    if not tops:
        raise UsageError("no-folder", "the tree has no ggml (include/ggml.h)", "this is for trees of llama.cpp")
    top = min(tops, key=len)
    wanted = {p: e for p, e in entries.items() if p.startswith(top) and (m := _HEADER.fullmatch(p)) and m[1] == top}
    contents = store.repo.blobs(oid for _, oid in wanted.values())
    with fs.scratch(store.scratch, "abi-") as folder:
        for path, (_, oid) in wanted.items():
            fs.put(folder, f"ggml/{path[len(top) :]}", contents[oid], "100644")
        return abi.rows(folder / "ggml")
