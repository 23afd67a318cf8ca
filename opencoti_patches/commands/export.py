"""``export``: the series for other tools."""

from __future__ import annotations

from pathlib import Path

import click

from opencoti_patches.commands.common import Run, complete_patch, example, open_project, options
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.shell import word
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import steps, wrapped
from opencoti_patches.series import lookup, order

_FORMATS = ("quilt", "mbox", "git")


@click.command(
    epilog=example(
        """
opencoti-patches export ../for-quilt
opencoti-patches export --format git --to 0034 OUT  # for git am OUT/*.patch
opencoti-patches export --format mbox OUT
"""
    )
)
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--format", "form", type=click.Choice(_FORMATS), default="quilt", help="What to write (default: quilt).")
@click.option("--to", "to", metavar="PATCH", shell_complete=complete_patch, help="Only the series up to this patch.")
@click.option("--author", metavar="'NAME <MAIL>'", default="", help="The sender of mails whose patches name none.")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, folder: str, form: str, to: str | None, author: str) -> None:
    """Write the series into DIR, which must be empty or not there.

    \b
    quilt  the patch files to the byte, and a series file
    git    a mail a patch, numbered, for git am *.patch
    mbox   all mails in one file, for git am

    As mails the series must apply: they end at the tree that 'check' reports. A patch that names no author
    gets a mail header from a placeholder (git's user.name is not asked), or from --author, with a fixed date; one
    that is applied in reverse, or with another -p, becomes the forward patch that it is. The same series gives the
    same bytes.
    """
    from opencoti_patches.base.store import Store
    from opencoti_patches.carry import exporting as out
    from opencoti_patches.series import exporting, mailing
    from opencoti_patches.series.heading import from_field

    if author and form == "quilt":
        raise click.UsageError("--author is for mails: --format git or mbox")
    sender = from_field(author) if author else mailing.NOBODY
    config = run.config()
    store = Store.of(config.root)
    target = out.guard_target(run.directory / folder, config, store)
    if form == "quilt":
        whole = order.load(config.patches, config.strip)
        series = whole.upto(lookup.find(whole, to) if to else None)
        files = exporting.quilt(series, whole)
        tip, tagged = None, False
        nobodys: list[str] = []
    else:
        project = open_project(run)
        with store.writing("export"):
            whole = order.load(config.patches, config.strip)
            series = whole.upto(lookup.find(whole, to) if to else None)
            made, plan = out.mails(series, project.base, store, sender=sender, progress=run.progress())
        names = exporting.mail_names(series)
        one = exporting.mbox_name(config.name)
        files = dict(zip(names, made, strict=True)) if form == "git" else {one: exporting.joined(made)}
        tip, tagged = plan.tip, any(map(mailing.has_tag, made))
        nobodys = [printable(e.name) for e, m in zip(series.entries, made, strict=True) if mailing.is_nobodys(m)]
    out.put(target, files)
    run.answer(_report(form, folder, target, list(files), len(series.entries), tip, tagged, nobodys), ctx)


def _report(
    form: str,
    folder: str,
    target: Path,
    files: list[str],
    patches: int,
    tip: str | None,
    tagged: bool,
    nobodys: list[str],
) -> Report:
    ends = f"; they end at tree {tip[:12]}" if tip else ""
    text = wrapped(f"wrote {plural(patches, 'patch')} to {printable(folder)} ({form}){ends}")
    if form != "quilt":
        what = "*.patch" if form == "git" else files[0]
        keep = " --keep-non-patch" if tagged else ""
        if nobodys:
            text += wrapped(
                f"note: no author is named in {plural(len(nobodys), 'patch')}; the sender is opencoti-patches <patches@opencoti.invalid>, "
                "unless --author 'NAME <MAIL>' gives one"
            )
        if tagged:
            text += wrapped("note: some subjects begin with a [word], which git am drops without --keep-non-patch")
        mails = f"{word(str(target.resolve()))}/{what}"
        text += steps([f"git am{keep} {mails}  # in a checkout of the base"], 0)
    data = {
        "dir": printable(str(target)),
        "format": form,
        "patches": patches,
        "files": [printable(f) for f in files],
        "tip": {"tree": tip},
        "keep_brackets": tagged,
        "no_author": nobodys,
    }
    return Report(command="export", ok=True, data=data, text=tuple(text))
