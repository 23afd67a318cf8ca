"""``import``: patches from elsewhere come into the series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from opencoti_patches.commands.common import Run, complete_patch, example, options, say_stopped, within
from opencoti_patches.series import order

if TYPE_CHECKING:
    from opencoti_patches.base.store import Store
    from opencoti_patches.core.model import PatchName, Plan, Series, TreeId, Verdict
    from opencoti_patches.series.importing import Delivery, Imported


@click.command(
    name="import",
    epilog=example(
        """
opencoti-patches import fix.diff 0034-pinned.txt
opencoti-patches import --after 0033 mails.mbox
opencoti-patches import --directory llama.cpp --range b9445..HEAD --repo SRC
opencoti-patches import ../fork/debian/patches
"""
    ),
)
@click.argument("files", metavar="[FILE]...", type=click.Path(), nargs=-1)
@click.option("--range", "commits", metavar="A..B", help="Take these commits of a git repository.")
@click.option("--repo", metavar="DIR", type=click.Path(), help="The repository of --range (default: here).")
@click.option("--after", metavar="PATCH", shell_complete=complete_patch, help="Put them behind this patch, not last.")
@click.option("--first", is_flag=True, help="Put them before all others.")
@click.option("--renumber", is_flag=True, help="Later patches get new numbers to make room.")
@click.option("--strip", "-p", type=click.IntRange(0), metavar="N", help="Strip level of patches that say none.")
@click.option("--directory", "under", metavar="DIR", default="", help="Put the paths in the patches under DIR.")
@click.option("--dry-run", is_flag=True, help="Report, and write nothing.")
@options()
@click.pass_context
def command(
    ctx: click.Context,
    run: Run,
    files: tuple[str, ...],
    commits: str | None,
    repo: str | None,
    after: str | None,
    first: bool,
    renumber: bool,
    strip: int | None,
    under: str,
    dry_run: bool,
) -> None:
    """Take patches into the series, all of them or none.

    A FILE is a diff, a mail, an mbox of many mails, a folder of patches or a quilt folder, whose series
    lines (order, comments, -pN, -R) come along. A file keeps its name if its number fits, else it gets the
    next number and its subject. A missing final newline and CRLF damage are repaired and said; a mail in
    base64 or quoted-printable is decoded; every other byte stays.

    A patch that does not apply comes in all the same, and the report says what is wrong with it. What is
    no patch, or leads out of the tree, is refused.
    """

    from opencoti_patches.base import states
    from opencoti_patches.base.bootstrap import base_if_ready
    from opencoti_patches.base.store import Store
    from opencoti_patches.carry.new import locked
    from opencoti_patches.report.imported import report
    from opencoti_patches.series import again
    from opencoti_patches.series.importing import prepare
    from opencoti_patches.series.placing import place_of, stale_claims

    if not files and not commits:
        raise click.UsageError("give a FILE, or --range A..B")
    if first and after is not None:
        raise click.UsageError("give one of --after PATCH, --first")
    if repo and not commits:
        raise click.UsageError("--repo goes with --range")
    config = run.config()
    store = Store.of(config.root)
    with store.writing("import", config.patches):
        series = order.load(config.patches, config.strip)
        place = place_of(series, after, first=first)
        entry = again.listed(run.directory / files[0], series) if len(files) == 1 and not commits else None
        if entry is not None:
            imported = again.again(entry, series, files[0], under)
        else:
            imported = prepare(
                _delivery(run, files, commits, repo, store),
                series,
                place,
                usual=config.strip,
                strip=strip,
                directory=under,
                renumber=renumber,
            )
        base = base_if_ready(config, store)
        folders, where = [s.into for s in config.sources], within(config, config.patches)
        plan, broken, hints = _judged(run, imported, series, base, store, folders, where) if base else (None, [], {})
        if plan:
            imported = imported._replace(placement=locked(imported.placement, plan))
        if not dry_run:
            states.put(imported.placement.changes, store)
    say_stopped(run, config, store)
    run.answer(
        report(
            imported,
            plan,
            folder=within(config, config.patches),
            strip=config.strip,
            hints=hints,
            broken=broken,
            claims=stale_claims(series, imported.placement.renamed),
            dry_run=dry_run,
            verbose=run.verbose,
        ),
        ctx,
    )


def _delivery(run: Run, files: tuple[str, ...], commits: str | None, repo: str | None, store: Store) -> Delivery:
    """All that is to come in, in the order given."""
    from opencoti_patches.series.importing import read, together

    found = [read(run.directory / name, name) for name in files]
    if commits:
        found.append(_commits(run.directory / (repo or "."), commits, store))
    return together(found)


def _commits(path: Path, wanted: str, store: Store) -> Delivery:
    from opencoti_patches.doors.git.history import commits_of, mails_of
    from opencoti_patches.series.importing import Delivery, Incoming

    commits, objects = commits_of(path, wanted)
    patches, skipped = [], []
    for commit, mail in zip(commits, mails_of(store.repo, commits, objects), strict=True):
        called = f"commit {commit.oid[:12]}"
        if mail:
            patches.append(Incoming(source=called, raw=mail))
        else:
            skipped.append(f"{called} ({commit.subject}) changes nothing")
    return Delivery(patches=tuple(patches), skipped=tuple(skipped))


def _judged(
    run: Run, imported: Imported, series: Series, base: TreeId, store: Store, folders: list[str], where: str
) -> tuple[Plan, list[Verdict], dict[PatchName, str]]:
    """What git says of the series with the patches in it, later ones that they break, and how to mend
    paths that fit nothing."""
    from opencoti_patches.carry.trial import judged, worse
    from opencoti_patches.plan.fitting import hint
    from opencoti_patches.plan.listing import Listing
    from opencoti_patches.plan.strict import check

    new = {a.entry.name: a.entry for a in imported.additions}
    placement, progress = imported.placement, run.progress()
    last = {e.name for e in placement.series.entries[-len(new) :]} == set(new)
    plan = judged(placement.series, new.keys(), base, store, progress=progress)
    broken = [] if last else worse(check(series, base, store, progress=progress), plan, placement.renamed)[0]
    listing = Listing.of(base, store.listings)
    hints = {
        v.name: text
        for v in plan.verdicts
        if v.name in new and not v.applied and (text := hint(new[v.name], placement.series, listing, folders, where))
    }
    return plan, broken, hints
