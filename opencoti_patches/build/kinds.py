"""The kinds of build that a profile may be of, and the environment that each gets."""

from __future__ import annotations

import os
from collections.abc import Mapping

from opencoti_patches.build.cosmocc import Cosmocc
from opencoti_patches.build.script import Script
from opencoti_patches.build.toolchain import CMake, Make, Place, Toolchain
from opencoti_patches.core.profile import Profile

_KINDS: Mapping[str, type[Toolchain]] = {"cmake": CMake, "make": Make, "cosmocc": Cosmocc, "script": Script}


def toolchain(profile: Profile) -> Toolchain:
    """The build system of a profile."""
    return _KINDS[profile.kind]()


def child_environment(profile: Profile, place: Place, offline: bool) -> dict[str, str]:
    """The environment of a build: the user's, what the build system needs, the profile's own. ``offline``:
    everything that could fetch is told not to, and proxies lead nowhere."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env["GIT_CEILING_DIRECTORIES"] = str(place.source.parent)  # no step asks a repository around the tree
    env["LC_ALL"] = "C"  # messages of compilers are read
    if offline:
        nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
        env |= nowhere | {"GIT_ALLOW_PROTOCOL": "file", "PIP_NO_INDEX": "1", "npm_config_offline": "true"}
    for key, value in toolchain(profile).environment(profile, place).items():
        env[key] = f"{env[key]} {value}" if key.endswith("FLAGS") and env.get(key) else value
    return env | dict(profile.env)
