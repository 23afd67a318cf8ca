"""``doctor``: what is there to build with, and what is missing."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, options


@click.command(
    epilog=example(
        """
opencoti-patches doctor
opencoti-patches doctor cuda --json
"""
    )
)
@click.argument("wanted", metavar="[PROFILE]...", nargs=-1)
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, wanted: tuple[str, ...]) -> None:
    """Look for the programs that builds need, and say what would bring a missing one.

    Without PROFILE: git, and the programs of every profile that opencoti.toml names, or of 'cpu' if it names none.
    """
    from opencoti_patches.build.doctor import examine
    from opencoti_patches.core.errors import UsageError
    from opencoti_patches.core.profile import profiles
    from opencoti_patches.report.examined import report

    config = run.config()
    known = profiles(config.build, "", config.file.name)
    names = wanted or tuple(config.build) or ("cpu",)
    if unknown := [n for n in names if n not in known]:
        raise UsageError("unknown-profile", f"no profile '{unknown[0]}'", f"there are: {', '.join(known)}")
    run.answer(report(examine([known[n] for n in names])), ctx)
