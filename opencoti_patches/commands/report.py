"""``report``: the series as a whole, as a page, for a pull request, as data."""

from __future__ import annotations

import os
from pathlib import Path

import click

from opencoti_patches.commands.common import Run, example, open_project, options

_OUT = "-"  # a file name for standard output


@click.command(
    epilog=example(
        """
opencoti-patches report
opencoti-patches report --html report.html
opencoti-patches report --markdown --against origin/main
"""
    )
)
@click.option("--html", metavar="FILE", help="Write one self-contained page.")
@click.option("--markdown", metavar="[FILE]", is_flag=False, flag_value=_OUT, help="For a pull request.")
@click.option("--against", metavar="REV", default=None, help="Hold it against the lock of this commit, not HEAD's.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, html: str | None, markdown: str | None, against: str | None) -> None:
    """Show the series as a whole: state, size and age of each patch, what touches which file, what stands on what,
    and what differs from the lock of a commit of the project.

    FILE may be '-', for standard output. The exit code is 0 whatever the state is; 'check' is the command
    that says yes or no.
    """
    from opencoti_patches.core.errors import CouldNot, UsageError
    from opencoti_patches.doors import fs
    from opencoti_patches.doors.git import Tracked
    from opencoti_patches.plan.overview import Standing, by_files, held_against, overview
    from opencoti_patches.plan.strict import check
    from opencoti_patches.report.overview import About, answer, report
    from opencoti_patches.stack.deps import deps

    if sum((html == _OUT, markdown == _OUT, run.format == "json")) > 1:
        raise click.UsageError("only one form goes to standard output: give the others a file")
    for name in filter(None, (html, markdown)):
        if (run.directory / name).is_dir():
            raise UsageError("bad-folder", f"{name} is a folder", "name a file to write")
    project = open_project(run)
    config, store, series, progress = project.config, project.store, project.series, run.progress()
    if against and not Tracked(config.patches).commit(against):
        raise CouldNot("no-rev", f"the project has no commit {against}", "fetch it, or name another with --against")
    plan = check(series, project.base, store, progress=progress)
    standing = by_files(series)
    if plan.ok:  # of a series that does not apply nothing can be tried without another
        needs = deps(series, project.base, store, progress=progress)
        standing = Standing("lines", {n.name: tuple(n.on) for n in needs})
    progress.update("reading the patches")
    held = held_against(series, against or "HEAD", project.base, store)
    about = About(
        name=config.name,
        label=", ".join(s.label for s in config.sources),
        upstream=", ".join(s.upstream for s in config.sources if s.upstream),
        where=Path(os.path.relpath(config.patches, run.directory)),
        given=run.given,
    )
    found = answer(about, overview(series, plan, standing, held, store))
    made: dict[str, str] = {}
    if html:
        from opencoti_patches.report.page.build import page

        made[html] = page(found)
    if markdown:
        from opencoti_patches.report.overview_markdown import overview_markdown

        made[markdown] = overview_markdown(found)
    if _OUT in made:
        click.echo(made.pop(_OUT))
    for name, content in made.items():
        fs.write(run.directory / name, f"{content}\n".encode())
    if _OUT not in (html, markdown):
        run.answer(report(found, list(made)), ctx)
