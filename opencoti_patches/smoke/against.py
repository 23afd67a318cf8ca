"""Two builds of one series, token by token: what one answers the other has to answer, to the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.build.run import Built, build
from opencoti_patches.core.config import Config
from opencoti_patches.core.model import Series
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import proc
from opencoti_patches.smoke.bench import Bench
from opencoti_patches.smoke.check import Smoked, smoke
from opencoti_patches.smoke.server import Launch, Token
from opencoti_patches.smoke.standing import server_of

# one thread, one slot: the same sums in the same order
ARGS = ("-t", "1", "-np", "1")
TOP = 5  # logprobs compared at each token


class Difference(NamedTuple):
    """Where two answers part. ``token`` is an index from 0; ``what``: ``token``, ``logprob``, ``top`` (the logprobs of
    the others) or ``text``; None where an answer has ended."""

    prompt: int
    token: int
    what: str
    old: str | None
    new: str | None


def compare(old: Smoked, new: Smoked) -> list[Difference]:
    """The first difference of each prompt; what comes behind it follows from it."""
    found = []
    for number, (a, b) in enumerate(zip(old.prompts, new.prompts, strict=True), 1):
        if a.answer is None or b.answer is None:
            continue
        first = next(_differences(number, a.answer.tokens or (), b.answer.tokens or ()), None)
        if first is None and a.answer.text != b.answer.text:
            first = Difference(number, 0, "text", a.answer.text, b.answer.text)
        found += [first] if first else []
    return found


def _differences(prompt: int, old: tuple[Token, ...], new: tuple[Token, ...]) -> Iterator[Difference]:
    for at, (a, b) in enumerate(zip_longest(old, new)):
        if a is None or b is None or a.text != b.text:
            yield Difference(prompt, at, "token", a.text if a else None, b.text if b else None)
        elif a.logprob != b.logprob:
            yield Difference(prompt, at, "logprob", a.logprob, b.logprob)
        elif a.others != b.others:
            yield Difference(prompt, at, "top", _shown(a), _shown(b))


def _shown(token: Token) -> str:
    return ", ".join(f"{text!r} {logprob}" for text, logprob in token.others)


class Side(NamedTuple):
    """One of two builds: after which patch (empty: the base), how it was built and what it answers, None if the build
    failed; the log of the last of these."""

    patch: str
    built: Built
    log: Path
    smoked: Smoked | None = None


class Compared(NamedTuple):
    """Two builds and the first difference of each prompt. ``failed`` is the side that could not be asked."""

    old: Side
    new: Side | None
    differences: tuple[Difference, ...] = ()

    @property
    def failed(self) -> Side | None:
        """The first side without answers to everything."""
        sides = [s for s in (self.old, self.new) if s is not None]
        return next((s for s in sides if s.smoked is None or s.smoked.failure is not None), None)

    @property
    def same(self) -> bool:
        """Whether both answer, and the same."""
        return self.failed is None and self.new is not None and not self.differences


def against(bench: Bench, config: Config, old: Series, new: Series, launch: Launch, *, progress: Progress) -> Compared:
    """Build the tree after ``old`` on the bench and that after ``new`` in the project's own folders, ask both the same
    and compare. ``launch.program`` is replaced by each side's server. Call with the store's lock held.

    Errors: those of ``build``; UsageError ``no-server``; CouldNot ``locked``.
    """
    job = bench.job
    assert job is not None
    prompts = tuple(p._replace(contains="") for p in launch.settings.prompts)
    launch = launch._replace(args=(*launch.args, *ARGS), settings=launch.settings._replace(prompts=prompts))

    def side(series: Series, built: Built, log: str) -> Side:
        patch = series.entries[-1].name if series.entries else ""
        if built.failure:
            return Side(patch, built, built.log)
        program = built.outputs / server_of(built.artefacts, launch.settings.server).path
        own = launch._replace(program=program, log=launch.log.with_name(log))
        return Side(patch, built, own.log, smoke(own, progress=progress, logprobs=TOP))

    proc.guard_alone(launch.log.parent)  # a server of the last comparison runs from the bench
    before = bench.move(old, job.base, progress=progress)
    first = side(old, bench.build(old, before, progress=progress), "against-old.log")
    if first.smoked is None or first.smoked.failure:
        return Compared(first, None)
    second = side(new, build(config, job, bench.store, progress=progress), "against-new.log")
    if second.smoked is None or second.smoked.failure:
        return Compared(first, second)
    return Compared(first, second, tuple(compare(first.smoked, second.smoked)))
