"""``refresh``: a folder's edits into a patch."""

from __future__ import annotations

from pathlib import Path

import click

from opencoti_patches.commands.common import Run, complete_patch, example, open_project, options, reread
from opencoti_patches.commands.stacking import LEAVE, both, edited, written
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import printable
from opencoti_patches.core.shell import word
from opencoti_patches.report.wrapping import wrapped
from opencoti_patches.series import lookup, naming


@click.command(
    epilog=example(
        """
opencoti-patches edit 0031 WORK    # change WORK, then:
opencoti-patches refresh 0031 WORK
opencoti-patches apply             # change tree/, then:
opencoti-patches refresh 0031      # carried back into an earlier patch
"""
    )
)
@click.argument("patch", metavar="[PATCH]", required=False, shell_complete=complete_patch)
@click.argument("folder", metavar="[DIR]", type=click.Path(), required=False)
@LEAVE
@both
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    patch: str | None,
    folder: str | None,
    leave_conflicts: bool,
    accept_adapted: bool,
    dry_run: bool,
) -> None:
    """Fold what was changed in DIR (default: tree.dir of opencoti.toml) into PATCH (default: the one that DIR is
    after), new, deleted and mode-changed files too. The patch's header stays to the byte, but for a diffstat: it follows.

    Later patches are carried over the change. Where one finds no place nothing is written, and the commands that
    mend it are named. If DIR is after a later patch, its edits are carried back into PATCH.
    """
    from opencoti_patches.stack.desk import desk
    from opencoti_patches.stack.refresh import refresh
    from opencoti_patches.tree.settled import adopt
    from opencoti_patches.tree.trees import patch_at
    from opencoti_patches.tree.worktree import At

    if patch and not folder and (run.directory / patch).is_dir():
        patch, folder = None, patch
    project = open_project(run)
    store = project.store
    with store.writing("refresh", project.config.patches):
        project = reread(project)
        work, snapshot = edited(run, project, folder)
        at = work.at()
        began_at = patch_at(at.tree, at.patch, project.series, project.base, store) if at else ""
        wanted = patch or began_at
        if not wanted:
            raise UsageError(
                "unknown-patch", "the folder is the bare base: say which PATCH", "or 'opencoti-patches new' makes one"
            )
        if not patch and all(e.name != wanted for e in project.series.entries):
            raise UsageError(
                "unknown-patch",
                f"the folder is the tree after {printable(wanted)}, and there is no such patch any more",
                "say which PATCH its edits belong to",
            )
        name = lookup.find(project.series, wanted)
        with desk(project.series, project.base, store, run.progress()) as bench:
            done = refresh(bench, name, snapshot, began_at, leave=leave_conflicts)
            stuck = next((r.name for r in done.change.rows if r.fate in ("conflict", "upstreamed")), None)
            place = word(folder or Path(project.config.tree).name)
            names = [e.name for e in project.series.entries]
            which = naming.called(stuck, names) if stuck else ""
            steps = [
                f"opencoti-patches refresh {naming.called(name, names)} {place} --leave-conflicts",
                f"opencoti-patches bootstrap --to {which} --merge WORK",
                f"opencoti-patches regen {which} --from WORK  # once WORK is right",
            ]
            new = [printable(p) for p in snapshot.new_files]
            report, settled = written(
                run,
                "refresh",
                project,
                bench,
                done.change,
                accept=accept_adapted,
                dry_run=dry_run,
                steps=steps[leave_conflicts:] if stuck else (),
                more={"dir": printable(str(work.folder)), "new_files": new},
                head=wrapped(f"new files taken in: {', '.join(new)}", 0) if new else (),
            )
            if settled and not dry_run:  # the folder's edits are the patch's now
                adopt(work, At(tree=snapshot.now, patch=done.at, commits=bool(at and at.commits)))
    run.answer(report, ctx)
