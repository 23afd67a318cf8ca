"""``drop``: patches out of the series, their files gone."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, options
from opencoti_patches.commands.stacking import both, wrote
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches drop 0031
opencoti-patches drop 0033 0034 --dry-run
opencoti-patches undo          # it is back, to the byte
"""
    )
)
@click.argument("patches", metavar="PATCH...", nargs=-1, required=True, shell_complete=complete_patch)
@both
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patches: tuple[str, ...], accept_adapted: bool, dry_run: bool) -> None:
    """Take patches out of the series and delete their files. Later patches are carried over the gap; what
    stands on a dropped patch is named with the lines, and then nothing is written.

    Says in which files the tree differs from then on. 'disable' keeps the file.
    """
    from opencoti_patches.stack.arrange import leave_out

    wrote(
        run,
        ctx,
        "drop",
        lambda p, desk: leave_out(desk, list(dict.fromkeys(order.find(p.series, n) for n in patches)), disable=False),
        accept=accept_adapted,
        dry_run=dry_run,
    )
