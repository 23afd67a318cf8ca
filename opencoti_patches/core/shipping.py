"""``[release]`` of opencoti.toml: what a release is called, what it is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from opencoti_patches.core.errors import UsageError

KEYS = {"repo", "name", "licences", "components"}
COMPONENT = re.compile(r"[a-z][a-z0-9]{0,31}")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_REPO = re.compile(r"[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)*")
# the profile that a component is built by where the configuration says nothing else
_COMPONENTS: Mapping[str, str] = {"engine": "cpu", "cuda": "cuda"}


class Shipping(NamedTuple):
    """How releases are made. ``components`` maps a component to its profile; ``named`` are those that the
    configuration itself names; ``licences`` are files of the project, from its folder."""

    name: str
    repo: str = ""
    licences: tuple[str, ...] = ()
    components: Mapping[str, str] = MappingProxyType({})
    named: tuple[str, ...] = ()


def shipping(table: Mapping[str, Any], project: str, where: str, repo: str = "") -> Shipping:
    """The ``[release]`` table with its defaults; ``project`` is what the project is called, ``repo`` overrides the
    table's, ``where`` is the file for messages.

    Errors: UsageError ``bad-value``, ``bad-name``, ``unsafe-path``.
    """
    at = f"{where}: release"
    for key in ("repo", "name"):
        if not isinstance(table.get(key, ""), str):
            raise UsageError("bad-value", f"{at}.{key} must be a string, it is {table[key]!r}", f'write {key} = "…"')
    licences, components = table.get("licences", []), table.get("components", {})
    if not isinstance(licences, list) or not all(isinstance(v, str) for v in licences):
        raise UsageError("bad-value", f"{at}.licences must be a list of strings", 'write licences = ["…"]')
    if not isinstance(components, dict) or not all(isinstance(v, str) for v in components.values()):
        raise UsageError("bad-value", f"{at}.components must be a table of strings", 'write components.engine = "cpu"')
    for path in licences:
        if path.startswith("/") or ".." in path.split("/") or not path:
            raise UsageError(
                "unsafe-path", f"{at}.licences: {path!r} leads out of the project", "give a path inside it"
            )
    for name in components:
        if not COMPONENT.fullmatch(name):
            raise UsageError(
                "bad-name", f"{at}.components: {name!r} cannot be a component", "lower-case letters, digits"
            )
    name = table.get("name") or re.sub(r"[^A-Za-z0-9._-]+", "-", project).strip("-._") or "release"
    if not _NAME.fullmatch(name):
        raise UsageError(
            "bad-name", f"{at}.name: {name!r} cannot begin file names", "letters, digits, '-', '_' and '.'"
        )
    repo = repo or table.get("repo", "")
    if repo and not _REPO.fullmatch(repo.removeprefix("https://")):
        raise UsageError("bad-value", f"{at}.repo: {repo!r} names no repository", 'write repo = "owner/name"')
    return Shipping(
        name=name,
        repo=repo,
        licences=tuple(licences),
        components={**_COMPONENTS, **components},
        named=tuple(components),
    )
