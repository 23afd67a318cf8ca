"""The index of a release: what it is, which patches it carries, and each of its files to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import printable
from opencoti_patches.core.words import plural
from opencoti_patches.release import pin, rows
from opencoti_patches.release.rows import ANY, ONE, File, Rule

SUFFIX = ".index"
_PATCH = rows.matches(r"[^\s#][^\s]{0,999}")
RULES = {
    "format": Rule(1, ONE, (rows.FORMAT,)),
    "name": Rule(1, ONE, (rows.file_name,)),
    "version": Rule(1, ONE, (rows.VERSION,)),
    "channel": Rule(1, ONE, (rows.matches("dev|release"),)),
    "tag": Rule(1, ONE, (rows.word,)),
    "repo": Rule(1, ONE, (rows.word,)),
    "rev": Rule(1, ONE, (rows.HEX40,)),
    "date": Rule(1, ONE, (rows.NUMBER,)),
    "base": Rule(1, ONE, (rows.HEX40,)),
    "tip": Rule(1, ONE, (rows.HEX40,)),
    "since": Rule(0, ONE, (rows.VERSION, rows.SHA256)),
    "patch": Rule(0, ANY, (_PATCH, rows.SHA256)),
    "source": Rule(1, ONE, (rows.SHA256, rows.NUMBER)),
    "unsmoked": Rule(0, ANY, (rows.IS_COMPONENT,)),
    "pin": Rule(1, ANY, (rows.IS_COMPONENT, rows.file_name, rows.SHA256, rows.size)),
    "file": Rule(0, ANY, (rows.KIND, rows.file_name, rows.SHA256, rows.size)),
}


class Index(NamedTuple):
    """One release. ``base`` and ``tip`` are tree ids; ``patches`` are (name, sha256) in order; ``source`` is the sum
    and the size of the source's tar before it was compressed; ``pins`` are of kind ``pin-COMPONENT``; ``date`` in
    seconds since 1970; ``since`` the version and the sum of the index before, or nothing."""

    name: str
    version: str
    channel: str
    tag: str
    repo: str
    rev: str
    date: int
    base: str
    tip: str
    source: tuple[str, int]
    patches: tuple[tuple[str, str], ...] = ()
    since: tuple[str, str] | None = None
    unsmoked: tuple[str, ...] = ()
    pins: tuple[File, ...] = ()
    files: tuple[File, ...] = ()

    def pairs(self) -> list[tuple[str, tuple[object, ...]]]:
        """Its rows, in the order of the file."""
        return [
            ("format", (2,)),
            *((key, (getattr(self, key),)) for key in _SINGLE),
            *([("since", self.since)] if self.since else []),
            *(("patch", row) for row in self.patches),
            ("source", self.source),
            *(("unsmoked", (c,)) for c in self.unsmoked),
            *(("pin", (f.kind.removeprefix(_PIN), f.name, f.sha256, f.bytes)) for f in self.pins),
            *(("file", (f.kind, f.name, f.sha256, f.bytes)) for f in self.files),
        ]

    def file(self, kind: str) -> File | None:
        """The file of a kind; None without one."""
        return next((f for f in self.files if f.kind == kind), None)


_SINGLE = ("name", "version", "channel", "tag", "repo", "rev", "date", "base", "tip")
_PIN = "pin-"


def pin_file(component: str, name: str, sha256: str, size: int) -> File:
    """A component's pin file as an index names it."""
    return File(f"{_PIN}{component}", name, sha256, size)


def component_of(file: File) -> str:
    """The inverse, for the component."""
    return file.kind.removeprefix(_PIN)


def parse(raw: bytes, where: str) -> Index:
    """The index of a file's bytes; ``where`` names it in messages. Errors: UsageError ``bad-pin``."""
    found = rows.parse(raw, where, RULES)
    pins = tuple(pin_file(c, name, sha, int(size)) for c, name, sha, size in found["pin"])
    files = tuple(File(kind, name, sha, int(size)) for kind, name, sha, size in found["file"])
    for what, keys in (
        ("file", [f.name for f in (*pins, *files)]),
        ("component", [f.kind for f in pins]),
        ("kind of file", [f.kind for f in files]),
        ("patch", [name for name, _ in found["patch"]]),
    ):
        if len(set(keys)) < len(keys):
            raise rows.bad(where, 0, f"it names a {what} twice")
    since, source = found["since"], found["source"][0]
    return Index(
        **{key: rows.only(found, key) for key in _SINGLE if key != "date"},
        date=int(rows.only(found, "date")),
        source=(source[0], int(source[1])),
        patches=tuple((name, sha) for name, sha in found["patch"]),
        since=(since[0][0], since[0][1]) if since else None,
        unsmoked=tuple(c for (c,) in found["unsmoked"]),
        pins=pins,
        files=files,
    )


def load(path: Path) -> Index:
    """The index in a file. Errors: UsageError ``no-file``, ``bad-pin``."""
    return parse(rows.read(path), path.name)


def load_either(path: Path) -> pin.Pin | Index:
    """The pin file or the index in a file: only a pin has a component. Errors: as ``load``."""
    raw = rows.read(path)
    return (pin.parse if b"\ncomponent " in raw else parse)(raw, path.name)


def find(place: Path) -> Path:
    """The index file of a release: ``place`` itself, or the one in that folder.

    Errors: UsageError ``no-file``, ``no-folder``.
    """
    if not place.is_dir():
        if not place.exists():
            raise UsageError("no-folder", f"there is no {printable(str(place))}", "name a release's folder or index")
        return place
    found = sorted(p for p in place.iterdir() if p.name.endswith(SUFFIX))
    if len(found) != 1:
        what = "no index" if not found else plural(len(found), "index")
        raise UsageError("no-file", f"{printable(str(place))} has {what} (*{SUFFIX})", "name the index itself")
    return found[0]
