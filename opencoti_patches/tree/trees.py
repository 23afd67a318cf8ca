"""Trees between patches: after one, or after each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import CommitId, Entry, PatchName, Plan, Series, TreeId, Verdict
from opencoti_patches.core.progress import Progress, Silent
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import runs_of
from opencoti_patches.plan.chain import Changes
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.scratch import Scratch, touched
from opencoti_patches.plan.strict import check
from opencoti_patches.series.parse import Parsed, parse


def tree_after(
    series: Series, name: PatchName | None, base: TreeId, store: Store, *, progress: Progress | None = None
) -> TreeId:
    """The tree after patch ``name``; the base for None.

    Errors: Refused ``does-not-apply``, naming the first patch up to there that git refuses.
    """
    if name is None:
        return base
    plan = check(series.upto(name), base, store, progress=progress)
    return applied(plan)


def tip_of(series: Series, base: TreeId, store: Store, *, progress: Progress | None = None) -> TreeId:
    """The tree after the last patch; the base for a series without any. Errors: as for ``tree_after``."""
    return tree_after(series, series.entries[-1].name if series.entries else None, base, store, progress=progress)


def patch_at(tree: TreeId, patch: str, series: Series, base: TreeId, store: Store) -> str:
    """The patch after which a folder is that was brought to ``tree``, after ``patch``: what that is called by now, where
    the series has none of that name; ``patch`` if there is none."""
    if not patch or any(e.name == patch for e in series.entries):
        return patch
    applying = list(takewhile(lambda v: v.applied, check(series, base, store).verdicts))
    names = (v.name for v in reversed(applying))
    return next((name for name in names if tree_after(series, name, base, store) == tree), patch)


def verdict_on(
    series: Series, name: PatchName, base: TreeId, store: Store, *, progress: Progress | None = None
) -> Verdict:
    """The verdict on patch ``name`` where it stands."""
    return check(series.upto(name), base, store, progress=progress).verdicts[-1]


def applied(plan: Plan) -> TreeId:
    """The tip of a plan that must apply. Errors: Refused ``does-not-apply``."""
    if plan.tip is not None:
        return plan.tip
    bad = next(v for v in plan.verdicts if not v.applied)
    raise Refused(
        "does-not-apply",
        f"{bad.name} does not apply ({bad.cause}), so there is no tree after it",
        "run 'opencoti-patches check' to see why",
    )


def before(series: Series, name: PatchName) -> PatchName | None:
    """The patch that stands before ``name``; None for the first."""
    names = [e.name for e in series.entries]
    at = names.index(name)
    return names[at - 1] if at else None


def commits(
    series: Series, base: TreeId, store: Store, *, progress: Progress | None = None
) -> list[tuple[CommitId, TreeId]]:
    """A commit and a tree a patch, in order, on a commit of the base; that commit alone for an empty series.
    Equal input, equal ids.

    The series must apply (see ``applied``).
    """
    if not series.entries:
        return store.repo.chain(base, [(f"Base tree {base}\n", {})])
    progress = progress or Silent()
    steps: list[tuple[str, Changes]] = []
    with fs.scratch(store.scratch, "trees-") as folder:
        parsed = {e.name: parse(e.raw, e.strip, e.reverse) for e in series.entries}
        listing = Listing.of(base, store.listings)
        scratch = Scratch(store.repo, base, listing, folder, {}, touched(parsed.values()))
        state = dict(scratch.state())
        for batch in _apart(series.entries, parsed):
            progress.update("making commits", len(steps), len(series.entries), "patches")
            done = scratch.apply(batch)
            if not done.ok:
                raise Refused(
                    "does-not-apply",
                    f"{batch[len(done.landings)].name} does not apply",
                    "run 'opencoti-patches check' to see why",
                )
            now = scratch.state()
            for e in batch:
                paths = touched([parsed[e.name]])
                changes: Changes = {p: now.get(p) for p in sorted(paths) if now.get(p) != state.get(p)}
                steps.append((message(e, parsed[e.name]), changes))
            state = dict(now)
    return store.repo.chain(base, steps, first=f"Base tree {base}\n")


def _apart(entries: Sequence[Entry], parsed: dict[PatchName, Parsed]) -> Iterator[list[Entry]]:
    """Runs of patches no two of which touch the same file: one call for each run shows what each of
    them did."""
    for run in runs_of(entries):
        batch: list[Entry] = []
        busy: set[str] = set()
        for e in run:
            paths = touched([parsed[e.name]])
            if busy & paths:
                yield batch
                batch, busy = [], set()
            batch.append(e)
            busy |= paths
        if batch:
            yield batch


def message(entry: Entry, parsed: Parsed) -> str:
    """A commit message from a patch's header, its name where it says nothing."""
    from opencoti_patches.series.header import read_header

    header = read_header(parsed.header)
    return f"{header.subject or entry.name}\n\n{header.body}".rstrip() + "\n"
