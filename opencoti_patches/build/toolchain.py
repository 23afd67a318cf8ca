"""What a build system must be able to do for us, and two that do: CMake and make. ``cosmocc.py`` and ``script.py``
have the others."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.profile import Profile

_COUNTED = re.compile(r"\[\s*(\d+)/(\d+)\] ")
_PERCENT = re.compile(r"\[\s*(\d+)%\] ")
# What llama.cpp's own build does that a build of patches must not: fetch a web page, ask the repository around it
# for its commit, launch ccache for a part of it.
_LLAMA = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DGGML_CCACHE=OFF",
)


Outcome = Literal["whole", "failed", "interrupted"]


class Place(NamedTuple):
    """Where a build happens: the source folder in the tree, the folder that it writes to, the project's folder."""

    source: Path
    build: Path
    root: Path


class Toolchain(Protocol):
    """A build system. Its commands run in order; each is an argument list and the folder to run it in. What a kind says
    nothing of, it has no need of."""

    def outputs(self, profile: Profile, place: Place) -> Path:
        """The folder that the artefacts' globs are in."""

    def environment(self, profile: Profile, place: Place) -> dict[str, str]:
        """What it needs beside the profile's own variables."""

    def check(self, profile: Profile, place: Place, env: Mapping[str, str]) -> None:
        """Refuse what it could not build, before anything is written. Errors: UsageError, CouldNot."""
        return

    def begin(self, place: Place, outputs: Path, anew: bool) -> None:
        """Make ready for the first command. ``anew``: nothing that was built before is of use."""
        return

    def end(self, place: Place, outputs: Path, outcome: Outcome) -> None:
        """After the last command: leave no object that looks better than it is."""
        return

    def configure(self, profile: Profile, place: Place, version: tuple[str, str]) -> Sequence[str]:
        """The command that prepares the build folder; empty if there is none. ``version``: the build number and
        the commit of the base."""
        return ()

    def build(self, profile: Profile, place: Place, targets: Sequence[str], jobs: int) -> Sequence[str]:
        """The command that builds."""

    def clean(self, profile: Profile, place: Place) -> Sequence[str]:
        """The command that removes what was built; empty if removing the build folder does."""
        return ()

    def tools(self, profile: Profile) -> Sequence[str]:
        """The programs that it runs, for ``doctor`` and the manifest."""


class CMake(Toolchain):
    """CMake with ninja if it is there, else with make."""

    def outputs(self, profile: Profile, place: Place) -> Path:
        return place.build

    def environment(self, profile: Profile, place: Place) -> dict[str, str]:
        # The same bytes wherever the tree lies, also where ccache hands the compiler relative names.
        near = os.path.relpath(place.source, place.build)
        flags = " ".join(f"-ffile-prefix-map={path}=." for path in (place.source, place.build, near))
        return {"NINJA_STATUS": "[%f/%t] ", "CFLAGS": flags, "CXXFLAGS": flags, **_shared_cache(profile, place)}

    def configure(self, profile: Profile, place: Place, version: tuple[str, str]) -> Sequence[str]:
        options = ["-DFETCHCONTENT_FULLY_DISCONNECTED=ON", "-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON"]
        if _is_llama(place.source):
            options += [*_LLAMA, f"-DLLAMA_BUILD_NUMBER={version[0]}", f"-DLLAMA_BUILD_COMMIT={version[1]}"]
        if profile.launcher:
            options += [f"-DCMAKE_{lang}_COMPILER_LAUNCHER={profile.launcher}" for lang in _languages(profile)]
        generator = self._generator(profile)
        return ["cmake", "-S", str(place.source), "-B", str(place.build), "-G", generator, *options, *profile.options]

    def build(self, profile: Profile, place: Place, targets: Sequence[str], jobs: int) -> Sequence[str]:
        chosen = ["--target", *targets] if targets else []
        return ["cmake", "--build", str(place.build), "--parallel", str(jobs), *chosen]

    def tools(self, profile: Profile) -> Sequence[str]:
        ninja = self._generator(profile) == "Ninja"
        return ["cmake", "ninja" if ninja else "make", *_compilers(profile), *extra(profile)]

    @staticmethod
    def _generator(profile: Profile) -> str:
        return profile.generator or ("Ninja" if shutil.which("ninja") else "Unix Makefiles")


class Make(Toolchain):
    """A makefile in the source folder, which builds there."""

    def outputs(self, profile: Profile, place: Place) -> Path:
        return place.source

    def environment(self, profile: Profile, place: Place) -> dict[str, str]:
        return _shared_cache(profile, place)

    def check(self, profile: Profile, place: Place, env: Mapping[str, str]) -> None:
        no_spaces("make", place.source)

    def build(self, profile: Profile, place: Place, targets: Sequence[str], jobs: int) -> Sequence[str]:
        before = [f"{name}={profile.launcher} {c}" for name, c in zip(("CC", "CXX"), _compilers(profile), strict=False)]
        launched = before if profile.launcher else []
        return ["make", "-C", str(place.source), f"-j{jobs}", *launched, *profile.options, *targets]

    def clean(self, profile: Profile, place: Place) -> Sequence[str]:
        return ["make", "-C", str(place.source), *profile.options, "clean"]

    def tools(self, profile: Profile) -> Sequence[str]:
        return ["make", *_compilers(profile), *extra(profile)]


def no_spaces(program: str, *paths: Path) -> None:
    """Refuse what ``program`` cannot be told. Errors: UsageError ``bad-folder``."""
    for path in paths:
        if " " in str(path):
            raise UsageError(
                "bad-folder", f"{program} takes no path with a space in it: {path}", "put the project elsewhere"
            )


def progress_of(line: str) -> tuple[int, int] | None:
    """How far a build is, from a line of ninja's or CMake's make: (done, of how many)."""
    if m := _COUNTED.match(line):
        return int(m[1]), int(m[2])
    if m := _PERCENT.match(line):
        return int(m[1]), 100
    return None


HEEDED = ("CC", "CXX", "CUDACXX", "CPPFLAGS", "CFLAGS", "CXXFLAGS", "CUDAFLAGS", "LDFLAGS")
"""Variables of the user's environment that compilers and build systems take for an order."""


def heeded(profile: Profile) -> dict[str, str]:
    """Those that are set, and that the profile does not set itself."""
    own = dict(profile.env)
    return {name: value for name in HEEDED if name not in own and (value := os.environ.get(name))}


def configuration_digest(command: Sequence[str], env: Mapping[str, str]) -> str:
    """A digest of what a build folder was configured with: another one means to configure anew."""
    variables = sorted((k, v) for k, v in env.items() if k in HEEDED)
    return hashlib.sha256(repr((list(command), variables)).encode("utf-8", "surrogateescape")).hexdigest()


def _is_llama(source: Path) -> bool:
    try:
        return 'project("llama.cpp"' in (source / "CMakeLists.txt").read_text("utf-8", "replace")
    except OSError:
        return False


def _languages(profile: Profile) -> list[str]:
    return ["C", "CXX", *(["CUDA"] if for_cuda(profile) else [])]


def for_cuda(profile: Profile) -> bool:
    """Whether it builds for CUDA."""
    return any(re.fullmatch(r"-DGGML_CUDA(:\w+)?=(ON|1|TRUE|YES)", o, re.I) for o in profile.options)


def _compilers(profile: Profile) -> list[str]:
    env = {**os.environ, **dict(profile.env)}
    found = [env.get("CC") or "cc", env.get("CXX") or "c++"]
    return [*found, env.get("CUDACXX") or "nvcc"] if for_cuda(profile) else found


def extra(profile: Profile) -> list[str]:
    """The launcher and the tools that the profile names itself."""
    return [*([profile.launcher] if profile.launcher else []), *profile.tools]


def _shared_cache(profile: Profile, place: Place) -> dict[str, str]:
    """What lets ccache know a file of another folder again: it takes names from there on."""
    top = os.path.commonpath((place.source, place.build))
    wanted = os.path.basename(profile.launcher) == "ccache" and "CCACHE_BASEDIR" not in os.environ and top != "/"
    return {"CCACHE_BASEDIR": top} if wanted else {}
