"""The names in a patch put under a folder, as ``git apply --directory`` reads them: for patches made
inside a sub-project. Only header lines of the diff change, each by the folder that is put in."""

from __future__ import annotations

import re

from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import FilePatch, encode, printable
from opencoti_patches.series.names import stripped, unquote
from opencoti_patches.series.parse import parse

_MOVE = re.compile(rb"((?:rename|copy) (?:from|to|old|new) )(.*)", re.S)
_QUOTED = rb'"(?:[^"\\]|\\.)*"'


def rooted(raw: bytes, folder: str, strip: int) -> bytes:
    """The patch with every path under ``folder``.

    Errors: UsageError ``bad-folder``; Refused ``cannot-root`` if the outcome does not name what it should
    (names that cannot be told apart).
    """
    folder = folder.strip("/")
    if not re.fullmatch(r"[\w.+@-]+(?:/[\w.+@-]+)*", folder, re.A) or {"..", ".", ".git"} & set(folder.split("/")):
        raise UsageError(
            "bad-folder", f"--directory {folder!r} is not a plain path inside the tree", "such as --directory llama.cpp"
        )
    parsed = parse(raw, strip)
    under = folder.encode() + b"/"
    parts: list[bytes] = []
    at = 0
    for f in parsed.files:
        end = f.hunks[0].span[0] if f.hunks else f.span[1]
        parts += [raw[at : f.span[0]], _header(raw[f.span[0] : end], f, under, strip)]
        at = end
    new = b"".join(parts) + raw[at:]
    wanted = [tuple(p and f"{folder}/{p}" for p in (f.old, f.new)) for f in parsed.files]
    if [(f.old, f.new) for f in parse(new, strip).files] != wanted:
        name = printable(parsed.files[0].path) if parsed.files else "it"
        raise Refused(
            "cannot-root", f"the names in the patch of {name} cannot be put under {folder}", "make it with git diff"
        )
    return new


def _header(head: bytes, f: FilePatch, under: bytes, strip: int) -> bytes:
    lines = head.split(b"\n")
    for i, line in enumerate(lines):
        if i == 0 and line.startswith(b"diff --git "):
            lines[i] = line[:11] + _pair(line[11:], f, under, strip)
        elif line.startswith((b"--- ", b"+++ ")):
            lines[i] = line[:4] + _put(line[4:], under, strip)
        elif m := _MOVE.fullmatch(line):
            lines[i] = m[1] + _put(m[2], under, max(strip - 1, 0))
        elif line.startswith((b"GIT binary patch", b"Binary files ")):
            break
    return b"\n".join(lines)


def _put(name: bytes, under: bytes, strip: int) -> bytes:
    """A name, quoted or not, with the folder behind its first ``strip`` components."""
    if name.startswith(b"/dev/null"):
        return name
    m = re.match(rb'"?' + rb"[^/]*/+" * strip, name)
    return name[: m.end()] + under + name[m.end() :] if m else name


def _pair(rest: bytes, f: FilePatch, under: bytes, strip: int) -> bytes:
    """Both names of a ``diff --git`` line."""
    at = _gap(rest, f, strip)
    return rest if at is None else _put(rest[:at], under, strip) + b" " + _put(rest[at + 1 :], under, strip)


def _gap(rest: bytes, f: FilePatch, strip: int) -> int | None:
    m = re.match(_QUOTED + rb"(?= )", rest) or re.match(rb"[^\"]+(?= " + _QUOTED + rb"\r?$)", rest)
    if m:
        return m.end()
    old, new = encode(f.old or f.path), encode(f.new or f.path)
    gaps = [g.start() for g in re.finditer(b" ", rest)]
    for at in gaps:
        names = (stripped(unquote(rest[:at]), strip), stripped(rest[at + 1 :].rstrip(b"\r"), strip))
        if tuple(encode(n or "") for n in names) == (old, new):
            return at
    return gaps[0] if len(gaps) == 1 else None
