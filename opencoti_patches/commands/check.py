"""``check``: does the series apply strictly, and if not, why."""

from __future__ import annotations

import os
from pathlib import Path

import click

from opencoti_patches.commands.common import Run, complete_patch, example, open_project, options


@click.command(
    epilog=example(
        """
opencoti-patches check
opencoti-patches check --to 0033 --no-offset
opencoti-patches check --locked --format github
"""
    )
)
@click.option("--to", "to", metavar="PATCH", shell_complete=complete_patch, help="Only the series up to this patch.")
@click.option("--no-offset", is_flag=True, help="A hunk that moved is a no, too.")
@click.option("--locked", is_flag=True, help="Verify all again; a lock must be there and agree.")
@options(formats=True)
@click.pass_context
def command(ctx: click.Context, run: Run, to: str | None, no_offset: bool, locked: bool) -> None:
    """Say whether git takes every patch of the series, in order, with no fuzz.

    Every patch is judged in one pass. A failure is a root, or it is blocked by one; each comes with the
    hunk, the lines it expects against those found, and the command to run next. Writes nothing but the
    store.
    """
    from opencoti_patches.plan.strict import check
    from opencoti_patches.report.checked import report
    from opencoti_patches.series import lock
    from opencoti_patches.series.beside import unlisted
    from opencoti_patches.series.unmerged import unmerged

    project = open_project(run)
    series = project.series
    if to:
        from opencoti_patches.series.lookup import find

        series = series.upto(find(series, to))
    claim, damage = None, None
    try:
        claim = lock.read(project.config.patches) if locked or not to else None
    except lock.BadLock as e:  # said beside what the patches say, in every format
        damage = e
    wants_tip = claim is not None or run.format == "json"
    plan = check(series, project.base, project.store, progress=run.progress(), fresh=locked, tip=wants_tip)
    stale = (damage.message,) if damage else lock.disagreements(claim, project.series, plan)
    if not damage and locked and claim is None:  # a claim that somebody took away must not pass for one that was proven
        stale = ("there is no lock",)
    run.answer(
        report(
            plan,
            series,
            where=Path(os.path.relpath(project.config.patches)),  # annotations are read from where it was started
            typed=os.path.relpath(project.config.patches, run.directory),
            label=", ".join(s.label for s in project.config.sources),
            no_offset=no_offset,
            stale=stale,
            other_base=claim is not None and claim.base != plan.base,
            unlisted=unlisted(project.series),
            unmerged=unmerged(series),
            stale_level="error" if locked or damage else "warning",
            stale_line=damage.line if damage else 1,
            verbose=run.verbose,
        ),
        ctx,
    )
