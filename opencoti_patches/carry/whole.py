"""Parts of a patch that are carried whole or not at all: new files, links, submodules, binary changes."""

from __future__ import annotations

from opencoti_patches.carry.in_way import in_way, left_alone
from opencoti_patches.carry.tally import Both, Tally
from opencoti_patches.core.model import NOT_TEXT, FilePatch, blob_id, printable

UNMARKED = "; nothing marks a conflict in such a file: make it what it should be"


def is_binary(content: bytes) -> bool:
    """Whether git takes a file for a binary one."""
    return b"\0" in content[:8000]


def created(f: FilePatch, tally: Tally) -> bytes:
    """The part that makes a file; empty if upstream has it, or another one there."""
    path = f.new or ""
    there = tally.both(path).now
    tally.live += there is None
    lines = [x for h in f.hunks for x in h.added]
    made = b"".join(lines)
    tally.made[path] = Both(lines, made)
    if there is None:
        return tally.text(f)
    if there == made:
        tally.whole_is_done(printable(f.path), "there")
    else:
        how = f", binary ones{UNMARKED}" if is_binary(there) else ""
        tally.stuck.append(f"{printable(f.path)} is there already, with other contents{how}")
    return b""


def is_special(f: FilePatch, tally: Tally) -> bool:
    """Whether a part is about a link or a submodule."""
    held = [e[0] for p in (f.old, f.new) if p not in tally.made and (e := tally.held(p))]
    return any(mode in NOT_TEXT for mode in (f.old_mode, f.new_mode, *held))


def special(f: FilePatch, tally: Tally) -> bytes:
    """A link or a submodule: the change fits the very thing that it was made on, or it is made already."""
    path = printable(f.path)
    old, new = tally.held(f.old), tally.held(f.new)
    before = blob_id(b"".join(x for h in f.hunks for x in h.old))
    after = blob_id(b"".join(x for h in f.hunks for x in h.new))
    links = {m for m in (f.old_mode, f.new_mode, old and old[0]) if m} <= {"120000"}
    made = new is not None and new == ("120000", after)
    if f.operation in ("rename", "delete"):
        tally.made[f.old or ""] = Both(None, None)
    if (f.operation == "delete" and old is None) or (f.operation in ("create", "modify") and f.hunks and made):
        if f.operation != "delete" or not tally.is_renamed_away(f.old or ""):
            tally.whole_is_done(path, "deleted" if f.operation == "delete" else "there")
        return b""
    fits = old is None if f.operation == "create" else old is not None and (not f.hunks or before == old[1])
    if f.operation != "modify" and f.new and not tally.is_free(f, f.new):
        return b""
    if not links or not fits:
        tally.stuck.append(f"{path}: upstream has another symbolic link or submodule there, or none")
        return b""
    tally.live += 1
    return tally.text(f)


def binary(f: FilePatch, tally: Tally) -> bytes:
    """A binary change fits the very bytes that it was made on, or not at all."""
    old = f.old or f.new or ""
    free = f.operation != "create" or not in_way(old, tally.sides.state, tally.parsed.files)
    if old not in tally.made and free and left_alone(f, tally.held(old)):
        tally.live += 1
        return tally.text(f)
    tally.stuck.append(f"{printable(f.path)}: a binary change cannot be carried")
    return b""
