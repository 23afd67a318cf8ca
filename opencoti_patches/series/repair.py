"""Damage that mail programs and editors do to patch files, undone and said."""

from __future__ import annotations

from opencoti_patches.series.parse import parse


def repaired(raw: bytes, strip: int = 1) -> tuple[bytes, tuple[str, ...]]:
    """The patch without the damage, and in words what was mended; the same bytes if nothing was.

    CRLF damage is told from a patch to CRLF files by its own lines ("diff --git", "@@"): git never
    writes those with a CR.
    """
    notes = []
    parsed = parse(raw, strip)
    own = [
        raw[h.span[0] : raw.index(b"\n", h.span[0]) + 1]
        for f in parsed.files
        for h in f.hunks
        if b"\n" in raw[h.span[0] : h.span[1]]
    ]
    if own and all(line.endswith(b"\r\n") for line in own):
        raw = raw.replace(b"\r\n", b"\n")
        notes.append("CRLF line ends taken out")
    if raw and not raw.endswith(b"\n"):
        raw += b"\n"
        notes.append("final newline added")
    return raw, tuple(notes)
