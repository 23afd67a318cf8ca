"""The series as a commit of the project's repository has it."""

from __future__ import annotations

import os.path
import tempfile
import tomllib
from pathlib import Path

from opencoti_patches.core.config import FILE_NAME, Config, from_table
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Series, decode, printable
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import commit_of, files_at
from opencoti_patches.series import order


def at_revision(config: Config, rev: str, place: str = "") -> Series:
    """The series at revision ``rev``: of the project, whose configuration of that revision says where the patches
    are, or of the folder ``place`` (from the project's).

    Errors: UsageError ``no-repository``, ``no-series``, ``bad-toml``, those of ``from_table`` and of ``order.load``;
    CouldNot ``no-rev``, ``git``.
    """
    commit = commit_of(config.root, rev)
    strip = config.strip
    if not place:
        own = files_at(config.root, commit, FILE_NAME).get(FILE_NAME)
        then = config if own is None else _read(own, config.root, rev)
        place, strip = str(then.patches), then.strip
    place = os.path.relpath(config.root / place, config.root)  # as git prints it
    begin = "" if place == "." else f"{place}/"
    found = {p.removeprefix(begin): raw for p, raw in files_at(config.root, commit, f"{place}/").items()}
    if not found:
        raise UsageError("no-series", f"{printable(rev)} has no files in {printable(place)}", "name another folder")
    with fs.scratch(Path(tempfile.gettempdir()), "revision-") as folder:
        for path, raw in found.items():
            fs.put(folder, path, raw, "100644")
        return order.load(folder, strip)


def _read(raw: bytes, root: Path, rev: str) -> Config:
    try:
        return from_table(tomllib.loads(decode(raw)), root)
    except tomllib.TOMLDecodeError as e:
        raise UsageError(
            "bad-toml", f"{FILE_NAME} of {printable(rev)}: {e}", "name a commit at which it can be read"
        ) from None
