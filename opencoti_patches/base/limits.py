"""Paths that no base may hold, whatever it comes from: git or the disk could never write them."""

from __future__ import annotations

import re

from opencoti_patches.core.model import encode, printable

MAX_PARTS = 200
MAX_BYTES = 4096
_SHOWN = 60

# What Windows and macOS file systems take for nothing inside a name.
IGNORABLE = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
# git refuses a symbolic link of this name at any depth, and of the names that NTFS takes for it.
_GITMODULES = re.compile(r"(\.gitmodules|gitmod~[1-4]|gi7e?b?a?~[1-9]\d*)[ .]*(:.*)?", re.IGNORECASE | re.DOTALL)


def refusal(path: str, *, link: bool = False) -> str:
    """Why a path (``link``: of a symbolic link) cannot be taken, as the rest of a line; empty if it can."""
    if path.count("/") >= MAX_PARTS:
        return f"{_short(path)} lies more than {MAX_PARTS} folders deep"
    if len(path) > MAX_BYTES // 4 and len(encode(path)) > MAX_BYTES:
        return f"{_short(path)} is longer than {MAX_BYTES} bytes"
    if link and _GITMODULES.fullmatch(IGNORABLE.sub("", path.rpartition("/")[2])):
        return f"{printable(path)} is a symbolic link, which git never writes under that name"
    return ""


def _short(path: str) -> str:
    return printable(path[:_SHOWN]) + ("…" if len(path) > _SHOWN else "")
