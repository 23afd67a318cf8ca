"""Where a release says it comes from: its source against the lock's tip, its patches against the lock, and both
against the base, from which the tree is made once more."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.config import FILE_NAME, Config, Source
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import Series, TreeId, printable
from opencoti_patches.core.progress import Progress
from opencoti_patches.plan.strict import check
from opencoti_patches.release import tarball
from opencoti_patches.release.findings import Findings
from opencoti_patches.release.index import Index
from opencoti_patches.release.package import PATCHES, SOURCE_XZ, SOURCE_ZSTD
from opencoti_patches.release.shipped import unpacked
from opencoti_patches.series import lock

_LARGEST = 16 << 30  # bytes of a source's tar


class Known(NamedTuple):
    """A project at hand, and its base."""

    base: TreeId
    store: Store


def check_origin(
    folder: Path,
    whole: Index,
    found: Findings,
    scratch: Path,
    known: Known | None,
    offline: bool,
    *,
    progress: Progress,
) -> None:
    """The checks ``source``, ``patches`` and ``rebuild``. Errors: as ``verify``."""
    with found.check("source"):
        progress.update("unpacking the source")
        _source(folder, whole, found, scratch, progress)
    shipped = None
    packed = whole.file(PATCHES)
    with found.check("patches", packed.name if packed else ""):
        if packed is None:
            raise ValueError("the index names no patches")
        if not found.bad(packed.name):
            shipped = unpacked(folder / packed.name, scratch / "project")
            for message in _against_lock(shipped.series, whole):
                found.add(packed.name, message)
    if packed is None or shipped is None or found.bad(packed.name):
        found.skip("rebuild", "the patches are not those of the release")
    elif known is not None and known.base == whole.base:
        with found.check("rebuild", packed.name), known.store.writing("verify"):
            _rebuild(shipped.series, known.base, known.store, whole, progress)
    elif offline:
        found.skip("rebuild", "offline, and no project with this base is here")
    elif found.wrong:
        found.skip("rebuild", "something is wrong already, so its base is not fetched")
    else:
        store = _fetched(shipped.config, scratch)
        with found.check("rebuild", packed.name), store.writing("verify"):
            from opencoti_patches.base.bootstrap import ensure_base

            base = ensure_base(shipped.config, store, progress=progress)
            if base != whole.base:
                raise ValueError(f"its {FILE_NAME} leads to base {base}, the index says {whole.base}")
            _rebuild(shipped.series, base, store, whole, progress)


def _source(folder: Path, whole: Index, found: Findings, scratch: Path, progress: Progress) -> None:
    tars = []
    for kind in (SOURCE_XZ, SOURCE_ZSTD):
        file = whole.file(kind)
        if file is None:
            found.add("", f"the index names no {kind}")
            continue
        if found.bad(file.name):
            continue
        with found.about(file.name):
            tar = scratch / f"{kind}.tar"
            sha256, _ = tarball.unpack(folder / file.name, tar, min(whole.source[1], _LARGEST))
            if sha256 != whole.source[0]:
                raise ValueError("it unpacks to another tar than the index says")
            tars.append((file.name, tar))
    if tars:
        from opencoti_patches.base.archive import import_archive

        name, tar = tars[0]
        with found.about(name):
            store = Store(scratch / "store").open()
            tree = import_archive(tar, Source(kind="archive", path=str(tar)), store, progress=progress)
            if tree != whole.tip:
                raise ValueError(f"it holds tree {tree}, the lock's tip is {whole.tip}")
    for _, tar in tars:
        tar.unlink()


def _against_lock(series: Series, whole: Index) -> list[str]:
    wrong = []
    known = lock.read(series.dir)
    if known is None:
        return ["it has no lock"]
    if (known.base, known.tip) != (whole.base, whole.tip):
        wrong.append("its lock is of another base or tip than the index")
    now = tuple((str(e.name), e.sha256) for e in series.entries)
    if known.patches != whole.patches:
        wrong.append("its lock has other patches than the index")
    if now != whole.patches:
        names = [name for name, _ in set(now) ^ set(whole.patches)]
        wrong.append(f"its patches are not those of the index: {printable(min(names, default='their order'))}")
    return wrong


def _rebuild(series: Series, base: TreeId, store: Store, whole: Index, progress: Progress) -> None:
    progress.update("rebuilding the tree from base and patches")
    plan = check(series, base, store, fresh=True, progress=progress)
    if plan.tip != whole.tip:
        bad = next((v.name for v in plan.verdicts if not v.applied), "")
        why = f"{printable(bad)} does not apply" if bad else f"base and patches make tree {plan.tip}"
        raise ValueError(f"{why}, the lock's tip is {whole.tip}")


def _fetched(config: Config, scratch: Path) -> Store:
    """Where the base of a release is brought to. It is a stranger's configuration: only sources whose contents are
    fixed by it, and that are not of this machine, are followed.

    Errors: CouldNot ``no-base-here``.
    """
    for s in config.sources:
        shown = printable(s.label.removeprefix(f"{config.root}/"))  # as its opencoti.toml has it
        pinned = bool(s.sha256) or (s.kind == "git" and len(s.rev) == 40 and set(s.rev) <= set("0123456789abcdef"))
        why = ""
        if s.path:
            why = f"the {'folder' if s.kind == 'directory' else 'file'} '{shown}' of its makers, which only they have"
        elif not pinned or (s.url and not s.url.startswith("https://")):
            why = f"{shown}, which {FILE_NAME} in the release does not pin, or does not fetch by https"
        if why:
            raise CouldNot(
                "no-base-here",
                f"the base is {why}",
                "verify it in their project (-C DIR), or without the base: --offline",
            )
    return Store.of(scratch / "project")
