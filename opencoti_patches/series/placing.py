"""Patches put into a series: the files that change, and the series as it will be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import Entry, PatchName, Series, decode, encode, printable
from opencoti_patches.doors import fs
from opencoti_patches.series.lookup import find
from opencoti_patches.series.naming import numeric_order
from opencoti_patches.series.order import (
    SERIES_FILE,
    SUFFIXES,
    kept_lines,
    quoted_name,
    read_file,
    read_lines,
    with_renamed,
)


class Addition(NamedTuple):
    """One patch to be put in. ``line`` is its line of the series file; ``above`` lines without a patch
    that belong before it."""

    entry: Entry
    line: str
    above: tuple[str, ...] = ()


class Placement(NamedTuple):
    """A series with more patches in it. ``changes`` is for ``transaction.replace_all``; renamed entries of
    ``series`` still have their old path, since they are there until then."""

    series: Series
    changes: Mapping[Path, bytes | None]
    renamed: Mapping[str, str]
    listed_now: bool  # there was no series file, and now there must be one


def line_of(name: str, strip: int, reverse: bool, usual: int) -> str:
    """A series line; ``usual`` is the strip level that goes without saying.

    Errors: UsageError ``bad-name``.
    """
    options = [*([f"-p{strip}"] if strip != usual else []), *(["-R"] if reverse else [])]
    return " ".join([quoted_name(name), *options])


def place_of(series: Series, after: str | None, *, first: bool = False) -> int | None:
    """How many patches stand before what goes behind a patch, or before all of them; None for the end of the series.

    Errors: UsageError ``unknown-patch``.
    """
    if after is None:
        return 0 if first else None
    return 1 + [e.name for e in series.entries].index(find(series, after))


def placed(
    series: Series,
    additions: Sequence[Addition],
    place: int | None,
    *,
    below: Sequence[str] = (),
    renamed: Mapping[str, str] | None = None,
) -> Placement:
    """Put patches behind so many (at the end for None). ``below`` are lines of the series file that come
    after them, ``renamed`` new names of patches that are there.

    Errors: Refused ``exists`` if a patch of that name is there, or two would have it.
    """
    renamed = renamed or {}
    _refuse_taken(series, additions, renamed)
    at = len(series.entries) if place is None else place
    old = [e._replace(name=PatchName(renamed.get(e.name, e.name))) for e in series.entries]
    new = [a.entry for a in additions]
    entries = (*old[:at], *new, *old[at:])
    changes: dict[Path, bytes | None] = {e.path: None for e in series.entries if e.name in renamed}
    changes |= {series.dir / renamed[e.name]: e.raw for e in series.entries if e.name in renamed}
    changes |= {e.path: e.raw for e in new}
    names = [e.name for e in entries]
    plain = not below and all(
        a.line == a.entry.name and not a.above and "/" not in a.line and a.line.endswith(SUFFIXES) for a in additions
    )
    needed = not plain or sorted(names, key=numeric_order) != names
    if series.listed or needed:
        rows = [row for a in additions for row in (*a.above, a.line)] + list(below)
        changes[series.dir / SERIES_FILE] = encode(_inserted(_text(series, renamed), rows, old, place))
    return Placement(
        series=Series(dir=series.dir, entries=entries, listed=series.listed or needed),
        changes=changes,
        renamed=renamed,
        listed_now=needed and not series.listed,
    )


def _text(series: Series, renamed: Mapping[str, str]) -> str:
    if not series.listed:
        return "".join(f"{quoted_name(renamed.get(e.name, e.name))}\n" for e in series.entries)
    with fs.disk_errors("read the series"):
        text = decode(read_file(series.dir / SERIES_FILE, SERIES_FILE)[0])
    return with_renamed(text, dict(renamed))


def _inserted(text: str, rows: Sequence[str], old: Sequence[Entry], place: int | None) -> str:
    """The text with these rows behind the line of so many patches, every other byte of it as it was."""
    lines = kept_lines(text)
    if lines and lines[-1] == lines[-1].rstrip("\r\n"):
        lines[-1] += "\n"
    names = [line.name for line in read_lines(text)]
    where = len(lines)
    if place is not None and old:
        where = 1 + names.index(old[place - 1].name) if place else names.index(old[0].name)
    return "".join([*lines[:where], *(f"{row}\n" for row in rows), *lines[where:]])


def _refuse_taken(series: Series, additions: Sequence[Addition], renamed: Mapping[str, str]) -> None:
    moved = {series.dir / n for n in renamed}
    there = {e.path: e.raw for e in series.entries if e.path not in moved}
    same = {a.entry.path for a in additions if there.get(a.entry.path) == a.entry.raw}
    taken = {*there}
    for name in [*renamed.values(), *(a.entry.name for a in additions)]:
        path = series.dir / name
        if path.parent != series.dir and not path.resolve().is_relative_to(series.dir.resolve()):
            raise UsageError("unsafe-path", f"{printable(name)} is not inside {series.dir}", "name it otherwise")
        if path in same:
            raise Refused(
                "exists", f"{printable(name)} is in the series already, with the same bytes", "nothing was changed"
            )
        if path in taken or (path not in moved and (path.is_symlink() or path.exists())):
            raise Refused(
                "exists",
                f"there is a {printable(name)} in {series.dir.name}/ already",
                "give the file another name; nothing was changed",
            )
        taken.add(path)


def stale_claims(series: Series, renamed: Mapping[str, str]) -> tuple[str, ...]:
    """What headers say about the place of patches that have other numbers now: "Patch order: applies after
    0034". They are people's words and stay; these lines name them."""
    if not renamed:
        return ()
    from opencoti_patches.series.parse import parse
    from opencoti_patches.series.says import claims, refute

    found = []
    for e in series.entries:
        for line, claimed in claims(parse(e.raw, e.strip, e.reverse).header):
            meant = next((old for old in renamed if not refute(claimed, [old], [old])), None)
            if meant is not None:
                who = printable(renamed.get(e.name, e.name))
                found.append(
                    f"{who}, line {line} says that it applies after {printable(claimed)}, "
                    f"which is {printable(renamed[meant])} now"
                )
    return tuple(found)
