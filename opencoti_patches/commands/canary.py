"""``canary``: whether a built server still finds what a long prompt hides."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_profile, example, open_project, options, reread
from opencoti_patches.commands.served import canary_options, launch_of, server_options, settings_of
from opencoti_patches.core.profile import profile_of


@click.command(
    epilog=example(
        """
opencoti-patches canary cpu --model m.gguf
opencoti-patches canary cpu --model m.gguf --context 512 --context 4096
opencoti-patches canary cpu --model m.gguf --kv f16 --kv q8_0 --at-least 0.9
"""
    )
)
@click.argument("profile", metavar="PROFILE", shell_complete=complete_profile)
@click.option("--model", metavar="GGUF", required=True, type=click.Path(), help="The model to load.")
@canary_options("Say no if a smaller part is found anywhere (0 to 1).")
@server_options
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    profile: str,
    model: str,
    samples: int,
    contexts: tuple[int, ...],
    kinds: tuple[str, ...],
    at_least: float | None,
    args: tuple[str, ...],
    server: str | None,
) -> None:
    """Hide a code in a prompt as long as the context, ask for it, and count how often it comes back.

    A server is started for every length and type of KV cache. The codes, their places and the text around them
    are the same in every run. The build must be of the series' tip, as for 'smoke'.
    """
    from opencoti_patches.report.canary import report
    from opencoti_patches.smoke.canary import canary
    from opencoti_patches.smoke.standing import server_of, standing
    from opencoti_patches.tree import trees

    project = open_project(run)
    config, store, progress = project.config, project.store, run.progress()
    chosen, settings = profile_of(config, profile), settings_of(config, server, args)
    launch = launch_of(run, project, model, settings, f"{profile}-canary")
    with store.writing("canary", config.patches):
        series = reread(project).series
        tip = trees.tip_of(series, project.base, store, progress=progress)
        build = standing(config, chosen, tip, store)
        artefact = server_of(build.artefacts, settings.server)
        launch = launch._replace(program=build.outputs / artefact.path)
        rows = canary(launch, samples, tuple(dict.fromkeys(contexts)), tuple(dict.fromkeys(kinds)), progress)
    run.answer(report(profile, tip, artefact.path, samples, rows, at_least, launch.log, run.directory), ctx)
