"""The diffstat that ``git format-patch`` puts below the ``---`` of a mail: written anew when the patch below it changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from opencoti_patches.core.model import encode
from opencoti_patches.core.words import plural
from opencoti_patches.series.parse import parse

_MARK = b"\n---\n"
_STAT = re.compile(
    rb"(?m)^ \S.*\|\s+(?:\d+(?: [+-]+)?|Bin.*)\n|^ \d+ files? changed.*\n"
    rb"|^ (?:create|delete) mode \d{6} .*\n|^ mode change \d{6} => .*\n|^ (?:rename|copy|rewrite) .* \(\d+%\)\n"
)
_WIDTHS = (72, 80)  # of git format-patch, and of git diff and git show


class _File(NamedTuple):
    """A line of a diffstat: a file, its lines, and what git adds below the sum where its mode is new, gone or another.
    ``more``: what the line says beyond that, for a file that is moved or binary, or has a name that git quotes."""

    path: str
    added: int
    removed: int
    mode: str
    more: bytes


def follow(header: bytes, old: bytes, new: bytes) -> bytes:
    """The header of patch ``old`` as it belongs above patch ``new``. A diffstat to the letter as git writes that of
    ``old`` becomes that of ``new``; another one would be wrong, and is taken out. Every other byte stays."""
    found = kept_up(header, old, new)
    if found is not None:
        return found
    text, mark, below = header.partition(_MARK)
    return text + mark + _STAT.sub(b"", below)


def kept_up(header: bytes, old: bytes, new: bytes) -> bytes | None:
    """As ``follow``, but None where a diffstat is not as git writes it."""
    text, mark, below = header.partition(_MARK)
    if not mark or not _STAT.search(below):
        return header
    was, now = _files(old), _files(new)
    if was == now:
        return header
    for width in _WIDTHS if was and now and not any(f.more for f in (*was, *now)) else ():
        for modes in (True, False):  # --stat --summary, and --stat alone
            if below.count(before := _stat(was, width, modes)) == 1:
                return text + mark + below.replace(before, _stat(now, width, modes))
            if below.count(_stat(now, width, modes)) == 1:  # it was kept up before
                return header
    return None


def is_gone(old: bytes, new: bytes) -> bool:
    """Whether the one header has a diffstat and the other none."""
    a, b = (_STAT.search(header.partition(_MARK)[2]) for header in (old, new))
    return bool(a and not b)


def beside(old: bytes, new: bytes) -> bytes:
    """The one header without its diffstat, where the other has one, too: that is of other numbers then."""
    text, mark, below = old.partition(_MARK)
    return old if is_gone(old, new) else text + mark + _STAT.sub(b"", below)


def _files(raw: bytes) -> list[_File]:
    found = []
    for f in parse(raw).files:
        mode = ""
        if f.operation in ("create", "delete"):
            mode = f"{f.operation} mode {f.new_mode or f.old_mode}"
        elif f.old_mode != f.new_mode:
            mode = f"mode change {f.old_mode} => {f.new_mode}"
        more = b""
        if f.binary or f.operation in ("rename", "copy"):
            more = encode(f.old or "") + raw[slice(*f.span)].partition(b"GIT binary patch")[2]
        elif not f.path.isascii() or not f.path.isprintable() or set('"\\') & set(f.path):
            more = b"quoted"
        added, removed = sum(len(h.added) for h in f.hunks), sum(len(h.removed) for h in f.hunks)
        found.append(_File(f.path, added, removed, mode, more))
    return found


def _stat(files: Sequence[_File], width: int, modes: bool) -> bytes:
    most = max(f.added + f.removed for f in files)
    digits = len(str(most))
    room = width - digits - 6  # for names and bars: names give way to the bars' three eighths
    names, bars = max(len(f.path) for f in files), most
    if names + bars > room:
        bars = min(bars, width * 3 // 8 - digits - 6)
        names, bars = (room - bars, bars) if names > room - bars else (names, room - names)
    rows = []
    for f in files:
        name, total = _short(f.path, names), f.added + f.removed
        rows.append(f" {name:<{names}} | {total:>{digits}}{' ' if total else ''}{_bar(f.added, f.removed, bars, most)}")
    added, removed = sum(f.added for f in files), sum(f.removed for f in files)
    parts = [f" {plural(len(files), 'file')} changed"]
    if added or not removed:
        parts.append(f"{plural(added, 'insertion')}(+)")
    if removed or not added:
        parts.append(f"{plural(removed, 'deletion')}(-)")
    rows.append(", ".join(parts))
    rows += [f" {f.mode} {f.path}" for f in files if f.mode and modes]
    return "".join(f"{row}\n" for row in rows).encode()


def _short(path: str, wide: int) -> str:
    """The end of a path that is too long, from a slash on where there is one."""
    if len(path) <= wide:
        return path
    end = path[len(path) - (wide - 3) :]
    return "..." + end[max(end.find("/"), 0) :]


def _bar(added: int, removed: int, bars: int, most: int) -> str:
    """A sign a line. Where the longest bar has no room for that, all shrink alike, but none to nothing."""

    def scaled(lines: int) -> int:
        return lines if most <= bars else lines and 1 + lines * (bars - 1) // most

    total = max(scaled(added + removed), bool(added) + bool(removed))
    if added < removed:
        plus = scaled(added)
        return "+" * plus + "-" * (total - plus)
    minus = scaled(removed)
    return "+" * (total - minus) + "-" * minus
