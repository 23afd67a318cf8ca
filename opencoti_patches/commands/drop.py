"""``drop``: patches out of the series, their files gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import Project, Run, complete_any, example, options
from opencoti_patches.commands.stacking import both, wrote

if TYPE_CHECKING:
    from opencoti_patches.stack.desk import Desk
    from opencoti_patches.stack.model import Change


@click.command(
    epilog=example(
        """
opencoti-patches drop 0031
opencoti-patches drop 0033 0034 --dry-run
opencoti-patches undo          # it is back, to the byte
"""
    )
)
@click.argument("patches", metavar="PATCH...", nargs=-1, required=True, shell_complete=complete_any)
@both
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patches: tuple[str, ...], accept_adapted: bool, dry_run: bool) -> None:
    """Take patches out of the series and delete their files, disabled ones with their comments. Later patches are
    carried over the gap; what stands on a dropped patch is named with the lines, and then nothing is written.

    Says in which files the tree differs from then on. 'disable' keeps the file.
    """
    from opencoti_patches.series.lookup import find_any
    from opencoti_patches.stack.arrange import drop

    def work(project: Project, desk: Desk) -> Change:
        found = dict(find_any(project.series, n) for n in patches)
        return drop(desk, [n for n, out in found.items() if not out], [n for n, out in found.items() if out])

    wrote(run, ctx, "drop", work, accept=accept_adapted, dry_run=dry_run)
