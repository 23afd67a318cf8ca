"""The header of a patch that is being made: what it does, and why as far as that is known."""

from __future__ import annotations

import re
from email.charset import QP, Charset
from email.header import Header
from email.utils import formataddr

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import encode

_AUTHOR = re.compile(r"([^<>\r\n]*[^<>\s])\s*<([^<>\s]+@[^<>\s]+)>")
_WORDS = Charset("utf-8")
_WORDS.header_encoding = QP  # a reader of the file makes out most of it


def heading(slug: str, message: str, author: str = "", *, made_by: bytes = b"") -> bytes:
    """A header that ends in a blank line. ``message`` has the subject as its first line, the reasons below;
    without one the slug is the subject and no reason is made up, so that ``lint`` asks for it. With
    ``author`` it is a mail, which git am takes; nobody's name is put in unasked. ``made_by`` are the fields of another
    mail that say that instead: see ``author_lines``.

    Errors: UsageError ``bad-author``, ``bad-message``.
    """
    subject, _, why = message.strip().partition("\n")
    subject = subject.strip() or re.sub(r"[-_]+", " ", slug).strip()
    why = why.strip()
    if re.search(r"^(?:diff -|--- |Index: |@@ -)", f"{subject}\n{why}", re.M):
        raise UsageError("bad-message", "a line of the message begins like a diff", "indent it")
    body = f"\n{why}\n\n" if why else "\n"
    if author:
        made_by = from_field(author) + b"\n"
    if not made_by:
        return encode(f"Subject: {subject}\n{body}")
    plain = why.isascii()
    kind = "" if plain else "Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: 8bit\n"
    return made_by + encode(f"Subject: {field(subject)}\n{kind}{body}")


def from_field(author: str) -> bytes:
    """``--author`` as the field of a mail. Errors: UsageError ``bad-author``."""
    m = _AUTHOR.fullmatch(author.strip())
    if m is None:
        raise UsageError(
            "bad-author",
            f"--author {author!r} is not of the form 'Name <name@host>'",
            "--author 'Jane Doe <jane@example.org>'",
        )
    return encode(f"From: {formataddr((m[1], m[2]), _WORDS)}")


def field(text: str) -> str:
    """A subject as a mail's header field holds it: plain ASCII as it is, else encoded words."""
    if text.isascii() and text.isprintable() and "=?" not in text:
        return text
    return Header(text, _WORDS, maxlinelen=75, header_name="Subject: [PATCH]").encode()
