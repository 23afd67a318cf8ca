"""The four guards on a patch written anew: content, loss, clobber, place. They compare what the old
patch said with what the new one says; they trust neither."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from opencoti_patches.core.model import FilePatch, printable
from opencoti_patches.plan.places import squeezed
from opencoti_patches.series import diffstat
from opencoti_patches.series.parse import Parsed


class Guarded(NamedTuple):
    """What the guards found. ``same_added`` and ``same_removed``: to the byte and in order;
    ``lost`` and ``clobbered`` name, in words, what is gone and what the new patch takes away unasked;
    ``interdiff`` shows old content against new."""

    same_added: bool
    same_removed: bool
    normalised: bool  # removed lines equal, white space and blank ones aside
    lost: tuple[str, ...]
    clobbered: tuple[str, ...]
    interdiff: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Guard 1 to the letter."""
        return self.same_added and self.same_removed


def words(found: Guarded) -> list[str]:
    """What of it somebody has to look at."""
    lost = [f"the guards miss {x}" for x in found.lost]
    many = len(found.clobbered)
    if not many:
        return lost
    removed = "a line that it removes now and did not" if many == 1 else f"{many} lines that it removes now and did not"
    shown = [*found.clobbered[:3], *(["…"] if many > 3 else [])]
    return [*lost, f"the guards find {removed} before: {', '.join(shown)}"]


def compare(old: Parsed, new: Parsed, renamed: Mapping[str, str] = MappingProxyType({})) -> Guarded:
    """Hold a new patch against the old one. ``renamed`` is what upstream calls files of the old one by now."""
    old = under(old, renamed)
    added_before, added_now = _changed(old.files, b"+"), _changed(new.files, b"+")
    removed_before, removed_now = _changed(old.files, b"-"), _changed(new.files, b"-")
    return Guarded(
        same_added=added_before == added_now,
        same_removed=removed_before == removed_now,
        normalised=_squeezed(removed_before) == _squeezed(removed_now),
        lost=tuple(_lost(old, new)),
        clobbered=tuple(_clobbered(removed_before, removed_now)),
        interdiff=tuple(_interdiff(old, new)),
    )


def under(parsed: Parsed, renamed: Mapping[str, str]) -> Parsed:
    """A patch with the names that some of its files have by now."""
    new = (f._replace(old=renamed.get(f.old or "", f.old), new=renamed.get(f.new or "", f.new)) for f in parsed.files)
    return parsed._replace(files=tuple(new))


def _changed(files: Iterable[FilePatch], kind: bytes) -> dict[str, list[bytes]]:
    """A file's added or removed lines, in order, by path."""
    found: dict[str, list[bytes]] = {}
    for f in files:
        rows = [line[1:] for h in f.hunks for line in h.lines if line[:1] == kind]
        if rows:
            found.setdefault(f.path, []).extend(rows)
    return found


def _squeezed(rows: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
    kept = {path: [squeezed(x) for x in lines if x.strip()] for path, lines in rows.items()}
    return {path: lines for path, lines in kept.items() if lines}


def _lost(old: Parsed, new: Parsed) -> Iterable[str]:
    """Files, modes, renames and header lines that are not there any more."""
    for f in old.files:
        others = [g for g in new.files if g.path == f.path]  # two, where a file changes its type
        if not others:
            yield f"the change to {printable(f.path)}"
        elif f.operation in ("rename", "copy", "create", "delete") and all(g.operation != f.operation for g in others):
            yield f"the {f.operation} of {printable(f.path)}"
        elif f.new_mode and f.old_mode != f.new_mode and all(g.new_mode != f.new_mode for g in others):
            yield f"the mode {f.new_mode} of {printable(f.path)}"
    said = diffstat.beside(old.header, new.header)
    gone = sum((Counter(said.split(b"\n")) - Counter(new.header.split(b"\n"))).values())
    if gone:
        yield f"{gone} line{'s' * (gone > 1)} of the header"


def _clobbered(before: dict[str, list[bytes]], now: dict[str, list[bytes]]) -> Iterable[str]:
    """Removed lines that the old patch did not remove, white space aside."""
    for path, rows in now.items():
        asked = Counter(map(squeezed, before.get(path, [])))
        for line, count in Counter(map(squeezed, rows)).items():
            if line and count > asked[line]:
                yield f"{printable(path)}: {printable(line.decode('utf-8', 'surrogateescape'))}"


def respaced(old: Parsed, new: Parsed) -> int:
    """How many lines that the old patch left alone the new one puts there again with other white space or line ends: what an
    editor does to a file."""
    many = 0
    before, now = _changed(old.files, b"-"), _changed(new.files, b"-")
    for path, rows in _changed(new.files, b"+").items():
        put = Counter(squeezed(x) for x in rows if x.strip())
        taken = Counter(map(squeezed, now.get(path, [])))
        many += (put & (taken - Counter(map(squeezed, before.get(path, []))))).total()
    return many


def _interdiff(old: Parsed, new: Parsed) -> Iterable[str]:
    """Old content against new, file by file: ``-`` and ``+`` lines of both patches compared as text."""
    for path in dict.fromkeys(f.path for f in (*old.files, *new.files)):
        a, b = _rows(old.files, path), _rows(new.files, path)
        if a == b:
            continue
        yield printable(path)
        diff = list(difflib.unified_diff(a, b, n=1, lineterm=""))[2:]
        yield from (f"  {row}" for row in diff if not row.startswith("@@"))


def _rows(files: Sequence[FilePatch], path: str) -> Sequence[str]:
    lines = [line for f in files if f.path == path for h in f.hunks for line in h.lines if line[:1] in b"+-"]
    return [printable(line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")) for line in lines]
