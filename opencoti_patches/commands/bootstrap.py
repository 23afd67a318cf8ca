"""``bootstrap``: the base in the store, and a folder to edit in."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, options
from opencoti_patches.core.model import Report
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches bootstrap
opencoti-patches bootstrap --to 0033 WORK
"""
    )
)
@click.argument("folder", metavar="[DIR]", type=click.Path(), required=False)
@click.option("--to", "to", metavar="PATCH", shell_complete=complete_patch, help="The tree after this patch.")
@click.option("--force", is_flag=True, help="Overwrite local edits in DIR, saved as a patch first.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, folder: str | None, to: str | None, force: bool) -> None:
    """Fetch and verify the base into the store; everything works offline from then on.

    With DIR, check out the tree after PATCH there ("the post-0033 bootstrap"; without --to the bare base):
    a folder to edit in, for 'regen --from DIR' and 'new --from DIR'.
    """
    from opencoti_patches.base.bootstrap import ensure_base
    from opencoti_patches.base.store import Store
    from opencoti_patches.tree import trees
    from opencoti_patches.tree.worktree import At, WorkTree, guard_folder

    if to and not folder:
        raise click.UsageError("--to needs a DIR to check the tree out to")
    config = run.config()
    store = Store.of(config.root)
    target = guard_folder(run.directory / folder, config, store) if folder else None
    progress = run.progress()
    with store.writing("bootstrap", config.patches):
        base = ensure_base(config, store, progress=progress)
        label = ", ".join(s.upstream or s.label for s in config.sources)
        text = [f"base: {label}, {store.repo.count(base)} files, tree {base}"]
        data: dict[str, object] = {"base": {"tree": base, "sources": [s.label for s in config.sources]}}
        if target is not None:
            series = order.load(config.patches, config.strip)
            name = order.find(series, to) if to else None
            tree = trees.tree_after(series, name, base, store, progress=progress)
            progress.update("writing files")
            moved = WorkTree(target, store).move(At(tree=tree, patch=name or ""), force=force)
            text += [f"saved your edits in {path}" for path in moved.saved]
            text.append(f"{folder}: the tree after {name}" if name else f"{folder}: the bare base")
            data |= {"dir": str(target), "to": name, "tree": tree, "saved": [str(p) for p in moved.saved]}
    run.answer(Report(command="bootstrap", ok=True, data=data, text=tuple(text)), ctx)
