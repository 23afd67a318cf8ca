"""A patch parted in two: what is selected goes into a patch of its own behind it, every line as it was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from fnmatch import fnmatchcase
from typing import NamedTuple

from opencoti_patches.carry.compose import renumbered
from opencoti_patches.carry.rows import starts
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import Entry, FilePatch, PatchName, blob_id, encode, printable
from opencoti_patches.core.shell import word
from opencoti_patches.core.words import plural
from opencoti_patches.doors.git import Landing
from opencoti_patches.plan.replay import lines_of, put
from opencoti_patches.series.beside import beside
from opencoti_patches.series.header import author_lines
from opencoti_patches.series.heading import heading
from opencoti_patches.series.numbering import Numbers, folder_of, parted
from opencoti_patches.series.order import entry_of, with_renamed
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.series.placing import line_of
from opencoti_patches.series.says import what_and_why
from opencoti_patches.stack import lines
from opencoti_patches.stack.desk import Desk, index_of
from opencoti_patches.stack.model import Change, Fated
from opencoti_patches.stack.weave import offsets_of

_INDEX = re.compile(rb"(?m)^index ([0-9a-f]+)\.\.([0-9a-f]+)")
Selection = Mapping[int, Set[int] | None]
"""By number of the file in the patch, from 0: the hunks, from 1, or None for the file as a whole."""


def select(parsed: Parsed, globs: Sequence[str], hunks: Sequence[str]) -> Selection:
    """What ``--files GLOB`` and ``--hunks FILE:1,3`` mean. Errors: UsageError ``bad-selection``."""
    found: dict[int, set[int] | None] = {}
    for glob in globs:
        hits = [i for i, f in enumerate(parsed.files) if any(fnmatchcase(p, glob) for p in _ends(f.path))]
        if not hits:
            raise UsageError("bad-selection", f"no file of the patch is called {glob}", _files(parsed))
        found |= dict.fromkeys(hits, None)
    for text in hunks:
        path, _, numbers = text.rpartition(":")
        if not path or not re.fullmatch(r"\d+(?:[,-]\d+)*", numbers):
            raise UsageError("bad-selection", f"--hunks {text} is not of the form FILE:1,3", _files(parsed))
        if not all(_numbers(part) for part in numbers.split(",")):
            raise UsageError("bad-selection", f"--hunks {text} has a range that ends before it begins", _files(parsed))
        hits = [i for i, f in enumerate(parsed.files) if f.path == path or f.path.endswith(f"/{path}")]
        if len(hits) != 1:
            raise UsageError(
                "bad-selection", f"the patch has {plural(len(hits), 'file')} called {path}", _files(parsed)
            )
        f, wanted = parsed.files[hits[0]], _numbers(numbers)
        if missing := wanted - {h.number for h in f.hunks}:
            raise UsageError("bad-selection", f"{path} has no hunk {min(missing)} in the patch", _files(parsed))
        held = found.setdefault(hits[0], set())
        if held is not None:
            held |= wanted
    whole = {i: None if h is not None and len(h) == len(parsed.files[i].hunks) else h for i, h in found.items()}
    if not whole:
        raise UsageError("bad-selection", "say what goes into the new patch: --files or --hunks", _files(parsed))
    if len(whole) == len(parsed.files) and all(h is None for h in whole.values()):
        raise UsageError("bad-selection", "that is all of the patch: nothing would stay in it", _files(parsed))
    for i, chosen in whole.items():
        f = parsed.files[i]
        if chosen is not None and (f.operation != "modify" or (f.old_mode != f.new_mode)):
            raise UsageError(
                "bad-selection",
                f"{printable(f.path)} is made, moved, removed or has another mode: take it whole",
                f"--files {word(f.path)}",
            )
    return whole


def split(
    desk: Desk,
    name: PatchName,
    globs: Sequence[str],
    hunks: Sequence[str],
    *,
    called: str,
    message: str,
    usual: int,
    renumber: bool,
) -> Change:
    """Part a patch. ``called`` is the name of the new one, ``message`` its header's text; each may be empty. Who made
    the patch made the new one.

    Errors: UsageError ``bad-selection``, ``bad-name``; Refused ``no-number``, ``does-not-apply``.
    """
    entries = desk.series.entries
    at = index_of(entries, name)
    entry = _exact(desk, entries[: at + 1])
    parsed = parse(entry.raw, entry.strip)
    selection = select(parsed, globs, hunks)
    if entry.reverse and any(h is not None for h in selection.values()):
        raise UsageError("bad-selection", "an entry with -R is parted by whole files only", "use --files")
    before, after = desk.tree(entries[:at]), desk.tree(entries[: at + 1])
    changed = desk.store.repo.diff_trees(before, after)
    held = {p: olds for p, (olds, _) in changed.items() if olds and olds[0] != "160000"}
    contents = desk.store.repo.blobs(oid for _, oid in held.values())
    stem = f"{re.sub(r'^[0-9]+[-_.]', '', name.rsplit('/', 1)[-1].rsplit('.', 1)[0])}-part"
    names = [e.name for e in entries]
    numbers = Numbers(names, at + 1, folder=folder_of(name), renumber=renumber, beside=beside(desk.series))
    file = numbers.named(called, stem) if called else numbers.next_named(stem)
    new_name = PatchName(f"{folder_of(name)}{file}")
    stem = (parted(called)[1].lstrip("-_.") if called else "") or stem
    parts = _parts(entry, parsed, selection, {p: contents[oid] for p, (_, oid) in held.items()})
    rest = desk.headed(entry, parts.rest)
    if not message.strip() and (subject := what_and_why(parsed.header)[0]):
        message = f"{subject}: {stem.replace('-', ' ') if called else _taken(parsed, selection)}"
    taken_raw = heading(stem, message, made_by=author_lines(parsed.header)) + parts.taken
    taken = desk.fresh(
        entry_of(desk.series.dir, new_name, taken_raw, strip=entry.strip, reverse=entry.reverse), taken_raw
    )
    now = (*entries[:at], rest, taken)
    if desk.tree(now) != after:
        raise Refused(
            "does-not-apply",
            f"the two parts of {printable(name)} do not make what it made",
            "part it otherwise, by whole files",
        )
    shifted = numbers.shifted() if renumber else {}
    later = tuple(e._replace(name=PatchName(shifted.get(e.name, e.name))) for e in entries[at + 1 :])
    text = with_renamed(lines.text_of(desk.series), dict(shifted))
    text = lines.behind(text, name, line_of(new_name, entry.strip, entry.reverse, usual))
    rows = [Fated(name, "refreshed", "without what went into the new patch"), Fated(new_name, "made", f"of {name}")]
    rows += [Fated(PatchName(new), "renamed", was=old) for old, new in shifted.items()]
    all_now = (*now, *later)
    listed = desk.series.listed or lines.needed([e.name for e in all_now], text)
    return Change(
        all_now,
        tuple(rows),
        encode(text) if listed else None,
        gone=tuple(PatchName(n) for n in shifted),
        renamed=shifted,
    )


def _taken(parsed: Parsed, selection: Selection) -> str:
    """What goes into the new patch, for its first line."""
    named = []
    for i, hunks in sorted(selection.items()):
        file = printable(parsed.files[i].path.rsplit("/", 1)[-1])
        numbers = ", ".join(map(str, sorted(hunks or ())))
        named.append(f"hunk{'s' * (len(hunks) > 1)} {numbers} of {file}" if hunks else file)
    return " and ".join(named) if len(named) < 3 else f"{named[0]} and {plural(len(named) - 1, 'more file')}"


class _Parts(NamedTuple):
    rest: bytes
    taken: bytes


def _parts(entry: Entry, parsed: Parsed, selection: Selection, before: Mapping[str, bytes]) -> _Parts:
    """The bytes of both; ``before`` are the files' contents before the patch."""
    rest, taken = [parsed.header], []
    at = len(parsed.header)
    for i, f in enumerate(parsed.files):
        lead_in, at = entry.raw[at : f.span[0]], f.span[1]
        text = entry.raw[f.span[0] : f.span[1]]
        chosen = selection.get(i, frozenset())
        if chosen is None:
            taken += [lead_in, text]
        elif not chosen:
            rest += [lead_in, text]
        else:
            mine, theirs = _of_file(entry, f, chosen, before.get(f.old or "", b""))
            rest += [lead_in, mine]
            taken += [lead_in, theirs]
    return _Parts(b"".join(rest) + parsed.trailer, b"".join(taken))


def _of_file(entry: Entry, f: FilePatch, chosen: Set[int], before: bytes) -> tuple[bytes, bytes]:
    """One file's part without the chosen hunks, and what they are behind that."""
    head = entry.raw[f.span[0] : f.hunks[0].span[0]]
    parts: dict[bool, list[bytes]] = {False: [], True: []}
    grown = {False: 0, True: 0}
    middle = lines_of(before)
    for h in f.hunks:
        mine = h.number in chosen
        old = h.old_start + (grown[False] if mine else 0)
        new = h.new_start - (0 if mine else grown[True])
        grown[mine] += h.new_count - h.old_count
        text = entry.raw[h.span[0] : h.span[1]]
        part = parse(head + text, entry.strip)
        moved = renumbered(head + text, part, {(0, 1): (old, new)})
        parts[mine].append(moved[len(head) :])
        if not mine:
            put(middle, h._replace(old_start=old, new_start=new), 0)
    blob = blob_id(b"".join(middle)).encode()
    first = _INDEX.sub(lambda m: b"index %s..%s" % (m[1], blob[: len(m[2])]), head, count=1)
    second = _INDEX.sub(lambda m: b"index %s..%s" % (blob[: len(m[1])], m[2]), head, count=1)
    return first + b"".join(parts[False]), second + b"".join(parts[True])


def _exact(desk: Desk, upto: Sequence[Entry]) -> Entry:
    """The last of these patches with its hunks numbered as they land."""
    entry = upto[-1]
    parsed = parse(entry.raw, entry.strip, entry.reverse)
    offsets = offsets_of(parsed, desk.plan(upto), entry.name)
    if not offsets:
        return entry
    landed = [Landing(i, h, 0, far) for (i, h), far in offsets.items()]
    raw = renumbered(entry.raw, parse(entry.raw, entry.strip), starts(parsed, landed, entry.reverse))
    return desk.fresh(entry, raw)


def _ends(path: str) -> list[str]:
    """A path and what is left of it behind each of its folders."""
    parts = path.split("/")
    return ["/".join(parts[i:]) for i in range(len(parts))]


def _numbers(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), min(int(last or first), 100_000) + 1))
    return found


def _files(parsed: Parsed) -> str:
    named = [f"{printable(f.path)}:{f'1-{len(f.hunks)}' if len(f.hunks) > 1 else len(f.hunks)}" for f in parsed.files]
    return f"it has {', '.join(named[:5])}{', …' if len(named) > 5 else ''}"
