"""``apply``: the patched tree in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import Run, complete_patch, example, open_project, options
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import saved_in, wrapped
from opencoti_patches.series import lookup, order

if TYPE_CHECKING:
    from opencoti_patches.tree.worktree import Moved


@click.command(
    epilog=example(
        """
opencoti-patches apply
opencoti-patches apply --to 0033 ../before-0034
opencoti-patches apply --commits
"""
    )
)
@click.argument("folder", metavar="[DIR]", type=click.Path(), required=False)
@click.option("--to", "to", metavar="PATCH", shell_complete=complete_patch, help="The tree after this patch.")
@click.option("--commits", is_flag=True, help="Make DIR a git repository, a commit a patch.")
@click.option("--force", is_flag=True, help="Overwrite local edits, saved as a patch first.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, folder: str | None, to: str | None, commits: bool, force: bool) -> None:
    """Bring DIR (default: tree.dir of opencoti.toml) to the patched tree, all or nothing, forward or back.

    Only files whose content changes are written; the others keep their times, so a build in DIR rebuilds
    what the patches changed. Local edits are never overwritten unsaid.
    """
    from opencoti_patches.tree import trees
    from opencoti_patches.tree.folders import guard_folder
    from opencoti_patches.tree.history import guard_repository, made_here, publish
    from opencoti_patches.tree.worktree import At, WorkTree

    project = open_project(run)
    config, store, progress = project.config, project.store, run.progress()
    target_dir = guard_folder(run.directory / folder if folder else config.tree, config, store)
    with store.writing("apply", config.patches):
        whole = order.load(config.patches, config.strip)  # again: a killed run's patches are whole only now
        series = whole.upto(lookup.find(whole, to) if to else None)
        last = series.entries[-1].name if series.entries else None
        tree = trees.tree_after(series, last, project.base, store, progress=progress)
        work = WorkTree(target_dir, store)
        commits = commits or made_here(work)
        if commits:
            guard_repository(work)
        made = trees.commits(series, project.base, store, progress=progress) if commits else []
        progress.update("writing files")
        moved = work.move(At(tree=tree, patch=last or "", commits=commits), force=force, series=whole)
        tip = publish(work, made, store) if commits else None
    run.answer(_report(moved, len(series.entries), target_dir, tip, run), ctx)


def _report(moved: Moved, count: int, folder: Path, tip: str | None, run: Run) -> Report:
    shown = _shown(folder, run.directory)
    where = f"after {moved.after.patch} ({plural(count, 'patch')})" if moved.after.patch else "the base, no patch"
    if moved.before is None and moved.written:
        done = f", {plural(len(moved.written), 'file')} written"
    elif moved.written or moved.deleted:
        done = f"; {len(moved.written)} written, {len(moved.deleted)} deleted, {moved.kept} untouched"
    else:
        done = "; nothing to do"
    text = [*saved_in(moved.saved, run.directory), *wrapped(f"{shown}: {where}{done}")]
    if run.verbose:
        text += [f"  {printable(p)}" for p in (*moved.written, *moved.deleted)]
    if tip:
        text.append(f"branch opencoti is at {tip}")
    data = {
        "dir": printable(str(folder)),
        "from": moved.before.tree if moved.before else None,
        "to": printable(moved.after.patch) or None,
        "tree": moved.after.tree,
        "patches": count,
        "written": [printable(p) for p in moved.written],
        "deleted": [printable(p) for p in moved.deleted],
        "kept": moved.kept,
        "saved": [str(p) for p in moved.saved],
        "commit": tip,
    }
    return Report(command="apply", ok=True, data=data, text=tuple(text))


def _shown(folder: Path, start: Path) -> str:
    return str(folder.relative_to(start)) if folder.is_relative_to(start) else str(folder)
