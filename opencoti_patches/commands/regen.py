"""``regen``: drifted patches written anew by snapshot-diff."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from opencoti_patches.carry.model import Row
from opencoti_patches.commands.common import (
    Run,
    again,
    complete_patch,
    example,
    look_at_it,
    open_project,
    options,
    reread,
    say_stopped,
    within,
)
from opencoti_patches.core.config import Config
from opencoti_patches.core.errors import UsageError
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches regen
opencoti-patches regen 0034 --note bug-250
opencoti-patches bootstrap --to 0034 WORK   # edit WORK, then:
opencoti-patches regen 0034 --from WORK
"""
    )
)
@click.argument("names", metavar="[PATCH]...", nargs=-1, shell_complete=complete_patch)
@click.option("--from", "folder", metavar="DIR", type=click.Path(), help="The patch becomes what was edited in DIR.")
@click.option("--note", "tag", metavar="TAG", default="", help="A word for the note line, such as an issue.")
@click.option("--accept-adapted", is_flag=True, help="Write patches whose content changed, too.")
@click.option("--into", metavar="DIR", type=click.Path(), help="Write to DIR, and leave the patches folder alone.")
@click.option("--dry-run", is_flag=True, help="Report, and write nothing.")
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    names: tuple[str, ...],
    folder: str | None,
    tag: str,
    accept_adapted: bool,
    into: str | None,
    dry_run: bool,
) -> None:
    """Write drifted patches anew: the difference between the tree before a patch and that tree with its
    change in it. Patches that apply cleanly stay as they are, to the byte.

    The header keeps every line and gets one that says when and why. Four guards watch: content, loss,
    clobber, place. A patch whose content would change is 'adapted', and is written with --accept-adapted
    only; so is one whose hunks are placed by those of their lines that are there. With --from, the patch
    becomes exactly what was edited in DIR. With --into, for CI, everything that can be carried is written to
    DIR, adapted patches too, and the answer stays what it would be.
    """
    from opencoti_patches.carry import from_folder
    from opencoti_patches.carry.regen import regen
    from opencoti_patches.carry.write import put_in_place
    from opencoti_patches.report.carried import regen_next, report
    from opencoti_patches.tree.settled import adopt, settle
    from opencoti_patches.tree.worktree import At, WorkTree

    project = open_project(run)
    config, store, progress = project.config, project.store, run.progress()
    if into is not None:
        _guard_into(run.directory, into, config)
    wanted = [lookup.find(project.series, n) for n in names]
    if folder and len(wanted) != 1:
        raise click.UsageError("--from needs the one PATCH that DIR is for")
    with store.writing("regen", config.patches):
        project = reread(project)
        rows: Sequence[Row]
        if folder:
            snapshot = from_folder.take(WorkTree(run.directory / folder, store))
            row = from_folder.rewritten(
                project.series,
                wanted[0],
                snapshot,
                project.base,
                store,
                project=config.name,
                tag=tag,
            )
            rows = from_folder.among(project.series, row, project.base, store, progress=progress)
        else:
            snapshot = None
            only = frozenset(wanted) if wanted else None
            rows = regen(project.series, only, project.base, store, project=config.name, tag=tag, progress=progress)
        refused = [r for r in rows if r.status == "adapted"] if not (accept_adapted or folder) else []
        written: list[Path] = []
        if not refused or into:  # a folder of its own is for looking at: that is the review
            elsewhere = run.directory / into if into else None
            written = put_in_place(
                rows, project.series, project.base, store, into=elsewhere, dry_run=dry_run, progress=progress
            )
        if snapshot and not dry_run and not into:  # the folder's edits are the patch's now
            work = WorkTree(run.directory / (folder or ""), store)
            (adopt if written else settle)(work, At(tree=snapshot.now, patch=wanted[0]))  # without any there is no step
    stuck = any(r.status in ("conflict", "blocked") for r in rows)
    done = bool(written) and not (into or dry_run or stuck or refused)
    adapted = any(r.status == "adapted" for r in rows)
    say_stopped(run, config, store)
    hurt = {r.name for r in rows if folder and r.status == "conflict" and not r.reason.endswith(from_folder.AS_BEFORE)}
    shown = [r for r in rows if not wanted or r.name in wanted or r.name in hurt]
    run.answer(
        report(
            "regen",
            shown,
            written=[within(config, p) for p in written],
            dry_run=dry_run,
            refused=[r.name for r in refused],
            into=into,
            then=[again("--accept-adapted", without="into")]
            if refused
            else look_at_it(config, adapted)
            if done
            else [],
            new_files=snapshot.new_files if snapshot else (),
            next_of=regen_next(rows),
            quiet=run.quiet,
            verbose=run.verbose,
        ),
        ctx,
    )


def _guard_into(start: Path, into: str, config: Config) -> None:
    """That nothing is written to the patches folder by another name. Errors: UsageError ``bad-folder``."""
    if not into.strip():
        raise UsageError("bad-folder", "--into got an empty name", "name a folder, or leave --into out")
    if (start / into).resolve().is_relative_to(config.patches.resolve()):
        raise UsageError(
            "bad-folder", f"--into {into} is the patches folder, or in it", "name another, or leave it out"
        )
