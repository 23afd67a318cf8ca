"""What a series is written as elsewhere: a quilt folder, and the names of patches as numbered mails."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from opencoti_patches.core.model import Series, decode, encode
from opencoti_patches.doors import fs
from opencoti_patches.series.header import read_header
from opencoti_patches.series.numbering import slug
from opencoti_patches.series.order import SERIES_FILE, kept_lines, read_file, read_lines
from opencoti_patches.series.parse import parse
from opencoti_patches.series.placing import line_of

_QUILT = 1  # the strip level that goes without saying in quilt
_LONGEST = 57


def quilt(series: Series, whole: Series) -> dict[str, bytes]:
    """The files of a quilt folder: the patches to the byte, and the lines of the series file. ``whole`` is
    the project's series, of which ``series`` may be the beginning."""
    files = {posixpath.normpath(e.name): e.raw for e in series.entries}
    files[SERIES_FILE] = encode("".join(_lines(series, whole)))
    return files


def _lines(series: Series, whole: Series) -> list[str]:
    if not series.listed:
        return [f"{line_of(e.name, e.strip, e.reverse, _QUILT)}\n" for e in series.entries]
    with fs.disk_errors("read the series"):
        text = decode(read_file(series.dir / SERIES_FILE, SERIES_FILE)[0])
    entries = {e.name: e for e in series.entries}
    last = series.entries[-1].name if series.entries else None
    lines = []
    for raw, line in zip(kept_lines(text), read_lines(text), strict=True):
        entry = next((e for n, e in entries.items() if n == line.name), None)
        if entry and line.strip is None and entry.strip != _QUILT:
            raw = raw.replace(line.name, f"{line.name} -p{entry.strip}", 1)
        if entry or not line.name:
            lines.append(raw)
        if line.name == last and len(entries) < len(whole.entries):
            break
    return lines


def mail_names(series: Series) -> list[str]:
    """A file name for each patch as a mail, such that a shell's ``*.patch`` has them in order: their own
    names where those do it, else numbers from 1 and subjects."""
    own = [e.name for e in series.entries]
    numbers = [m[1] if (m := re.fullmatch(r"(\d+)[-_.][\w.+-]*\.patch", n, re.A)) else "" for n in own]
    if all(numbers) and len(set(map(len, numbers))) == 1 and sorted(set(numbers)) == numbers:
        return list(own)
    width = max(4, len(str(len(own))))
    return [f"{f'{i:0{width}d}-{_slug(e.raw, e.name)}'[:_LONGEST]}.patch" for i, e in enumerate(series.entries, 1)]


def _slug(raw: bytes, name: str) -> str:
    subject = read_header(parse(raw).header).subject
    return slug(subject) or slug(name.rsplit("/", 1)[-1].rsplit(".", 1)[0]) or "patch"


def mbox_name(project: str) -> str:
    """The one file of the mbox format."""
    return f"{slug(project) or 'patches'}.mbox"


def joined(mails: Sequence[bytes]) -> bytes:
    """An mbox."""
    return b"\n".join(mails)
