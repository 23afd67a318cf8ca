"""``forecast``: the upstream commits at which patches will stop applying."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, open_project, options


@click.command(
    epilog=example(
        """
opencoti-patches forecast
opencoti-patches forecast b9467 --json
"""
    )
)
@click.argument("rev", metavar="[REV]", default="HEAD", required=False)
@click.option("--source", type=int, metavar="N", help="Which base.source, from 1.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, rev: str, source: int | None) -> None:
    """Say at which upstream commit each patch stops being clean, on the way from the pinned one to REV.

    Without REV, the way leads to the head of the default branch. The commits are taken by first parents; each
    that changes a path of the series is judged in order, as 'check' would, for a patch may break at one and fit
    again at a later. Files of submodules are taken as the base has them.

    Of a far repository the whole history is fetched once, commits and folders without contents where the server
    can do that, then the contents of the files that the series touches. A repository on this machine is read
    where it is. The exit code is 0 if the series applies at REV.
    """
    from opencoti_patches.base.bootstrap import source_commit
    from opencoti_patches.base.gitsource import ahead
    from opencoti_patches.carry.forecast import forecast, prepare, which
    from opencoti_patches.report.bumped import command_line
    from opencoti_patches.report.forecast import report

    project = open_project(run)
    config, store, series = project.config, project.store, project.series
    progress = run.progress()
    at = which(config, source)
    chosen = config.sources[at]
    with store.writing("forecast", config.patches):
        history, way = ahead(chosen, source_commit(chosen, store), rev, store, progress=progress)
        ready = prepare(series, chosen, project.base, way, history, store, progress=progress)
    found = forecast(series, project.base, ready, store, progress=progress)
    bump = command_line(rev, at + 1 if len(config.sources) > 1 else None)
    run.answer(report(found, rev, bump, verbose=run.verbose), ctx)
