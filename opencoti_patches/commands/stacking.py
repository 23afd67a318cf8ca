"""What the commands that rearrange the stack share: the desk, acceptance, writing, the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from opencoti_patches.commands.common import (
    FUNCTION,
    Project,
    Run,
    again,
    look_at_it,
    open_project,
    reread,
    stopped,
    within,
)
from opencoti_patches.core.config import Config
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import printable

if TYPE_CHECKING:
    from opencoti_patches.carry.from_folder import Snapshot
    from opencoti_patches.stack.desk import Desk
    from opencoti_patches.stack.model import Change, Settled
    from opencoti_patches.tree.worktree import WorkTree

ACCEPT = click.option("--accept-adapted", is_flag=True, help="Write patches whose content changed, too.")
LEAVE = click.option("--leave-conflicts", is_flag=True, help="Write, and leave patches that find no place as they are.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Report, and write nothing.")


def wrote(run: Run, ctx: click.Context, command: str, work: Callable[[Project, Desk], Change], **options: Any) -> None:
    """Rearrange, write and answer. ``options`` are those of ``written``."""
    from opencoti_patches.stack.desk import desk

    project = open_project(run)
    with project.store.writing(command, project.config.patches):
        project = reread(project)
        with desk(project.series, project.base, project.store, run.progress()) as at:
            change = work(project, at)
            report, _ = written(run, command, project, at, change, **options)
    run.answer(report, ctx)


def written(
    run: Run,
    command: str,
    project: Project,
    desk: Desk,
    change: Change,
    *,
    accept: bool = False,
    dry_run: bool = False,
    steps: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
    head: Sequence[str] = (),
) -> tuple[Any, Settled | None]:
    """Write a change unless it is refused or wants acceptance: the report, and what was written. ``steps`` are the
    commands to run next if nothing was."""
    from opencoti_patches.report.stacked import report
    from opencoti_patches.series.placing import stale_claims
    from opencoti_patches.stack.put import settle

    config = project.config
    adapted = [r.name for r in change.rows if r.fate == "adapted"] if not change.refused else []
    needs = [] if accept else adapted
    settled = None
    if not change.refused and not needs:
        settled = settle(change, desk, dry_run=dry_run)
    answer = report(
        command,
        change,
        settled,
        written=[within(config, p) for p in settled.written] if settled else (),
        removed=[within(config, p) for p in settled.removed] if settled else (),
        dry_run=dry_run,
        needs=needs,
        claims=stale_claims(project.series, change.renamed) if settled else (),
        notes=_notes(project, change) if settled else (),
        steps=[
            *(steps if change.refused or change.left else ()),
            *change.steps,
            *([again("--accept-adapted")] if needs else ()),
            *(look_at_it(config, True) if settled and adapted and not dry_run and not change.left else ()),
            *(_want_why(config, change) if settled and not dry_run else ()),
        ],
        more=more,
        head=head,
        verbose=run.verbose,
    )
    return answer, settled


def _want_why(config: Config, change: Change) -> list[str]:
    """What is left to do for patches that were made, whose headers say no why."""
    from opencoti_patches.series.parse import parse
    from opencoti_patches.series.says import what_and_why

    made = {r.name for r in change.rows if r.fate == "made"}
    return [
        f"say why below the first line of {printable(within(config, config.patches / e.name))}, then opencoti-patches lint"
        for e in change.entries
        if e.name in made and not what_and_why(parse(e.raw, e.strip).header)[1]
    ]


def _notes(project: Project, change: Change) -> list[str]:
    """What a reader of the answer should know besides: what left a header, a bump that this stops."""
    from opencoti_patches.series import diffstat
    from opencoti_patches.series.parse import parse

    had = {e.name: parse(e.raw, e.strip).header for e in project.series.entries}
    gone = [
        e.name for e in change.entries if e.name in had and diffstat.is_gone(had[e.name], parse(e.raw, e.strip).header)
    ]
    said = [f"{printable(n)}: its diffstat was not as git writes it, and is taken out" for n in gone]
    return said + stopped(project.config, project.store, project.series._replace(entries=change.entries))


def edited(run: Run, project: Project, folder: str | None) -> tuple[WorkTree, Snapshot]:
    """The folder with the edits, the project's own tree for None. Errors: UsageError ``no-folder``,
    ``unknown-folder``."""
    from opencoti_patches.carry.from_folder import take
    from opencoti_patches.tree.worktree import WorkTree

    place = run.directory / folder if folder else project.config.tree
    if not place.is_dir():
        raise UsageError(
            "no-folder",
            f"there is no folder {folder or within(project.config, place)}",
            "make one to edit in: opencoti-patches edit PATCH DIR",
        )
    work = WorkTree(place, project.store)
    return work, take(work)


def both(function: FUNCTION) -> FUNCTION:
    """``--accept-adapted`` and ``--dry-run``."""
    return ACCEPT(DRY_RUN(function))
