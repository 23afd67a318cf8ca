"""``kind = "pypi-sdist"``: the source distribution of a package, from wherever pip is set up to look.

The file is found through pip's own configuration (index, extra indexes, find-links, mirrors), as pip would
find it, and never built: neither ``pip download`` nor any build backend is run.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from opencoti_patches.base.archive import import_archive, keep, missing_sha256, top_folder
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import TreeId
from opencoti_patches.core.progress import Progress
from opencoti_patches.doors import fs, net, proc

if TYPE_CHECKING:
    from unearth import Package
    from unearth.fetchers.sync import PyPIClient

DEFAULT_INDEX = ""  # where pip looks without configuration; unearth knows the address
_SECTIONS = ("global", "install", "download", ":env:")  # the later one wins, as in pip


class PipSettings(NamedTuple):
    """Where pip looks, in its order, and how it connects."""

    indexes: tuple[str, ...] = (DEFAULT_INDEX,)
    find_links: tuple[str, ...] = ()
    connection: net.Connection = net.Connection()


def make_tree(source: Source, store: Store, *, progress: Progress) -> tuple[TreeId, dict[str, str]]:
    """Store the sdist's tree. Returns (tree, {}).

    Errors: UsageError ``missing-sha256``, ``bad-value``, ``no-subdir``; CouldNot ``no-sdist``,
    ``wrong-sha256``, ``bad-archive``, ``unsafe-archive`` and those of ``net.download``.
    """
    file, sha256 = obtain(source, store, progress=progress)
    if not source.sha256:
        raise missing_sha256(source, sha256)
    return import_archive(file, source, store, progress=progress, always_strip=True), {}


def obtain(source: Source, store: Store, *, progress: Progress) -> tuple[Path, str]:
    """The verified file and its sha256, from the store's downloads if it is there (no pip, no network)."""
    known = source.sha256 or fs.read_json(_note(source, store)) or ""
    if known and (kept := _kept(source, str(known), store)):
        return kept, str(known)
    progress.update(f"looking for {source.label}")
    settings = pip_settings()
    with net.client(settings.connection) as http:
        # One place after the other: where the first has the file, an unreachable second one costs nothing.
        return _first_good(source, store, settings, _links(source, settings, http), progress)


def _kept(source: Source, sha256: str, store: Store) -> Path | None:
    """The stored file of this sum, if it is this package and version: by the note beside it, or, in a store
    from before there were notes, by its top folder, which is NAME-VERSION."""
    file = store.downloads / sha256
    if (kept := store.kept(sha256, source.origin)) or not file.is_file():
        return kept
    from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
    from packaging.version import InvalidVersion, Version

    try:
        its = parse_sdist_filename(f"{top_folder(file, source.label)}.tar.gz")
        if its != (canonicalize_name(source.package), Version(source.version)):
            return None
    except (InvalidSdistFilename, InvalidVersion, CouldNot):
        return None
    store.note_origin(sha256, source.origin)
    return store.kept(sha256, source.origin)


def _first_good(
    source: Source, store: Store, settings: PipSettings, links: Iterator[tuple[str, str]], progress: Progress
) -> tuple[Path, str]:
    failure: CouldNot | None = None
    for url, stated in links:
        if source.sha256 and stated and stated != source.sha256:
            failure = failure or CouldNot(
                "wrong-sha256",
                f"{net.shown(url)} has sha256 {stated}, says its index; expected {source.sha256}",
                "if the version was meant to change, put the new sum into opencoti.toml; otherwise do not trust it",
            )
            continue

        def download(target: Path, url: str = url, stated: str = stated) -> str:
            wanted = source.sha256 or stated
            return net.download(url, target, sha256=wanted, progress=progress, connection=settings.connection)

        try:
            file, got = keep(store, source, download)
        except CouldNot as e:  # a mirror may have what this one lacks
            failure = failure or e
            continue
        if not source.sha256:
            fs.write(_note(source, store), json.dumps(got).encode(), sync=False)
        return file, got
    assert failure is not None  # _links raises rather than give nothing
    raise failure


def _note(source: Source, store: Store) -> Path:
    """Where the sum of an unpinned version is kept: a released file never changes."""
    return store.downloads / f"unpinned-{source.package}-{source.version}.json"


def pip_settings() -> PipSettings:
    """pip's configuration: of this interpreter's pip, else of the one on PATH, else ``PIP_*`` alone."""
    return settings_from(_configured())


def settings_from(values: Mapping[str, str]) -> PipSettings:
    """Settings from pip's keys (``index-url``, ``find-links``, …) and their plain text values."""
    index = values.get("index-url", "").strip() or DEFAULT_INDEX
    indexes = () if values.get("no-index", "").lower() in ("1", "true", "yes", "on", "y", "t") else (
        index, *values.get("extra-index-url", "").split()
    )  # fmt: skip
    try:
        timeout = float(values.get("timeout") or values.get("default-timeout") or 15)
    except ValueError:
        timeout = 15.0
    return PipSettings(
        indexes=indexes,
        find_links=tuple(os.path.expanduser(link) for link in values.get("find-links", "").split()),
        connection=net.Connection(
            cert=values.get("cert", ""),
            client_cert=values.get("client-cert", ""),
            proxy=values.get("proxy", ""),
            trusted_hosts=tuple(values.get("trusted-host", "").split()),
            timeout=timeout,
            index_urls=tuple(url for url in indexes if url.startswith(("http:", "https:"))),
        ),
    )


def _configured() -> dict[str, str]:
    pips = [[sys.executable, "-m", "pip"], *([[found]] if (found := shutil.which("pip")) else [])]
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONIOENCODING": "utf-8"}
    for pip in pips:
        if not pip[0]:
            continue
        done = proc.run([*pip, "config", "list"], env=env)
        if done.code == 0:
            return read_config(done.out.decode("utf-8", "replace"))
    return {k[4:].lower().replace("_", "-"): v for k, v in os.environ.items() if k.startswith("PIP_")}


def read_config(text: str) -> dict[str, str]:
    """Read ``pip config list``: lines ``section.key='value'``, values written as Python strings."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        section, dot, key = name.strip().partition(".")
        if not equals or not dot or section not in _SECTIONS:
            continue
        try:
            plain = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            continue
        if isinstance(plain, str):
            found.setdefault(section, {})[key.lower().replace("_", "-")] = plain
    return {key: value for section in _SECTIONS for key, value in found.get(section, {}).items()}


def _links(source: Source, settings: PipSettings, http: PyPIClient) -> Iterator[tuple[str, str]]:
    """(URL, the sha256 that its index states or "") of this very version's sdist, place after place.

    Errors: CouldNot ``no-sdist`` naming the versions that are there, or why a place could not be asked.
    """
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(source.version)
    except InvalidVersion:
        raise UsageError(
            "bad-value", f"{source.version!r} is not a version of {source.package}", "one exact version, like 0.3.24"
        ) from None
    others: set[Version] = set()
    said: list[str] = []
    seen: set[tuple[str, str]] = set()
    for package in _packages(source.package, settings, http, said):
        version = Version(package.version or "0")
        if version != wanted:
            others.add(version)
            continue
        link = package.link
        stated = (link.hashes or {}).get("sha256") or (link.hash if link.hash_name == "sha256" else "") or ""
        found = (link.url_without_fragment, stated.lower())
        if found not in seen:
            seen.add(found)
            yield found
    if seen:
        return
    places = (
        ", ".join(net.shown(p) or "the default index" for p in (*settings.find_links, *settings.indexes))
        or "nowhere (no-index is set)"
    )
    if others:
        newest = sorted(others, reverse=True)[:3]
        around = (
            *sorted((v for v in others if v < wanted), reverse=True)[:1],
            *sorted(v for v in others if v > wanted)[:1],
        )
        raise CouldNot(
            "no-sdist",
            f"there is no source distribution of {source.package} {source.version}",
            f"the newest: {', '.join(map(str, newest))}; the nearest: {' and '.join(map(str, around))}",
        )
    raise CouldNot(
        "no-sdist",
        f"no source distribution of {source.package} was found{': ' + said[0] if said else ''}",
        f"looked in {places}; 'pip config list' shows where pip looks",
    )


def _packages(name: str, settings: PipSettings, http: PyPIClient, said: list[str]) -> Iterator[Package]:
    """Every sdist of the package, yanked and pre-releases too. A place that fails is noted in ``said``."""
    import httpx2
    from packaging.utils import InvalidName, canonicalize_name
    from unearth import PackageFinder

    try:
        canonicalize_name(name, validate=True)
    except InvalidName:
        raise UsageError(
            "bad-value", f"{name!r} is not a name of a package", "name it as the index does, such as llama-cpp-python"
        ) from None
    log = logging.getLogger("unearth.collector")
    listener = _Listener(said)
    log.addHandler(listener)
    try:
        for kind, places in (("find_links", settings.find_links), ("index_urls", settings.indexes)):
            for place in places:
                finder = PackageFinder(
                    cast(Any, http),  # its own client, yet it does not fit its own protocol
                    ignore_compatibility=True,  # sources are read, not installed: any Python will do
                    no_binary=[name],
                    trusted_hosts=settings.connection.trusted_hosts,
                )
                if place != DEFAULT_INDEX:
                    finder.sources.clear()  # else it would ask the default index unasked
                    finder.add_index_url(place) if kind == "index_urls" else finder.add_find_links(place)
                try:
                    yield from finder.find_all_packages(name, allow_yanked=True)
                except httpx2.HTTPError as e:
                    said.append(net.explain(e, place or "the default index")[0].message)
                except (ValueError, OSError, httpx2.InvalidURL) as e:
                    said.append(f"{net.shown(place)}: {e}")
    finally:
        log.removeHandler(listener)


class _Listener(logging.Handler):
    """Keeps unearth's warnings (an index that answers 403, an http one that is not trusted) for our error."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.WARNING)
        self.said = said

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage().splitlines()[0])
