"""``squash``: several patches made one."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, options
from opencoti_patches.commands.stacking import DRY_RUN, wrote
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches squash 0033 0034
opencoti-patches squash 0031 0034 --dry-run
"""
    )
)
@click.argument("patches", metavar="PATCH PATCH...", nargs=-1, required=True, shell_complete=complete_patch)
@DRY_RUN
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patches: tuple[str, ...], dry_run: bool) -> None:
    """Make one patch of several, under the name and in the place of the earliest; headers are joined, the files of
    the others go.

    Patches that do not follow one another are moved together first, so what stands between must commute with them.
    The tree at the tip is proven to be what it was.
    """
    from opencoti_patches.stack.squash import squash

    wrote(
        run, ctx, "squash", lambda p, desk: squash(desk, [lookup.find(p.series, n) for n in patches]), dry_run=dry_run
    )
