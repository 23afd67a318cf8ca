"""``lint``: the patch files themselves."""

from __future__ import annotations

import os
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
@click.option("--strict", is_flag=True, help="Warnings are errors.")
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
    # a document is about the project; the other forms are read where it was started
    where = within(config, config.patches) if run.format == "json" else os.path.relpath(config.patches)
    reading = read(config.patches, config.strip, Path(where))
    findings = lint(reading, Path(where))
    run.answer(report(findings, reading.series, where=Path(where), strict=strict), ctx)
