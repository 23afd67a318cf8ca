"""``lint``: the patch files themselves."""

from __future__ import annotations

from pathlib import Path

import click

from opencoti_patches.commands.common import Run, example, options, within


@click.command(
    epilog=example(
        """
opencoti-patches lint
opencoti-patches lint --strict --format github
"""
    )
)
@click.option("--strict", is_flag=True, help="Warnings are a no, too.")
@options(formats=True)
@click.pass_context
def command(ctx: click.Context, run: Run, strict: bool) -> None:
    """Check the patch files, whatever they are applied to. Needs no base.

    Series and folder agree both ways, numbers ascend and are unique, a header says what and why, a claim
    "Patch order: applies after NNNN" holds, added lines have no trailing white space and no conflict
    markers, paths and modes are sane, no patch is empty or damaged.
    """
    from opencoti_patches.report.linted import report
    from opencoti_patches.series.lint import lint, read

    config = run.config()
    where = Path(within(config, config.patches))
    reading = read(config.patches, config.strip, where)
    run.answer(report(lint(reading, where), reading.series, strict=strict), ctx)
