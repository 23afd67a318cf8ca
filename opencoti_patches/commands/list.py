"""``list``: the series, a patch a line."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, options
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches list
opencoti-patches list -v
opencoti-patches list -q | head -3
opencoti-patches list --json
"""
    )
)
@options()
@click.pass_context
def command(ctx: click.Context, run: Run) -> None:
    """List the series in order: files, added and removed lines, name, and -pN or -R where an entry has them. Patches
    that 'disable' left out stand in their places, marked.

    With -v each patch has its files below it; with -q the names alone, without those left out. Needs no base.
    """
    from opencoti_patches.report.listed import report
    from opencoti_patches.series.counts import counts
    from opencoti_patches.series.disabled import entry as entry_of
    from opencoti_patches.series.disabled import left_out

    config = run.config()
    series = order.load(config.patches, config.strip)
    rows = [(entry, counts(entry)) for entry in series.entries]
    outs = [(out, entry_of(series, out, config.strip)) for out in left_out(series).values()]
    disabled = [(out, entry, counts(entry)) for out, entry in outs]
    run.answer(report(series, rows, disabled, strip=config.strip, quiet=run.quiet, verbose=run.verbose), ctx)
