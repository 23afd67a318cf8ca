"""``bump``: the series on a new upstream."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, open_project, options, within


@click.command(
    epilog=example(
        """
opencoti-patches bump 0.3.25 --dry-run
opencoti-patches bump b9467 --accept-adapted
"""
    )
)
@click.argument("value", metavar="REV-OR-VERSION")
@click.option("--source", type=int, metavar="N", help="Which base.source, from 1.")
@click.option("--note", "tag", metavar="TAG", default="", help="A word for the note lines.")
@click.option("--accept-adapted", is_flag=True, help="Take patches whose content followed upstream, too.")
@click.option("--dry-run", is_flag=True, help="Report, and write nothing.")
@options()
@click.pass_context
def command(
    ctx: click.Context, run: Run, value: str, source: int | None, tag: str, accept_adapted: bool, dry_run: bool
) -> None:
    """Carry the whole series to a new upstream: a revision of a git source, a version of an sdist.

    Every patch is carried that can be. What git takes stays; what drifted is brought over by what
    upstream's own diff says of its surroundings; a doubt is 'adapted', shown, and taken with
    --accept-adapted only; what finds no place is a conflict. Nothing in patches/ or opencoti.toml
    changes unless all of it can.
    """
    from opencoti_patches.carry.bump import bump
    from opencoti_patches.carry.settle import settle
    from opencoti_patches.carry.target import pick, reach
    from opencoti_patches.report.carried import report

    project = open_project(run)
    config, store, progress = project.config, project.store, run.progress()
    number = pick(config, source)
    with store.writing("bump", config.patches):
        target = reach(config, number, value, store, progress=progress)
        rows = bump(project.series, project.base, target.base, store, project=config.name, tag=tag, progress=progress)
        refused = [r.name for r in rows if r.status == "adapted"] if not accept_adapted else []
        stuck = any(r.status in ("conflict", "blocked") for r in rows)
        written = (
            []
            if refused or stuck
            else settle(rows, project.series, config, target, store, dry_run=dry_run, progress=progress)
        )
    run.answer(
        report(
            "bump",
            rows,
            written=[within(config, p) for p in written],
            dry_run=dry_run,
            refused=refused,
            verbose=run.verbose,
        ),
        ctx,
    )
