"""What a bump goes to: the source with another revision or version, and the configuration that says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.base.bootstrap import ensure_base, source_sha256
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Config, Source
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import TreeId, is_full_id
from opencoti_patches.core.progress import Progress


class Target(NamedTuple):
    """The new base: the configuration that would make it, its tree, which source (from 0), what changes in
    the file by key (an empty value takes the key out), and what a person should be told of that."""

    config: Config
    base: TreeId
    source: int
    changes: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def new(self) -> Source:
        """The source as it will be."""
        return self.config.sources[self.source]


def pick(config: Config, wanted: int | None) -> int:
    """The source to bump, from 0. Errors: UsageError ``which-source``."""
    able = [i for i, s in enumerate(config.sources) if s.kind in ("git", "pypi-sdist")]
    if wanted is not None:
        if wanted - 1 not in able:
            raise UsageError(
                "which-source",
                f"source {wanted} is not one that has revisions or versions",
                "git and pypi-sdist sources have",
            )
        return wanted - 1
    if len(able) != 1:
        what = "no source has revisions or versions" if not able else f"{len(able)} sources have revisions or versions"
        raise UsageError("which-source", what, "name it with --source N" if able else "git and pypi-sdist sources have")
    return able[0]


def called(source: Source, value: str) -> str:
    """What people call the thing that a bump of the source to ``value`` goes to."""
    return f"{source.package} {value}" if source.package else value


def reach(config: Config, number: int, value: str, store: Store, *, pinned: str = "", progress: Progress) -> Target:
    """Fetch the new base into the store; ``pinned`` is the commit that ``value`` meant before. Call
    with the store's lock held. Errors: as ``ensure_base``."""
    source = config.sources[number]
    notes: tuple[str, ...] = ()
    if source.kind == "git":
        new = _git(source, value, pinned, store)
    else:
        new, notes = _sdist(source, value, store, progress)
    changes = {k: v for k, v in new._asdict().items() if v != getattr(source, k)}
    sources = tuple(new if i == number else s for i, s in enumerate(config.sources))
    moved = config._replace(sources=sources)
    return Target(
        config=moved, base=ensure_base(moved, store, progress=progress), source=number, changes=changes, notes=notes
    )


def already(source: Source, value: str) -> bool:
    """Whether the source is at that very version, or at that commit by its id. A name of a revision may mean
    another commit by now, so it has to be asked for."""
    if source.kind == "git":
        return (
            re.fullmatch(r"[0-9a-f]{7,40}", value) is not None
            and is_full_id(source.rev)
            and source.rev.startswith(value)
        )
    if value == source.version:
        return True
    from packaging.version import InvalidVersion, Version

    try:
        return Version(value) == Version(source.version)
    except InvalidVersion:
        return False


def fetch_both(
    config: Config, number: int, value: str, store: Store, meanwhile: Callable[[], None] | None = None
) -> None:
    """For a store without the old base: old and new commit of a git source in one fetch, not two. ``meanwhile`` is
    called while git is at it."""
    source = config.sources[number]
    if source.kind == "git":
        from opencoti_patches.base.gitsource import fetch_together

        store.open()
        fetch_together(source.url, (source.rev, value), store, meanwhile)


def _git(source: Source, value: str, pinned: str, store: Store) -> Source:
    from opencoti_patches.base.gitsource import full_rev

    store.open()
    rev = full_rev(source.url, pinned or value, store)
    label = rev if value == rev or rev.startswith(value) else f"{rev} ({value})"
    return source._replace(rev=rev, upstream=label)


def _sdist(source: Source, value: str, store: Store, progress: Progress) -> tuple[Source, tuple[str, ...]]:
    from opencoti_patches.base.changelog import commit_of

    new = source._replace(version=value, sha256="", upstream="")
    new = new._replace(sha256=source_sha256(new, store, progress=progress))
    progress.update(f"reading the change log of {new.label}")
    named = commit_of(new, store)
    if named.commit or not source.upstream:
        return new._replace(upstream=named.commit), ()
    return new, (f"the label upstream = {source.upstream!r} is taken out, and no other is known: {named.why_not}",)


def edited(file: Path, target: Target) -> bytes:
    """The configuration's text with the new values; comments and order stay."""
    import tomlkit

    doc: Any = tomlkit.parse(file.read_text("utf-8"))
    table = doc["base"]["source"][target.source]
    known = next((v for k, v in target.changes.items() if v and k in table), "")
    added = {k: v for k, v in target.changes.items() if v and k not in table and known}
    for key, value in target.changes.items():
        if key in table and not value:
            del table[key]
        elif value and key not in added:
            table[key] = value
    text = tomlkit.dumps(doc).rstrip("\n") + "\n"
    at = text.index("\n", text.index(known)) + 1 if added else 0
    # beside what changes with them: at the end of the table they might stand below comments
    new = "".join(f"{key} = {tomlkit.item(value).as_string()}\n" for key, value in added.items())
    return f"{text[:at]}{new}{text[at:]}".encode()
