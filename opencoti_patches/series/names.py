"""The names of files in a patch, read as ``git apply`` reads them: quotes, strip level, time stamps."""

from __future__ import annotations

import re
from functools import lru_cache

from opencoti_patches.core.model import decode

_LONGEST = 4096  # bytes of a path on any system; four times that where every byte is quoted
_DATE = re.compile(rb"[ \t]+\d{2,4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: [+-]\d\d:?\d\d)?$")
_EPOCH = re.compile(
    rb"\t(1969-12-31|1970-01-01) ([0-2]\d):([0-5]\d):00(?:\.0+)? ([-+])([0-2]\d):?([0-5]\d)$",
)
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_SPACE_INSIDE = re.compile(rb"[\r\v\f]")  # git ends a name there
_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"t": b"\t",
    b"n": b"\n",
    b"v": b"\v",
    b"f": b"\f",
    b"r": b"\r",
    b'"': b'"',
    b"\\": b"\\",
}


def unquote(raw: bytes) -> bytes:
    """A C-quoted name (``"b\\303\\244.c"``) as its bytes; anything else as it is."""
    if len(raw) < 2 or raw[:1] != b'"' or raw[-1:] != b'"':
        return raw

    def one(m: re.Match[bytes]) -> bytes:
        return bytes([int(m[1], 8) & 255]) if m[1] else _ESCAPES.get(m[2], m[2])

    return re.sub(rb"\\(?:([0-3][0-7]{2})|(.))", one, raw[1:-1])


def quote(name: bytes) -> bytes:
    """A name in C's quotes; bytes that are no ASCII stay as they are, which git reads, too."""
    escaped = {v: b"\\" + k for k, v in _ESCAPES.items()}
    return b'"' + b"".join(escaped.get(bytes([c]), bytes([c])) for c in name) + b'"'


@lru_cache(1024)  # a file's name stands in its header up to six times
def stripped(name: bytes, strip: int) -> str | None:
    """A name without its first ``strip`` folders; None if it has fewer."""
    parts = (re.sub(rb"/+", b"/", name) if b"//" in name else name).split(b"/", strip)
    return decode(parts[strip]) if len(parts) > strip and parts[strip] else None


def named(rest: bytes, *, dated: bool) -> bytes:
    """The name on a ``---`` or ``+++`` line. ``dated``: a time stamp may follow (not in git's own diffs)."""
    rest = rest.rstrip(b"\r\n")
    if rest.startswith(b'"'):
        end = _QUOTED.match(rest)
        return unquote(end[0]) if end else rest
    if dated and (stamp := _DATE.search(rest)):
        return rest[: stamp.start()]
    return _SPACE_INSIDE.split(rest.split(b"\t", 1)[0], maxsplit=1)[0]


def is_epoch(rest: bytes) -> bool:
    """Whether the time stamp on a ``---`` or ``+++`` line says that there is no file."""
    m = _EPOCH.search(rest.rstrip(b"\n"))
    if m is None:
        return False
    zone = int(m[5]) * 60 + int(m[6])
    minutes = int(m[2]) * 60 + int(m[3]) - (-zone if m[4] == b"-" else zone)
    return minutes == (24 * 60 if m[1].startswith(b"1969") else 0)


def preferred(old: str | None, new: str | None) -> str | None:
    """Which of two names of one file git takes: the new one, but the old one if the new one is it with
    something tacked on (``x.orig``)."""
    if new is None or (old is not None and new.startswith(old)):
        return old if old is not None else new
    return new


def names_of(rest: bytes, strip: int) -> tuple[bytes, bytes, bool]:
    """Both names of a ``diff --git`` line, and whether they are one after stripping, so that they name
    the file by themselves. Empty names where the line cannot be parted."""
    middle = len(rest) // 2  # nearly always the two are as long as each other, and nothing is quoted
    if (
        len(rest) % 2
        and rest[middle : middle + 1] == b" "
        and rest.count(b" ") == 1
        and b'"' not in rest
        and b"\t" not in rest
    ):
        a, b = rest[:middle], rest[middle + 1 :]
        name = _without(a, strip)
        return a, b, name is not None and name == _without(b, strip)
    if len(rest) > 2 * _LONGEST * (4 if b'"' in rest else 1) + 5:
        return b"", b"", False
    m = re.fullmatch(rb'("(?:[^"\\]|\\.)*"|[^"]+?) ("(?:[^"\\]|\\.)*")', rest) or re.fullmatch(
        rb'("(?:[^"\\]|\\.)*") (.+)', rest
    )
    pairs = [(unquote(m[1]), unquote(m[2]))] if m else [(rest[:i], rest[i + 1 :]) for i in _gaps(rest)]
    for a, b in pairs:
        name = _without(a, strip)
        if name is not None and name == _without(b, strip):
            return a, b, True
    return (*pairs[0], False) if len(pairs) == 1 else (b"", b"", False)


def _gaps(rest: bytes) -> list[int]:
    return [m.start() for m in re.finditer(rb"[ \t]", rest)]


def _without(name: bytes, strip: int) -> bytes | None:
    if name.startswith(b"/"):
        return None
    parts = name.split(b"/", strip)
    return parts[strip] if len(parts) > strip else None
