"""``bump``: the series on a new upstream."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import (
    Project,
    Run,
    complete_patch,
    example,
    open_project,
    options,
    reread,
    within,
)
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import PatchName, Report, printable
from opencoti_patches.core.progress import Progress

if TYPE_CHECKING:
    from opencoti_patches.carry.session import Session


@click.command(
    epilog=example(
        """
opencoti-patches bump 0.3.25 --dry-run
opencoti-patches bump b9467 --accept-adapted
opencoti-patches bump --continue
"""
    )
)
@click.argument("value", metavar="[REV-OR-VERSION]", required=False)
@click.option("--source", type=int, metavar="N", help="Which base.source, from 1.")
@click.option("--note", "tag", metavar="TAG", default="", help="A word for the note lines.")
@click.option("--accept-adapted", is_flag=True, help="Take patches whose content followed upstream, too.")
@click.option("--dry-run", is_flag=True, help="Report, and write nothing.")
@click.option("--continue", "go_on", is_flag=True, help="The conflict is resolved; go on.")
@click.option("--skip", metavar="PATCH", shell_complete=complete_patch, help="Go on without this patch.")
@click.option("--abort", is_flag=True, help="Give the bump up; nothing was changed.")
@click.option("--status", is_flag=True, help="Say where the bump stands.")
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    value: str | None,
    source: int | None,
    tag: str,
    accept_adapted: bool,
    dry_run: bool,
    go_on: bool,
    skip: str | None,
    abort: bool,
    status: bool,
) -> None:
    """Carry the whole series to a new upstream: a revision of a git source, a version of an sdist.

    Every patch is carried that can be. What git takes stays; what drifted is brought over by what
    upstream's own diff says of its surroundings; a doubt is 'adapted', shown, and taken with
    --accept-adapted only. A conflict opens a session: a worktree with the markers in it, then --continue,
    --skip or --abort. Nothing in patches/ or opencoti.toml changes until all of it can.
    """
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.carry.target import pick

    asked = [bool(value), go_on, skip is not None, abort, status]
    if sum(asked) != 1:
        raise click.UsageError("give one of REV-OR-VERSION, --continue, --skip PATCH, --abort, --status")
    project = open_project(run)
    store = project.store
    if status:
        run.answer(_where(project, sessions.must(store, "report")), ctx)
    if dry_run and not value:
        raise click.UsageError("--dry-run goes with REV-OR-VERSION")
    with store.writing("bump", project.config.patches):
        project = reread(project)
        if abort:
            gone = sessions.must(store, "abort")
            sessions.close(store)
            run.answer(
                Report(
                    command="bump",
                    ok=True,
                    data={"aborted": gone.value},
                    text=(f"the bump to {gone.value} is given up; nothing was changed",),
                ),
                ctx,
            )
        if value:
            sessions.guard_none(store)
            as_it_is = sessions.digest(project.config, project.series)
            session = sessions.Session(value=value, source=pick(project.config, source), tag=tag, project=as_it_is)
        else:
            session = sessions.must(store, "continue" if go_on else "skip")
            sessions.guard_same(session, project.config, project.series)
            session = _resolved(project, session) if go_on else _skipped(project, session, skip or "")
        answer = _carry(run, project, session, accept_adapted, dry_run, run.progress())
    run.answer(answer, ctx)


def _resolved(project: Project, session: Session) -> Session:
    """Take what a person made of the conflict as the patch."""
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.carry.by_hand import patch_of

    if not session.waits_for:
        return session
    tree = sessions.resolution(project.store, session)
    raw = patch_of(
        project.series,
        PatchName(session.waits_for),
        session.before,
        tree,
        project.store,
        project=project.config.name,
        tag=session.tag,
    )
    return sessions.keep(project.store, session, raw)


def _skipped(project: Project, session: Session, wanted: str) -> Session:
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.series import order

    name = order.find(project.series, wanted)
    if session.waits_for and name != session.waits_for:  # laying out another would lose what was edited
        raise Refused("waits-for-another", f"the bump waits for {session.waits_for}", sessions.ways_on(session))
    now = replace(session, skipped=(*session.skipped, name), waits_for="", before="", files=())
    sessions.save(project.store, now)
    return now


def _carry(run: Run, project: Project, session: Session, accept: bool, dry_run: bool, progress: Progress) -> Report:
    """One pass with all that is resolved so far: finished, or waiting for the next conflict."""
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.carry.bump import bump
    from opencoti_patches.carry.settle import settle
    from opencoti_patches.carry.target import reach
    from opencoti_patches.report.carried import report

    config, store, series = project.config, project.store, project.series
    target = reach(config, session.source, session.value, store, pinned=session.pinned, progress=progress)
    session = replace(session, pinned=target.changes.get("rev", ""))
    skipped = frozenset(session.skipped)
    done = bump(
        series,
        project.base,
        target.base,
        store,
        project=config.name,
        tag=session.tag,
        resolved=sessions.resolved(store, session),
        skipped=skipped,
        progress=progress,
    )
    refused = (
        [r.name for r in done.rows if r.status == "adapted" and r.name not in session.resolved] if not accept else []
    )
    waiting = None
    written = []
    if done.conflict and not dry_run:
        c = done.conflict
        progress.update("laying out the conflict")
        waiting = sessions.open_conflict(store, session, c.name, c.before, c.marked)
    elif not refused and not any(r.status in ("conflict", "blocked") and r.name not in skipped for r in done.rows):
        written = settle(
            done.rows, series, config, target, session.value, store, skipped=skipped, dry_run=dry_run, progress=progress
        )
        if not dry_run:
            sessions.close(store)
    return report(
        "bump",
        done.rows,
        written=[within(config, p) for p in written],
        dry_run=dry_run,
        refused=refused,
        skipped=skipped,
        waits=None
        if waiting is None
        else (waiting.waits_for, str(sessions.worktree(store)), tuple(map(printable, waiting.files))),
        verbose=run.verbose,
    )


def _where(project: Project, session: Session) -> Report:
    from opencoti_patches.carry import session as sessions

    folder = str(sessions.worktree(project.store))
    text = [f"a bump to {session.value} is under way"]
    if session.resolved:
        text.append(f"resolved: {', '.join(session.resolved)}")
    if session.skipped:
        text.append(f"skipped: {', '.join(session.skipped)}")
    if session.waits_for:
        text += [f"waits for {session.waits_for}, in {folder}:", *(f"  {printable(f)}" for f in session.files)]
    text.append(f"next: {sessions.ways_on(session)}")
    return Report(
        command="bump", ok=True, data={"session": sessions.document(project.store, session)}, text=tuple(text)
    )
