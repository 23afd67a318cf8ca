"""The log of states: what the patch files, the series and the lock were before each run that changed them.

A step lies in the store, in a file of its own, and takes its place in the same transaction as the patch files: it
is there if and only if they were changed. ``undo`` puts back what a step's files held before, ``redo`` what they
held after; both refuse where a file is not as the step left it.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import Refused
from opencoti_patches.doors import fs, transaction

_KEPT = 100  # steps


class Step(NamedTuple):
    """One run that changed files. ``number`` counts from 1; ``undone``: it can be redone."""

    number: int
    what: str  # the command
    when: str  # local time, to the second
    files: tuple[str, ...]  # from the project's folder where they are in it
    undone: bool = False


def put(changes: Mapping[Path, bytes | None], store: Store, read: Mapping[Path, bytes] | None = None) -> None:
    """``transaction.replace_all`` for the project's own files, with a step in the log. Call with the store's lock held.

    Errors: those of ``transaction.replace_all``; then nothing is changed, and there is no step.
    """
    now = {path: _held(path) for path in changes}
    real = {path: data for path, data in changes.items() if data != now[path]}
    if not real:
        return
    number, top = _at(store) + 1, _top(store)
    step = _document(store, store.writer, time.strftime("%Y-%m-%d %H:%M:%S"), real, now)
    log: dict[Path, bytes | None] = {_file(store, number): step, _pointer(store): _numbers(number, number)}
    for gone in [number - _KEPT, *range(number + 1, top + 1)]:
        if _file(store, gone).exists():
            log[_file(store, gone)] = None
    old = [file(store, n) for file in (_redo, _folders) for n in (number - _KEPT, *range(number, top + 1))]
    log |= {path: None for path in old if path.exists()}
    transaction.replace_all({**real, **log}, store.journal, read)


def note_folder(store: Store, folder: Path, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Take down that a folder's edits went into patches with the last step: what it was at, and is. Both are a
    ``tree.worktree.At`` in JSON's types."""
    rows = [*folders(store, _at(store)), {"dir": str(folder), "before": before, "after": after}]
    fs.write(_folders(store, _at(store)), fs.json_bytes(rows))


def folders(store: Store, number: int) -> list[dict[str, Any]]:
    """What ``note_folder`` took down with a step."""
    found = fs.read_json(_folders(store, number))
    return found if isinstance(found, list) else []


def steps(store: Store) -> list[Step]:
    """What is in the log, the newest first."""
    at, top = _at(store), _top(store)
    found = ((n, _load(_file(store, n))) for n in range(top, max(top - _KEPT, 0), -1))
    return [Step(n, str(d["what"]), str(d["when"]), tuple(d["held"]), undone=n > at) for n, d in found if d]


def undo(store: Store, *, force: bool = False) -> tuple[Step, tuple[Path, ...]]:
    """Put the files of the last step back: the step, and where files that were changed since are now, which only
    ``force`` writes over.

    Errors: Refused ``nothing-to-undo``, ``changed-since``; CouldNot ``disk``. Then nothing is changed.
    """
    number = _at(store)
    doc = _load(_file(store, number))
    if not doc:
        raise Refused("nothing-to-undo", "there is nothing to undo", "'opencoti-patches undo --list' shows the log")
    return _swap(store, number, doc, number - 1, _redo(store, number), force)


def redo(store: Store, *, force: bool = False) -> tuple[Step, tuple[Path, ...]]:
    """Do again what was undone last. Errors: as with ``undo``."""
    number = _at(store) + 1
    doc = _load(_redo(store, number))
    if not doc:
        raise Refused(
            "nothing-to-undo",
            "nothing was undone that could be done again",
            "'opencoti-patches undo --list' shows the log",
        )
    return _swap(store, number, doc, number, None, force)


def _swap(
    store: Store, number: int, doc: dict[str, Any], at: int, back: Path | None, force: bool
) -> tuple[Step, tuple[Path, ...]]:
    """Give files what the document holds. ``back`` gets what would do the contrary."""
    now = {path: _held(path) for path in (_path(store, name) for name in doc["held"])}
    then = {_path(store, name): row for name, row in doc["held"].items()}
    # what somebody put back by hand is as it will be
    edited = [p for p, row in then.items() if _sum(now[p]) != row["after"] and now[p] != _bytes(row["before"])]
    if edited and not force:
        raise Refused(
            "changed-since",
            f"{', '.join(_shown(store, p) for p in edited[:3])}{' and more' if len(edited) > 3 else ''} "
            f"changed since '{doc['what']}' wrote {'it' if len(edited) == 1 else 'them'}",
            "--force puts what is there now into the store and goes on",
        )
    changes = {path: _bytes(row["before"]) for path, row in then.items()}
    saved = _put_aside(store, {p: data for p in edited if (data := now[p]) is not None})
    log: dict[Path, bytes | None] = {_pointer(store): _numbers(at, _top(store))}
    if back:
        log[back] = _document(store, doc["what"], doc["when"], changes, now)
    transaction.replace_all({**changes, **log}, store.journal, {p: data for p, data in now.items() if data is not None})
    return Step(number, doc["what"], doc["when"], tuple(doc["held"]), undone=back is not None), saved


def _document(
    store: Store, what: str, when: str, changes: Mapping[Path, bytes | None], now: Mapping[Path, bytes | None]
) -> bytes:
    """A step, or what takes one back."""
    rows = {_shown(store, p): {"before": _text(now[p]), "after": _sum(data)} for p, data in changes.items()}
    return json.dumps({"what": what, "when": when, "held": rows}).encode()


def _put_aside(store: Store, files: Mapping[Path, bytes]) -> tuple[Path, ...]:
    """The files with their folders below the one that they share: two of them may be called the same."""
    if not files:
        return ()
    folder = store.saved / f"undo-{time.strftime('%Y%m%d-%H%M%S')}-{time.time_ns() % 1_000_000:06d}"
    shared = os.path.commonpath([path.parent for path in files])
    saved = {folder / path.relative_to(shared): data for path, data in files.items()}
    for path, data in saved.items():
        fs.write(path, data)
    return tuple(saved)


def _held(path: Path) -> bytes | None:
    with fs.disk_errors(f"read {path}"):
        return path.read_bytes() if path.is_file() else None


def _file(store: Store, number: int) -> Path:
    return store.own / "states" / f"{number:06d}.json"


def _redo(store: Store, number: int) -> Path:
    return store.own / "states" / f"{number:06d}.redo.json"


def _folders(store: Store, number: int) -> Path:
    return store.own / "states" / f"{number:06d}.folders.json"


def _pointer(store: Store) -> Path:
    return store.own / "states" / "at.json"


def _numbers(at: int, top: int) -> bytes:
    return json.dumps([at, top]).encode()


def _at(store: Store) -> int:
    return _pair(store)[0]


def _top(store: Store) -> int:
    return _pair(store)[1]


def _pair(store: Store) -> Sequence[int]:
    found = fs.read_json(_pointer(store))
    return found if isinstance(found, list) and len(found) == 2 and all(isinstance(n, int) for n in found) else (0, 0)


def _load(path: Path) -> dict[str, Any] | None:
    doc = fs.read_json(path)
    return doc if isinstance(doc, dict) and {"what", "when", "held"} <= doc.keys() else None


def _shown(store: Store, path: Path) -> str:
    path = path.absolute()
    return str(path.relative_to(store.project)) if path.is_relative_to(store.project) else str(path)


def _path(store: Store, name: str) -> Path:
    return store.project / name


def _sum(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")
