"""What stands where a patch wants a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opencoti_patches.core.model import NOT_TEXT, FilePatch, IndexEntry, printable


def in_way(path: str, state: Mapping[str, IndexEntry], files: Collection[FilePatch]) -> str:
    """Why ``path`` cannot become a file in a tree, in words; empty if it can, or is one. ``state`` has the tree's
    entries about it; what ``files``, those of the patch, take away is in nobody's way."""
    return obstacle(path, state, {f.old for f in files if f.old and f.operation in ("delete", "rename")})


def obstacle(path: str, state: Mapping[str, IndexEntry], going: Collection[str]) -> str:
    """The same, where these paths go."""
    parts = path.split("/")
    for above in ("/".join(parts[:i]) for i in range(1, len(parts))):
        if above in state and above not in going:
            return f"{printable(above)} is no folder there"
    if any(p.startswith(f"{path}/") and p not in going for p in state):
        return f"{printable(path)} is a folder there"
    if path in state and path not in going and state[path][0] in NOT_TEXT:
        what = "symbolic link" if state[path][0] == "120000" else "submodule"
        return f"{printable(path)} is a {what} there"
    return ""


def other_kind(f: FilePatch, held: IndexEntry | None) -> bool:
    """Whether a patch takes a file for another kind of thing than it is, or would make it one: git refuses that."""
    return len({m[:3] for m in (f.old_mode, f.new_mode, held and held[0]) if m}) > 1


def left_alone(f: FilePatch, held: IndexEntry | None) -> bool:
    """Whether a binary change finds the very file that it was made on, or none where it makes one."""
    if f.binary != "git" or f.operation in ("rename", "copy") or f.new_mode in NOT_TEXT or other_kind(f, held):
        return False
    return held[1] == f.old_blob if held else f.operation == "create"


def can_link(target: bytes) -> bool:
    """Whether a disk takes a symbolic link to this; git's trees hold any."""
    return 0 < len(target) < 4096 and b"\0" not in target
