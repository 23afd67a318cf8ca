"""The forward patch between two trees, for ``-p1``, as short as git writes it."""

from __future__ import annotations

import re

from opencoti_patches.core.model import TreeId
from opencoti_patches.doors.git import Repository
from opencoti_patches.series.parse import parse

_INDEX = re.compile(rb"^index ([0-9a-f]{10})[0-9a-f]*\.\.([0-9a-f]{10})[0-9a-f]*", re.M)


def forward(repo: Repository, before: TreeId, after: TreeId) -> bytes:
    """The diff from one tree to the other, renames found; ids are abbreviated where git needs no whole
    ones (it does for binary files)."""
    diff = repo.diff_text(before, after, renames=True)
    parts: list[bytes] = []
    at = 0
    for f in parse(diff).files:
        head = diff[f.span[0] : f.hunks[0].span[0] if f.hunks else f.span[1]]
        short = head if f.binary else _INDEX.sub(rb"index \1..\2", head, count=1)
        parts += [diff[at : f.span[0]], short]
        at = f.span[0] + len(head)
    return b"".join(parts) + diff[at:]
