"""How much a patch changes: added and removed lines, file by file."""

from __future__ import annotations

from typing import NamedTuple

from opencoti_patches.core.model import Entry, FilePatch
from opencoti_patches.series.parse import Parsed, parse


class FileCount(NamedTuple):
    """One file of a patch and its lines, as ``git apply --numstat`` counts them; none in a binary."""

    file: FilePatch
    added: int
    removed: int


def counts(entry: Entry, parsed: Parsed | None = None) -> tuple[FileCount, ...]:
    """Lines added and removed in each file, in the patch's order; turned round for a reversed entry.

    unidiff counts. Where it cannot read a patch, or sees other files in it than we do, our own reading
    counts: git accepts patches that unidiff raises on or misreads.
    """
    files = (parsed or parse(entry.raw, entry.strip, entry.reverse)).files
    numbers = _by_unidiff(entry)
    if numbers is None or len(numbers) != len(files):
        numbers = [(sum(len(h.added) for h in f.hunks), sum(len(h.removed) for h in f.hunks)) for f in files]
    return tuple(FileCount(file=f, added=a, removed=r) for f, (a, r) in zip(files, numbers, strict=True))


def _by_unidiff(entry: Entry) -> list[tuple[int, int]] | None:
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        # latin-1 gives every byte a character, so no patch is undecodable
        found = PatchSet.from_string(entry.raw.decode("latin-1"))
    except (UnidiffParseError, ValueError, IndexError, AttributeError):
        return None
    pairs = [(f.added, f.removed) for f in found]
    return [(r, a) for a, r in pairs] if entry.reverse else pairs
