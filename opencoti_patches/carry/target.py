"""What a bump goes to: the source with another revision or version, and the configuration that says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencoti_patches.base.bootstrap import ensure_base, source_sha256
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Config, Source
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import TreeId
from opencoti_patches.core.progress import Progress


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """The new base: the configuration that would make it, its tree, what changes in the file by key, and
    which source (from 0)."""

    config: Config
    base: TreeId
    source: int
    changes: dict[str, str]


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


def reach(config: Config, number: int, value: str, store: Store, *, pinned: str = "", progress: Progress) -> Target:
    """Fetch the new base into the store; ``pinned`` is the commit that ``value`` meant before. Call with the store's lock held. Errors: as ``ensure_base``."""
    source = config.sources[number]
    if source.kind == "git":
        new, changes = _git(source, value, pinned, store)
    else:
        new = source._replace(version=value, sha256="", upstream="")
        sha = source_sha256(new, store, progress=progress)
        new = new._replace(sha256=sha)
        changes = {"version": value, "sha256": sha}
    sources = tuple(new if i == number else s for i, s in enumerate(config.sources))
    moved = config._replace(sources=sources)
    return Target(config=moved, base=ensure_base(moved, store, progress=progress), source=number, changes=changes)


def _git(source: Source, value: str, pinned: str, store: Store) -> tuple[Source, dict[str, str]]:
    from opencoti_patches.base.gitsource import full_rev

    store.open()
    rev = full_rev(source.url, pinned or value, store)
    label = rev if value == rev or rev.startswith(value) else f"{rev} ({value})"
    return source._replace(rev=rev, upstream=label), {"rev": rev, "upstream": label}


def edited(file: Path, target: Target) -> bytes:
    """The configuration's text with the new values; comments and order stay. A label that no longer holds
    goes."""
    import tomlkit

    doc: Any = tomlkit.parse(file.read_text("utf-8"))
    table = doc["base"]["source"][target.source]
    for key, value in target.changes.items():
        table[key] = value
    if "upstream" in table and "upstream" not in target.changes:
        del table["upstream"]
    return tomlkit.dumps(doc).encode()
