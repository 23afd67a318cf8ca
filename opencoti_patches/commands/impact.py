"""``impact``: what each patch reaches."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, open_project, options
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches impact
opencoti-patches impact 0034
opencoti-patches impact -v --json
"""
    )
)
@click.argument("patches", metavar="[PATCH]...", nargs=-1, shell_complete=complete_patch)
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patches: tuple[str, ...]) -> None:
    """Say which artefacts each patch reaches: the host, the CPU library, that of CUDA or Vulkan.

    The files of a patch are looked for among all that the sources of an artefact include, however deep. Every include
    counts, whatever condition it stands under, so too much is found rather than too little. Where a build of this
    very series is there, what its compilers read confirms that, or disagrees.

    A header that says "host only", "CUDA DSO unchanged" or "Reach: host" is held to it: a false claim is a no.
    Nothing is applied or checked out. With PATCH, or -v, the way from the patch to the artefact is shown.
    """
    from opencoti_patches.build.depfiles import builds_of
    from opencoti_patches.build.impact import impact
    from opencoti_patches.core.profile import profiles_of
    from opencoti_patches.report.reached import report

    project = open_project(run)
    config, store, series = project.config, project.store, project.series
    names = [lookup.find(series, p) for p in patches] or [e.name for e in series.entries]
    progress = run.progress()
    with store.writing("impact", config.patches):
        progress.update("reading what builds were made of")
        builds = builds_of(profiles_of(config).values(), series, project.base, config, store)
        progress.update("following includes")
        found = impact(series, names, project.base, config.artefacts, builds, store)
    run.answer(report(found, run.directory, config.patches, ways=bool(patches), verbose=run.verbose), ctx)
