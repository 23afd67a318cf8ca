"""The patches that a release ships, as a series."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.limits import refusal
from opencoti_patches.core.config import FILE_NAME, Config, load
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import Series, printable
from opencoti_patches.doors import fs
from opencoti_patches.doors.net import sha256_of
from opencoti_patches.release import index, tarball
from opencoti_patches.release.package import PATCHES
from opencoti_patches.series import order

_LARGEST = 1 << 30  # bytes of a tar of patches


class Shipped(NamedTuple):
    """The project that a release's patches are of."""

    config: Config
    series: Series


def series_of(place: Path) -> tuple[str, Series]:
    """What a release is called and its series; ``place`` is its index, or its folder. The tar of its patches must
    stand beside the index.

    Errors: those of ``index.find`` and ``index.load``; UsageError ``no-file``; CouldNot ``wrong-sha256``,
    ``bad-archive``.
    """
    file = index.find(place)
    whole = index.load(file)
    packed = whole.file(PATCHES)
    tar = file.parent / packed.name if packed else None
    if packed is None or tar is None or not tar.is_file():
        raise UsageError(
            "no-file",
            f"the patches of {printable(file.name)} are not beside it" + (f": {packed.name}" if packed else ""),
            "download them too; the index has only their sums",
        )
    if sha256_of(tar) != packed.sha256:
        raise CouldNot("wrong-sha256", f"{packed.name} is not what {printable(file.name)} says", "download it again")
    with fs.scratch(Path(tempfile.gettempdir()), "shipped-") as scratch:
        try:
            shipped = unpacked(tar, scratch / "project")
        except ValueError as e:
            raise CouldNot("bad-archive", f"{packed.name}: {e}", "download it again") from None
    return f"{whole.name} {whole.version}", shipped.series


def unpacked(packed: Path, project: Path) -> Shipped:
    """Unpack the patches into a project of their own. Errors: ValueError, UsageError and what ``fs.put`` raises."""
    project.mkdir()
    for entry in tarball.read_small(packed, _LARGEST, project.parent):
        if entry.mode == "120000":
            raise ValueError(f"{printable(entry.path)[:80]} is a link")
        if why := refusal(entry.path):
            raise ValueError(why)
        if (project / entry.path).exists():
            raise ValueError(f"it holds {printable(entry.path)[:80]} twice")
        fs.put(project, entry.path, entry.content, "100644")
    if not (project / FILE_NAME).is_file():
        raise ValueError(f"it has no {FILE_NAME}")
    config = load(project)
    return Shipped(config, order.load(project / "patches", config.strip))
