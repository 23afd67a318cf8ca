"""``upstreamed``: what of the series upstream has already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import Project, Run, complete_patch, example, open_project, options
from opencoti_patches.core.model import TreeId
from opencoti_patches.series import lookup

if TYPE_CHECKING:
    from opencoti_patches.carry.upstreamed import Has


@click.command(
    epilog=example(
        """
opencoti-patches upstreamed
opencoti-patches upstreamed --rev 0.3.25
opencoti-patches upstreamed 0030 0033 --rev b9467 --json
"""
    )
)
@click.argument("patches", metavar="[PATCH]...", nargs=-1, shell_complete=complete_patch)
@click.option("--rev", metavar="REV-OR-VERSION", help="Look in this revision or version of the source.")
@click.option("--source", type=int, metavar="N", help="Which base.source, from 1; goes with --rev.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patches: tuple[str, ...], rev: str | None, source: int | None) -> None:
    """Say of each patch whether the base has all of it already, some hunks, or nothing; and at which lines.

    Added and removed lines decide, between what stood around them, also where upstream edited that meanwhile. With
    --rev the series is carried to that revision as 'bump' does it, and nothing but the store is written. Without, the
    base is looked at on which the series stands: of a patch that applies there, nothing is there.

    A patch that stands on one that finds no place is 'not known'. The exit code is 0 whatever is found.
    """
    from opencoti_patches.carry.target import fetch_both, pick
    from opencoti_patches.report.upstream import report

    if source and not rev:
        raise click.UsageError("--source goes with --rev")
    project = open_project(run, (lambda c, s: fetch_both(c, pick(c, source), rev, s)) if rev else None)
    wanted = {lookup.find(project.series, p) for p in patches}
    with project.store.writing("upstreamed", project.config.patches):
        base, called, found = _in_target(run, project, rev, source) if rev else _in_base(run, project)
    shown = [h for h in found if h.name in wanted or not wanted]
    run.answer(report(shown, base, called, verbose=run.verbose), ctx)


Found = tuple[TreeId, str, "tuple[Has, ...]"]
"""The base that was looked at, what people call it, and what it has."""


def _in_base(run: Run, project: Project) -> Found:
    from opencoti_patches.carry.upstreamed import in_base

    found = in_base(project.series, project.base, project.store, progress=run.progress())
    return project.base, ", ".join(s.label for s in project.config.sources), found


def _in_target(run: Run, project: Project, rev: str, source: int | None) -> Found:
    from opencoti_patches.carry.bump import bump
    from opencoti_patches.carry.target import called, pick, reach
    from opencoti_patches.carry.upstreamed import carried

    config, store = project.config, project.store
    number = pick(config, source)
    target = reach(config, number, rev, store, progress=run.progress())
    if target.base == project.base:
        return _in_base(run, project)
    done = bump(project.series, project.base, target.base, store, project=config.name, progress=run.progress())
    return target.base, called(config.sources[number], rev), carried(done.rows, project.series, target.base, store)
