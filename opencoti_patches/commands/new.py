"""``new``: a patch from an edited folder."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import (
    Run,
    complete_patch,
    example,
    guard_name,
    open_project,
    options,
    say_stopped,
    within,
)
from opencoti_patches.core.errors import UsageError
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches apply   # edit tree/, then:
opencoti-patches new pinned-kv -m "Pin the KV cache

Pageable memory halves the bandwidth."
opencoti-patches bootstrap --to 0033 WORK   # edit WORK, then:
opencoti-patches new pinned-kv --from WORK --after 0033 --renumber
"""
    )
)
@click.argument("slug", metavar="SLUG")
@click.option(
    "--from", "folder", metavar="DIR", type=click.Path(), help="The edited folder (default: tree.dir of opencoti.toml)."
)
@click.option("--after", metavar="PATCH", shell_complete=complete_patch, help="Put it behind this patch, not last.")
@click.option("--first", is_flag=True, help="Put it before all others.")
@click.option("--renumber", is_flag=True, help="Later patches get new numbers to make room.")
@click.option("-m", "--message", metavar="TEXT", default="", help="First line: what it does. The rest: why.")
@click.option("--author", metavar="'NAME <MAIL>'", default="", help="Make the header a mail from this author.")
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    slug: str,
    folder: str | None,
    after: str | None,
    first: bool,
    renumber: bool,
    message: str,
    author: str,
) -> None:
    """Make patch NNNN-SLUG.patch: exactly the difference between the tree that DIR began as and what it is
    now.

    DIR must have begun as the tree after the patch that the new one goes behind (the bare base with --first), or it
    would hold other patches' changes. The number is the next one; a SLUG that begins with a number gets that one, if it is
    free. Before anything is written it is proven that the new patch applies strictly and that every later
    patch still applies. DIR counts as the tree after the new patch from then on.
    """
    from opencoti_patches.carry import from_folder, new
    from opencoti_patches.report.made import report
    from opencoti_patches.series.heading import heading
    from opencoti_patches.series.numbering import parted
    from opencoti_patches.series.placing import place_of
    from opencoti_patches.tree.settled import adopt
    from opencoti_patches.tree.trees import patch_at
    from opencoti_patches.tree.worktree import At, WorkTree

    if first and after is not None:
        raise click.UsageError("give one of --after PATCH, --first")
    guard_name("slug", slug)
    header = heading(parted(slug)[1].lstrip("-_.") or "patch", message, author)
    project = open_project(run)
    config, store = project.config, project.store
    place = run.directory / folder if folder else config.tree
    if not place.is_dir():
        raise UsageError(
            "no-folder",
            f"there is no folder {folder or within(config, place)}",
            "make one to edit in: opencoti-patches " + ("bootstrap --to PATCH DIR" if folder else "apply"),
        )
    with store.writing("new", config.patches):
        series = order.load(config.patches, config.strip)  # again: another run may have written meanwhile
        work = WorkTree(place, store)
        work.finish()
        snapshot = from_folder.take(work)
        was = work.at()
        made = new.make(
            series,
            snapshot,
            project.base,
            store,
            place=place_of(series, after, first=first),
            wanted=slug,
            header=header,
            usual=config.strip,
            renumber=renumber,
            progress=run.progress(),
            at_patch=patch_at(was.tree, was.patch, series, project.base, store) if was else "",
        )
        new.put(made, store)
        adopt(work, At(tree=snapshot.now, patch=made.entry.name, commits=was is not None and was.commits))
    say_stopped(run, config, store)
    run.answer(
        report(made, folder=within(config, config.patches), new_files=snapshot.new_files),
        ctx,
    )
