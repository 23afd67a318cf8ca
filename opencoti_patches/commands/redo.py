"""``redo``: what was undone, done again."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, options, say_stopped


@click.command(epilog=example("opencoti-patches redo"))
@click.option("--force", is_flag=True, help="Write over what was changed since; that goes into the store.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, force: bool) -> None:
    """Do again what 'undo' took back last, to the byte."""
    from opencoti_patches.base import states
    from opencoti_patches.base.store import Store
    from opencoti_patches.carry.remember import wait_no_more
    from opencoti_patches.report.stacked import undone
    from opencoti_patches.tree.settled import follow

    config = run.config()
    store = Store.of(config.root)
    with store.writing("redo", config.patches):
        step, saved = states.redo(store, force=force)
        wait_no_more(store, config.patches)
        folders = follow(store, step)
    say_stopped(run, config, store)
    run.answer(undone("redo", step, saved, folders, [], run.directory), ctx)
