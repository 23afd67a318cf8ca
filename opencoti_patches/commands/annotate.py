"""``annotate``: which patch owns which line of a file."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, open_project, options
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches annotate llama-kv-cache.cpp
opencoti-patches annotate src/llama-context.cpp --to 0032
"""
    )
)
@click.argument("file", metavar="FILE")
@click.option("--to", "to", metavar="PATCH", shell_complete=complete_patch, help="The file after this patch.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, file: str, to: str | None) -> None:
    """Print a file of the patched tree, each line behind the number of the patch that put it there; the base's own
    lines have none. FILE is a path in the tree, or the end of one.
    """
    from opencoti_patches.report import asked
    from opencoti_patches.stack.asking import annotate

    project = open_project(run)
    series = project.series.upto(lookup.find(project.series, to) if to else None)
    path, lines = annotate(series, file, project.base, project.store, progress=run.progress())
    run.answer(asked.annotate(path, lines, series.entries[-1].name if series.entries else None), ctx)
