"""``list``: the series, a patch a line."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, options
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches list
opencoti-patches list -q | head -3
opencoti-patches list --json
"""
    )
)
@options()
@click.pass_context
def command(ctx: click.Context, run: Run) -> None:
    """List the series in order: files, added and removed lines, name, and -pN or -R where an entry has them.

    With -q the names alone. Needs no base.
    """
    from opencoti_patches.report.listed import report
    from opencoti_patches.series.counts import counts

    config = run.config()
    series = order.load(config.patches, config.strip)
    rows = [(entry, counts(entry)) for entry in series.entries]
    run.answer(report(series, rows, strip=config.strip, quiet=run.quiet), ctx)
