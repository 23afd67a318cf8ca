"""``abi``: the binary interface of ggml, which a host and a library built apart must share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import BASE, Run, complete_patch, example, open_project, options
from opencoti_patches.series import lookup

if TYPE_CHECKING:
    from opencoti_patches.commands.common import Project


@click.group(
    epilog=example(
        """
opencoti-patches abi show
opencoti-patches abi show base
opencoti-patches abi diff base 0034
"""
    )
)
def command() -> None:
    """The binary interface between ggml's host and its backend libraries: sizes and offsets of records, types of
    functions, enumerators, typedefs, integer macros, and one digest of all. Two builds fit if theirs is the same."""


@command.command("show", epilog=example("opencoti-patches abi show\nopencoti-patches abi show 0033 -v"))
@click.argument("patch", metavar="[PATCH]", required=False, shell_complete=complete_patch)
@options()
@click.pass_context
def show(ctx: click.Context, run: Run, patch: str | None) -> None:
    """The digest after PATCH (default: the last; 'base': before the first); with -v every row."""
    from opencoti_patches.report.interface import shown

    project = open_project(run)
    with project.store.writing("abi", project.config.patches):
        name, rows = _rows(project, patch, run)
    run.answer(shown(name, rows, verbose=run.verbose), ctx)


@command.command("diff", epilog=example("opencoti-patches abi diff base\nopencoti-patches abi diff 0030 0034"))
@click.argument("old", metavar="A", shell_complete=complete_patch)
@click.argument("new", metavar="[B]", required=False, shell_complete=complete_patch)
@options()
@click.pass_context
def diff(ctx: click.Context, run: Run, old: str, new: str | None) -> None:
    """The rows that differ between the tree after A and that after B (default: the last patch). Says no if some do."""
    from opencoti_patches.report.interface import compared

    project = open_project(run)
    with project.store.writing("abi", project.config.patches):
        first, second = _rows(project, old, run), _rows(project, new, run)
    run.answer(compared(first, second), ctx)


def _rows(project: Project, wanted: str | None, run: Run) -> tuple[str, tuple[str, ...]]:
    from opencoti_patches.build import interface
    from opencoti_patches.tree import trees

    series = project.series
    if wanted == BASE or (wanted is None and not series.entries):
        return BASE, interface.rows_of(project.base, project.store)
    name = lookup.find(series, wanted) if wanted else series.entries[-1].name
    tree = trees.tree_after(series, name, project.base, project.store, progress=run.progress())
    return name, interface.rows_of(tree, project.store)
