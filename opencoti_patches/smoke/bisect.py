"""The first patch of a series at which something fails: both ends are proven, then halves are tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from opencoti_patches.core.model import TreeId
from opencoti_patches.core.progress import Progress

Outcome = Literal["pass", "fail", "skip"]


class Tried(NamedTuple):
    """What became of one tree. ``why`` is a line for people, ``log`` the file that has more."""

    tree: TreeId
    outcome: Outcome
    why: str = ""
    log: Path | None = None


class Step(NamedTuple):
    """One tree that was tried: after how many patches of the series (0: the base), and what became of it."""

    at: int
    tried: Tried


class Bisected(NamedTuple):
    """What was found. ``first`` is the number of the patch, from 1; ``between``: if skips left several, those among
    which it is; ``why`` there is no answer, in a line."""

    steps: tuple[Step, ...]
    first: int = 0
    between: tuple[int, ...] = ()
    why: str = ""


def bisect(low: int, high: int, probe: Callable[[int], Tried], *, progress: Progress) -> Bisected:
    """Search between ``low``, where it passes, and ``high``, where it fails: each is tried first."""
    steps: list[Step] = []

    def tried(at: int) -> Outcome:
        left = max(2 - len(steps), 0) + _halvings(high - low)  # while nothing is skipped
        progress.update("bisect", len(steps) + 1, len(steps) + left, "steps")
        steps.append(Step(at, probe(at)))
        return steps[-1].tried.outcome

    for at, wanted, end in ((low, "pass", "the beginning"), (high, "fail", "the end")):
        got = tried(at)
        if got != wanted:
            said = {"pass": "passes", "fail": "fails already", "skip": "cannot be tested"}[got]
            return Bisected(tuple(steps), why=f"{end} of the range {said}")
    skipped: set[int] = set()
    while (middle := _middle(low, high, skipped)) is not None:
        got = tried(middle)
        if got == "skip":
            skipped.add(middle)
        elif got == "pass":
            low = middle
        else:
            high = middle
    if high - low == 1:
        return Bisected(tuple(steps), first=high)
    why = "the trees between cannot be tested"
    return Bisected(tuple(steps), between=tuple(range(low + 1, high + 1)), why=why)


def _middle(low: int, high: int, skipped: set[int]) -> int | None:
    """The tree nearest to the middle that was not skipped."""
    left: Sequence[int] = [n for n in range(low + 1, high) if n not in skipped]
    return min(left, key=lambda n: (abs(2 * n - low - high), n)) if left else None


def _halvings(trees: int) -> int:
    return max(trees - 1, 0).bit_length()
