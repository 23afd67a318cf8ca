"""``split``: a patch parted in two."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, guard_name, options
from opencoti_patches.commands.stacking import DRY_RUN, wrote
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches split 0033 --files '*.cu' --name cuda-part --renumber
opencoti-patches split 0033 --hunks ggml-cuda.cu:1,3-4 -m "Pin it"
"""
    )
)
@click.argument("patch", metavar="PATCH", shell_complete=complete_patch)
@click.option("--files", metavar="GLOB", multiple=True, help="These files go into the new patch.")
@click.option("--hunks", metavar="FILE:1,3", multiple=True, help="These hunks of a file do, by number from 1.")
@click.option("--name", metavar="SLUG", default="", help="What the new patch is called; a number in it must be free.")
@click.option(
    "-m",
    "--message",
    metavar="TEXT",
    default="",
    help="Its first line: what it does (default: what PATCH does, and NAME or what is in it). The rest: why.",
)
@click.option("--renumber", is_flag=True, help="Later patches get new numbers to make room.")
@DRY_RUN
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    patch: str,
    files: tuple[str, ...],
    hunks: tuple[str, ...],
    name: str,
    message: str,
    renumber: bool,
    dry_run: bool,
) -> None:
    """Part a patch: what is selected by files or hunks goes into a new patch right behind it, the rest stays, every
    line as it was. 'show PATCH' shows the hunks. Who made a patch that is a mail made the new one, too.

    The tree after both is proven to be the one after the patch before.
    """
    if name:
        guard_name("name", name)
    from opencoti_patches.stack.split import split

    wrote(
        run,
        ctx,
        "split",
        lambda p, desk: split(
            desk,
            lookup.find(p.series, patch),
            files,
            hunks,
            called=name,
            message=message,
            usual=p.config.strip,
            renumber=renumber,
        ),
        dry_run=dry_run,
    )
