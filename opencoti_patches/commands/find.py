"""``find``: which patch adds or removes a text."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, options
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches find kv_gpu_head_frac
opencoti-patches find --removed --regex 'ggml_(cpy|dup)\\('
opencoti-patches -q find pinned    # the patches' names alone
"""
    )
)
@click.argument("text", metavar="TEXT")
@click.option("--regex", is_flag=True, help="TEXT is a regular expression, as Python reads it.")
@click.option("--added", is_flag=True, help="Only lines that a patch adds.")
@click.option("--removed", is_flag=True, help="Only lines that a patch removes.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, text: str, regex: bool, added: bool, removed: bool) -> None:
    """Say which patches add or remove lines with TEXT in them, and where. Says no if none does.

    With -q the patches' names alone.
    """
    from opencoti_patches.report import asked
    from opencoti_patches.stack.asking import find

    config = run.config()
    series = order.load(config.patches, config.strip)
    signs = ("+" if added else "") + ("-" if removed else "") or "+-"
    run.answer(asked.find(text, find(series.entries, text, regex=regex, signs=signs), quiet=run.quiet), ctx)
