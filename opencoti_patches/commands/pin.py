"""``pin``: pin files and indexes, read."""

from __future__ import annotations

from pathlib import Path

import click

from opencoti_patches.commands.common import Run, example, options

_FILE = click.Path(path_type=Path)


@click.group(
    epilog=example(
        """
opencoti-patches pin show out/fork-1780261200000-engine.pin
opencoti-patches pin diff old/fork.index out/fork-1780261200000.index
"""
    )
)
def command() -> None:
    """Pin files and indexes of releases. Each line is read strictly: a key that is not known is an error."""


@command.command("show", epilog=example("opencoti-patches pin show out/fork-1780261200000.index"))
@click.argument("file", metavar="FILE", type=_FILE)
@options()
@click.pass_context
def show(ctx: click.Context, run: Run, file: Path) -> None:
    """What a pin file or an index says; of a release's folder, its index."""
    from opencoti_patches.release import index
    from opencoti_patches.report.pins import shown

    path = index.find(run.directory / file)
    run.answer(shown(path.name, index.load_either(path)), ctx)


@command.command("diff", epilog=example("opencoti-patches pin diff old/fork-cuda.pin new/fork-cuda.pin"))
@click.argument("old", metavar="A", type=_FILE)
@click.argument("new", metavar="B", type=_FILE)
@options()
@click.pass_context
def diff(ctx: click.Context, run: Run, old: Path, new: Path) -> None:
    """The lines in which two pin files, or two indexes, differ. Says no if they do."""
    from opencoti_patches.core.errors import UsageError
    from opencoti_patches.release import index
    from opencoti_patches.report.pins import compared

    paths = [index.find(run.directory / p) for p in (old, new)]
    read = [index.load_either(p) for p in paths]
    if type(read[0]) is not type(read[1]):
        raise UsageError("usage", "one is a pin file, the other an index", "name two of a kind")
    run.answer(compared((paths[0].name, read[0]), (paths[1].name, read[1])), ctx)
