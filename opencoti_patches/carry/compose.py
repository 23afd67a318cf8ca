"""Writing a patch file anew around the old one: its header, its trailer, its own way of naming files stay;
only hunks, and the numbers and index lines that belong to them, come from the diff of two snapshots."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from opencoti_patches.core.model import Entry, FilePatch, Hunk, TreeId, encode
from opencoti_patches.doors.git import Repository
from opencoti_patches.series.parse import Parsed, parse

_NUMBERS = re.compile(rb"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@")
_INDEX = re.compile(rb"^index ([0-9a-f]+)\.\.([0-9a-f]+)", re.M)


def renumbered(raw: bytes, parsed: Parsed, starts: Mapping[tuple[int, int], tuple[int, int]]) -> bytes:
    """The patch with other line numbers, by (file from 0, hunk from 1): (old start, new start). Every
    other byte stays. ``parsed`` is the patch as it stands in the file, not reversed."""
    parts: list[bytes] = []
    at = 0
    for number, f in enumerate(parsed.files):
        for hunk in f.hunks:
            wanted = starts.get((number, hunk.number))
            if wanted is None:
                continue
            end = raw.index(b"@@", hunk.span[0] + 2) + 2
            parts += [raw[at : hunk.span[0]], _numbers(hunk, *wanted)]
            at = end
    return b"".join(parts) + raw[at:]


def _numbers(hunk: Hunk, old_start: int, new_start: int) -> bytes:
    def part(start: int, count: int) -> bytes:
        return b"%d" % start if count == 1 else b"%d,%d" % (start, count)

    return b"@@ -%s +%s @@" % (part(old_start, hunk.old_count), part(new_start, hunk.new_count))


def composed(entry: Entry, before: TreeId, after: TreeId, repo: Repository, header: bytes | None = None) -> bytes:
    """The patch from ``before`` to ``after`` in the manner of ``entry``: the same header unless another
    is given, files in the same order under the same names, new files behind them."""
    old = parse(entry.raw, entry.strip)
    if entry.reverse:
        before, after = after, before
    context = _context(old)
    renames = any(f.operation in ("rename", "copy") for f in old.files)
    diff = repo.diff_text(before, after, context=context, renames=renames)
    new = parse(diff, 1)
    fresh: dict[str, list[FilePatch]] = {}  # a change of type is two: one file goes, one comes
    for g in new.files:
        fresh.setdefault(g.path, []).append(g)
    left = Counter(f.path for f in old.files)
    parts = [old.header if header is None else header]
    at = len(old.header)
    for f in old.files:
        lead_in = entry.raw[at : f.span[0]]
        at = f.span[1]
        left[f.path] -= 1
        mine = fresh.pop(f.path, [])
        if mine[1:] and left[f.path]:
            fresh[f.path] = mine[1:]
            del mine[1:]
        if mine:
            parts += [lead_in, *(_file(entry.raw, f, diff, g, entry.strip) for g in mine)]
    end = b"" if not parts[-1] or parts[-1].endswith(b"\n") else b"\n"
    if end:
        parts.append(end)
    parts += [named(diff[g.span[0] : g.span[1]], g, entry.strip) for mine in fresh.values() for g in mine]
    return b"".join(parts) + old.trailer


def _context(parsed: Parsed) -> int:
    """Lines of context the patch was made with: the most that stands at the edge of a hunk."""
    edges = []
    for f in parsed.files:
        for h in f.hunks:
            kinds = [line[:1] for line in h.lines]
            changed = [i for i, k in enumerate(kinds) if k != b" "]
            if changed:
                edges += [changed[0], len(kinds) - 1 - changed[-1]]
    return max(3, min(max(edges, default=3), 50))


def _modes(f: FilePatch) -> tuple[str | None, ...]:
    """What a patch says of a file's mode: the new file's, or a change from one to another."""
    if f.operation == "create":
        return (f.new_mode or "100644",)
    return (f.old_mode, f.new_mode) if f.operation != "delete" and f.old_mode != f.new_mode else ()


def _file(raw: bytes, f: FilePatch, diff: bytes, g: FilePatch, strip: int) -> bytes:
    """One file's part: the old lines above the first hunk, the new hunks."""
    same_kind = f.operation == g.operation and (f.old, f.new) == (g.old, g.new) and bool(f.hunks) and bool(g.hunks)
    if not same_kind or _modes(f) != _modes(g):
        return named(diff[g.span[0] : g.span[1]], g, strip, max(len(f.old_blob or ""), 7))
    head = _indexed(raw[f.span[0] : f.hunks[0].span[0]], g)
    sections = {_body(h): h.section for h in f.hunks}
    parts = [head]
    for h in g.hunks:
        text = diff[h.span[0] : h.span[1]]
        section = sections.get(_body(h))
        if section is not None and section != h.section:
            first, rest = text.split(b"\n", 1)
            numbers = _NUMBERS.match(first)
            if numbers:
                text = numbers[0] + (b" " + section if section else b"") + b"\n" + rest
        parts.append(text)
    return b"".join(parts)


def _body(hunk: Hunk) -> tuple[bytes, ...]:
    return hunk.lines


def _indexed(head: bytes, g: FilePatch) -> bytes:
    """The old lines above the hunks, with the index line's ids brought up to date at their own length."""

    def one(m: re.Match[bytes]) -> bytes:
        size = max(len(m[1]), 7)
        return b"index %s..%s" % (encode(g.old_blob or "")[:size], encode(g.new_blob or "")[:size])

    return _INDEX.sub(one, head, count=1) if g.old_blob and g.new_blob else head


def named(text: bytes, g: FilePatch, strip: int, size: int = 10) -> bytes:
    """git's own text for one file, for the strip level it is applied with, its ids cut to ``size``."""
    if b"\nGIT binary patch\n" not in text:  # git wants full ids there
        text = _INDEX.sub(lambda m: b"index %s..%s" % (m[1][:size], m[2][:size]), text, count=1)
    if strip == 1 or not g.git_style:
        return text
    more = b"x/" * (strip - 1)
    first, rest = text.split(b"\n", 1)
    head, mark, hunks = rest.partition(b"\n@@ ")
    for side in (b"a/", b"b/"):
        head = _put_behind(rb"--- |\+\+\+ ", side, side + more if strip else b"", head)
    if more:  # of these names git strips one level less
        head = _put_behind(rb"(?:rename|copy) (?:from|to) ", b"", more, head)
    return b"diff --git %s\n" % _both_names(first, g, more if strip else None) + head + mark + hunks


def _put_behind(word: bytes, side: bytes, new: bytes, head: bytes) -> bytes:
    return re.sub(rb'(?m)^((?:%s)"?)%s' % (word, side), lambda m: m[1] + new, head)


def _both_names(line: bytes, g: FilePatch, more: bytes | None) -> bytes:
    """The names of a "diff --git a/OLD b/NEW" line, with ``more`` behind a/ and b/; None: without these."""
    rest = line.removeprefix(b"diff --git ")
    plain = b"a/" + encode(g.old or g.new or "")
    quoted = re.match(rb'"(?:[^"\\]|\\.)*"', rest)
    old = quoted[0] if quoted else plain
    names = ((old, b"a/"), (rest[len(old) + 1 :], b"b/"))
    sides = [(name, side, b"" if more is None else side + more) for name, side in names]
    return b" ".join(_put_behind(b"", side, new, name) for name, side, new in sides)
