"""Which commit of the upstream repository a source distribution holds, as its own change log says."""

from __future__ import annotations

import re
from typing import NamedTuple

from opencoti_patches.base import archive
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source
from opencoti_patches.core.model import is_full_id
from opencoti_patches.doors import fs

_FILE = "CHANGELOG.md"
_COMMIT = r"[\w.-]+/{}@([0-9a-f]{{7,40}})(?![\w.-])"


class Named(NamedTuple):
    """A commit id, whole or abbreviated; or, where it is empty, why none is known, in words."""

    commit: str
    why_not: str = ""


def commit_of(source: Source, store: Store) -> Named:
    """The commit in the folder ``subdir`` of a pypi-sdist source that is in the store's downloads.

    Nothing is guessed: the change log's entry for this very version has to name one commit of a repository
    that is called like the folder. Where it names it in short and the archive holds git's own record of
    that submodule, the two have to agree, and the commit comes in full.

    Errors: CouldNot ``bad-archive``, ``unsafe-archive``.
    """
    name = source.subdir.rpartition("/")[2]
    if not name:
        return Named("", "the source has no subdir that could be called like a repository")
    note = store.downloads / f"{source.sha256}.commit.json"
    known = fs.read_json(note)
    if isinstance(known, list) and len(known) == 3 and known[0] == source.subdir:
        return Named(str(known[1]), str(known[2]))
    head = f".git/modules/{source.subdir}/HEAD"
    texts = archive.texts(store.downloads / source.sha256, source.label, {_FILE, head})
    log, recorded = (texts.get(path, b"").decode("utf-8", "replace") for path in (_FILE, head))
    found = read(log, source.version, name, recorded.strip()) if _FILE in texts else Named("", f"it has no {_FILE}")
    fs.write(note, fs.json_bytes([source.subdir, *found]), sync=False)
    return found


def read(log: str, version: str, repository: str, recorded: str = "") -> Named:
    """The commit that a change log names for a version, among its sections "## [VERSION]". ``recorded`` is
    the commit that git checked out, if that is known, in full."""
    section = _section(log, version)
    if section is None:
        return Named("", f"{_FILE} has no section for {version}")
    found = list(dict.fromkeys(re.findall(_COMMIT.format(re.escape(repository)), section)))
    if not found:
        return Named("", f"{_FILE} names no commit of {repository} for {version}")
    whole = recorded if is_full_id(recorded) else ""
    if whole and any(whole.startswith(c) for c in found):
        return Named(whole)
    if whole:
        return Named("", f"{_FILE} names {found[0]} for {version}, and the archive holds {whole[:12]}")
    if len(found) > 1:
        return Named("", f"{_FILE} names {len(found)} commits of {repository} for {version}")
    return Named(found[0])


def _section(log: str, version: str) -> str | None:
    """What stands below the heading of a version, up to the next one."""
    heading = re.compile(rf"(?m)^##[ \t]+\[?v?{re.escape(version)}\]?(?![\w.+-]).*$")
    begin = heading.search(log)
    if begin is None:
        return None
    return re.split(r"(?m)^##?[ \t]", log[begin.end() :], maxsplit=1)[0]
