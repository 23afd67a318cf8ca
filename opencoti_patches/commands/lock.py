"""``lock``: record what was verified."""

from __future__ import annotations

import click

from opencoti_patches.commands.common import Run, example, open_project, options, within
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.series import lock, order


@click.command(
    epilog=example(
        """
opencoti-patches lock
opencoti-patches lock && git add patches/series.lock
"""
    )
)
@options()
@click.pass_context
def command(ctx: click.Context, run: Run) -> None:
    """Check the series and, if it applies, record base, patches and tip in series.lock.

    Commit that file: 'check' warns where patches and lock differ, 'check --locked' refuses. A lock that a
    merge left with conflict markers is written anew. If the series does not apply, nothing is written.
    """
    from opencoti_patches.base import states
    from opencoti_patches.plan.strict import check
    from opencoti_patches.report.wrapping import steps, wrapped

    project = open_project(run)
    folder = project.config.patches
    file = folder / order.LOCK_FILE
    shown = printable(within(project.config, file))
    with project.store.writing("lock", folder):
        series = order.load(folder, project.config.strip)  # again: another run may have written meanwhile
        plan = check(series, project.base, project.store, progress=run.progress())
        refused = [v for v in plan.verdicts if not v.applied]
        if not refused:
            content = lock.write(series, plan)
            changed = not file.exists() or file.read_bytes() != content
            if changed:
                states.put({file: content}, project.store)
    data = {"lock": shown, "base": {"tree": plan.base}, "tip": {"tree": plan.tip}, "patches": len(series.entries)}
    if refused:
        first = refused[0]
        text = (
            *wrapped(f"{printable(first.name)}: {first.status}{f': {first.cause}' if first.cause else ''}"),
            *wrapped(f"the series does not apply, {shown} was left as it is"),
            *steps(["opencoti-patches check"], 0),
        )
        data |= {"state": "refused", "first_failed": printable(first.name)}
        run.answer(Report(command="lock", ok=False, data=data, text=text), ctx)
    word = "wrote" if changed else "no change in"
    line = f"{word} {shown}: base {plan.base[:12]}, {plural(len(series.entries), 'patch')}, tip {(plan.tip or '')[:12]}"
    data["state"] = "written" if changed else "unchanged"
    run.answer(Report(command="lock", ok=True, data=data, text=tuple(wrapped(line))), ctx)
