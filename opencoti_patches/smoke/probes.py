"""What a bisection does at each tree: bring the bench there, build, and ask one question of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.build.run import Built
from opencoti_patches.core.model import Series, TreeId, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.smoke import run
from opencoti_patches.smoke.bench import Bench
from opencoti_patches.smoke.bisect import Outcome, Tried
from opencoti_patches.smoke.canary import canary
from opencoti_patches.smoke.check import smoke
from opencoti_patches.smoke.server import Launch
from opencoti_patches.smoke.standing import server_of

Question = Callable[[Bench, Built | None, Path], tuple[Outcome, str]]
"""Asked of a bench, what was built on it, the log to write: the answer, and why in a line."""


class Canary(NamedTuple):
    """What a canary is asked, and which part has to be found."""

    samples: int
    contexts: tuple[int, ...]
    kinds: tuple[str, ...]
    at_least: float


def probe(
    bench: Bench, series: Series, base: TreeId, ask: Question, *, skip: bool, progress: Progress
) -> Callable[[int], Tried]:
    """A function that tries the tree after so many patches. ``skip``: a tree that cannot be built is no answer."""

    def tried(at: int) -> Tried:
        part = series._replace(entries=series.entries[:at])
        tree = bench.move(part, base, progress=progress)
        built = bench.build(part, tree, progress=progress) if bench.job else None
        if built is not None and built.failure:
            f = built.failure
            where = f"{f.file}:{f.line}: " if f.file else ""
            return Tried(tree, "skip" if skip else "fail", printable(f"no build: {where}{f.message}"), built.log)
        log = bench.logs / f"{at:04}.log"
        outcome, why = ask(bench, built, log)
        return Tried(tree, outcome, printable(why), log)

    return tried


def running(argv: Sequence[str]) -> Question:
    """Does this command end with 0?"""
    return lambda bench, built, log: run.command(argv, bench.tree, built.outputs if built else None, log)


def smoking(launch: Launch, progress: Progress) -> Question:
    """Does it stand the smoke test?"""

    def ask(_bench: Bench, built: Built | None, log: Path) -> tuple[Outcome, str]:
        failure = smoke(_own(launch, built, log), progress=progress).failure
        return ("fail", f"{failure.where}: {failure.message}") if failure else ("pass", "")

    return ask


def finding(launch: Launch, wanted: Canary, progress: Progress) -> Question:
    """Does it find enough of the hidden codes?"""

    def ask(_bench: Bench, built: Built | None, log: Path) -> tuple[Outcome, str]:
        own = _own(launch, built, log)
        for row in canary(own, wanted.samples, wanted.contexts, wanted.kinds, progress):
            if not row.holds(wanted.at_least):
                found = sum(s.found for s in row.samples)
                said = f"{row.failure.where}: {row.failure.message}" if row.failure else f"{found} of {wanted.samples}"
                return "fail", f"context {row.context}, {row.kv}: {said}"
        return "pass", ""

    return ask


def _own(launch: Launch, built: Built | None, log: Path) -> Launch:
    assert built is not None
    program = built.outputs / server_of(built.artefacts, launch.settings.server).path
    return launch._replace(program=program, log=log)
