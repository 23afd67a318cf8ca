"""``undo``: the state before the last command that wrote patches."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, options, say_stopped


@click.command(
    epilog=example(
        """
opencoti-patches undo --list
opencoti-patches undo
opencoti-patches redo
"""
    )
)
@click.option("--list", "listed", is_flag=True, help="Show the log, the newest first, and change nothing.")
@click.option("--force", is_flag=True, help="Write over what was changed since; that goes into the store.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, listed: bool, force: bool) -> None:
    """Put the patch files, the series and the lock back as they were, to the byte, before the last command that
    wrote them: any that works on the stack, and new, import, regen, bump, lock. Of a bump opencoti.toml and
    resolutions.jsonl go back, too.

    The log is in the store and holds the last 100 steps. Refuses where one of the files was changed since.
    """
    from opencoti_patches.base import states
    from opencoti_patches.base.store import Store
    from opencoti_patches.carry.remember import none_lost
    from opencoti_patches.report.stacked import log, undone
    from opencoti_patches.tree.settled import follow

    config = run.config()
    store = Store.of(config.root)
    if listed:
        run.answer(log(states.steps(store)), ctx)
    with store.writing("undo", config.patches):
        with none_lost(store, config.patches) as kept:
            step, saved = states.undo(store, force=force)
        folders = follow(store, step)
    say_stopped(run, config, store)
    run.answer(undone("undo", step, saved, folders, kept, run.directory), ctx)
