"""What a release is to hold, worked out before anything is written: the commit, the lock, the builds, the licences."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.build.interface import has_ggml
from opencoti_patches.build.kinds import toolchain
from opencoti_patches.build.run import place_of
from opencoti_patches.core.config import FILE_NAME, Config
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import CommitId, Series, TreeId, printable
from opencoti_patches.core.profile import profile_of
from opencoti_patches.core.progress import Progress
from opencoti_patches.core.shipping import Shipping, shipping
from opencoti_patches.doors import git
from opencoti_patches.doors.net import sha256_of
from opencoti_patches.plan.strict import check
from opencoti_patches.release import index as indexes
from opencoti_patches.release import licences, notes, rows, signing, tarball
from opencoti_patches.release.component import Component, Tip, guard_pairs, load
from opencoti_patches.release.index import Index
from opencoti_patches.release.package import PATCHES, Job
from opencoti_patches.series import lock, order
from opencoti_patches.tree import trees
from opencoti_patches.tree.worktree import WorkTree

_DATE = "SOURCE_DATE_EPOCH"
_LATEST = 9_999_999_999  # a version has 13 digits, the date in milliseconds
_PATCHES_LARGEST = 1 << 30


class Wanted(NamedTuple):
    """What the command line asks for; empty where it leaves it to the project."""

    components: tuple[str, ...] = ()
    channel: str = "dev"
    version: str = ""
    tag: str = ""
    repo: str = ""
    rev: str = ""
    since: Path | None = None
    unsmoked: bool = False
    key: Path | None = None


def prepare(config: Config, series: Series, base: TreeId, wanted: Wanted, store: Store, *, progress: Progress) -> Job:
    """The release that is asked for. Call with the store's lock held.

    Errors: UsageError ``missing-key``, ``bad-value``, ``unknown-component``, ``unknown-profile``, ``no-commit``;
    Refused ``not-locked``, ``not-committed``, ``local-edits``, ``version-exists``, ``not-smoked``, ``abi-differs`` and
    those of ``component.load`` and ``licences.gather``.
    """
    ship = shipping(config.release, config.name, FILE_NAME, wanted.repo)
    names = wanted.components or ship.named or ("engine",)
    _guard_components(names, ship)
    if not ship.repo:
        raise UsageError(
            "missing-key",
            f"{FILE_NAME} does not say where the release is published",
            'write [release] repo = "owner/name", or give --repo',
        )
    if wanted.key:
        signing.guard_key(wanted.key)
    tip = _locked(config, series, base, store, progress=progress)
    commit, date = _commit(config, series, ship, wanted)
    before = indexes.load(indexes.find(wanted.since)) if wanted.since else None
    version = _version(wanted.version, date)
    if before and before.version == version:
        raise Refused(
            "version-exists",
            f"{wanted.since} is version {version} already",
            "a version is cut once: commit what changed, and release that",
        )
    ggml = has_ggml(tip.tip, store)
    components = _components(names, ship, config, tip, store, progress=progress)
    guard_pairs(components, ggml)
    unsmoked = _unsmoked(components, wanted)
    texts = licences.gather(tip.tip, store, config.root, ship.licences)
    return Job(
        whole=Index(
            name=ship.name,
            version=version,
            channel=wanted.channel,
            tag=_tag(wanted, version),
            repo=ship.repo,
            rev=commit,
            date=date,
            base=base,
            tip=tip.tip,
            source=("", 0),
            patches=tuple((e.name, e.sha256) for e in series.entries),
            since=(before.version, sha256_of(indexes.find(wanted.since))) if before and wanted.since else None,
            unsmoked=unsmoked,
        ),
        components=components,
        ggml=ggml,
        licences=texts,
        sources=config.sources,
        series=series,
        config=config.file.read_bytes(),
        changes=_changes(series, before, wanted.since, store),
        key=wanted.key,
    )


def _guard_components(names: Sequence[str], ship: Shipping) -> None:
    for name in names:
        if name not in ship.components:
            raise UsageError(
                "unknown-component",
                f"no component '{printable(name)}'",
                f"there are: {', '.join(ship.components)}; [release.components] of {FILE_NAME} names more",
            )


def _locked(config: Config, series: Series, base: TreeId, store: Store, *, progress: Progress) -> Tip:
    """The tip that the lock says, which the series must come to."""
    known = lock.read(config.patches)
    plan = check(series, base, store, progress=progress)
    tip = trees.applied(plan)
    if known is None:
        raise Refused("not-locked", "the series has no lock, so that nobody said what was verified", _LOCK)
    if differ := lock.disagreements(known, series, plan):
        raise Refused("not-locked", f"the lock is out of date: {printable(differ[0])}", _LOCK)
    work = WorkTree(config.tree, store)
    if work.at() is not None and (edits := work.edits()):
        raise Refused(
            "local-edits",
            f"{config.tree} has edits that no patch holds: {', '.join(map(printable, edits[:3]))}",
            "put them into a patch (opencoti-patches new), or give them up (opencoti-patches apply --force)",
        )
    return Tip(base=base, tip=tip, series=series)


_LOCK = "run 'opencoti-patches lock', and commit series.lock"


def _commit(config: Config, series: Series, ship: Shipping, wanted: Wanted) -> tuple[CommitId, int]:
    """The commit that holds all that is released, and the release's date."""
    head = git.head(config.root)
    stated = os.environ.get(_DATE, "")
    if stated and (not re.fullmatch(r"[0-9]{1,12}", stated) or int(stated) > _LATEST):
        raise UsageError("bad-value", f"{_DATE}={stated!r} is no number of seconds", "unset it, or set it right")
    if wanted.rev and not re.fullmatch(r"[0-9a-f]{40}", wanted.rev):
        raise UsageError(
            "bad-value", "--rev is a commit's whole id, 40 hex digits, never a branch", "git rev-parse HEAD"
        )
    if head is None:
        if not wanted.rev or not stated:
            raise UsageError(
                "no-commit",
                "the project is in no git repository, so that no commit says what is released",
                f"commit it; or give --rev COMMIT and {_DATE}",
            )
        return CommitId(wanted.rev), int(stated)
    if wanted.rev and wanted.rev != head.commit:
        raise UsageError("no-commit", f"the commit that is checked out is {head.commit}", "check the other one out")
    files = [
        config.file,
        *(config.patches / n for n in (order.SERIES_FILE, order.LOCK_FILE) if series.listed or n != order.SERIES_FILE),
    ]
    files += [e.path for e in series.entries]
    files += [config.root / path for path in ship.licences]
    loose = git.not_committed(config.root, [os.path.relpath(f, config.root) for f in files])
    if loose:
        more = f" and {len(loose) - 3} more" if len(loose) > 3 else ""
        raise Refused(
            "not-committed",
            f"the commit that is checked out does not hold {', '.join(map(printable, loose[:3]))}{more} as they are",
            "commit them first",
        )
    return head.commit, int(stated) if stated else head.date


def _version(asked: str, date: int) -> str:
    if asked and not re.fullmatch(r"[0-9]{13}", asked):
        raise UsageError("bad-value", f"--version {asked!r}: a version has 13 digits", "leave it out: it is the date's")
    return asked or f"{date * 1000:013d}"


def _tag(wanted: Wanted, version: str) -> str:
    if wanted.tag and not rows.word(wanted.tag):
        raise UsageError("bad-value", f"--tag {wanted.tag!r} cannot be a tag", "letters, digits, '.', '-', '_' and '/'")
    return wanted.tag or f"{'v' if wanted.channel == 'release' else 'dev-'}{version}"


def _components(
    names: Sequence[str], ship: Shipping, config: Config, tip: Tip, store: Store, *, progress: Progress
) -> tuple[Component, ...]:
    found = []
    for name in sorted(set(names), key=lambda n: (n != "engine", n)):
        profile = profile_of(config, ship.components[name])
        progress.update(f"looking at {name}")
        place = place_of(config, profile, store)
        found.append(load(name, profile, place.build, toolchain(profile).outputs(profile, place), tip))
    return tuple(found)


def _unsmoked(components: Sequence[Component], wanted: Wanted) -> tuple[str, ...]:
    """The components without a good smoke result, if that is said. Errors: Refused ``not-smoked``."""
    bad = [c for c in components if c.smoke.why]
    if bad and not wanted.unsmoked:
        raise Refused(
            "not-smoked",
            f"{bad[0].name}: {bad[0].smoke.why}",
            f"run 'opencoti-patches smoke {bad[0].profile} --model GGUF'; --unsmoked releases it all the same, and records that",
        )
    return tuple(c.name for c in bad)


def _changes(series: Series, before: Index | None, since: Path | None, store: Store) -> tuple[notes.Change, ...]:
    """Against the release before; its patches' headers are read where its tar of them stands beside its index."""
    if before is None or since is None:
        return notes.changes(series.entries, (), {})
    headers: dict[str, notes.About] = {}
    packed = before.file(PATCHES)
    place = indexes.find(since).parent / packed.name if packed else None
    if packed and place and place.is_file() and sha256_of(place) == packed.sha256:
        for entry in tarball.read_small(place, _PATCHES_LARGEST, store.scratch):
            if entry.path.startswith("patches/"):
                headers[entry.path.removeprefix("patches/")] = notes.about(entry.content)
    return notes.changes(series.entries, before.patches, headers)
