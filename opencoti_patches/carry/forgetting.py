"""How a patch was resolved is forgotten, whatever it was called then."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base import states
from opencoti_patches.base.store import Store
from opencoti_patches.carry import remember, resolutions
from opencoti_patches.carry.resolutions import BEGIN, END, Resolution
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Series, decode, printable
from opencoti_patches.series import lookup
from opencoti_patches.series.disabled import left_out
from opencoti_patches.series.parse import Parsed, parse


class Forgotten(NamedTuple):
    """The patch whose resolutions were forgotten, by the name that they had, how many, and the shared file if that
    changed; ``gone`` if it had no others."""

    patch: str
    many: int
    file: Path | None
    gone: bool


def forget(store: Store, series: Series, wanted: str) -> Forgotten:
    """Forget how a patch was resolved, in the patches folder and in the store. Call with the store's lock
    held. Errors: UsageError ``no-resolution``, ``bad-resolutions``, ``unknown-patch``, ``ambiguous-patch``."""
    file, before = series.dir / resolutions.FILE, remember.shared_bytes(series.dir)
    theirs, mine = resolutions.parse(before), remember.own(store)
    known = {r.patch for r in (*theirs, *mine)}
    name = wanted if wanted in known else printable(lookup.find(series, wanted))
    if name not in known:
        was = _names_before(series, name, (*theirs, *mine))
        if len(was) != 1:
            there = f"conflicts were resolved of {', '.join(sorted(known))}" if known else ""
            raise UsageError("no-resolution", f"no conflict of {name} was resolved before", there)
        (name,) = was
    left = [r for r in theirs if r.patch != name]
    gone = {r for r in (*theirs, *mine) if r.patch == name}
    changed = len(left) < len(theirs)
    if changed:
        states.put({file: resolutions.text(left) if left else None}, store, {file: before})
    remember.keep(store, [r for r in mine if r.patch != name])
    return Forgotten(name, len(gone), file if changed else None, changed and not left)


def _names_before(series: Series, name: str, known: Sequence[Resolution]) -> set[str]:
    """What a patch may have been called when it was resolved: a name that no patch has now, with the lines of this one."""
    entry = next(e for e in series.entries if printable(e.name) == name)
    parsed = parse(entry.raw, entry.strip, entry.reverse)
    taken = {*(printable(e.name) for e in series.entries), *map(printable, left_out(series))}
    return {r.patch for r in known if r.patch not in taken and _of(r, parsed)}


def _of(r: Resolution, parsed: Parsed) -> bool:
    """Whether the patch does what a person made of these conflicts, or still what it did before that."""
    conflicts = [(e, _sides(e.found or ())) for e in r.edits if e.conflict]
    made = all(_does(parsed, e.path, upstream, e.put or ()) for e, (upstream, _, _) in conflicts)
    return made or all(_does(parsed, e.path, before, ours) for e, (_, before, ours) in conflicts)


def _does(parsed: Parsed, path: str, old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether the patch adds and removes, in the file, the lines that two texts differ by; at least one."""
    hunks = [h for f in parsed.files if path in (f.old, f.new) for h in f.hunks]
    added, removed = (
        {decode(x) for h in hunks for x in h.added},
        {decode(x) for h in hunks for x in h.removed},
    )
    more, less = set(new) - set(old), set(old) - set(new)
    return bool(more or less) and more <= added and less <= removed


def _sides(found: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """The lines of a merge as upstream, the base before and the patch have them."""
    sides: tuple[list[str], list[str], list[str]] = ([], [], [])
    at: int | None = None  # the side in which a line stands; None for all
    for line in found:
        if line == BEGIN:
            at = 0
        elif line == "||||||| before\n":
            at = 1
        elif at is not None and line == "=======\n":
            at = 2
        elif line == END:
            at = None
        else:
            for one in sides if at is None else (sides[at],):
                one.append(line)
    return sides
