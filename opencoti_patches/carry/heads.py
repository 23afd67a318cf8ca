"""The lines above a file's hunks, written anew: its name, the ids of its contents."""

from __future__ import annotations

import re
from collections.abc import Mapping

from opencoti_patches.carry.compose import named
from opencoti_patches.core.model import FilePatch, blob_id, encode
from opencoti_patches.series.names import quote, unquote
from opencoti_patches.series.parse import Parsed

_INDEX = re.compile(rb"(?m)^index ([0-9a-f]+)\.\.([0-9a-f]+)")
_NAMING = re.compile(rb"(?m)^(---|\+\+\+|Index:|diff(?: -[^ \n]+)*)( [^\n]*)")
_QUOTED = re.compile(rb'(?<= )("(?:[^"\\]|\\.)*")(?=[ \t\r]|$)')
_OF_THE_FILE = re.compile(rb"(?m)^(?:old mode|new mode|(?:dis)?similarity|rename|copy|deleted|new file)\b[^\n]*\n")


def indexed(head: bytes, before: bytes, after: bytes, *, gone: bool = False) -> bytes:
    """The lines above the hunks with the index line's ids brought up to date, at their own length."""

    def one(m: re.Match[bytes]) -> bytes:
        size = max(len(m[1]), 7)
        old, new = blob_id(before).encode(), b"0" * 40 if gone else blob_id(after).encode()
        return b"index %s..%s" % (old[:size], new[:size])

    return _INDEX.sub(one, head, count=1)


def renamed(text: bytes, old: str, new: str) -> bytes:
    """A file's part, or what leads it in, with its name changed in the lines above the hunks: behind any folders, before
    any suffix (``.orig``), quoted or not."""
    head, mark, rest = text.partition(b"\n@@ ")
    name = re.compile(rb"(?<=[/ ])%s(?=[^/ \t]*(?:[ \t\r]|$))" % re.escape(encode(old)).replace(b"/", b"/+"))

    def named(words: bytes) -> bytes:
        return name.sub(lambda _: encode(new), words)

    def line(m: re.Match[bytes]) -> bytes:
        parts = _QUOTED.split(m[2])  # every second one is a quoted name
        parts = [quote(named(b" " + unquote(x))[1:]) if i % 2 else named(x) for i, x in enumerate(parts)]
        return m[1] + b"".join(parts)

    return _NAMING.sub(line, head) + mark + rest


def repointed(raw: bytes, parsed: Parsed, now: Mapping[str, str]) -> bytes:
    """A patch with other names for some of the files that it changes."""
    parts, at = [parsed.header], len(parsed.header)
    for f in parsed.files:
        begin, end = f.span
        texts = (raw[at:begin], raw[begin:end])
        parts += [renamed(text, f.path, now[f.path]) if f.path in now else text for text in texts]
        at = end
    return b"".join(parts) + raw[at:]


def in_place(f: FilePatch, text: bytes, strip: int) -> bytes:
    """The part of a patch that renames a file, as one that changes it under its new name."""
    head, mark, rest = text.partition(b"\n@@ ")
    kept = [b"index "] if f.old_mode == f.new_mode else [b"old mode ", b"new mode ", b"index "]
    a, b = (_written(side + encode(f.new or "")) for side in (b"a/", b"b/"))
    lines = [b"diff --git %s %s" % (a, b), *(x for x in head.split(b"\n") if x.startswith(tuple(kept)))]
    lines += [b"--- " + a, b"+++ " + b] if mark else []
    return named(b"\n".join(lines) + (mark or b"\n") + rest, f._replace(old=f.new), strip, 40)


def _written(name: bytes) -> bytes:
    """A name as git writes it in a header, quoted where it has to be."""
    return quote(name) if quote(name) != b'"%s"' % name else name


def of_another(f: FilePatch, head: bytes, path: str) -> bytes:
    """The lines above the hunks of ``f`` for changes that go to another file, which is there and stays as it is otherwise:
    without what they say of the file as a whole."""
    head = _OF_THE_FILE.sub(b"", head)
    for name in dict.fromkeys(p for p in (f.old, f.new) if p):
        head = renamed(head, name, path)
    return head
