"""Where a hunk that git refuses belongs now. Rungs from certain to daring; each says when it may speak.

Here stand the rungs that need no old tree: the exact place, white space that drifted in context or removed
lines, and removals of blank lines that are gone already. A rung answers only when one place fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

from opencoti_patches.core.model import Hunk
from opencoti_patches.plan.places import heading, occurrences, same_function, squeezed

Drift = Literal["context", "removed", "absent", "ends"]
_STEPS = 20_000  # of the search at one place, against pathological input


class Placed(NamedTuple):
    """A hunk's place: the lines from ``at`` (from 0) of which ``taken`` are replaced by ``new``. ``how``
    is one line for people; ``drift`` counts the lines that differ from what the hunk expects."""

    at: int
    taken: int
    new: tuple[bytes, ...]
    how: str
    drift: Mapping[Drift, int] = MappingProxyType({})
    function_kept: bool = True


class NoPlace(NamedTuple):
    """Why no rung may speak."""

    why: str


def place(lines: Sequence[bytes], hunk: Hunk, begin: int = 0, expected: int = -1) -> Placed | NoPlace:
    """Find the one place of a hunk in a file, at or behind line ``begin``; ``expected`` is the line,
    from 0, at which the hunks before it make one expect it."""
    if not hunk.old and hunk.old_count == 0:
        return NoPlace(why="it adds lines without any context to place them by")
    exact = [i for i in occurrences(lines, hunk.old) if i >= begin]
    if exact:
        at = expected if expected in exact else _choose(lines, hunk, exact)
        if at is None:
            return NoPlace(why=f"its lines stand in {len(exact)} places")
        return _placed(lines, hunk, at, list(range(at, at + len(hunk.old))), "applies as it is")
    flat = list(map(squeezed, lines))
    ends: dict[int, list[int | None]] = {}  # by the last line: of those that end alike, the longest
    for start in _starts(flat, hunk, begin):
        if (match := _align(lines, flat, hunk, start)) is not None:
            ends.setdefault(max((m for m in match if m is not None), default=start), match)
    if not ends:
        return NoPlace(why="its lines are not there, even with other white space")
    found = {next((m for m in match if m is not None), end): match for end, match in ends.items()}
    at = _choose(lines, hunk, sorted(found))
    if at is None:
        return NoPlace(why=f"with white space aside its lines stand in {len(found)} places")
    return _placed(lines, hunk, at, found[at], "white space aside")


def _choose(lines: Sequence[bytes], hunk: Hunk, places: Sequence[int]) -> int | None:
    """The only place, or the only one in the function that the hunk names."""
    if len(places) == 1:
        return places[0]
    if not hunk.section:
        return None
    inside = [i for i in places if (h := heading(lines, i)) and same_function(hunk.section, h)]
    return inside[0] if len(inside) == 1 else None


def _starts(flat: Sequence[bytes], hunk: Hunk, begin: int) -> list[int]:
    """Lines at which the first line of the hunk that must be there stands, white space aside."""
    firsts: set[bytes] = set()
    for line in hunk.lines:
        if line[:1] == b"+":
            continue
        firsts.add(squeezed(line[1:]))
        if not (line[:1] == b"-" and not line[1:].strip()):
            break
    return [i for i in range(begin, len(flat)) if flat[i] in firsts]


def _align(lines: Sequence[bytes], flat: Sequence[bytes], hunk: Hunk, at: int) -> list[int | None] | None:
    """Match the hunk's old lines with the file's from ``at`` on: for each its line, or None for a blank
    removed line that is gone already. Exact bytes are tried first."""
    old = [line for line in hunk.lines if line[:1] in b" -"]
    keys = [squeezed(line[1:]) for line in old]
    steps = 0

    def search(i: int, j: int) -> list[int | None] | None:
        nonlocal steps
        steps += 1
        if steps > _STEPS:
            return None
        if i == len(old):
            return []
        if j < len(lines) and keys[i] == flat[j] and (rest := search(i + 1, j + 1)) is not None:
            return [j, *rest]
        if old[i][:1] == b"-" and not keys[i] and (rest := search(i + 1, j)) is not None:
            return [None, *rest]
        return None

    return search(0, at) if len(old) < 900 else None  # a hunk of that size would exhaust the stack


def _placed(lines: Sequence[bytes], hunk: Hunk, at: int, match: Sequence[int | None], how: str) -> Placed:
    """The replacement: context stays as the file has it, added lines come as the patch has them."""
    new: list[bytes] = []
    ends = _ends([(lines[w], text) for w, text in zip(match, hunk.old, strict=True) if w is not None])
    followed = 0
    old = iter(match)
    absent = drifted_context = drifted_removed = 0
    for line in hunk.lines:
        kind, text = line[:1], line[1:]
        if kind == b"+":
            new.append(ends(text))
            followed += new[-1] != text
            continue
        where = next(old)
        if where is None:
            absent += 1
        elif kind == b" ":
            drifted_context += lines[where] != text
            new.append(lines[where])
        else:
            drifted_removed += lines[where] != text
    drift: dict[Drift, int] = {
        "context": drifted_context,
        "removed": drifted_removed,
        "absent": absent,
        "ends": followed,
    }
    words = drift_words(drift)
    there = [m for m in match if m is not None]
    begin = there[0] if there else at
    landed = heading(lines, begin)
    return Placed(
        at=begin,
        taken=len(there),
        new=tuple(new),
        how="; ".join(words) or f"{how} at line {begin + 1}",
        drift=drift,
        function_kept=not hunk.section or same_function(hunk.section, landed),
    )


def _ends(pairs: Sequence[tuple[bytes, bytes]]) -> Callable[[bytes], bytes]:
    """How added lines take the file's line ends, where all lines around them differ in these: else a patch that
    lost its CR on the way would leave a file with both. ``pairs``: a line of the file, the same in the patch."""
    if pairs and all(a.endswith(b"\r\n") and not b.endswith(b"\r\n") for a, b in pairs):
        return lambda line: line if not line.endswith(b"\n") or line.endswith(b"\r\n") else line[:-1] + b"\r\n"
    if pairs and all(b.endswith(b"\r\n") and not a.endswith(b"\r\n") for a, b in pairs):
        return lambda line: line[:-2] + b"\n" if line.endswith(b"\r\n") else line
    return lambda line: line


def drift_words(drift: Mapping[Drift, int]) -> list[str]:
    """Drifted lines in words, a phrase a kind."""
    words: dict[Drift, str] = {
        "context": "{} context line{} changed in white space only",
        "removed": "{} removed line{} changed in white space only",
        "ends": "{} added line{} with the line ends of the file",
        "absent": "{} removed white-space-only line{} absent from the current tree",
    }
    return [words[kind].format(n, "s" * (n > 1)) for kind in words if (n := drift.get(kind, 0))]
