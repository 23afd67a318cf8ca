"""``opencoti.toml``: what may stand in it, and one clear line for what may not."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

from opencoti_patches.core.errors import UsageError

FILE_NAME = "opencoti.toml"
SCHEMA = 1

_COMMON = {"kind", "into", "upstream"}
_KIND_KEYS: dict[str, tuple[set[str], set[str]]] = {
    # kind: (keys it needs, keys it may have)
    "pypi-sdist": ({"package", "version"}, {"sha256", "subdir"}),
    "git": ({"url", "rev"}, {"subdir", "submodules"}),
    "archive": (set(), {"path", "url", "sha256", "subdir"}),
    "directory": ({"path"}, {"subdir"}),
}


class Source(NamedTuple):
    """One ``[[base.source]]``. Relative paths are already joined to the file's folder."""

    kind: str
    package: str = ""
    version: str = ""
    sha256: str = ""
    url: str = ""
    rev: str = ""
    path: str = ""
    subdir: str = ""
    into: str = ""
    upstream: str = ""
    submodules: bool = True

    @property
    def label(self) -> str:
        """What people call it: ``llama-cpp-python 0.3.24``; a URL without what may be a password or a token."""
        url = re.sub(r"^(\w[\w+.-]*://)(?:[^/]*@)?([^?#]*).*", r"\1\2", self.url, flags=re.S)
        what = f"{self.package} {self.version}" if self.package else url or self.path
        return f"{what} {self.rev}".strip() if self.kind == "git" else what

    @property
    def origin(self) -> str:
        """What a download of it is known by: package and version, or a digest of the URL, which may hold
        a password. Empty for what is not downloaded as a file."""
        if self.kind == "pypi-sdist":
            return f"pypi-sdist {re.sub('[-_.]+', '-', self.package).lower()} {self.version}"
        if self.kind == "archive" and self.url:
            return f"archive {hashlib.sha256(self.url.encode('utf-8', 'surrogateescape')).hexdigest()}"
        return ""

    def key(self) -> str:
        """The text that names its contents; a label or its place in the tree change nothing of them."""
        parts = (f"{k}={v}" for k, v in self._asdict().items() if k not in ("into", "upstream"))
        return "\n".join(parts)


class Config(NamedTuple):
    """The project. ``root`` is the folder of ``opencoti.toml``; the other paths are absolute."""

    root: Path
    name: str
    sources: tuple[Source, ...]
    patches: Path
    tree: Path
    strip: int = 1
    build: Mapping[str, Any] = MappingProxyType({})  # of checked keys: core/profile.py reads it
    release: Mapping[str, Any] = MappingProxyType({})  # as core/shipping.py reads it
    artefacts: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # globs of their sources, by name
    smoke: Mapping[str, Any] = MappingProxyType({})  # likewise, for core/smoke.py

    @property
    def file(self) -> Path:
        """The configuration file itself."""
        return self.root / FILE_NAME


def find_root(start: Path) -> Path:
    """The nearest folder from ``start`` upwards that holds an ``opencoti.toml``."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return folder
    raise UsageError(
        "no-project",
        f"no {FILE_NAME} in {start} or above",
        "run 'opencoti-patches init' to make one, or point -C at the project",
    )


def load(start: Path) -> Config:
    """Read and check the project's configuration. Errors: UsageError, exit 2."""
    root = find_root(start)
    try:
        table = tomllib.loads((root / FILE_NAME).read_text("utf-8"))
    except tomllib.TOMLDecodeError as e:
        raise UsageError(
            "bad-toml", f"{FILE_NAME}: {e}", "it is TOML: strings need quotes, tables need [brackets]"
        ) from None
    except UnicodeDecodeError:
        raise UsageError("bad-toml", f"{FILE_NAME} is not UTF-8", "save it as UTF-8") from None
    return from_table(table, root)


def from_table(table: Mapping[str, Any], root: Path) -> Config:
    """A checked configuration from parsed TOML."""
    _known(table, {"schema", "name", "base", "series", "tree", "build", "artefact", "smoke", "release"}, "")
    if type(table.get("schema")) is not int or table["schema"] != SCHEMA:  # true is 1 too
        raise UsageError(
            "bad-schema",
            f"{FILE_NAME}: schema must be {SCHEMA}, it is {table.get('schema')!r}",
            f"write 'schema = {SCHEMA}' at its top",
        )
    name = _string(table, "name", "") or root.name
    base = _table(table, "base")
    _known(base, {"source"}, "base")
    raw = base.get("source")
    if not isinstance(raw, list) or not raw or not all(isinstance(s, dict) for s in raw):
        raise UsageError(
            "no-base",
            f"{FILE_NAME}: at least one [[base.source]] is needed",
            "see 'opencoti-patches init' for an example of each kind",
        )
    sources = tuple(_source(s, i, root) for i, s in enumerate(raw, 1))
    series, tree = _table(table, "series"), _table(table, "tree")
    _known(series, {"dir", "strip"}, "series")
    _known(tree, {"dir"}, "tree")
    strip = series.get("strip", 1)
    if not isinstance(strip, int) or isinstance(strip, bool) or strip < 0:
        raise UsageError(
            "bad-value",
            f"{FILE_NAME}: series.strip must be a number from 0 up, it is {strip!r}",
            "1 takes the a/ and b/ off",
        )
    build = _table(table, "build")
    _check_profiles(build)
    smoke = _table(table, "smoke")
    _check_smoke(smoke)
    release = _table(table, "release")
    if release:  # a check of a project that ships nothing need not know what it is
        from opencoti_patches.core.shipping import KEYS, shipping

        _known(release, KEYS, "release")
        shipping(release, name, FILE_NAME)
    return Config(
        root=root,
        name=name,
        sources=sources,
        strip=strip,
        patches=root / (_string(series, "dir", "series") or "patches"),
        tree=root / (_string(tree, "dir", "tree") or "tree"),
        build=build,
        release=release,
        artefacts={name: _artefact(name, given) for name, given in _table(table, "artefact").items()},
        smoke=smoke,
    )


def _source(raw: Mapping[str, Any], number: int, root: Path) -> Source:
    where = f"base.source {number}"
    kind = _string(raw, "kind", where)
    if kind not in _KIND_KEYS:
        raise UsageError(
            "bad-value",
            f"{FILE_NAME}: {where}: unknown kind {kind!r}",
            _nearest(kind, _KIND_KEYS) or f"one of: {', '.join(_KIND_KEYS)}",
        )
    needs, may = _KIND_KEYS[kind]
    _known(raw, needs | may | _COMMON, where)
    values: dict[str, Any] = {k: _string(raw, k, where) for k in raw if k != "submodules"}
    if "submodules" in raw:
        if not isinstance(raw["submodules"], bool):
            raise UsageError(
                "bad-value", f"{FILE_NAME}: {where}: submodules must be true or false", "submodules = true, or false"
            )
        values["submodules"] = raw["submodules"]
    for key in sorted(needs):
        if not values.get(key):
            raise UsageError(
                "missing-key", f"{FILE_NAME}: {where}: a {kind} source needs '{key}'", f'add the line {key} = "…"'
            )
    if kind == "archive" and bool(values.get("path")) == bool(values.get("url")):
        raise UsageError(
            "missing-key",
            f"{FILE_NAME}: {where}: an archive source needs either 'path' or 'url'",
            "'path' names a file of this machine, 'url' one to download",
        )
    for key in ("subdir", "into"):
        parts = PurePosixPath(values.get(key, ""))
        if parts.is_absolute() or any(p == ".." or p.lower() == ".git" for p in parts.parts):
            raise UsageError(
                "unsafe-path",
                f"{FILE_NAME}: {where}: {key} must be a plain path inside the tree",
                f'such as {key} = "llama.cpp"',
            )
        values[key] = "" if str(parts) == "." else str(parts)
    sha = values.get("sha256", "")
    if sha and (len(sha) != 64 or set(sha.lower()) - set("0123456789abcdef")):
        raise UsageError(
            "bad-value",
            f"{FILE_NAME}: {where}: sha256 is 64 hex digits",
            "leave it empty once, and the line to add is printed",
        )
    values["sha256"] = sha.lower()
    if values.get("path"):
        values["path"] = str(root / _home(values["path"], "path", where))
    if kind == "git" and "://" not in values["url"] and (values["url"][:1] in "./~" or (root / values["url"]).exists()):
        values["url"] = str((root / _home(values["url"], "url", where)).resolve())
    return Source(**values)


def _check_profiles(build: Mapping[str, Any]) -> None:
    if not build:
        return  # a check of a project without any need not know what they are
    from opencoti_patches.core.profile import KEYS, profiles

    for name in build:
        _known(_table(build, name), KEYS, f"build.{name}")
    profiles(build, "", FILE_NAME)


def _artefact(name: str, given: Any) -> tuple[str, ...]:
    where = f"artefact.{name}"
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name) or name == "none":
        raise UsageError("bad-name", f"{FILE_NAME}: {where}: an artefact cannot be called so", "use a-z, 0-9, '-', '_'")
    if not isinstance(given, dict):
        raise UsageError("bad-value", f"{FILE_NAME}: {where} must be a table", f"write [{where}]")
    _known(given, {"sources"}, where)
    globs = given.get("sources")
    if not isinstance(globs, list) or not all(isinstance(g, str) and g.strip("!") for g in globs):
        raise UsageError("bad-value", f"{FILE_NAME}: {where}.sources must be a list of globs", 'write ["src/**"]')
    return tuple(globs)


def _check_smoke(smoke: Mapping[str, Any]) -> None:
    if not smoke:
        return
    from opencoti_patches.core.smoke import KEYS, PROMPT_KEYS, settings

    _known(smoke, KEYS, "smoke")
    prompts = smoke.get("prompt", [])
    if not isinstance(prompts, list) or not all(isinstance(p, dict) for p in prompts):
        raise UsageError("bad-value", f"{FILE_NAME}: smoke.prompt must be tables", "write [[smoke.prompt]]")
    for number, prompt in enumerate(prompts, 1):
        _known(prompt, PROMPT_KEYS, f"smoke.prompt {number}")
    settings(smoke, FILE_NAME)


def _home(value: str, key: str, where: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise UsageError(
            "bad-value",
            f"{FILE_NAME}: {where}: {key} = {value!r}: there is no such user",
            "'~/' is your own home; write './~name' for a folder that is called so",
        ) from None


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise UsageError("bad-value", f"{FILE_NAME}: {key} must be a table", f"write [{key}]")
    return value


def _string(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise UsageError(
            "bad-value",
            f"{FILE_NAME}: {where + ': ' if where else ''}{key} must be a string, it is {value!r}",
            f'write {key} = "…"',
        )
    return value


def _known(table: Mapping[str, Any], allowed: set[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise UsageError(
                "unknown-key",
                f"{FILE_NAME}: unknown key '{key}'{' in ' + where if where else ''}",
                _nearest(key, allowed) or f"known here: {', '.join(sorted(allowed))}",
            )


def _nearest(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # only on the way to an error

    close = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'?" if close else ""
