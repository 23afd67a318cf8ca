"""What stands above the first diff of a patch file: a mail, or plain text. Read, and given a note line;
never written anew."""

from __future__ import annotations

import re
from typing import NamedTuple

_MAIL = re.compile(rb"(?:From [0-9a-f]{40} .*\n)?(?:[A-Za-z][A-Za-z-]*: .*\n)")
_FIELDS = re.compile(rb"(?:[A-Za-z][A-Za-z-]*:[ \t].*\r?\n(?:[ \t].*\r?\n)*){2,}(?:\r?\n|\Z)")  # and nothing else above
_TAG = re.compile(r"^\s*(?:\[[^\]]*\b(?:PATCH|RFC)\b[^\]]*\]\s*)")
_NOTE = re.compile(r".* note \(\d{4}-\d\d-\d\d[^)]*\): hunk regenerated via snapshot-diff ")
_STAT = re.compile(r"\n---\n.*\Z", re.S)


class Header(NamedTuple):
    """``subject`` is one line without ``[PATCH n/m]``; ``body`` what follows, without the diffstat of
    a mail; ``fields`` the mail's own (From, Date, …), empty for plain text."""

    subject: str
    body: str
    fields: dict[str, str]
    mail: bool


def read_header(raw: bytes) -> Header:
    """Read a header; any bytes at all give one."""
    if not is_mail(raw):
        text = raw.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        lines = [line for line in text.split("\n") if not line.startswith(("diff ", "Index: ", "====="))]
        while lines and not lines[0].strip():
            lines.pop(0)
        notes = []  # of ours: where no text stood above them, they are no subject
        while lines and _NOTE.match(lines[0]):
            notes.append(lines.pop(0))
        if notes and not (lines and lines[0].strip()):
            return Header(subject="", body="\n".join([*notes, *lines]).strip(), fields={}, mail=False)
        lines = [*lines[:1], *notes, *lines[1:]]
        subject = lines[0].strip() if lines else ""
        for word in ("Subject: ", "Description: "):
            subject = subject.removeprefix(word)
        return Header(subject=subject, body="\n".join(lines[1:]).strip(), fields={}, mail=False)
    from email import message_from_bytes, policy  # a plain header, and a note put into any, need none of it

    start = raw.index(b"\n") + 1 if raw.startswith(b"From ") else 0
    mail = message_from_bytes(raw[start:], policy=policy.compat32)
    fields = {k: _decoded(str(v)) for k, v in mail.items()}
    payload = mail.get_payload(decode=True)
    charset = mail.get_content_charset() or "utf-8"
    try:
        text = payload.decode(charset, "replace") if isinstance(payload, bytes) else ""
    except LookupError:
        text = payload.decode("latin-1") if isinstance(payload, bytes) else ""
    body = _STAT.sub("\n", "\n" + text.replace("\r\n", "\n")).strip()
    subject = re.sub(r"\s*\n\s*", " ", fields.get("Subject", ""))
    return Header(subject=_TAG.sub("", subject).strip(), body=body, fields=fields, mail=True)


def is_mail(raw: bytes) -> bool:
    """Whether it begins like a mail: a ``From COMMIT`` line or header fields with a subject."""
    if raw.startswith(b"From ") and re.match(rb"From [0-9a-f]{40} ", raw):
        return True
    head = raw.replace(b"\r\n", b"\n").split(b"\n\n", 1)[0] + b"\n"
    return bool(_MAIL.match(head)) and b"\nfrom: " in b"\n" + head.lower() and b"\nsubject: " in b"\n" + head.lower()


def author_lines(raw: bytes) -> bytes:
    """The fields of a mail that say who made it and when, to the byte; empty for plain text."""
    if not is_mail(raw):
        return b""
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0] + b"\n"
    return b"".join(re.findall(rb"(?im)^(?:From|Date):.*\n(?:[ \t].*\n)*", head))


def _decoded(value: str) -> str:
    from email.header import decode_header, make_header

    try:
        return str(make_header(decode_header(value)))
    except (ValueError, LookupError):
        return value


def with_note(raw: bytes, note: str) -> bytes:
    """The header with one more line: the second of plain text, the first below the fields of a mail or of any other
    header that begins with such. Every other byte stays; the newest note comes first. A blank line parts it from
    text that would run on."""
    line = note.encode("utf-8", "surrogateescape") + b"\n"
    if line in raw:  # the same day, for the same reason
        return raw
    if not raw.strip() or _noted(raw):
        return line + raw
    if is_mail(raw) or _FIELDS.match(raw):
        end = re.search(rb"\n\r?\n", raw)
        at = end.end() if end else len(raw)
        lead = b"" if end else b"\n" if raw.endswith(b"\n") else b"\n\n"
    else:
        at = raw.find(b"\n") + 1 or len(raw)
        lead = b"" if raw[:at].endswith(b"\n") else b"\n"
    below = raw[at:].partition(b"\n")[0].strip()
    runs_on = below and below != b"---" and not _noted(raw[at:])
    return raw[:at] + lead + line + (b"\n" if runs_on else b"") + raw[at:]


def _noted(raw: bytes) -> bool:
    """Whether a text begins with a note."""
    return _NOTE.match(raw.partition(b"\n")[0].decode("utf-8", "replace")) is not None
