"""Conflicts that were resolved once, as ``resolutions.jsonl`` in the patches folder keeps them.

One line of JSON a resolved patch: what git's merge of it looked like where a person changed it, markers and
all, and what they made of that. No line numbers: an edit is found again by its lines, and fits only where
these stand exactly once. So a line says

    {"patch": NAME, "to": WHAT THE BUMP WENT TO,
     "edits": [{"path": FILE, "found": [LINE, …] or null, "put": [LINE, …] or null, "mode": "100644"}, …]}

Lines keep their ends. ``found`` is null where the file is made, ``put`` is null where it is deleted. An edit
whose ``found`` holds a conflict is what the line is found by; others come along with it.

The file is read as a stranger's: nothing in it runs, its paths stay inside the tree, and what it makes of a
patch is held to the same guards, and shown, like any other adapted patch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import decode, printable
from opencoti_patches.series.order import RESOLUTIONS_FILE

FILE = RESOLUTIONS_FILE
BEGIN, END = "<<<<<<< upstream\n", ">>>>>>> the patch\n"
_MARKS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")
_KEYS = ({"path", "found", "put"}, {"path", "found", "put", "mode"})


class Edit(NamedTuple):
    """A run of lines of a merge, and what a person put in its place, each line with its end. ``found`` is
    None for a file that is made, with ``mode``; ``put`` is None for one that is deleted."""

    path: str
    found: tuple[str, ...] | None
    put: tuple[str, ...] | None
    mode: str = ""

    @property
    def conflict(self) -> bool:
        """Whether it resolves a conflict, markers and all."""
        return self.found is not None and BEGIN in self.found


class Resolution(NamedTuple):
    """What a person made of one patch in conflict. ``to`` is what that bump went to."""

    patch: str
    to: str
    edits: tuple[Edit, ...]

    @property
    def conflicts(self) -> frozenset[tuple[str, tuple[str, ...] | None]]:
        """What it is found by: path and lines of every conflict that it resolves."""
        return frozenset((e.path, e.found) for e in self.edits if e.conflict)


def parse(raw: bytes) -> tuple[Resolution, ...]:
    """The resolutions of a file's bytes. Errors: UsageError ``bad-resolutions`` naming the first line that
    is none."""
    found = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        if not line.strip():
            continue
        if decode(line[:7]) in _MARKS:
            raise _bad(number, "is a conflict marker", "keep the lines of both sides, and delete the markers")
        try:
            found.append(_resolution(json.loads(line.decode("utf-8"))))
        except (ValueError, RecursionError) as e:
            why = str(e) if type(e) is ValueError else "it is not JSON"
            raise _bad(number, f"is no resolution: {why}", "restore the line, or delete it") from None
    return tuple(found)


def text(resolutions: Iterable[Resolution]) -> bytes:
    """A file with these, in an order of its own, so that two branches that add some mostly merge."""
    return b"".join(sorted({_line(r) for r in resolutions}))


def with_new(old: Sequence[Resolution], new: Sequence[Resolution]) -> tuple[Resolution, ...]:
    """Old ones and new ones; of a conflict that both resolve, the new one counts."""
    again = frozenset().union(*(r.conflicts for r in new))
    kept = []
    for r in old:
        left = tuple(e for e in r.edits if (e.path, e.found) not in again)
        if any(e.conflict for e in left):
            kept.append(r._replace(edits=left))
    return (*kept, *new)


def _bad(number: int, what: str, hint: str) -> UsageError:
    return UsageError("bad-resolutions", f"{FILE} line {number} {what}", hint)


def _line(r: Resolution) -> bytes:
    edits = [{"path": e.path, "found": e.found, "put": e.put} | ({"mode": e.mode} if e.mode else {}) for e in r.edits]
    line = json.dumps({"patch": r.patch, "to": r.to, "edits": edits}, ensure_ascii=False)
    # a byte that is not UTF-8 is half a surrogate here; only an escape of it is text
    return re.sub("[\ud800-\udfff]", lambda m: f"\\u{ord(m[0]):04x}", line).encode() + b"\n"


def _resolution(doc: Any) -> Resolution:
    """Errors: ValueError saying what is wrong."""
    if not isinstance(doc, dict) or doc.keys() != {"patch", "to", "edits"}:
        raise ValueError("it has other keys than patch, to and edits")
    if not all(isinstance(doc[k], str) and doc[k] == printable(doc[k]) != "" for k in ("patch", "to")):
        raise ValueError("patch and to are words")
    edits = doc["edits"]
    if not isinstance(edits, list) or not all(isinstance(e, dict) and e.keys() in _KEYS for e in edits):
        raise ValueError("an edit has other keys than path, found, put and mode")
    found = Resolution(doc["patch"], doc["to"], tuple(map(_edit, edits)))
    if not found.conflicts:
        raise ValueError("it resolves no conflict")
    return found


def _edit(doc: Mapping[str, Any]) -> Edit:
    path = doc["path"]
    if not isinstance(path, str) or not _plain(path):
        raise ValueError("a path leads out of the tree")
    found, put = (None if doc[k] is None else _lines(doc[k]) for k in ("found", "put"))
    mode = doc.get("mode", "")
    if (found, put) == (None, None) or found == () or (found is None) != (mode in ("100644", "100755")):
        raise ValueError("an edit puts lines in the place of others, makes a file with a mode, or deletes one")
    return Edit(path, found, put, mode)


def _lines(value: Any) -> tuple[str, ...]:
    whole = isinstance(value, list) and all(isinstance(x, str) and x and "\n" not in x[:-1] for x in value)
    if not whole or not all(x.endswith("\n") for x in value[:-1]):
        raise ValueError("found and put are lines with their ends")
    return tuple(value)


def _plain(path: str) -> bool:
    parts = path.split("/")
    return "\0" not in path and not any(
        p in ("", ".", "..") or p.rstrip(" .").lower() in (".git", "git~1") for p in parts
    )
