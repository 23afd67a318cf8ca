"""``bump``: the series on a new upstream."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from opencoti_patches.base import states
from opencoti_patches.base.store import Store
from opencoti_patches.commands.common import (
    Project,
    Run,
    complete_patch,
    example,
    look_at_it,
    open_project,
    options,
    reread,
    within,
)
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import PatchName, Report, TreeId, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.core.shell import word
from opencoti_patches.doors import fs

if TYPE_CHECKING:
    from opencoti_patches.carry.resolutions import Resolution
    from opencoti_patches.carry.session import Session


@click.command(
    epilog=example(
        """
opencoti-patches bump 0.3.25 --dry-run
opencoti-patches bump b9467 --accept-adapted
opencoti-patches bump --continue
opencoti-patches bump 0.3.25 --dry-run --format markdown > summary.md
"""
    )
)
@click.argument("value", metavar="[REV-OR-VERSION]", required=False)
@click.option("--source", type=int, metavar="N", help="Which base.source, from 1.")
@click.option("--note", "tag", metavar="TAG", default="", help="A word for the note lines.")
@click.option("--accept-adapted", is_flag=True, help="Take patches whose content followed upstream, too.")
@click.option("--dry-run", is_flag=True, help="Report, and write nothing.")
@click.option("--continue", "go_on", is_flag=True, help="The conflict is resolved; go on.")
@click.option(
    "--skip", metavar="PATCH", shell_complete=complete_patch, help="Go on without the patch that it waits for."
)
@click.option(
    "--forget", metavar="PATCH", shell_complete=complete_patch, help="Forget how its conflicts were resolved."
)
@click.option("--abort", is_flag=True, help="Give the bump up; nothing was changed.")
@click.option("--status", is_flag=True, help="Say where the bump stands.")
@click.option("--format", "format_", type=click.Choice(("text", "json", "markdown")), help="How to print the report.")
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
    forget: str | None,
    abort: bool,
    status: bool,
) -> None:
    """Carry the whole series to a new upstream: a revision of a git source, a version of an sdist.

    Every patch is carried that can be. What git takes stays; what drifted is brought over by what
    upstream's own diff says of its surroundings; a doubt is 'adapted', shown, and taken with
    --accept-adapted only. A conflict opens a session: a worktree with the markers in it, then --continue,
    --skip or --abort. Nothing in patches/ or opencoti.toml changes until all of it can. How a conflict was
    resolved is kept in patches/resolutions.jsonl and serves again, as 'adapted'.
    """
    from opencoti_patches.carry.target import fetch_both, pick

    asked = {"REV-OR-VERSION": bool(value), "--continue": go_on, "--skip PATCH": skip is not None}
    asked |= {"--forget PATCH": forget is not None, "--abort": abort, "--status": status}
    given = [what for what, is_given in asked.items() if is_given]
    if len(given) != 1:
        together = f"{' and '.join(given)} do not go together; " if given else ""
        raise click.UsageError(f"{together}give one of {', '.join(asked)}")
    if value and (done := _already(run, value, source)):
        run.answer(done, ctx)
    project = open_project(run, (lambda c, s: fetch_both(c, pick(c, source), value, s, _load)) if value else None)
    from opencoti_patches.carry import forgetting, remember
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.report import bumped

    store = project.store
    if status:
        open_ = sessions.load(store)
        said = sessions.document(store, open_, project.config, project.series) if open_ else None
        run.answer(bumped.status(open_, said, run.directory, None if store.inside else store.root), ctx)
    if dry_run and not value:
        raise click.UsageError("--dry-run goes with REV-OR-VERSION")
    with store.writing("bump --forget" if forget is not None else "bump", project.config.patches):
        project = reread(project)
        if abort:
            gone = sessions.must(store, "abort")
            sessions.close(store)
            kept = list(dict.fromkeys(r.patch for r in remember.own(store)))
            run.answer(bumped.aborted(gone.value, kept), ctx)
        if forget is not None:
            lost = forgetting.forget(store, project.series, forget)
            changed = [within(project.config, lost.file)] if lost.file else []
            files = ([], changed) if lost.gone else (changed, [])
            run.answer(bumped.forgotten(lost.patch, lost.many, *files), ctx)
        notes: list[str] = []
        if value:
            sessions.guard_none(store)
            as_it_is = sessions.digest(project.config, project.series)
            session = sessions.Session(value=value, source=pick(project.config, source), tag=tag, project=as_it_is)
        else:
            session = sessions.must(store, "continue" if go_on else "skip")
            sessions.guard_same(session, project.config, project.series)
            session = _resolved(project, session, notes) if go_on else _skipped(project, session, skip or "")
        answer = _carry(run, project, session, accept_adapted, dry_run, notes, run.progress())
    run.answer(answer, ctx)


def _load() -> None:
    """Read what the rest of a bump consists of, while git fetches."""
    for module in ("carry.bump", "carry.session", "carry.settle", "report.bumped"):
        import_module(f"opencoti_patches.{module}")
    import_module("tomlkit")


def _already(run: Run, value: str, wanted: int | None) -> Report | None:
    """The answer if the base is that very version, for which nothing needs to be fetched."""
    from opencoti_patches.carry.target import already, pick

    config = run.config()
    if Store.of(config.root).journal.exists():  # what a killed run had decided comes first
        open_project(run)
        config = run.config()
    source = config.sources[pick(config, wanted)]
    if not already(source, value):
        return None
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.report import bumped

    if sessions.load(Store.of(config.root)) is not None:
        return None
    return bumped.already(source, value)


def _resolved(project: Project, session: Session, notes: list[str]) -> Session:
    """Take what a person made of the conflict as the patch, and take down how they resolved it."""
    from opencoti_patches.carry import remember
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.carry.by_hand import patch_of
    from opencoti_patches.carry.target import called
    from opencoti_patches.series.parse import parse
    from opencoti_patches.tree import trees

    if not session.waits_for:
        return session
    store, name, before = project.store, PatchName(session.waits_for), TreeId(session.before)
    entry = next(e for e in project.series.entries if e.name == name)
    tree = sessions.resolution(store, session, parse(entry.raw, entry.strip, entry.reverse))
    previous = trees.before(project.series, name)
    raw = patch_of(entry, previous, before, tree, store, project=project.config.name, tag=session.tag)
    if session.laid:
        to = called(project.config.sources[session.source], session.value)
        learned = remember.learn(name, to, TreeId(session.laid), tree, session.files, store)
        if learned.resolution:
            remember.keep_too(store, [learned.resolution])
        else:
            notes.append(f"how {printable(name)} was resolved is not remembered: {learned.why_not}")
    return sessions.keep(store, session, raw)


def _skipped(project: Project, session: Session, wanted: str) -> Session:
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.series import lookup

    name = lookup.find(project.series, wanted)
    if session.waits_for and name != session.waits_for:  # laying out another would lose what was edited
        another = f"to leave out another: opencoti-patches bump --abort, opencoti-patches disable {word(name)}, and bump again"
        raise Refused(
            "waits-for-another", f"the bump waits for {session.waits_for}", f"{sessions.ways_on(session)}; {another}"
        )
    now = session._replace(skipped=(*session.skipped, name), waits_for="", before="", laid="", files=(), made=())
    sessions.save(project.store, now)
    return now


def _carry(
    run: Run,
    project: Project,
    session: Session,
    accept: bool,
    dry_run: bool,
    notes: list[str],
    progress: Progress,
) -> Report:
    """One pass with all that is resolved so far: finished, or waiting for the next conflict."""
    from opencoti_patches.carry import remember
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.carry.bump import bump
    from opencoti_patches.carry.settle import Settled, settle
    from opencoti_patches.carry.target import called, reach
    from opencoti_patches.report import bumped
    from opencoti_patches.series.disabled import left_out

    config, store, series = project.config, project.store, project.series
    source = config.sources[session.source]
    known = (*remember.shared(config.patches), *remember.own(store))
    target = reach(config, session.source, session.value, store, pinned=session.pinned, progress=progress)
    if source.kind == "git" and target.new.rev == source.rev:
        return bumped.already(source, session.value)
    session = session._replace(pinned=target.new.rev)
    skipped = frozenset(session.skipped)
    size = 3 * sum(len(e.raw) for e in series.entries)
    with fs.scratch(fs.quick(size, store.scratch), "bump-") as folder:
        done = bump(
            series,
            project.base,
            target.base,
            store,
            project=config.name,
            tag=session.tag,
            resolved=sessions.resolved(store, session),
            skipped=skipped,
            known=known,
            folder=folder,
            progress=progress,
        )
        refused = (
            [r.name for r in done.rows if r.status == "adapted" and r.name not in session.resolved]
            if not accept
            else []
        )
        notes = [*notes, *done.outdated()]
        is_open = sessions.load(store) is not None
        waits = None
        settled = Settled({}, {}, None)
        learned: tuple[Resolution, ...] = ()
        if done.conflict and not dry_run:
            c = done.conflict
            progress.update("laying out the conflict")
            session = sessions.open_conflict(store, session, c.name, c.before, c.marked)
            waits = bumped.Waiting(c.name, sessions.worktree(store), session.files)
        elif not refused and not any(r.status in ("conflict", "blocked") and r.name not in skipped for r in done.rows):
            used = [r for some in done.reused.values() for r in some]
            learned = remember.finished(store, used, session.resolved, called(source, session.value))
            settled = settle(
                done.rows,
                series,
                config,
                target,
                session.value,
                store,
                skipped=skipped,
                learned=learned,
                made=done.made,
                progress=progress,
            )
    if settled.changes and not dry_run:
        states.put(settled.changes, store, settled.read)
        sessions.close(store)
        remember.keep(store, [r for r in remember.own(store) if r not in learned])
    return bumped.report(
        done.rows,
        bumped.Base(project.base, source, config.root),
        bumped.Base(target.base, target.new, config.root),
        settled.tip,
        again=bumped.command_line(session.value, session.source + 1 if len(config.sources) > 1 else None),
        written=[within(config, p) for p, data in settled.changes.items() if data is not None],
        deleted=[within(config, p) for p, data in settled.changes.items() if data is None],
        dry_run=dry_run,
        refused=refused,
        skipped=skipped,
        disabled=tuple(left_out(series)),
        reused=list(done.reused),
        waits=waits,
        notes=[*notes, *target.notes],
        session=is_open or waits is not None,
        finished=look_at_it(config, any(r.status == "adapted" for r in done.rows)),
        start=run.directory,
        quiet=run.quiet,
        verbose=run.verbose,
    )
