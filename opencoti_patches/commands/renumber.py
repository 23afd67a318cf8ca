"""``renumber``: numbers that ascend with the series."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, options
from opencoti_patches.commands.stacking import DRY_RUN, wrote
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches renumber
opencoti-patches renumber 0033 --start 40
opencoti-patches renumber --step 10 --dry-run
"""
    )
)
@click.argument("patch", metavar="[PATCH]", required=False, shell_complete=complete_patch)
@click.option("--start", type=click.IntRange(0), metavar="N", help="The first number (default: as it is).")
@click.option("--step", type=click.IntRange(1), metavar="N", default=1, help="How far apart they are (default: 1).")
@DRY_RUN
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patch: str | None, start: int | None, step: int, dry_run: bool) -> None:
    """Give the patches, from PATCH on or all, numbers that ascend in the order of the series.

    The order stays, and so does every byte in the files; only names change.
    """
    from opencoti_patches.stack.arrange import renumber

    wrote(
        run,
        ctx,
        "renumber",
        lambda p, desk: renumber(desk, lookup.find(p.series, patch) if patch else None, start, step),
        dry_run=dry_run,
    )
