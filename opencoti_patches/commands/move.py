"""``move``: a patch to another place in the series."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Project, Run, complete_patch, example, options
from opencoti_patches.commands.stacking import DRY_RUN, wrote
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import PatchName
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches move 0031 --after 0034
opencoti-patches move 0034 --first
opencoti-patches move 0031 --last --dry-run
"""
    )
)
@click.argument("patch", metavar="PATCH", shell_complete=complete_patch)
@click.option("--after", metavar="PATCH", shell_complete=complete_patch, help="Behind this patch.")
@click.option("--before", metavar="PATCH", shell_complete=complete_patch, help="Before this patch.")
@click.option("--first", is_flag=True, help="Before all others: StGit's sink.")
@click.option("--last", is_flag=True, help="Behind all others: StGit's float.")
@DRY_RUN
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    patch: str,
    after: str | None,
    before: str | None,
    first: bool,
    last: bool,
    dry_run: bool,
) -> None:
    """Put a patch elsewhere in the series. Both it and those that it passes are carried, and it is proven that
    they make the same tree in the new order; else nothing is written, and the lines that stand in the way are named.

    The name stays: 'renumber' makes the numbers ascend again.
    """
    from opencoti_patches.stack.arrange import move
    from opencoti_patches.stack.desk import Desk
    from opencoti_patches.stack.model import Change

    if sum((after is not None, before is not None, first, last)) != 1:
        raise click.UsageError("give one of --after PATCH, --before PATCH, --first, --last")

    def work(project: Project, desk: Desk) -> Change:
        series = project.series
        name = lookup.find(series, patch)
        rest = [e.name for e in series.entries if e.name != name]
        behind: PatchName | None = rest[-1] if last and rest else None
        if after is not None or before is not None:
            other = lookup.find(series, after or before or "")
            if other == name:
                raise UsageError("usage", "a patch cannot stand beside itself", "name another")
            at = rest.index(other)
            behind = other if after is not None else rest[at - 1] if at else None
        return move(desk, name, behind)

    wrote(run, ctx, "move", work, dry_run=dry_run)
