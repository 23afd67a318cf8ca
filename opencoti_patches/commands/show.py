"""``show``: one patch and what it does."""

from __future__ import annotations

import sys

import click

from opencoti_patches.commands.common import Run, complete_any, example, options, within
from opencoti_patches.series import lookup, order
from opencoti_patches.series.disabled import entry as entry_of
from opencoti_patches.series.disabled import left_out


@click.command(
    epilog=example(
        """
opencoti-patches show 34
opencoti-patches show kv-cache --json
opencoti-patches show 0034 --raw | git apply --stat
"""
    )
)
@click.argument("patch", metavar="PATCH", shell_complete=complete_any)
@click.option("--raw", is_flag=True, help="The patch file, byte for byte, and nothing else.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patch: str, raw: bool) -> None:
    """Show a patch: its header, what it does file by file, and the diff.

    Bytes that a terminal might take for commands, and those that are not UTF-8, are shown as escapes
    (\\x1b), in a pipe as well; the exact bytes come with --raw. PATCH is a number, a file name or a unique
    part of it; a disabled patch is shown, too. With -q header and diff alone.
    """
    if raw and run.format != "text":
        raise click.UsageError(f"--raw and --{run.format} do not go together")
    config = run.config()
    series = order.load(config.patches, config.strip)
    outs = left_out(series)
    entries = (*series.entries, *(entry_of(series, out, config.strip) for out in outs.values()))
    name = lookup.find(series._replace(entries=entries), patch)
    entry = next(e for e in entries if e.name == name)
    if raw:
        sys.stdout.buffer.write(entry.raw)
        sys.stdout.buffer.flush()
        ctx.exit()
    from opencoti_patches.report.shown import report

    path, out = within(config, entry.path), outs.get(name)
    run.answer(report(entry, path=path, strip=config.strip, disabled=out and out.why, quiet=run.quiet), ctx)
