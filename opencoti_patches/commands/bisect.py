"""``bisect``: the first patch of the series at which something fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import (
    BASE,
    Run,
    complete_patch,
    complete_profile,
    example,
    open_project,
    options,
    reread,
)
from opencoti_patches.commands.served import (
    build_options,
    canary_options,
    job_of,
    launch_of,
    server_options,
    settings_of,
    words,
)
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.profile import profile_of
from opencoti_patches.series import lookup

if TYPE_CHECKING:
    from opencoti_patches.core.model import Series


@click.command(
    epilog=example(
        """
opencoti-patches bisect cpu --smoke --model tiny.gguf
opencoti-patches bisect cpu --canary --context 1024 --model m.gguf
opencoti-patches bisect cpu --run 'sh /home/me/test.sh' --from 0031
opencoti-patches bisect --run 'grep -q TODO src/llama.cpp'
"""
    )
)
@click.argument("profile", metavar="[PROFILE]", required=False, shell_complete=complete_profile)
@click.option("--run", "line", metavar="CMD", help="Passes if this command ends with 0; 125: not to be tested.")
@click.option("--smoke", "smokes", is_flag=True, help="Passes if the smoke test does.")
@click.option("--canary", "finds", is_flag=True, help="Passes if the canary does.")
@click.option("--from", "start", metavar="PATCH", default=BASE, shell_complete=complete_patch, help="Passes after it.")
@click.option("--to", "end", metavar="PATCH", shell_complete=complete_patch, help="Fails after it (default: the last).")
@click.option("--skip", is_flag=True, help="A tree that cannot be built is no failure, but not to be tested.")
@click.option("--model", metavar="GGUF", type=click.Path(), help="The model to load.")
@canary_options("The part that has to be found (0 to 1; default 1).")
@server_options
@build_options
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    profile: str | None,
    line: str | None,
    smokes: bool,
    finds: bool,
    start: str,
    end: str | None,
    skip: bool,
    model: str | None,
    samples: int,
    contexts: tuple[int, ...],
    kinds: tuple[str, ...],
    at_least: float | None,
    args: tuple[str, ...],
    server: str | None,
    targets: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Find the first patch of the series at which a command, the smoke test or the canary fails.

    First it is proven that it passes after --from (default 'base': before the first patch) and fails after --to.
    Trees and builds are made in the store, each from the last one; the project's own stay as they are. CMD is split
    as a shell would and runs without one, in the tree, with OPENCOTI_TREE and OPENCOTI_BUILD (the folder of the
    artefacts) in its environment; without PROFILE nothing is built.
    """
    from opencoti_patches.report.bisected import report
    from opencoti_patches.smoke import probes
    from opencoti_patches.smoke.bench import Bench
    from opencoti_patches.smoke.bisect import bisect

    if (line is not None) + smokes + finds != 1:
        raise click.UsageError("give one of --run, --smoke and --canary")
    if not profile and line is None:
        raise click.UsageError("--smoke and --canary need a PROFILE")
    project = open_project(run)
    config, store, progress = project.config, project.store, run.progress()
    chosen = profile_of(config, profile) if profile else None
    if line is not None:
        ask = probes.running(_command(line, run.directory))
    else:
        launch = launch_of(run, project, model, settings_of(config, server, args), "bisect")
        wanted = probes.Canary(samples, contexts, kinds, 1.0 if at_least is None else at_least)
        ask = probes.smoking(launch, progress) if smokes else probes.finding(launch, wanted, progress)
    with store.writing("bisect", config.patches):
        series = reread(project).series
        low, high = _place(series, start), _place(series, end) if end else len(series.entries)
        if low >= high:
            raise UsageError("bad-range", "--from does not stand before --to", "see 'opencoti-patches list'")
        job = job_of(project, chosen, targets, jobs, series=series, tip=project.base) if chosen else None
        bench = Bench(config, chosen, store, job)
        probe = probes.probe(bench, series, project.base, ask, skip=skip, progress=progress)
        found = bisect(low, high, probe, progress=progress)
    names = (BASE, *(e.name for e in series.entries))
    how = "run" if line is not None else "smoke" if smokes else "canary"
    run.answer(report(profile, how, names, (low, high), found, run.directory), ctx)


def _place(series: Series, wanted: str) -> int:
    """After how many patches: 0 for the base."""
    if wanted == BASE:
        return 0
    return [e.name for e in series.entries].index(lookup.find(series, wanted)) + 1


def _command(line: str, start: Path) -> list[str]:
    """The words of a command; a program beside us is found from the tree too."""
    found = words(line)
    if not found:
        raise UsageError("bad-value", "--run: there is no command in it", "write --run 'make test'")
    if "/" in found[0] and (start / found[0]).exists():
        found[0] = str((start / found[0]).absolute())
    return found
