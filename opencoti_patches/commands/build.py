"""``build``: the patched tree, built."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_profile, example, open_project, options, reread
from opencoti_patches.commands.served import job_of
from opencoti_patches.core.profile import profile_of


@click.command(
    epilog=example(
        """
opencoti-patches build cpu
opencoti-patches build cpu --target llama-server -j 4
opencoti-patches build cuda --clean
"""
    )
)
@click.argument("profile", metavar="PROFILE", shell_complete=complete_profile)
@click.option("--target", "targets", metavar="T", multiple=True, help="Only this target; may be given again.")
@click.option("--clean", is_flag=True, help="From nothing.")
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", default=None, help="Processes at once.")
@click.option("--online", is_flag=True, help="Let the build's own steps reach for the network.")
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    profile: str,
    targets: tuple[str, ...],
    clean: bool,
    jobs: int | None,
    online: bool,
) -> None:
    """Bring the project's tree to the tip of the series, and build it as [build.PROFILE] of opencoti.toml says.

    Only files that differ are written, so only what they reach is built again; nothing is done where the same
    inputs were built before. A failure names the first error, and the patch that wrote its line.
    """
    from opencoti_patches.build.run import build
    from opencoti_patches.report.built import report
    from opencoti_patches.tree import trees

    project = open_project(run)
    config, store, progress = project.config, project.store, run.progress()
    chosen = profile_of(config, profile)
    with store.writing("build", config.patches):
        series = reread(project).series
        tip = trees.tip_of(series, project.base, store, progress=progress)
        job = job_of(project, chosen, targets, jobs, series=series, tip=tip, clean=clean, offline=not online)
        built = build(config, job, store, progress=progress)
    run.answer(report(profile, built, run.directory, verbose=run.verbose), ctx)
