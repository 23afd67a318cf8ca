"""Patches as mails that ``git am`` takes, with the same bytes on every run."""

from __future__ import annotations

import re

from opencoti_patches.series.header import is_mail
from opencoti_patches.series.heading import field

_ENVELOPE = b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\n"  # what git format-patch --zero-commit writes
NOBODY = b"From: opencoti-patches <patches@opencoti.invalid>"
_DATE = b"Date: Thu, 1 Jan 1970 00:00:00 +0000"
_OURS = re.compile(rb"From [0-9a-f]{40} [^\n]*\n")
_PATCH_TAG = re.compile(r"^\s*\[[^\]]*\b(?:PATCH|RFC)\b[^\]]*\]\s*")
# Where git mailinfo takes the message to be over; "---" alone is a habit of mails, and stays one.
_BREAK = re.compile(rb"^(?=diff -|Index: |--- [^ \n])", re.M)
_IN_BODY = re.compile(rb"(?:From|Subject|Date):|\[PATCH\]\s|>From\s", re.I)  # read as header fields there
_AUTHOR = re.compile(rb"From:[ \t]*[^\n<>]*<[^\n<>@\s]+@[^\n<>\s]+>[ \t]*\n(?:\n|$)", re.I)
_NEEDS_WRAPPING = re.compile(rb"^From |\r|\0", re.M)
_WIDTH = 76


def mail(header: bytes, diff: bytes, name: str, sender: bytes = NOBODY) -> bytes:
    """One patch as a mail. A header that is one keeps its fields, and gets those that it lacks; plain text
    becomes a subject (its first line) and a body, from ``sender``, at the beginning of time. ``name`` is the
    subject where there is none.
    """
    if not diff.endswith(b"\n"):
        diff += b"\n"
    envelope, fields, body = (
        _of_mail(header, sender) if is_mail(header) else (_ENVELOPE, *_of_text(header, name, sender))
    )
    content = body + diff
    if _NEEDS_WRAPPING.search(content):
        # a mail reader would part the mail at "From ", or take the CR off
        fields = [f for f in fields if not f.lower().startswith(b"content-transfer-encoding:")]
        fields.append(b"Content-Transfer-Encoding: quoted-printable")
        content = quoted_printable(content)
    return envelope + b"\n".join(fields) + b"\n\n" + content


def is_nobodys(raw: bytes) -> bool:
    """Whether a mail names no author, so that it is from the placeholder."""
    head, _, body = raw.partition(b"\n\n")
    return NOBODY in head.split(b"\n") and not _AUTHOR.match(body)


def has_tag(raw: bytes) -> bool:
    """Whether a mail's subject begins with a [word] of its own, which git am keeps with
    ``--keep-non-patch`` only."""
    from opencoti_patches.series.header import read_header

    subject = read_header(raw).fields.get("Subject", "")
    return _PATCH_TAG.sub("", subject).lstrip().startswith("[")


def quoted_printable(raw: bytes) -> bytes:
    """Any bytes as lines of a mail that arrive as they are."""
    return b"\n".join(map(_quoted_line, raw.split(b"\n")))


def _quoted_line(line: bytes) -> bytes:
    out: list[bytes] = []
    width = 0
    for at, byte in enumerate(line):
        last = at == len(line) - 1
        plain = (33 <= byte <= 126 and byte != 61) or (byte in (9, 32) and not last)
        if at == 0 and line.startswith((b"From ", b".")):
            plain = False
        piece = bytes([byte]) if plain else b"=%02X" % byte
        if width + len(piece) > _WIDTH - 1:
            out.append(b"=\n")
            width = 0
        out.append(piece)
        width += len(piece)
    return b"".join(out)


def _of_mail(header: bytes, sender: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Envelope line, fields, body of a header that is a mail."""
    m = _OURS.match(header)
    envelope, rest = (m[0], header[m.end() :]) if m else (_ENVELOPE, header)
    head, gap, body = rest.partition(b"\n\n")
    if not gap:
        head = head.rstrip(b"\n")
    fields = re.split(rb"\n(?![ \t])", head) if head else []
    # some put a field of their own above the line that git begins a mail with
    inner = next((f + b"\n" for f in fields if _OURS.fullmatch(f + b"\n")), None)
    envelope = inner or envelope
    fields = [f for f in fields if not f.startswith(b"From ")]
    fields = [_usable(f) for f in fields]
    have = {f.split(b":", 1)[0].lower() for f in fields}
    fields += [f for f in (sender, _DATE) if f.split(b":", 1)[0].lower() not in have]
    return envelope, fields, body


def _usable(field: bytes) -> bytes:
    """A From or Date that would end git am for what it lacks: an address, a time of day."""
    name, _, value = field.partition(b":")
    if name.lower() == b"from" and b"@" not in value:
        return b"From:" + (value.rstrip() or b" opencoti-patches") + b" <patches@opencoti.invalid>"
    if name.lower() != b"date":
        return field
    from email.utils import parsedate_tz

    text = value.decode("ascii", "replace").strip()
    if ":" in text and parsedate_tz(text):
        return field
    return b"Date: " + text.encode() + b" 00:00:00 +0000" if parsedate_tz(f"{text} 00:00:00 +0000") else _DATE


def _of_text(header: bytes, name: str, sender: bytes) -> tuple[list[bytes], bytes]:
    lines = header.split(b"\n")
    at = next((i for i, line in enumerate(lines) if line.strip()), None)
    subject = b"" if at is None else lines[at].strip()
    body = b"" if at is None else b"\n".join(lines[at + 1 :]).strip(b"\n")
    for word in (b"Subject:", b"Description:"):
        subject = subject.removeprefix(word).strip()
    text = _decoded(subject) or name
    fields = [sender, _DATE, b"Subject: [PATCH] " + field(text).encode("utf-8", "surrogateescape")]
    if not (subject + body).isascii():
        charset = b"UTF-8" if _is_utf8(header) else b"ISO-8859-1"
        fields += [b"MIME-Version: 1.0", b"Content-Type: text/plain; charset=" + charset]
        fields.append(b"Content-Transfer-Encoding: 8bit")
    body = _BREAK.sub(b" ", body)
    if _IN_BODY.match(body) and not _AUTHOR.match(body):
        body = sender + b"\n\n" + body
    return fields, body + b"\n\n" if body else b"\n"


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8") if _is_utf8(raw) else raw.decode("latin-1")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
