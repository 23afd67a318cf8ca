"""``edit``: a folder at the tree after a patch, ready to change."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, open_project, options, within
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.shell import word
from opencoti_patches.series import lookup, naming, order


@click.command(
    epilog=example(
        """
opencoti-patches edit 0031 WORK    # change WORK, then:
opencoti-patches refresh 0031 WORK
opencoti-patches edit 0031         # in tree/, as quilt does it
"""
    )
)
@click.argument("patch", metavar="PATCH", shell_complete=complete_patch)
@click.argument("folder", metavar="[DIR]", type=click.Path(), required=False)
@click.option("--force", is_flag=True, help="Put local edits in DIR, new files too, into the store first.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patch: str, folder: str | None, force: bool) -> None:
    """Bring DIR (default: tree.dir of opencoti.toml) to the tree after PATCH, ready to change. 'refresh' folds
    what was changed into the patch then. DIR must have no edits yet, nor new files: they would go into PATCH.
    """
    from opencoti_patches.report.wrapping import saved_in, steps, wrapped
    from opencoti_patches.tree import trees
    from opencoti_patches.tree.folders import guard_folder
    from opencoti_patches.tree.worktree import At, WorkTree

    project = open_project(run)
    config, store = project.config, project.store
    target = guard_folder(run.directory / folder if folder else config.tree, config, store)
    with store.writing("edit", config.patches):
        series = order.load(config.patches, config.strip)  # again: another run may have written meanwhile
        name = lookup.find(series, patch)
        tree = trees.tree_after(series, name, project.base, store, progress=run.progress())
        moved = WorkTree(target, store).move(At(tree=tree, patch=name), force=force, to_edit=True, series=series)
    shown = folder or printable(within(config, config.tree))
    text = [
        *saved_in(moved.saved, run.directory),
        *wrapped(f"{shown}: the tree after {printable(name)}, ready to change"),
    ]
    text += steps(
        [
            f"opencoti-patches refresh {naming.called(name, [e.name for e in series.entries])}{f' {word(folder)}' if folder else ''}  # once it is edited"
        ],
        0,
    )
    data = {
        "dir": printable(str(target)),
        "patch": printable(name),
        "tree": tree,
        "saved": [str(p) for p in moved.saved],
    }
    run.answer(Report(command="edit", ok=True, data=data, text=tuple(text)), ctx)
