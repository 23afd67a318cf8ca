"""``deps``: what each patch stands on."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, complete_patch, example, open_project, options
from opencoti_patches.series import lookup


@click.command(
    epilog=example(
        """
opencoti-patches deps
opencoti-patches deps 0034
opencoti-patches deps --format dot | dot -Tsvg > deps.svg
"""
    )
)
@click.argument("patch", metavar="[PATCH]", required=False, shell_complete=complete_patch)
@click.option("--format", "form", type=click.Choice(("text", "json", "dot")), help="How to print it.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, patch: str | None, form: str | None) -> None:
    """Say which earlier patches each patch, or PATCH alone, stands on, and in which lines: those without which a
    hunk of it does not go in, or not at its place. It is found by trying, and kept in the store.

    What a patch stands on straight is said, not what that stands on in turn.
    """
    from opencoti_patches.report import asked
    from opencoti_patches.stack.deps import deps, dot

    if run.format == "json" and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} do not go together")
    if patch and form == "dot":
        raise click.UsageError("--format dot shows the whole series: give no PATCH")
    project = open_project(run)
    one = lookup.find(project.series, patch) if patch else None
    found = deps(project.series, project.base, project.store, progress=run.progress())
    if form == "dot":
        click.echo(dot(found))
        return
    (run._replace(format="json") if form == "json" else run).answer(asked.deps(found, one), ctx)
