"""The record of verdicts: what is known about a chain of patches on a base is not asked again.

A chain's key is a hash over the base tree, git itself, and every patch's bytes and options up to there.
A record holds the verdicts since the record before it and the files that differ from the base, so the
next check goes on from the longest known beginning: cost grows with the changed end of the series.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencoti_patches.core.model import Entry, IndexEntry, PatchName, Place, Problem, TreeId, Verdict
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import stamp

_VERSION = "3"  # of the meaning of a record; another one reads none of the old
Changes = dict[str, IndexEntry | None]
"""Files that differ from the base: their entry now, None where they are gone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """A beginning of the series that was judged before: ``count`` patches, their verdicts, the state
    after them, and its tree where it was asked for."""

    count: int
    verdicts: tuple[Verdict, ...]
    changes: Changes
    tree: TreeId | None


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
    """JSON keeps the parts apart whatever is in them."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


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
        for count in range(len(self._chain) - 1, 0, -1):
            if not self._path(self._chain[count]).exists():
                continue
            try:
                known = self._load(count)
            except (
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
        first: Mapping[str, Any] = {}
        while at > 0:
            doc = fs.read_json(self._path(self._chain[at]))
            if not isinstance(doc, dict) or doc.get("count") != at or not 0 <= doc["from"] < at:
                return None
            first = first or doc
            verdicts[:0] = [_verdict(v) for v in doc["verdicts"]]
            at = doc["from"]
        if len(verdicts) != last:
            return None
        changes: Changes = {p: (e[0], e[1]) if e else None for p, e in first["changes"].items()}
        return Known(count=last, verdicts=tuple(verdicts), changes=changes, tree=first.get("tree"))

    def save(self, begin: int, verdicts: Sequence[Verdict], changes: Changes, tree: TreeId | None = None) -> None:
        """Record the verdicts on the patches from ``begin`` on, and the state after the last."""
        count = begin + len(verdicts)
        doc = {
            "count": count,
            "from": begin,
            "tree": tree,
            "verdicts": [_row(v) for v in verdicts],
            "changes": changes,
        }
        fs.write(self._path(self._chain[count]), json.dumps(doc).encode(), sync=False)


def _row(v: Verdict) -> Any:
    """A verdict as a record keeps it; most are clean, and those are short."""
    if v == Verdict(name=v.name, status="clean", files=v.files):
        return [v.name, *v.files]
    import dataclasses

    return dataclasses.asdict(v)


def _verdict(raw: Any) -> Verdict:
    if isinstance(raw, list):
        return Verdict(name=raw[0], status="clean", files=tuple(raw[1:]))
    row = dict(raw)
    row["places"] = tuple(Place(**p) for p in row["places"])
    row["problems"] = tuple(Problem(**{**p, "diff": tuple(p["diff"])}) for p in row["problems"])
    for name in ("files", "blocked_by", "without"):
        row[name] = tuple(PatchName(n) for n in row[name])
    return Verdict(**row)
