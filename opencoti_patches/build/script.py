"""A script of the tree that builds, such as those of llamafile for its GPU libraries.

Such a script keeps objects in a cache folder under HOME, links every one that lies there, and does not look at how its
compilers end. So it gets a HOME that no other build has, and what it says is read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencoti_patches.build import unfinished
from opencoti_patches.build.toolchain import Outcome, Place, Toolchain, extra, no_spaces
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.profile import Profile
from opencoti_patches.doors import fs


class Script(Toolchain):
    """The script is called with ``-jN`` and the profile's options; the artefacts are in its HOME."""

    def outputs(self, profile: Profile, place: Place) -> Path:
        return place.build / "home"

    def environment(self, profile: Profile, place: Place) -> dict[str, str]:
        return own_folders(place)

    def check(self, profile: Profile, place: Place, env: Mapping[str, str]) -> None:
        no_spaces(profile.script, place.source, place.build)
        if profile.launcher:
            raise UsageError(
                "bad-value",
                f"build.{profile.name}: no launcher goes before the compilers of a script",
                "take 'launcher' away",
            )

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

    def build(self, profile: Profile, place: Place, targets: Sequence[str], jobs: int) -> Sequence[str]:
        return [str(place.source / profile.script), f"-j{jobs}", *profile.options, *targets]

    def tools(self, profile: Profile) -> Sequence[str]:
        return extra(profile)


def guard_file(profile: Profile, place: Place, tree: Path) -> None:
    """Refuse a script that is not there in the tree, or cannot be started.

    Errors: UsageError ``no-file``, ``unsafe-path``, ``bad-value``.
    """
    path = place.source / profile.script
    name, key = path.relative_to(tree), f"build.{profile.name}.script"
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not a file of the tree"
        raise UsageError("no-file", f"{key}: {name} {what}", "name the script, from the source folder")
    if not path.resolve().is_relative_to(tree.resolve()):
        raise UsageError("unsafe-path", f"{key}: {name} leads out of the tree", "name a file that lies in it")
    if not os.access(path, os.X_OK):
        mend = "a patch has to give it the mode 755: chmod +x it in the folder of 'opencoti-patches edit', then refresh"
        raise UsageError("bad-value", f"{key}: {name} is not executable", mend)


def own_folders(place: Place) -> dict[str, str]:
    """A HOME and a TMPDIR that no other build has."""
    return {"HOME": str(place.build / "home"), "TMPDIR": str(place.build / "tmp")}


def make_folders(place: Place) -> None:
    """Make both, the second one empty."""
    shutil.rmtree(place.build / "tmp", ignore_errors=True)
    for name in ("home", "tmp"):
        (place.build / name).mkdir(parents=True, exist_ok=True)
