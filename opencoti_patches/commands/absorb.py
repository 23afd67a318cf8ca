"""``absorb``: edits at the tip into the patches that own the lines."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, open_project, options, reread
from opencoti_patches.commands.stacking import DRY_RUN, edited, written
from opencoti_patches.core.model import printable


@click.command(
    epilog=example(
        """
opencoti-patches apply             # change tree/ here and there, then:
opencoti-patches absorb --dry-run
opencoti-patches absorb
"""
    )
)
@click.argument("folder", metavar="[DIR]", type=click.Path(), required=False)
@DRY_RUN
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, folder: str | None, dry_run: bool) -> None:
    """Fold the edits in DIR (default: tree.dir of opencoti.toml), which is at the tip, into the patches that own the
    lines, hunk by hunk: the patch that added what is changed, or beside whose lines something is inserted.

    An edit with two owners or none is said and left, as an edit of DIR. The tree at the tip is proven to be the
    one with just the absorbed edits in it; headers stay to the byte, but for a diffstat, which follows.
    """
    from opencoti_patches.report.stacked import absorbed, edit_row
    from opencoti_patches.stack.absorb import absorb
    from opencoti_patches.stack.desk import desk
    from opencoti_patches.tree.settled import adopt
    from opencoti_patches.tree.worktree import At

    project = open_project(run)
    with project.store.writing("absorb", project.config.patches):
        project = reread(project)
        work, snapshot = edited(run, project, folder)
        at = work.at()
        with desk(project.series, project.base, project.store, run.progress()) as bench:
            done = absorb(bench, snapshot)
            report, settled = written(
                run,
                "absorb",
                project,
                bench,
                done.change,
                dry_run=dry_run,
                more={"dir": printable(str(work.folder)), "edits": [edit_row(e) for e in done.edits]},
                head=absorbed(done.edits),
            )
            if settled and not dry_run:  # what was left is an edit of the folder still
                last = done.change.entries[-1].name
                adopt(work, At(tree=done.tip, patch=last, commits=bool(at and at.commits)))
    run.answer(report, ctx)
