"""``verify``: is a release what was verified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import Run, example, options

if TYPE_CHECKING:
    from opencoti_patches.release.origin import Known


@click.command(
    epilog=example(
        """
opencoti-patches verify out/engine
opencoti-patches verify fork-1780261200000.index --offline
opencoti-patches verify out/engine --key minisign.pub
"""
    )
)
@click.argument("place", metavar="DIR|INDEX", type=click.Path(path_type=Path))
@click.option("--offline", is_flag=True, help="Fetch no base: rebuild the tree only where a project here has it.")
@click.option("--key", metavar="FILE", type=click.Path(path_type=Path), help="Verify signatures with this public key.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, place: Path, offline: bool, key: Path | None) -> None:
    """Say whether every file of a release is what its index says, and whether the index is true.

    Sums, pins, the interface of ggml, what libraries need and hold, SBOM, provenance and signatures are judged from
    the files. The source is unpacked and its tree compared with the lock's tip; then the tree is made anew from the
    base and the patches. The base is fetched for that unless the project here has it. No project is needed.
    """
    from opencoti_patches.release.verify import verify
    from opencoti_patches.report.verified import report

    found = verify(
        run.directory / place,
        key=run.directory / key if key else None,
        offline=offline,
        known=_known(run),
        progress=run.progress(),
    )
    run.answer(report(found, run.directory, verbose=run.verbose), ctx)


def _known(run: Run) -> Known | None:
    """The project around, if there is one and its base is at hand."""
    from opencoti_patches.base.bootstrap import base_if_ready
    from opencoti_patches.base.store import Store
    from opencoti_patches.core.errors import OpencotiError
    from opencoti_patches.release.origin import Known

    try:
        config = run.config()
        store = Store.of(config.root)
        base = base_if_ready(config, store)
    except OpencotiError:  # whatever is wrong with it, the release is not asked about it
        return None
    return Known(base, store) if base else None
