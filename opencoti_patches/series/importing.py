"""What comes in as patches: diffs, mails, an mbox, quilt folders. Everything is read and looked at before
anything is written; whether a patch applies is not asked here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import FilePatch, PatchName, Series, decode, printable
from opencoti_patches.doors import fs
from opencoti_patches.series import mails
from opencoti_patches.series.beside import beside
from opencoti_patches.series.numbering import Folders, named
from opencoti_patches.series.order import SERIES_FILE, checked_strip, entry_of, load, read_file, read_lines
from opencoti_patches.series.parse import Parsed, parse
from opencoti_patches.series.placing import Addition, Placement, line_of, placed
from opencoti_patches.series.repair import repaired
from opencoti_patches.series.rooted import rooted
from opencoti_patches.series.says import what_and_why

_COVER = re.compile(r"^\s*\[[^\]]*\b0+/\d+\]")


class Incoming(NamedTuple):
    """One patch as it came. ``source`` is what people call it, ``own`` its file name (empty for one of
    several mails), ``line`` its line of a quilt series and ``above`` the lines before that."""

    source: str
    raw: bytes
    own: str = ""
    strip: int | None = None  # None: not said
    reverse: bool = False
    notes: tuple[str, ...] = ()
    line: str | None = None
    above: tuple[str, ...] = ()
    keep: bool = False  # the name is one of a series: it stays as it is where it may


class Delivery(NamedTuple):
    """All that came in one run. ``below`` are series lines after the last patch, ``skipped`` says what had
    no patch in it."""

    patches: tuple[Incoming, ...] = ()
    below: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class Imported(NamedTuple):
    """The patches as they go in, each beside what it came as, and the series with them."""

    incoming: tuple[Incoming, ...]
    additions: tuple[Addition, ...]
    placement: Placement
    skipped: tuple[str, ...] = ()


def read(path: Path, called: str) -> Delivery:
    """Read a file or a folder. ``called`` is what the user called it.

    Errors: UsageError ``no-file``, ``not-a-file``, ``too-large`` and those of a broken quilt series; Refused ``no-patch``.
    """
    if path.is_dir():
        inner = next((p for p in (path, path / "patches") if (p / SERIES_FILE).is_file()), None)
        return _quilt(inner, called) if inner else _folder(path, called)
    with fs.disk_errors(f"read {called}"):
        if not path.exists():
            raise UsageError("no-file", f"there is no file {called}", "name a patch, a mail, an mbox or a quilt folder")
        raw, _ = read_file(path, called)
    return read_bytes(raw, called, path.name)


def read_bytes(raw: bytes, called: str, own: str) -> Delivery:
    """Read what a file holds: a diff, a mail, or many mails."""
    parts, notes = mails.split(raw)
    found: list[Incoming] = []
    skipped: list[str] = []
    for number, part in enumerate(parts, 1):
        text, undone = mails.decoded(part)
        source = f"{called}, mail {number}" if len(parts) > 1 else called
        incoming = Incoming(source=source, raw=text, own=own if len(parts) == 1 else "", notes=(*notes, *undone))
        if parse(text).files:
            found.append(incoming)
        elif len(parts) > 1 or _is_cover(text):
            subject = what_and_why(text)[0]
            skipped.append(f"{source} has no patch in it" + (f": {printable(subject)}" if subject else ""))
        else:
            raise _no_patch(called)
    if len(parts) > 1 and not found:
        raise _no_patch(called)
    return Delivery(patches=tuple(found), skipped=tuple(skipped))


def together(deliveries: Iterable[Delivery]) -> Delivery:
    """Several deliveries as one; series lines below one stand above the next."""
    patches: list[Incoming] = []
    waiting: tuple[str, ...] = ()
    skipped: list[str] = []
    for d in deliveries:
        if d.patches:
            first = d.patches[0]
            patches += [first._replace(above=(*waiting, *first.above)), *d.patches[1:]]
            waiting = ()
        waiting = (*waiting, *d.below)
        skipped += d.skipped
    return Delivery(patches=tuple(patches), below=waiting, skipped=tuple(skipped))


def prepare(
    delivery: Delivery,
    series: Series,
    place: int | None,
    *,
    usual: int,
    strip: int | None = None,
    directory: str = "",
    renumber: bool = False,
) -> Imported:
    """Mend, name and place what came, behind so many patches (at the end for None). ``usual`` is the project's strip level, ``strip`` that of patches
    which say none.

    Errors: Refused ``no-patch``, ``unsafe-path``, ``no-number``, ``exists``, ``cannot-root``.
    """
    at = len(series.entries) if place is None else place
    names = [e.name for e in series.entries]
    own = {given.own for given in delivery.patches}  # one of them may lie in the folder: its name is refused, then
    folders = Folders(names, at, renumber=renumber, beside=[n for n in beside(series) if n not in own])
    incomings: list[Incoming] = []
    additions: list[Addition] = []
    for given in delivery.patches:
        fallback = usual if given.line is None else 1  # quilt's own
        level = given.strip if given.strip is not None else strip if strip is not None else fallback
        checked_strip(level, f"the strip level of {printable(given.source)}")
        incoming = mended(given, level, directory)
        parsed = parse(incoming.raw, level, incoming.reverse)
        _refuse_unsafe(incoming, parsed)
        subject = what_and_why(parsed.header)[0]
        name = named(given.own, subject, folders, keep=given.keep and not names, exact=given.keep)
        entry = entry_of(series.dir, name, incoming.raw, strip=level, reverse=given.reverse)
        incomings.append(incoming)
        additions.append(Addition(entry=entry, line=_line(given, name, level, usual), above=given.above))
    shifted = folders.shifted() if renumber else {}
    placement = placed(series, additions, place, below=delivery.below, renamed=shifted)
    return Imported(
        incoming=tuple(incomings), additions=tuple(additions), placement=placement, skipped=delivery.skipped
    )


def mended(given: Incoming, level: int, directory: str) -> Incoming:
    """What came, damage undone, its paths put under ``directory`` if one is given."""
    raw, notes = repaired(given.raw, level)
    if directory:
        raw = rooted(raw, directory, level)
        notes = (*notes, f"paths put under {directory.strip('/')}/")
    return given._replace(raw=raw, notes=tuple(dict.fromkeys((*given.notes, *notes))))


def _line(given: Incoming, name: str, level: int, usual: int) -> str:
    """The series line: a quilt line as it was, as far as it still says what it said."""
    if given.line is None:
        return line_of(name, level, given.reverse, usual)
    text = given.line if name == given.own else given.line.replace(given.own, name, 1)
    (read_back,) = read_lines(text)
    if (usual if read_back.strip is None else read_back.strip) == level:
        return text
    return text.replace(name, f"{name} -p{level}", 1)


def _quilt(folder: Path, called: str) -> Delivery:
    """A quilt folder: every line of its series is kept."""
    series = load(folder, 1)
    entries = {e.name: e for e in series.entries}
    with fs.disk_errors(f"read {called}"):
        text = decode(read_file(folder / SERIES_FILE, SERIES_FILE)[0])
    waiting: list[str] = []
    found = []
    for line in read_lines(text):
        if not line.name:
            waiting.append(line.text)
            continue
        entry = entries[PatchName(line.name)]
        source = f"{called.rstrip('/')}/{line.name}"
        if not parse(entry.raw).files:
            raise _no_patch(source)
        found.append(
            Incoming(
                source=source,
                own=line.name,
                raw=entry.raw,
                strip=line.strip,
                reverse=line.reverse,
                line=line.text,
                above=tuple(waiting),
                keep=True,
            )
        )
        waiting = []
    if not found:
        raise _no_patch(called)
    return Delivery(patches=tuple(found), below=tuple(waiting))


def _folder(folder: Path, called: str) -> Delivery:
    """A folder of patch files, such as git format-patch makes."""
    entries = load(folder).entries
    if not entries:
        raise _no_patch(called)
    return together(read_bytes(e.raw, f"{called.rstrip('/')}/{e.name}", e.name) for e in entries)


def _is_cover(raw: bytes) -> bool:
    from opencoti_patches.series.header import read_header

    header = read_header(raw)
    return header.mail and bool(_COVER.match(header.fields.get("Subject", "")))


def _no_patch(called: str) -> Refused:
    return Refused("no-patch", f"{printable(called)} is no patch: no diff is in it", "nothing was imported")


def _refuse_unsafe(incoming: Incoming, parsed: Parsed) -> None:
    bad = next(_unsafe(parsed.files), None)
    if bad is not None:
        raise Refused(
            "unsafe-path",
            f"{printable(incoming.source)} names {printable(bad)}, which is not a plain path inside the tree",
            "look at where it came from; nothing was imported",
        )


def _unsafe(files: Sequence[FilePatch]) -> Iterator[str]:
    for f in files:
        yield from (p for p in f.raw_paths if p.startswith("/") and p != "/dev/null")
        yield from (p for p in (f.old, f.new) if p and _leaves(p))


def _leaves(path: str) -> bool:
    # some file systems drop dots and spaces at the end, so that ".git." is ".git"
    return any(p in ("", ".", "..") or p.rstrip(" .").lower() in (".git", "git~1") for p in path.split("/"))
