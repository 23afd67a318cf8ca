"""When a patch was made, and how it stands to upstream, as its own header says."""

from __future__ import annotations

import re
from datetime import date
from typing import Literal, NamedTuple

from opencoti_patches.core.model import decode
from opencoti_patches.series.header import Header

_NOTE = re.compile(r" note \((\d{4}-\d\d-\d\d)[,)]")
_FIELD = re.compile(r"^(Date|Last-Update):[ \t]*(.+)$", re.I | re.M)
_UPSTREAM = re.compile(r"^(Upstream-Status|Applied-Upstream|Forwarded):[ \t]*(\S.*)$", re.I | re.M)
_NEVER = date(1970, 1, 1)  # what a mail from nobody says


class When(NamedTuple):
    """A day as YYYY-MM-DD, and who says so: the header's date, its newest note line, the file's last commit."""

    day: str
    by: Literal["header", "note", "commit"]


def when(raw: bytes, header: Header) -> When | None:
    """The day that a header gives, ``raw`` being its bytes; None if it gives none."""
    text = decode(raw)
    fields = [header.fields["Date"]] if "Date" in header.fields else [m[2] for m in _FIELD.finditer(text)]
    days = [day for day in map(_day, fields) if day and day != _NEVER]
    if days:
        return When(max(days).isoformat(), "header")
    notes = [day for m in _NOTE.finditer(text) if (day := _day(m[1]))]
    return When(max(notes).isoformat(), "note") if notes else None


def upstream(raw: bytes) -> str:
    """What the header says of upstream, in OpenEmbedded's field or else in Debian's; empty if nothing."""
    said = {m[1].lower(): m[2].strip() for m in _UPSTREAM.finditer(decode(raw))}
    if "upstream-status" in said:
        return said["upstream-status"]
    if "applied-upstream" in said:
        return f"Applied {said['applied-upstream']}"
    return f"Forwarded: {said['forwarded']}" if "forwarded" in said else ""


def _day(text: str) -> date | None:
    from email.utils import parsedate

    try:
        if re.match(r"\d{4}-", text):
            return date.fromisoformat(text[:10])
        found = parsedate(text) or parsedate(f"{text.strip()} 00:00:00")  # some give no time
        return date(*found[:3]) if found else None
    except (ValueError, TypeError, IndexError, OverflowError):  # what headers hold was written by anybody
        return None
