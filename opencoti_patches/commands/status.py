"""``status``: base, series, lock and tree on one screen."""

from __future__ import annotations

import click

from opencoti_patches.base.bootstrap import base_if_ready
from opencoti_patches.base.store import Store
from opencoti_patches.commands.common import Run, example, options, within
from opencoti_patches.report.state import State, lock_state, report
from opencoti_patches.series import order


@click.command(
    epilog=example(
        """
opencoti-patches status
opencoti-patches status --json
"""
    )
)
@options()
@click.pass_context
def command(ctx: click.Context, run: Run) -> None:
    """Say where the project stands: base, drift of the series, lock, tree, session.

    Fetches nothing: without a base in the store the series is not judged. The exit code is 0 whatever the
    state is; 'check' is the command that says yes or no.
    """
    from opencoti_patches.carry import session as sessions
    from opencoti_patches.plan.strict import check
    from opencoti_patches.series.disabled import left_out
    from opencoti_patches.tree.folders import describe

    config = run.config()
    store = Store.of(config.root)
    series = order.load(config.patches, config.strip)
    base = base_if_ready(config, store)
    plan = check(series, base, store, progress=run.progress()) if base else None
    session = sessions.load(store)
    state = State(
        name=config.name,
        sources=config.sources,
        base=base,
        series=series,
        disabled=tuple(left_out(series)),
        patches=within(config, config.patches),
        plan=plan,
        session=None if session is None else sessions.document(store, session, config, series),
        lock=lock_state(config.patches, series, plan),
        tree_dir=within(config, config.tree),
        tree=describe(config, store, plan),
    )
    run.answer(report(state), ctx)
