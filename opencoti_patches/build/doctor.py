"""What is there to build with, what is missing for which profile, and the command that mends it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.build import cosmocc, gpu
from opencoti_patches.build.kinds import child_environment, toolchain
from opencoti_patches.build.manifest import versions
from opencoti_patches.build.programs import install
from opencoti_patches.build.toolchain import Place, extra
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.profile import Profile
from opencoti_patches.doors import fs
from opencoti_patches.doors.net import sha256_of

# the oldest that llama.cpp's build files (and our calls of git) take
_OLDEST = {"cmake": (3, 14), "git": (2, 30)}


class Need(NamedTuple):
    """One program that a profile runs (profile "": every command does). ``version`` is its own first line, empty if
    it is not there; ``mend`` the command that brings it, or what to do; empty if all is well; ``commands`` what to run
    where one command does not do."""

    profile: str
    tool: str
    version: str = ""
    mend: str = ""
    commands: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it can be used."""
        return not self.mend


def examine(profiles: Sequence[tuple[Profile, Place]], archive: Path | None = None) -> list[Need]:
    """A row a program and profile, git first. ``archive``: a zip of cosmocc to look at.

    Errors: CouldNot ``disk``.
    """
    rows = [_need("", "git", dict(os.environ))]
    for profile, place in profiles:
        env = child_environment(profile, place, offline=True)
        tools = list(dict.fromkeys(toolchain(profile).tools(profile)))
        if profile.kind == "cosmocc":
            found = _cosmocc(profile, place, archive)
            rows += found
            if not all(row.ok for row in found):
                tools = ["make", *extra(profile)]
        rows += [_need(profile.name, tool, env) for tool in tools]
        rows += _settings(profile, place, env)
        if header := gpu.nccl_taken(profile, env):
            said = f"{header}: where CMake finds NCCL, the library needs it wherever it runs; {gpu.NCCL_OFF} spares it"
            rows.append(Need(profile.name, "nccl", said))
    return rows


def _cosmocc(profile: Profile, place: Place, archive: Path | None) -> list[Need]:
    """Rows for the zip, if there is one, and for the folder."""
    folder, what = cosmocc.find(profile, place).folder, f"cosmocc {cosmocc.VERSION}"
    rows, have = [], None
    if archive is not None:
        with fs.disk_errors(f"read {archive}"):
            found = sha256_of(archive)
        if found == cosmocc.SHA256:
            have = archive
            rows.append(Need(profile.name, archive.name, f"sha256 {found}, the zip of {what}"))
        else:
            said = f"sha256 {found}"
            rows.append(Need(profile.name, archive.name, said, f"that of {what} is {cosmocc.SHA256}: download it anew"))
    if not cosmocc.is_there(folder):
        mend = f"it belongs into {folder}; no package index has it, the zip is 442 MB"
        rows.append(Need(profile.name, what, mend=mend, commands=cosmocc.commands(folder, have)))
    return rows


def _settings(profile: Profile, place: Place, env: Mapping[str, str]) -> list[Need]:
    """A row for what the build would refuse before it begins."""
    try:
        toolchain(profile).check(profile, place, env)
    except UsageError as e:
        return [Need(profile.name, "settings", mend=f"{e.message}; {e.hint}")]
    except CouldNot:
        pass  # a row of its own says so
    return []


def _need(profile: str, tool: str, env: Mapping[str, str]) -> Need:
    said = versions([tool], env)[tool]
    name = os.path.basename(tool)
    if not said:
        there = shutil.which(tool, path=env.get("PATH"))
        return Need(profile, tool, mend=f"{there} does not say its version" if there else install(name))
    oldest, found = _OLDEST.get(name), _number(said)
    if oldest and found < oldest:
        return Need(profile, tool, said, f"it is older than {'.'.join(map(str, oldest))}: {install(name)}")
    return Need(profile, tool, said)


def _number(said: str) -> tuple[int, ...]:
    m = re.search(r"\d+(?:\.\d+)+", said)
    return tuple(map(int, m[0].split("."))) if m else ()
