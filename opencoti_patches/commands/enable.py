"""``enable``: a disabled patch back in its place."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_disabled, example, options
from opencoti_patches.commands.stacking import LEAVE, both, wrote


@click.command(
    epilog=example(
        """
opencoti-patches enable 0034
opencoti-patches enable pinned --dry-run
"""
    )
)
@click.argument("patch", metavar="PATCH", shell_complete=complete_disabled)
@LEAVE
@both
@options()
@click.pass_context
def command(
    ctx: click.Context, run: Run, patch: str, leave_conflicts: bool, accept_adapted: bool, dry_run: bool
) -> None:
    """Put a patch back that a comment of the series names: one that 'disable' or 'bump --skip' left there, or '#NAME'.

    It is written anew if it drifted meanwhile, as 'regen' does it, and later patches are carried over it. If it does
    not apply any more, nothing is written, and the commands that mend it are named.
    """
    from opencoti_patches.stack.arrange import enable

    wrote(
        run,
        ctx,
        "enable",
        lambda p, desk: enable(desk, patch, usual=p.config.strip, project=p.config.name, leave=leave_conflicts),
        accept=accept_adapted,
        dry_run=dry_run,
    )
