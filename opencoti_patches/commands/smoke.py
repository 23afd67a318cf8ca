"""``smoke``: whether the built server runs and answers."""

from __future__ import annotations

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
    job_of,
    launch_of,
    server_options,
    settings_of,
)
from opencoti_patches.core.profile import profile_of
from opencoti_patches.series import lookup

if TYPE_CHECKING:
    from opencoti_patches.build.run import Job
    from opencoti_patches.commands.common import Project
    from opencoti_patches.core.model import Report, TreeId
    from opencoti_patches.core.profile import Profile
    from opencoti_patches.core.progress import Progress
    from opencoti_patches.smoke.pair import Library
    from opencoti_patches.smoke.server import Launch


@click.command(
    epilog=example(
        """
opencoti-patches smoke cpu --model tiny.gguf
opencoti-patches smoke cpu --model tiny.gguf --args '-t 2 -c 512'
opencoti-patches smoke cpu --model tiny.gguf --against 0033
opencoti-patches smoke cpu --with cuda --model tiny.gguf --args '-ngl 99'
"""
    )
)
@click.argument("profile", metavar="PROFILE", shell_complete=complete_profile)
@click.option("--model", metavar="GGUF", required=True, type=click.Path(), help="The model to load.")
@server_options
@click.option(
    "--against",
    metavar="PATCH",
    shell_complete=complete_patch,
    help="Build after PATCH ('base': before the first) and at the tip; their answers must be equal.",
)
@click.option(
    "--with",
    "library",
    metavar="PROFILE|DIR",
    shell_complete=complete_profile,
    help="Load a backend library too: a profile's, or that of a build folder brought here.",
)
@build_options
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    profile: str,
    model: str,
    args: tuple[str, ...],
    server: str | None,
    against: str | None,
    library: str | None,
    targets: tuple[str, ...],
    jobs: int | None,
) -> None:
    """Start the server that 'build PROFILE' made, on 127.0.0.1, ask it the prompts of [smoke], and end it.

    The build must be of the series' tip and as its manifest says. How it went is put beside the manifest. With
    --against tokens and logprobs of two builds are compared to the last digit, on one thread. With --with a host and a
    library that do not agree on ggml's interface are not started: every row in which they differ is shown.
    """
    from opencoti_patches.tree import trees

    if not against and (targets or jobs):
        raise click.UsageError("--target and --jobs go with --against")
    if against and library:
        raise click.UsageError("--with does not go with --against")
    project = open_project(run)
    config, store, progress = project.config, project.store, run.progress()
    chosen, settings = profile_of(config, profile), settings_of(config, server, args)
    launch = launch_of(run, project, model, settings, profile)
    with store.writing("smoke", config.patches):
        project = reread(project)
        tip = trees.tip_of(project.series, project.base, store, progress=progress)
        if against:
            job = job_of(project, chosen, targets, jobs, series=project.series, tip=tip)
            answer = _compare(run, project, job, against, launch, progress)
        else:
            beside = _beside(run, project, library, tip) if library else None
            answer = _smoke(run, project, chosen, beside, tip, launch, progress)
    run.answer(answer, ctx)


def _beside(run: Run, project: Project, wanted: str, tip: TreeId) -> Library:
    from opencoti_patches.smoke.pair import library_of
    from opencoti_patches.smoke.standing import brought, standing

    folder = run.directory / wanted
    if "/" in wanted or folder.is_dir():
        return library_of(wanted, brought(folder.absolute()))
    return library_of(wanted, standing(project.config, profile_of(project.config, wanted), tip, project.store))


def _smoke(
    run: Run,
    project: Project,
    profile: Profile,
    library: Library | None,
    tip: TreeId,
    launch: Launch,
    progress: Progress,
) -> Report:
    from opencoti_patches.doors.net import sha256_of
    from opencoti_patches.report.smoked import report
    from opencoti_patches.smoke.check import record, refused, smoke
    from opencoti_patches.smoke.pair import misfit
    from opencoti_patches.smoke.standing import server_of, standing

    build = standing(project.config, profile, tip, project.store)
    artefact = server_of(build.artefacts, launch.settings.server)
    launch = launch._replace(program=build.outputs / artefact.path)
    wrong = misfit(profile.name, build, library) if library else None
    progress.update("reading the model")
    sha256 = sha256_of(launch.model)
    if library:
        launch = launch.loading(library.path)
    went = refused(launch, *wrong) if wrong else smoke(launch, progress=progress)
    written = record(build, artefact, launch.args, sha256, went, library)
    return report(profile.name, tip, artefact.path, sha256, launch, went, written, run.directory)


def _compare(run: Run, project: Project, job: Job, wanted: str, launch: Launch, progress: Progress) -> Report:
    from opencoti_patches.report.smoked import compared
    from opencoti_patches.smoke.against import against
    from opencoti_patches.smoke.bench import Bench

    series = project.series
    old = series._replace(entries=()) if wanted == BASE else series.upto(lookup.find(series, wanted))
    bench = Bench(project.config, job.profile, project.store, job)
    both = against(bench, project.config, old, series, launch, progress=progress)
    return compared(job.profile.name, both, launch.settings.prompts, run.directory)
