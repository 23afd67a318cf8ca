"""A file's part of a patch the other way round, as ``-R`` has it."""

from __future__ import annotations

from opencoti_patches.core.model import FilePatch, Hunk, Operation


def turned(f: FilePatch) -> FilePatch:
    """The part with old and new swapped."""
    flip = {b"+": b"-", b"-": b"+"}
    other: dict[Operation, Operation] = {"create": "delete", "delete": "create"}
    return FilePatch(
        operation=other.get(f.operation, f.operation),
        old=f.new,
        new=f.old,
        old_mode=f.new_mode,
        new_mode=f.old_mode,
        old_blob=f.new_blob,
        new_blob=f.old_blob,
        binary=f.binary,
        git_style=f.git_style,
        span=f.span,
        at_line=f.at_line,
        raw_paths=f.raw_paths,
        hunks=tuple(
            Hunk(
                number=h.number,
                old_start=h.new_start,
                old_count=h.new_count,
                new_start=h.old_start,
                new_count=h.old_count,
                section=h.section,
                span=h.span,
                at_line=h.at_line,
                lines=tuple(flip.get(line[:1], line[:1]) + line[1:] for line in h.lines),
            )
            for h in f.hunks
        ),
    )
