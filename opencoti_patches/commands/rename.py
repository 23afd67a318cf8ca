"""``rename``: a patch under another name."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, options
from opencoti_patches.commands.stacking import DRY_RUN, wrote
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches rename 0034 pinned-kv       # 0034-pinned-kv.patch
opencoti-patches rename 0034 0040-pinned-kv
"""
    )
)
@click.argument("patch", metavar="PATCH", shell_complete=complete_patch)
@click.argument("new", metavar="NAME")
@DRY_RUN
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patch: str, new: str, dry_run: bool) -> None:
    """Give a patch file another name; its place in the series stays, and its number unless NAME has one, which must
    be no other patch's.

    What headers say of its number ("Patch order: applies after 0034") is people's words: it stays, and is named.
    """
    from opencoti_patches.stack.arrange import rename

    wrote(run, ctx, "rename", lambda p, desk: rename(desk, order.find(p.series, patch), new), dry_run=dry_run)
