"""``compare``: a range-diff of two series."""

from __future__ import annotations

from pathlib import Path

import click

from opencoti_patches.commands.common import Run, example, options
from opencoti_patches.core.config import FILE_NAME, load
from opencoti_patches.core.errors import OpencotiError, UsageError
from opencoti_patches.core.model import Series, printable
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches compare HEAD:               # what changed since the commit
opencoti-patches compare v1.0: v1.1: -v
opencoti-patches compare ../other-fork/patches patches
opencoti-patches compare releases/last.index releases/next
"""
    )
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="[B]", required=False)
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, a: str, b: str | None) -> None:
    """Say what became of each patch from series A to series B: same, moved, changed, only its context or its header
    changed, new, gone. Without B, the project's series as it is. -v shows the interdiffs.

    A series is a project's folder, a folder of patches, the index of a release or its folder, or a git revision of
    this project: 'REV:', or 'REV:DIR' for a folder of patches in it. Says no if anything differs.
    """
    from opencoti_patches.report.compared import report
    from opencoti_patches.stack.compare import compare

    sides = [_series(run, a), _series(run, b) if b else _own(run)]
    pairs = compare(sides[0][1], sides[1][1])
    names = [(name, len(series.entries)) for name, series in sides]
    run.answer(report(names[0], names[1], pairs, verbose=run.verbose), ctx)


def _own(run: Run) -> tuple[str, Series]:
    config = run.config()
    return "the series as it is", order.load(config.patches, config.strip)


def _series(run: Run, wanted: str) -> tuple[str, Series]:
    """What people call it, and the series. Errors: UsageError ``no-folder`` and those of reading one."""
    place = run.directory / wanted
    if place.is_dir():
        return wanted, _in_folder(place)
    if place.is_file():
        return _released(place)
    rev, colon, folder = wanted.partition(":")
    if not colon or not rev:
        raise UsageError(
            "no-folder",
            f"there is no {printable(wanted)}",
            f"name a folder, or the index of a release; a git revision is '{printable(wanted.strip(':'))}:'",
        )
    from opencoti_patches.series.revision import at_revision

    return wanted, at_revision(run.config(), rev, folder)


def _in_folder(place: Path) -> Series:
    from opencoti_patches.release.index import SUFFIX

    if not (place / FILE_NAME).is_file() and any(p.name.endswith(SUFFIX) for p in place.iterdir()):
        return _released(place)[1]
    try:
        config = load(place)
    except OpencotiError:
        if (place / FILE_NAME).is_file():
            raise
        return order.load(place)
    if config.root == place.resolve() or config.patches.resolve() == place.resolve():
        return order.load(config.patches, config.strip)
    return order.load(place)


def _released(place: Path) -> tuple[str, Series]:
    from opencoti_patches.release.shipped import series_of

    return series_of(place)
