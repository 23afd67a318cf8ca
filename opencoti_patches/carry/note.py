"""The note line that tells a reader of a patch's header when and why its hunks were written anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Entry, PatchName
from opencoti_patches.series.diffstat import kept_up
from opencoti_patches.series.header import with_note
from opencoti_patches.series.naming import number_of
from opencoti_patches.series.parse import parse


def today() -> str:
    """The date of a note; SOURCE_DATE_EPOCH sets it for reproducible runs."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    when = datetime.fromtimestamp(int(epoch), UTC) if epoch and epoch.isdecimal() else datetime.now()
    return when.strftime("%Y-%m-%d")


def note(project: str, before: PatchName | None, reasons: Sequence[str], *, adapted: bool, tag: str = "") -> str:
    """``NAME note (DATE[, TAG]): hunk regenerated via snapshot-diff against the post-NNNN bootstrap; …``"""
    if not all(c.isprintable() for c in project + tag):
        raise UsageError("bad-note", "a note takes one line of printable text", "give --note a word, such as an issue")
    when = today() + (f", {tag}" if tag else "")
    content = "Content adapted." if adapted else "Content unchanged."
    why = "; ".join(dict.fromkeys(reasons)) or "it no longer applied"
    return (
        f"{project} note ({when}): hunk regenerated via snapshot-diff against {bootstrap_of(before)}; {why}. {content}"
    )


def headed(entry: Entry, raw: bytes, line: str) -> bytes:
    """New bytes that stand under the header of ``entry``, with a note in it; the rest of the header stays, but for a
    diffstat as git writes it, which follows."""
    old = parse(entry.raw, entry.strip).header
    return with_note(kept_up(old, entry.raw, raw) or old, line) + raw[len(old) :]


def bootstrap_of(before: PatchName | None) -> str:
    """How people call the tree after a patch."""
    if before is None:
        return "the bare base"
    stem = before.rsplit("/", 1)[-1]
    return f"the post-{stem.split('-', 1)[0] if number_of(before) is not None else stem.rsplit('.', 1)[0]} bootstrap"
