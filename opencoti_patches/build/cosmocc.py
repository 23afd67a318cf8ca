"""cosmocc, which makes one program for two processors and many systems, driven through make as llamafile does.

Its compilers are scripts with rules of their own: some flags end them, and no argument may have a space in it. What
would end a build after minutes is refused before it begins.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.build import unfinished
from opencoti_patches.build.script import make_folders, own_folders
from opencoti_patches.build.toolchain import Outcome, Place, Toolchain, extra, no_spaces
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.profile import Profile
from opencoti_patches.doors import fs

VERSION = "4.0.2"
SHA256 = "85b8c37a406d862e656ad4ec14be9f6ce474c1b436b9615e91a55208aced3f44"  # of the zip
ZIP = f"cosmocc-{VERSION}.zip"
# it also lies on https://cosmo.zip/pub/cosmocc/
URL = f"https://github.com/jart/cosmopolitan/releases/download/{VERSION}/{ZIP}"
_OWN = Path(".cosmocc") / VERSION  # where llamafile's makefile has it, in the tree
_PROGRAMS = ("cosmocc", "cosmoc++")
_FATAL = ("-shared", "-r", "-S", "-pie", "-nostdlib", "-fsanitize=thread", "-march=native")
_OF_MAKE = ("-r", "-S")  # options of make too
_FATAL_INPUTS = (".s", ".S", ".so", ".dll", ".dylib")
_INSTEAD = {
    "-march=native": "name what each processor shall have: -Xx86_64-march=x86-64-v3, -Xaarch64-march=armv8.2-a",
    "-fsanitize=thread": "leave it to a profile of kind cmake",
}
_SETS = re.compile(r"(\w+)(?:[:+?]{0,3}=)(.*)", re.S)


class Found(NamedTuple):
    """A folder with the toolchain. ``told``: the makefile has to be told of it, for it is not where it looks."""

    folder: Path
    told: bool


def find(profile: Profile, place: Place) -> Found:
    """Where the toolchain lies: the profile's ``toolchain``, ``$COSMOCC``, the tree's own. Where it should lie if there
    is none: beside opencoti.toml, for a tree that is not made yet must be empty."""
    named = profile.toolchain or {**os.environ, **dict(profile.env)}.get("COSMOCC", "")
    if named:
        return Found(place.root / Path(named).expanduser(), told=True)
    own = place.source / _OWN
    return Found(own, told=False) if is_there(own) else Found(place.root / _OWN, told=True)


def is_there(folder: Path) -> bool:
    """Whether a folder has the programs of the toolchain."""
    return all(os.access(folder / "bin" / name, os.X_OK) for name in _PROGRAMS)


def commands(folder: Path, have: Path | None = None) -> tuple[str, ...]:
    """What brings the toolchain into a folder; ``have``: the zip is there and was looked at."""
    at = shlex.quote(str(folder))
    unpack = f"mkdir -p {at} && unzip -q {shlex.quote(str(have or ZIP))} -d {at}"
    return (unpack,) if have else (f"curl -fLO {URL}", f"echo '{SHA256}  {ZIP}' | sha256sum -c", unpack)


class Cosmocc(Toolchain):
    """make, in a makefile that writes under ``o/$(MODE)/``."""

    def outputs(self, profile: Profile, place: Place) -> Path:
        return place.source / "o" / _mode(profile)

    def environment(self, profile: Profile, place: Place) -> dict[str, str]:
        found = find(profile, place).folder
        # its own make before any other; nothing of what the user's environment says to such a makefile
        return own_folders(place) | {
            "PATH": f"{found / 'bin'}:{os.environ.get('PATH', os.defpath)}",
            "COSMOCC": str(found),
            "MODE": _mode(profile),
            "m": "",
            "BUILDLOG": "",
            "CPPFLAGS": f"-ffile-prefix-map={place.source}=.",
        }

    def check(self, profile: Profile, place: Place, env: Mapping[str, str]) -> None:
        found = find(profile, place).folder
        no_spaces("cosmocc", place.source, place.build, found, Path(env["TMPDIR"]))
        if profile.launcher:
            raise UsageError(
                "bad-value",
                f"build.{profile.name}: no launcher goes before cosmocc: it makes two objects of a source, and "
                f"{profile.launcher} would keep one",
                "take 'launcher' away",
            )
        for flag, where in _fatal(profile, env):
            raise UsageError(
                "bad-value",
                f"build.{profile.name}: cosmocc takes no {flag} ({where})",
                _INSTEAD.get(flag, "take it away"),
            )
        if not is_there(found):
            key = f"build.{profile.name}{'.toolchain' if profile.toolchain else ''}"
            raise CouldNot(
                "no-tool",
                f"{key}: no cosmocc in {found}",
                f"'opencoti-patches doctor {profile.name}' says how to get it",
            )

    def begin(self, place: Place, outputs: Path, anew: bool) -> None:
        mark = unfinished.Mark(place.build)
        if (since := mark.since()) is not None:
            unfinished.remove_written(outputs, since)
        unfinished.remove_archives(outputs)
        with fs.disk_errors("write the build folder"):
            make_folders(place)
        mark.begin()

    def end(self, place: Place, outputs: Path, outcome: Outcome) -> None:
        mark = unfinished.Mark(place.build)
        if outcome != "whole":
            unfinished.remove_odd(outputs, mark.since() or 0)
        mark.end()

    def build(self, profile: Profile, place: Place, targets: Sequence[str], jobs: int) -> Sequence[str]:
        return [*_make(profile, place), f"-j{jobs}", *targets]

    def clean(self, profile: Profile, place: Place) -> Sequence[str]:
        return [*_make(profile, place), "clean"]

    def tools(self, profile: Profile) -> Sequence[str]:
        return ["make", *_PROGRAMS, *extra(profile)]


def _make(profile: Profile, place: Place) -> list[str]:
    found = find(profile, place)
    elsewhere = [f"COSMOCC={found.folder}"] if found.told else []
    return ["make", "-C", str(place.source), *elsewhere, *profile.options]


def _mode(profile: Profile) -> str:
    """The word that picks the runtime, and the folder under ``o/``."""
    set_ = dict(profile.env) | {m[1]: m[2] for o in profile.options if (m := _SETS.fullmatch(o))}
    return set_.get("MODE") or set_.get("m") or ""


def _fatal(profile: Profile, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Flags that end cosmocc, and where they stand."""
    for option in profile.options:
        m = _SETS.fullmatch(option)
        for word in _words(m[2]) if m else [option]:
            if _is_fatal(word) and (m or word not in _OF_MAKE):
                yield word, f"in options: {option}"
    for name, value in sorted(env.items()):
        if name.endswith("FLAGS") or name in ("CC", "CXX", "TARGET_ARCH", "LDLIBS", "LOADLIBES"):
            for word in _words(value) if name != "MAKEFLAGS" else ():
                if _is_fatal(word):
                    yield word, f"in the environment: {name}={value}"


def _words(value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError:  # a quote that the makefile closes
        return value.split()


def _is_fatal(word: str) -> bool:
    if word.startswith("-"):
        return word in _FATAL or " " in word
    return word.endswith(_FATAL_INPUTS) or word.startswith("@") or " " in word
