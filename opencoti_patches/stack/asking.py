"""Whose a line is, and where a text comes from or goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import Entry, PatchName, Series, TreeId, encode, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.core.words import plural
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.plan.strict import check
from opencoti_patches.series.parse import parse
from opencoti_patches.stack.weave import BASE, Woven, store_listing
from opencoti_patches.tree import trees


class Owned(NamedTuple):
    """A line of a file, and the patch that put it there; None: it is the base's own."""

    text: bytes
    patch: PatchName | None


def annotate(
    series: Series, wanted: str, base: TreeId, store: Store, *, progress: Progress
) -> tuple[str, tuple[Owned, ...]]:
    """A file after the last patch of ``series``, by its path or the end of it: that path, and whose each line is.

    Errors: Refused ``does-not-apply``, ``no-lines``; UsageError ``no-file``.
    """
    plan = check(series, base, store, progress=progress)
    listing = store_listing(trees.applied(plan), store)
    paths = [wanted] if listing.get(wanted) else [p for p in listing.paths() if p.endswith(f"/{wanted}")]
    if len(paths) != 1:
        near = f"{', '.join(map(printable, paths[:3]))}{', …' if len(paths) > 3 else ''}"
        raise UsageError(
            "no-file",
            f"the tree has {plural(len(paths), 'file') if paths else 'no file'} called {printable(wanted)}",
            f"give more of the path: {near}" if paths else "give its path in the tree",
        )
    mode, oid = listing.get(paths[0]) or ("", "")
    content = b"" if mode == "160000" else store.repo.blobs([oid])[oid]
    woven = Woven(series.entries, plan, base, store)
    weave = woven.goto(len(series.entries))
    if paths[0] not in weave.last:
        owned = tuple(Owned(line, None) for line in lines_of(content))
    else:
        cells = weave.cells(paths[0])
        if cells is None or [c.line for c in cells[:-1]] != lines_of(content):
            raise Refused(
                "no-lines",
                f"{printable(paths[0])} is changed as a whole, so no line has an owner",
                "'opencoti-patches list -v' shows which patches change it",
            )
        names = [e.name for e in series.entries]
        owned = tuple(Owned(c.line, None if c.owner == BASE else names[c.owner]) for c in cells[:-1])
    return paths[0], owned


class Hit(NamedTuple):
    """A line that a patch adds (``+``) or removes (``-``): its number in the file behind, or before, the patch as the
    patch has it, and in the patch file."""

    patch: PatchName
    file: str
    sign: str
    line: int
    patch_line: int
    text: bytes


def find(entries: Sequence[Entry], text: str, *, regex: bool, signs: str) -> list[Hit]:
    """The lines with ``text`` in them that patches add or remove, in order. Errors: UsageError ``bad-regex``."""
    holds: Callable[[bytes], object]
    if regex:
        try:
            holds = re.compile(encode(text)).search
        except re.error as e:
            raise UsageError("bad-regex", f"{text!r} is no regular expression: {e}", "see Python's re") from None
    else:
        wanted = encode(text)

        def holds(line: bytes) -> object:
            return wanted in line

    return [hit for e in entries for hit in _lines(e) if hit.sign in signs and holds(hit.text)]


def _lines(entry: Entry) -> Iterator[Hit]:
    for f in parse(entry.raw, entry.strip, entry.reverse).files:
        for h in f.hunks:
            old, new = max(h.old_start, 1), max(h.new_start, 1)
            for i, line in enumerate(h.lines, h.at_line + 1):
                kind, text = line[:1], line[1:].rstrip(b"\r\n")
                if kind == b"+":
                    yield Hit(entry.name, f.new or "", "+", new, i, text)
                elif kind == b"-":
                    yield Hit(entry.name, f.old or "", "-", old, i, text)
                old += kind != b"+"
                new += kind != b"-"
