"""``disable``: patches out of the series, their files kept."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, options
from opencoti_patches.commands.stacking import both, wrote
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches disable 0034
opencoti-patches enable 0034
"""
    )
)
@click.argument("patches", metavar="PATCH...", nargs=-1, required=True, shell_complete=complete_patch)
@both
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patches: tuple[str, ...], accept_adapted: bool, dry_run: bool) -> None:
    """Make the lines of patches comments of the series ("# disabled: 0034-pinned.patch"), so that they are not
    applied; the files stay. Later patches are carried over the gap, as with 'drop'.
    """
    from opencoti_patches.stack.arrange import leave_out

    wrote(
        run,
        ctx,
        "disable",
        lambda p, desk: leave_out(desk, list(dict.fromkeys(lookup.find(p.series, n) for n in patches)), disable=True),
        accept=accept_adapted,
        dry_run=dry_run,
    )
