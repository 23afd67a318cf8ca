"""``bootstrap``: the base in the store, and a folder to edit in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import Run, complete_patch, example, options
from opencoti_patches.core.model import Report
from opencoti_patches.core.words import plural
from opencoti_patches.series import lookup, order

if TYPE_CHECKING:
    from opencoti_patches.carry.merged import Left


@click.command(
    epilog=example(
        """
opencoti-patches bootstrap
opencoti-patches bootstrap --to 0033 WORK
opencoti-patches bootstrap --to 0034 --merge WORK  # mend it, then:
opencoti-patches regen 0034 --from WORK
"""
    )
)
@click.argument("folder", metavar="[DIR]", type=click.Path(), required=False)
@click.option("--to", "to", metavar="PATCH", shell_complete=complete_patch, help="The tree after this patch.")
@click.option("--merge", is_flag=True, help="If PATCH does not apply: what fits of it, the rest between markers.")
@click.option("--force", is_flag=True, help="Put local edits in DIR (with --to new files, too) into the store first.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, folder: str | None, to: str | None, merge: bool, force: bool) -> None:
    """Fetch and verify the base into the store; everything works offline from then on.

    With DIR, check out the tree after PATCH there ("the post-0033 bootstrap"; without --to the bare base):
    a folder to edit in, for 'regen --from DIR' and 'new --from DIR'. With --merge the patch itself need not
    apply: then DIR is the tree before it, with what fits of it, and conflict markers where a hunk does not. Says no
    while something is left to do.
    """
    from opencoti_patches.base.bootstrap import ensure_base
    from opencoti_patches.base.store import Store
    from opencoti_patches.carry.laid import lay
    from opencoti_patches.report.merging import shown
    from opencoti_patches.report.wrapping import saved_in, with_short_ids, wrapped
    from opencoti_patches.tree import trees
    from opencoti_patches.tree.folders import guard_folder
    from opencoti_patches.tree.worktree import At, WorkTree

    if to and not folder:
        raise click.UsageError("--to needs a DIR to check the tree out to")
    if merge and not to:
        raise click.UsageError("--merge needs --to PATCH")
    config = run.config()
    store = Store.of(config.root)
    target = guard_folder(run.directory / folder, config, store) if folder else None
    progress = run.progress()
    with store.writing("bootstrap", config.patches):
        base = ensure_base(config, store, progress=progress)
        label = ", ".join(s.upstream or s.label for s in config.sources)
        text = wrapped(with_short_ids(f"base: {label}, {plural(store.repo.count(base), 'file')}, tree {base}"))
        data: dict[str, object] = {"base": {"tree": base, "sources": [s.label for s in config.sources]}}
        left: tuple[Left, ...] = ()
        if target is not None:
            series = order.load(config.patches, config.strip)
            name = lookup.find(series, to) if to else None
            found = trees.verdict_on(series, name, base, store, progress=progress) if merge and name else None
            unfit = found if found and not found.applied else None
            if unfit:
                name = trees.before(series, unfit.name)
            tree = trees.tree_after(series, name, base, store, progress=progress)
            progress.update("writing files")
            work, at, made = WorkTree(target, store), At(tree=tree, patch=name or ""), None
            if unfit:
                moved, made = lay(work, series, unfit, at, store, force=force)
            else:
                moved = work.move(at, force=force, to_edit=bool(to), series=series)
            text += saved_in(moved.saved, run.directory)
            where = f"{folder}: the tree after {name}" if name else f"{folder}: the bare base"
            more = f", with {unfit.name} merged in" if unfit else ""
            text += wrapped(where + more, 0, 2)
            data |= {"dir": str(target), "to": name, "tree": tree, "saved": [str(p) for p in moved.saved]}
            if unfit and made:
                left = made.left
                text += shown(left, unfit.name, [e.name for e in series.entries], folder or "")
                data["merged"] = {"patch": unfit.name, "left": [row._asdict() for row in left]}
    run.answer(Report(command="bootstrap", ok=not left, data=data, text=tuple(text)), ctx)
