"""The smoke test of a build: it starts, answers as expected, and ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.build.manifest import Artefact
from opencoti_patches.core.progress import Progress
from opencoti_patches.core.smoke import Prompt
from opencoti_patches.doors import fs
from opencoti_patches.smoke.pair import Library
from opencoti_patches.smoke.server import Completion, Failed, Failure, Launch, expect, running, telling
from opencoti_patches.smoke.standing import Standing

SCHEMA = 1
NAME = "smoke.json"


class Answered(NamedTuple):
    """A prompt and what came; None where it was not asked, or nothing came."""

    prompt: Prompt
    answer: Completion | None


class Smoked(NamedTuple):
    """How a smoke test went. ``lines`` are the telling ones of the log of a failure."""

    prompts: tuple[Answered, ...]
    failure: Failure | None = None
    lines: tuple[str, ...] = ()


def smoke(launch: Launch, *, progress: Progress, logprobs: int = 1) -> Smoked:
    """Start a server, ask every prompt of the settings, hold the answers against what is expected, end it."""
    answers: list[Completion] = []
    prompts = launch.settings.prompts
    failure = None
    try:
        with running(launch) as server:
            progress.update(f"waiting for {launch.program.name}")
            server.wait()
            for number, prompt in enumerate(prompts, 1):
                progress.update("asking", number, len(prompts), "prompts")
                answers.append(server.complete(number, prompt, logprobs=logprobs))
                expect(number, prompt, answers[-1])
            progress.update(f"ending {launch.program.name}")
            server.stop()
    except Failed as e:
        failure = e.failure
    rows = [*answers, *[None] * (len(prompts) - len(answers))]
    return Smoked(
        prompts=tuple(map(Answered, prompts, rows)),
        failure=failure,
        lines=telling(launch.log) if failure else (),
    )


def refused(launch: Launch, why: Failure, lines: Sequence[str]) -> Smoked:
    """A smoke test that is not begun."""
    return Smoked(tuple(Answered(p, None) for p in launch.settings.prompts), why, tuple(lines))


def record(
    build: Standing, server: Artefact, args: Sequence[str], model: str, smoked: Smoked, library: Library | None = None
) -> Path:
    """Put how it went beside the manifest: which build (the sha256 of its manifest, and of the server), which model
    (``model`` is its sha256), which answers; beside the manifest of the ``library`` too. Nothing in it says when or
    where."""
    doc = {
        "schema": SCHEMA,
        "ok": smoked.failure is None,
        "manifest": build.manifest,
        "server": {"path": server.path, "sha256": server.sha256},
        "with": library and {"path": library.artefact.path, "sha256": library.artefact.sha256},
        "args": list(args),
        "model": model,
        "prompts": [{**p.prompt._asdict(), "answer": p.answer.text if p.answer else None} for p in smoked.prompts],
        "failure": smoked.failure._asdict() if smoked.failure else None,
    }
    fs.write(build.folder / NAME, json.dumps(doc, indent=1).encode() + b"\n")
    if library:
        doc |= {"manifest": library.build.manifest, "host": build.manifest}
        fs.write(library.build.folder / NAME, json.dumps(doc, indent=1).encode() + b"\n")
    return build.folder / NAME
