"""Names that one side took out of files and the other uses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from opencoti_patches.core.model import FilePatch
from opencoti_patches.series.parse import Parsed

_LETTERS = {bytes([c]) for c in range(256) if bytes([c]).isalnum() or c == ord("_")}
_NAME = re.compile(rb"\b(?=\w*_\w|\w*[a-z][A-Z])[A-Za-z_]\w{3,}\b")  # as a project names things


def holds(text: bytes, word: bytes) -> bool:
    """Whether a text holds a word."""
    return next(_words(text, word), None) is not None


def gone_names(parsed: Parsed, texts: Sequence[tuple[bytes, bytes]], but: Collection[str] = ()) -> str:
    """Names that a patch's added lines use, that the touched files had, and that upstream took out of them, in words.
    ``texts`` are these files, before and now; ``but`` names of which more is known."""
    used = {w for f in parsed.files for w in _used(f)}
    left = b"\n".join(now for _, now in texts)
    was = b"\n".join(before for before, now in texts if before != now)
    gone = sorted(w.decode() for w in used if not holds(left, w) and holds(was, w) and w.decode() not in but)
    if not gone:
        return ""
    names = ", ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "")
    return f"its lines use {names}, which upstream took out of these files"


def still_used(f: FilePatch, before: bytes, now: bytes) -> str:
    """Names that a patch takes out of a file altogether, and that upstream has put into more of its lines meanwhile, in
    words."""
    removed = b"".join(x for h in f.hunks for x in h.removed)
    names = set(_NAME.findall(removed)) - _used(f)
    out = sorted(w.decode() for w in names if _count(before, w) == _count(removed, w) < _count(now, w))
    return f"upstream's new lines use {', '.join(out[:3])}, which the patch takes out of the file" if out else ""


def _used(f: FilePatch) -> set[bytes]:
    """The names that a file's added lines use; a line that is a comment by now uses none."""
    return {w for h in f.hunks for line in h.added for w in _NAME.findall(line.split(b"//", 1)[0])}


def _count(text: bytes, word: bytes) -> int:
    """How often a text holds a word."""
    return sum(1 for _ in _words(text, word))


def _words(text: bytes, word: bytes) -> Iterator[int]:
    """Where in a text a word stands."""
    at = text.find(word)  # far cheaper than a pattern that begins with an assertion
    while at >= 0:
        end = at + len(word)
        if text[max(at - 1, 0) : at] not in _LETTERS and text[end : end + 1] not in _LETTERS:
            yield at
        at = text.find(word, at + 1)
