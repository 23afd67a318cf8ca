"""What the compilers of a build said that each object was made of: ninja's log of it, or ``.d`` files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.build import manifest
from opencoti_patches.build.includes import SOURCES
from opencoti_patches.build.kinds import toolchain
from opencoti_patches.build.run import place_of
from opencoti_patches.core.config import Config
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import Series, TreeId, decode
from opencoti_patches.core.profile import Profile
from opencoti_patches.doors import proc


class Made(NamedTuple):
    """One object: its source, and all files of the tree that were read for it, the source too."""

    source: str
    files: frozenset[str]


class Known(NamedTuple):
    """The objects of one profile's build; none where no depfiles tell."""

    profile: str
    objects: tuple[Made, ...]


def builds_of(profiles: Iterable[Profile], series: Series, base: TreeId, config: Config, store: Store) -> list[Known]:
    """The builds that are whole and of this very series, with what their compilers told."""
    rows = [[e.name, e.sha256] for e in series.entries]
    found = []
    for profile in profiles:
        place = place_of(config, profile, store)
        inputs = (manifest.read(place.build) or {}).get("inputs", {})
        if (inputs.get("base"), inputs.get("patches")) == (base, rows):
            start = place.build if profile.kind == "cmake" else place.source
            made = objects(toolchain(profile).outputs(profile, place), start, config.tree)
            found.append(Known(profile.name, tuple(made)))
    return found


def objects(build: Path, start: Path, tree: Path) -> list[Made]:
    """The objects of a build whose source is in ``tree``. ``build`` is where they lie, ``start`` the folder that its
    compilers ran in. Empty if nothing tells."""
    rows: Iterable[Sequence[str]]
    if (build / ".ninja_deps").exists():
        rows = _of_ninja(build)
    else:
        rows = (row for file in sorted(build.rglob("*.d")) if file.is_file() for row in _of_make(file))
    tops = tuple(dict.fromkeys(f"{top}/" for top in (tree, tree.resolve())))
    found = []
    for row in rows:
        names = (os.path.normpath(build / name) for name in row)
        files = [n.removeprefix(top) for n in names for top in tops if n.startswith(top)]
        if files and files[0].endswith(SOURCES):
            found.append(Made(files[0], frozenset(files)))
    return found


def _of_ninja(build: Path) -> Iterator[Sequence[str]]:
    try:
        done = proc.run(["ninja", "-C", build, "-n", "-t", "deps"])
    except CouldNot:  # no ninja here: then nothing tells
        return
    rows: list[list[str]] = []
    valid = False
    for line in decode(done.out).splitlines():
        if line.startswith("    ") and valid:
            rows[-1].append(line[4:])
        elif ": #deps " in line:
            valid = not line.endswith("(STALE)")  # else the object is not what was compiled then
            rows.append([])
    yield from rows


def _of_make(file: Path) -> Iterator[Sequence[str]]:
    """The prerequisites of each rule of a depfile."""
    text = decode(file.read_bytes()).replace("\\\r\n", " ").replace("\\\n", " ")
    for line in text.split("\n"):
        _, colon, names = line.partition(": ")
        if colon:
            yield [re.sub(r"\\([ #\\])", r"\1", n).replace("$$", "$") for n in re.findall(r"(?:\\.|[^\s\\])+", names)]
