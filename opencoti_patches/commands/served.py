"""What the commands that start servers share: the profile, the model, the launch."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opencoti_patches.commands.common import FUNCTION, Project, Run
from opencoti_patches.core.errors import UsageError

if TYPE_CHECKING:
    from opencoti_patches.build.run import Job
    from opencoti_patches.core.config import Config
    from opencoti_patches.core.profile import Profile
    from opencoti_patches.core.smoke import Smoke
    from opencoti_patches.smoke.server import Launch


def server_options(function: FUNCTION) -> FUNCTION:
    """``--args`` and ``--server``."""
    args = "More arguments of the server, in one string; may be given again."
    function = click.option("--args", metavar="ARGS", multiple=True, help=args)(function)
    return click.option("--server", metavar="NAME", help="Which artefact to start.")(function)


def build_options(function: FUNCTION) -> FUNCTION:
    """``--target`` and ``--jobs``, where something is built."""
    jobs = click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes at once in a build.")
    return click.option("--target", "targets", metavar="T", multiple=True, help="Build only this.")(jobs(function))


def canary_options(at_least: str) -> Callable[[FUNCTION], FUNCTION]:
    """What a canary is asked; ``at_least`` is the help of that option."""

    def wrap(function: FUNCTION) -> FUNCTION:
        for option in (
            click.option(
                "--samples",
                type=click.IntRange(1, 10_000),
                default=10,
                show_default=True,
                metavar="N",
                help="Questions.",
            ),
            click.option(
                "--context",
                "contexts",
                type=click.IntRange(128),
                multiple=True,
                default=(2048,),
                show_default=True,
                metavar="N",
                help="Tokens of context; may be given again.",
            ),
            click.option(
                "--kv",
                "kinds",
                multiple=True,
                default=("f16",),
                show_default=True,
                metavar="TYPE",
                help="Type of the KV cache, or K/V; may be given again.",
            ),
            click.option("--at-least", type=click.FloatRange(0, 1), metavar="P", help=at_least),
        ):
            function = option(function)
        return function

    return wrap


def settings_of(config: Config, server: str | None, args: tuple[str, ...]) -> Smoke:
    """``[smoke]``, with what the command line says. Errors: UsageError ``bad-value``."""
    from opencoti_patches.core.smoke import settings

    found = settings(config.smoke, config.file.name)
    return found._replace(server=server or found.server, args=(*found.args, *(w for a in args for w in words(a))))


def words(line: str) -> list[str]:
    """A line split as a shell would, though none runs. Errors: UsageError ``bad-value``."""
    try:
        return shlex.split(line)
    except ValueError as e:
        raise UsageError("bad-value", f"{line!r} cannot be split into words: {e}", "look at its quotes") from None


def launch_of(run: Run, project: Project, model: str | None, settings: Smoke, log: str) -> Launch:
    """A launch whose program is still to be named. Errors: UsageError ``no-file``, ``bad-model``."""
    from opencoti_patches.smoke.server import Launch

    if not model:
        raise click.UsageError("Missing option '--model'")
    path = (run.directory / model).absolute()
    if not path.is_file():
        raise UsageError("no-file", f"--model {model}: there is no such file", "name a model in GGUF format")
    with path.open("rb") as f:
        if f.read(4) != b"GGUF":
            raise UsageError("bad-model", f"--model {model} is no GGUF file", "name a model in GGUF format")
    folder = project.store.root / "smoke"
    return Launch(
        program=Path(),
        model=path,
        args=settings.args,
        log=folder / f"{log}.log",
        home=folder / "home",
        settings=settings,
    )


def job_of(project: Project, profile: Profile, targets: tuple[str, ...], jobs: int | None, **rest: Any) -> Job:
    """A build of the profile; ``rest`` has its tip and its series."""
    from opencoti_patches.build.run import Job, version_of

    return Job(
        profile=profile,
        base=project.base,
        targets=targets,
        jobs=jobs or 0,
        version=version_of(project.config, project.base),
        **rest,
    )
