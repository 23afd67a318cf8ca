"""The record of verdicts: what is known about a chain of patches on a base is not asked again.

A chain's key is a hash over the base tree, git itself, and every patch's bytes and options up to there.
A record holds the verdicts since the record before it and the files that differ from the base, so the
next check goes on from the longest known beginning: cost grows with the changed end of the series.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.core.model import Entry, IndexEntry, PatchName, Place, Problem, TreeId, Verdict
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import stamp

_VERSION = "8"  # of the meaning of a record; another one reads none of the old
Changes = dict[str, IndexEntry | None]
"""Files that differ from the base: their entry now, None where they are gone."""


class Known(NamedTuple):
    """A beginning of the series that was judged before: its verdicts, its tree where that was asked for, and
    what reads the state after it."""

    verdicts: tuple[Verdict, ...]
    tree: TreeId | None
    changes: Callable[[], Changes]


def keys(base: TreeId, entries: Sequence[Entry], objects: Path) -> list[str]:
    """The chain's key before any patch and after each: one more than there are entries.
    Records of a repository (``objects``) that is gone count for nothing: the contents are gone with it."""
    key = _hash(_VERSION, stamp(), base, _identity(objects))
    found = [key]
    for e in entries:
        key = _hash(key, e.sha256, e.strip, e.reverse, e.name)
        found.append(key)
    return found


def _hash(*parts: str | int) -> str:
    """Quotes keep the parts apart whatever is in them."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _identity(objects: Path) -> str:
    try:
        return (objects / "opencoti-objects").read_text("utf-8", "replace")  # see base/bootstrap.py
    except OSError:
        return ""


class Records:
    """The store's records of one chain."""

    def __init__(self, folder: Path, chain: Sequence[str]) -> None:
        self._folder = folder
        self._chain = chain

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"

    def longest(self) -> Known | None:
        """The longest beginning that has a whole record."""
        try:
            there = set(os.listdir(self._folder))  # mostly nothing is, and to ask for each costs more
        except FileNotFoundError:
            return None
        for count in range(len(self._chain) - 1, 0, -1):
            if self._chain[count][:2] not in there or not self._path(self._chain[count]).exists():
                continue
            try:
                known = self._load(count)
            except (
                OSError,
                LookupError,
                TypeError,
                ValueError,
                AttributeError,
            ):  # damaged, or nobody's: as if it were not there
                continue
            if known:
                return known
        return None

    def _load(self, count: int) -> Known | None:
        verdicts: list[Verdict] = []
        last = at = count
        tree, rest = None, b"null"
        while at > 0:
            head, _, body = self._path(self._chain[at]).read_bytes().partition(b"\n")
            doc = json.loads(head)
            if doc["count"] != at or not 0 <= doc["from"] < at or doc["sum"] != _sum(body):
                return None
            if at == last:
                tree, rest = doc["tree"], body
            verdicts[:0] = [_verdict(v) for v in doc["verdicts"]]
            at = doc["from"]
        return Known(tuple(verdicts), tree, lambda: _changes(rest)) if len(verdicts) == last else None

    def save(self, begin: int, verdicts: Sequence[Verdict], changes: Changes, tree: TreeId | None = None) -> None:
        """Record the verdicts on the patches from ``begin`` on, and the state after the last: a line each, for
        only who goes on from there has to read the second."""
        count = begin + len(verdicts)
        body = json.dumps(changes).encode()
        doc = {"count": count, "from": begin, "tree": tree, "sum": _sum(body), "verdicts": [_row(v) for v in verdicts]}
        fs.write(self._path(self._chain[count]), json.dumps(doc).encode() + b"\n" + body, sync=False)

    def note_tree(self, tree: TreeId) -> None:
        """Add the tree to the record of the whole chain, which was made when nobody asked for it."""
        path = self._path(self._chain[-1])
        head, _, body = path.read_bytes().partition(b"\n")
        fs.write(path, json.dumps(json.loads(head) | {"tree": tree}).encode() + b"\n" + body, sync=False)


def _sum(body: bytes) -> int:
    return zlib.crc32(body)  # against accidents, such as a power cut


def _changes(body: bytes) -> Changes:
    return {p: (e[0], e[1]) if e else None for p, e in json.loads(body).items()}


def _row(v: Verdict) -> Any:
    """A verdict as a record keeps it; most are clean, and those are short."""
    if v == Verdict(name=v.name, status="clean", files=v.files):
        return [v.name, *v.files]
    parts = {"places": [p._asdict() for p in v.places], "problems": [p._asdict() for p in v.problems]}
    return v._asdict() | parts


def _verdict(raw: Any) -> Verdict:
    if isinstance(raw, list):
        return Verdict(name=raw[0], status="clean", files=tuple(raw[1:]))
    row = dict(raw)
    row["places"] = tuple(Place(**p) for p in row["places"])
    row["problems"] = tuple(Problem(**{**p, "diff": tuple(p["diff"])}) for p in row["problems"])
    for name in ("files", "blocked_by", "without"):
        row[name] = tuple(PatchName(n) for n in row[name])
    return Verdict(**row)
