"""What is there to build with, what is missing for which profile, and the command that mends it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.build.manifest import versions
from opencoti_patches.build.toolchain import toolchain
from opencoti_patches.core.profile import Profile

# the oldest that llama.cpp's build files (and our calls of git) take
_OLDEST = {"cmake": (3, 14), "git": (2, 30)}
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


class Need(NamedTuple):
    """One program that a profile runs (profile "": every command does). ``version`` is its own first line, empty if
    it is not there; ``mend`` the command that brings it, or what to do; empty if all is well."""

    profile: str
    tool: str
    version: str = ""
    mend: str = ""

    @property
    def ok(self) -> bool:
        """Whether it can be used."""
        return not self.mend


def examine(profiles: Sequence[Profile]) -> list[Need]:
    """A row a program and profile, git first."""
    rows = [_need("", "git", dict(os.environ))]
    for profile in profiles:
        env = {**os.environ, **dict(profile.env)}
        rows += [_need(profile.name, tool, env) for tool in dict.fromkeys(toolchain(profile).tools(profile))]
    return rows


def _need(profile: str, tool: str, env: Mapping[str, str]) -> Need:
    said = versions([tool], env)[tool]
    name = os.path.basename(tool)
    if not said:
        there = shutil.which(tool, path=env.get("PATH"))
        return Need(profile, tool, mend=f"{there} does not say its version" if there else _install(name))
    oldest, found = _OLDEST.get(name), _number(said)
    if oldest and found < oldest:
        return Need(profile, tool, said, f"it is older than {'.'.join(map(str, oldest))}: {_install(name)}")
    return Need(profile, tool, said)


def _number(said: str) -> tuple[int, ...]:
    m = re.search(r"\d+(?:\.\d+)+", said)
    return tuple(map(int, m[0].split("."))) if m else ()


def _install(name: str) -> str:
    for manager in ("apt-get", "dnf", "brew"):
        if shutil.which(manager):
            return f"{manager} install {_PACKAGES[manager].get(name, name)}"
    return f"pip install {_PACKAGES['pip'][name]}" if name in _PACKAGES["pip"] else f"install {name}"
