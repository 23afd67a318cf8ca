"""``doctor``: what is there to build with, and what is missing."""

from __future__ import annotations

from pathlib import Path

import click

from opencoti_patches.commands.common import Run, complete_profile, example, options


@click.command(
    epilog=example(
        """
opencoti-patches doctor
opencoti-patches doctor cuda --json
opencoti-patches doctor cosmocc --zip ~/Downloads/cosmocc-4.0.2.zip
"""
    )
)
@click.argument("wanted", metavar="[PROFILE]...", nargs=-1, shell_complete=complete_profile)
@click.option(
    "--zip",
    "archive",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A downloaded zip of cosmocc: is it the right one?",
)
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, wanted: tuple[str, ...], archive: Path | None) -> None:
    """Look for the programs that builds need, and say what would bring a missing one.

    Without PROFILE: git, and the programs of every profile that opencoti.toml names, or of 'cpu' if it names none.
    """
    from opencoti_patches.base.store import Store
    from opencoti_patches.build.doctor import examine
    from opencoti_patches.build.run import place_of
    from opencoti_patches.core.profile import profile_of
    from opencoti_patches.report.examined import report

    config = run.config()
    names = wanted or (("cosmocc",) if archive else tuple(config.build) or ("cpu",))
    store, chosen = Store.of(config.root), [profile_of(config, n) for n in names]
    rows = examine([(p, place_of(config, p, store)) for p in chosen], archive)
    run.answer(report(rows), ctx)
