"""Warnings about hunks that git placed away from their line numbers, over a run of patches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opencoti_patches.core.model import FilePatch, IndexEntry, Problem
from opencoti_patches.doors.git import Landing, Repository
from opencoti_patches.plan.places import warnings
from opencoti_patches.plan.replay import Replay, put
from opencoti_patches.series.parse import Parsed

Patch = tuple[Parsed, tuple[Landing, ...]]


def moved_warnings(
    patches: Sequence[Patch], start: Mapping[str, IndexEntry], repo: Repository
) -> list[tuple[Problem, ...]]:
    """For each of the patches that git took, in order from the state ``start``: what is doubtful about
    the places of its moved hunks."""
    paths = _followed(patches)
    contents = repo.blobs(start[p][1] for p in paths if p in start and start[p][0] != "160000")
    replay = Replay(lambda p: contents[start[p][1]] if p in start and start[p][1] in contents else None, paths)
    found = []
    for parsed, landed in patches:
        offsets = {(w.file, w.hunk): w.offset for w in landed}
        doubts: list[Problem] = []
        for number in sorted({w.file for w in landed}):
            if number < len(parsed.files):
                doubts += _file_warnings(parsed.files[number], number, offsets, replay)
        found.append(tuple(doubts))
        replay.apply(parsed, offsets)
    return found


def _followed(patches: Sequence[Patch]) -> set[str]:
    """The files in which a hunk moved, under every name they had on the way."""
    paths: set[str] = set()
    for parsed, landed in reversed(patches):
        for w in landed:
            if w.file < len(parsed.files):
                paths |= {p for p in (parsed.files[w.file].old, parsed.files[w.file].new) if p}
        paths |= {f.old for f in parsed.files if f.old and f.new in paths}
    return paths


def _file_warnings(f: FilePatch, number: int, offsets: Mapping[tuple[int, int], int], replay: Replay) -> list[Problem]:
    lines = list(replay.lines(f.old) or []) if f.old else []
    doubts: list[Problem] = []
    for hunk in f.hunks:
        offset = offsets.get((number, hunk.number), 0)
        if offset:
            doubts += warnings(f, hunk, offset, lines)
        if not put(lines, hunk, offset):
            break
    return doubts
