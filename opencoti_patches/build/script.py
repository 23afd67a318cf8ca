"""A script of the tree that builds, such as those of llamafile for its GPU libraries.

Such a script keeps objects in a cache folder under HOME, links every one that lies there, and does not look at how its
compilers end. So it gets a HOME that no other build has, and what it says is read.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencoti_patches.build import unfinished
from opencoti_patches.build.toolchain import Outcome, Place, extra, no_spaces
from opencoti_patches.core.profile import Profile
from opencoti_patches.doors import fs


class Script:
    """The script is called with ``-jN`` and the profile's options; the artefacts are in its HOME."""

    def outputs(self, profile: Profile, place: Place) -> Path:
        return place.build / "home"

    def environment(self, profile: Profile, place: Place) -> dict[str, str]:
        return own_folders(place)

    def check(self, profile: Profile, place: Place, env: Mapping[str, str]) -> None:
        no_spaces(profile.script, place.source, place.build)

    def begin(self, place: Place, outputs: Path, anew: bool) -> None:
        mark = unfinished.Mark(place.build)
        with fs.disk_errors("write the build folder"):
            if anew:
                shutil.rmtree(outputs, ignore_errors=True)
            elif (since := mark.since()) is not None:
                unfinished.remove_written(outputs, since)
            make_folders(place)
            mark.begin()

    def end(self, place: Place, outputs: Path, outcome: Outcome) -> None:
        mark = unfinished.Mark(place.build)
        if outcome == "interrupted":
            unfinished.remove_written(outputs, mark.since() or 0)
        mark.end()

    def configure(self, profile: Profile, place: Place, version: tuple[str, str]) -> Sequence[str]:
        return []

    def build(self, profile: Profile, place: Place, targets: Sequence[str], jobs: int) -> Sequence[str]:
        return [str(place.source / profile.script), f"-j{jobs}", *profile.options, *targets]

    def clean(self, profile: Profile, place: Place) -> Sequence[str]:
        return []

    def tools(self, profile: Profile) -> Sequence[str]:
        return extra(profile)


def own_folders(place: Place) -> dict[str, str]:
    """A HOME and a TMPDIR that no other build has."""
    return {"HOME": str(place.build / "home"), "TMPDIR": str(place.build / "tmp")}


def make_folders(place: Place) -> None:
    """Make both, the second one empty."""
    shutil.rmtree(place.build / "tmp", ignore_errors=True)
    for name in ("home", "tmp"):
        (place.build / name).mkdir(parents=True, exist_ok=True)
