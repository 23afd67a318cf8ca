"""Mails as they come: many in one file, transfer encodings, attachments. A mail that needs no decoding
keeps every byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import Message

# What git mailsplit takes for the first line of a mail: "From ", and a time and a year at its end.
_FROM = re.compile(rb"^From .*\d:\d\d:\d\d[^:\n]*?(?:9[1-9]|\d{3,})[^:\n]*\n(?=[A-Za-z][A-Za-z0-9-]*:)", re.M)
_OURS = re.compile(rb"From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001\r?\n")  # of git format-patch
_FIELD = re.compile(rb"[A-Za-z][A-Za-z0-9-]*:")
_ENCODED = (b"quoted-printable", b"base64")
_BLANK = re.compile(rb"\r?\n\r?\n")
CRLF = "CRLF line ends taken out"


def split(raw: bytes) -> tuple[list[bytes], tuple[str, ...]]:
    """The mails of an mbox, each with its own bytes, and in words what was mended; one part, as it is, if
    it is no mbox. The envelope line of a plain mbox goes; that of git format-patch stays, for it names the
    commit."""
    notes: tuple[str, ...] = ()
    if re.match(rb"From [^\n]*\r\n", raw):  # no program writes that line so: it was damaged on the way
        raw, notes = raw.replace(b"\r\n", b"\n"), (CRLF,)
    marks = [m.start() for m in _FROM.finditer(raw)]
    if not marks or marks[0] != 0:
        return [raw], notes
    parts = [raw[a:b] for a, b in zip(marks, [*marks[1:], len(raw)], strict=True)]
    return [_alone(p, last=p is parts[-1]) for p in parts], notes


def _alone(part: bytes, *, last: bool) -> bytes:
    """A mail without what belongs to the mbox: the empty line behind it, another program's envelope."""
    ours = bool(_OURS.match(part))
    if part.endswith(b"\n\n") and not (last and ours):  # git puts that line between mails only
        part = part[:-1]
    return part if ours else part[part.index(b"\n") + 1 :]


def decoded(raw: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A mail with its body as it was before it was wrapped for transport, and in words what was undone;
    the same bytes if there was nothing, or if it is no mail."""
    start = m.end() if (m := _OURS.match(raw)) else 0
    end = _BLANK.search(raw, start)
    if end is None or not _FIELD.match(raw, start):
        return raw, ()
    head = raw[start : end.start()].replace(b"\r\n", b"\n").lower()
    multipart = b"\ncontent-type: multipart/" in b"\n" + head
    encoded = re.search(rb"(?:^|\n)content-transfer-encoding:\s*(\S+)", head)
    if not multipart and (encoded is None or encoded[1] not in _ENCODED):
        return raw, ()
    mail = message_from_bytes(raw[start:], policy=policy.compat32)
    crlf = b"\r\n" in raw[start : end.end()]
    texts = [_text(part, crlf) for part in _parts(mail)]
    if not texts:
        return raw, ()
    body = b"".join(t if t.endswith(b"\n") or t is texts[-1] else t + b"\n" for t in texts)
    charset = next((c for p in _parts(mail) if (c := p.get_content_charset())), "utf-8")
    fields = [f for f in _fields(raw[start : end.start()]) if not f.lower().startswith(b"content-")]
    fields.append(b"Content-Type: text/plain; charset=" + charset.encode("ascii", "replace"))
    fields.append(b"Content-Transfer-Encoding: 8bit")
    note = (
        f"{encoded[1].decode()} decoded" if encoded and not multipart else f"{len(texts)} parts of a mail put together"
    )
    return raw[:start] + b"\n".join(fields) + b"\n\n" + body, (note,)


def _fields(head: bytes) -> Iterator[bytes]:
    """Header fields with their continuation lines."""
    yield from re.split(rb"\n(?![ \t])", head.replace(b"\r\n", b"\n"))


def _parts(mail: Message) -> list[Message]:
    """The parts that hold text or a patch, in order; not HTML."""
    found = [p for p in mail.walk() if not p.is_multipart()]
    return [
        p
        for p in found
        if p.get_content_type() in ("text/plain", "text/x-patch", "text/x-diff", "application/x-patch")
        or (p.get_filename() or "").endswith((".patch", ".diff"))
    ]


def _text(part: Message, crlf: bool) -> bytes:
    payload = part.get_payload(decode=True)
    text = payload if isinstance(payload, bytes) else b""
    plain = str(part.get("Content-Transfer-Encoding", "")).lower() != "base64"
    return text.replace(b"\r\n", b"\n") if crlf and plain else text
