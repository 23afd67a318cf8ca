"""Which CUDA architectures a build is for, where the configuration names none: those of this machine's GPUs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from opencoti_patches.build.toolchain import for_cuda
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.profile import Profile
from opencoti_patches.doors import proc

_OPTION = "-DCMAKE_CUDA_ARCHITECTURES"
NCCL_OFF = "-DGGML_CUDA_NCCL=OFF"
"""Builds llama.cpp's library for CUDA without NCCL, which it takes where it is and needs from then on."""
_ASK = ("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")


def settled(profile: Profile) -> Profile:
    """The profile with an option for the GPUs of this machine, if it builds for CUDA and names none itself. What is
    built for is one of the inputs of a build: it may not be left to CMake, which would look at the GPU too. Without
    a GPU the tree's own list holds."""
    if profile.kind != "cmake" or not for_cuda(profile) or any(o.startswith(_OPTION) for o in profile.options):
        return profile
    try:
        done = proc.run(_ASK)
    except CouldNot:  # no driver here
        return profile
    found = architectures(done.out.decode("ascii", "replace")) if done.code == 0 else []
    return profile._replace(options=(*profile.options, f"{_OPTION}={';'.join(found)}")) if found else profile


def architectures(answer: str) -> list[str]:
    """CMake's names of the architectures of which ``nvidia-smi`` tells the compute capability, one a line: machine
    code for each, no PTX."""
    known = {(int(m[1]), int(m[2])) for m in re.finditer(r"(?m)^\s*(\d+)\.(\d+)\s*$", answer)}
    return [f"{major}{minor}-real" for major, minor in sorted(known)]


def nccl_taken(profile: Profile, env: Mapping[str, str]) -> Path | None:
    """The header by which a build for CUDA would take NCCL; None where there is none, or the profile says what to do."""
    if profile.kind != "cmake" or not for_cuda(profile) or any("GGML_CUDA_NCCL" in o for o in profile.options):
        return None
    tops = [env.get("NCCL_ROOT"), env.get("CUDA_HOME"), "/usr/local/cuda", "/usr/local", "/usr"]
    return next((h for top in tops if top and (h := Path(top) / "include/nccl.h").is_file()), None)
