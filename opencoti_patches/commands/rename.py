"""``rename``: a patch under another name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import Project, Run, complete_any, example, guard_name, options
from opencoti_patches.commands.stacking import DRY_RUN, wrote

if TYPE_CHECKING:
    from opencoti_patches.stack.desk import Desk
    from opencoti_patches.stack.model import Change


@click.command(
    epilog=example(
        """
opencoti-patches rename 0034 pinned-kv       # 0034-pinned-kv.patch
opencoti-patches rename 0034 0040-pinned-kv
"""
    )
)
@click.argument("patch", metavar="PATCH", shell_complete=complete_any)
@click.argument("new", metavar="NAME")
@DRY_RUN
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patch: str, new: str, dry_run: bool) -> None:
    """Give a patch file another name, a disabled one's, too; its place in the series stays, and its number unless NAME
    has one, which must be no other patch's.

    What headers say of its number ("Patch order: applies after 0034") is people's words: it stays, and is named.
    """
    guard_name("new", new)
    from opencoti_patches.series.lookup import find_any
    from opencoti_patches.stack.arrange import rename

    def work(project: Project, desk: Desk) -> Change:
        name, out = find_any(project.series, patch)
        return rename(desk, name, new, out)

    wrote(run, ctx, "rename", work, dry_run=dry_run)
