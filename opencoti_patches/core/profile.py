"""``[build.NAME]`` of opencoti.toml: how one build of the patched tree is made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from opencoti_patches.core.errors import UsageError

if TYPE_CHECKING:
    from opencoti_patches.core.config import Config

Kind = Literal["cmake", "make", "cosmocc", "script"]

_TEXTS = {"kind", "source", "generator", "launcher", "toolchain", "script"}
_LISTS = {"options", "targets", "artefacts", "tools"}
KEYS = _TEXTS | _LISTS | {"env", "jobs"}
# what a profile of this name is where the configuration says nothing else
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "cpu": {"kind": "cmake", "artefacts": ("bin/*", "bin/*.so*")},
    "cuda": {
        "kind": "cmake",
        "options": ("-DGGML_CUDA=ON", "-DBUILD_SHARED_LIBS=ON", "-DGGML_BACKEND_DL=ON", "-DGGML_NATIVE=OFF"),
        "targets": ("ggml-cuda",),
        "artefacts": ("bin/libggml-cuda*",),
    },
    "cosmocc": {"kind": "cosmocc", "artefacts": ("llamafile/llamafile",)},
}


class Profile(NamedTuple):
    """One way to build. ``source`` is a folder of the tree; ``artefacts`` are globs in the folder that the build
    writes to (cmake), in the source folder (make), in its ``o/MODE`` (cosmocc) or in the build's own home (script);
    ``jobs`` 0 means as many as there are processors. ``toolchain`` is where cosmocc lies, from the project's folder;
    ``tools`` are programs beside those that the kind is known to run."""

    name: str
    kind: Kind = "cmake"
    source: str = ""
    generator: str = ""
    options: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    launcher: str = ""
    jobs: int = 0
    artefacts: tuple[str, ...] = ()
    toolchain: str = ""
    script: str = ""
    tools: tuple[str, ...] = ()


def profiles(table: Mapping[str, Any], source: str, where: str) -> dict[str, Profile]:
    """The profiles of a checked ``[build]`` table, and those that every project has; ``source`` is the folder of
    the tree where the table names none, ``where`` the file for messages.

    Errors: UsageError ``bad-value``, ``bad-name``, ``unsafe-path``, ``missing-key``.
    """
    names = dict.fromkeys([*_DEFAULTS, *table])
    return {name: _profile(name, table.get(name, {}), source, where) for name in names}


def profiles_of(config: Config) -> dict[str, Profile]:
    """The profiles of a project. Where it has one source, that is what they build."""
    return profiles(config.build, config.sources[0].into if len(config.sources) == 1 else "", config.file.name)


def profile_of(config: Config, name: str) -> Profile:
    """The project's profile of that name. Errors: UsageError ``unknown-profile``."""
    known = profiles_of(config)
    if name not in known:
        raise UsageError("unknown-profile", f"no profile '{name}'", f"there are: {', '.join(known)}")
    return known[name]


def _profile(name: str, given: Any, source: str, where: str) -> Profile:
    at = f"{where}: build.{name}"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        what = "up to 64 letters, digits, '-', '_' and '.'"
        raise UsageError("bad-name", f"{where}: build: no profile can be called {name[:64]!r}", f"use {what}")
    if not isinstance(given, dict):
        raise UsageError("bad-value", f"{at} must be a table", f"write [build.{name}]")
    known = _DEFAULTS.get(name, {})
    if given.get("kind", known.get("kind")) != known.get("kind"):
        known = {}  # options of CMake mean nothing to a script
    values: dict[str, Any] = {"source": source, **known}
    for key, value in given.items():
        if key in _TEXTS and not isinstance(value, str):
            raise UsageError("bad-value", f"{at}.{key} must be a string, it is {value!r}", f'write {key} = "…"')
        if key in _LISTS and not _texts(value):
            raise UsageError("bad-value", f"{at}.{key} must be a list of strings", f'write {key} = ["…"]')
        values[key] = tuple(value) if key in _LISTS else value
    values["env"] = _env(given.get("env", {}), at)
    jobs = values.get("jobs", 0)
    if type(jobs) is not int or jobs < 0:
        raise UsageError("bad-value", f"{at}.jobs must be a number from 0 up, it is {jobs!r}", "0: all processors")
    kind = values.get("kind", "cmake")
    if kind not in get_args(Kind):
        raise UsageError("bad-value", f"{at}.kind is {kind!r}", f"it is one of {', '.join(get_args(Kind))}")
    for glob in values.get("artefacts", ()):
        if not glob.strip("/") or any("**" in part and part != "**" for part in glob.split("/")):
            raise UsageError("bad-value", f"{at}.artefacts: {glob!r} is no glob", "'**' stands alone between slashes")
    _no_nul(values, at)
    for key in ("source", "script", "artefacts"):
        given = values.get(key, "")
        for path in [given] if isinstance(given, str) else given:
            if path.startswith("/") or ".." in path.split("/"):
                raise UsageError("unsafe-path", f"{at}.{key}: {path} leads out of the build", "give a path inside it")
    if kind == "script" and not values.get("script"):
        raise UsageError("missing-key", f"{at}: a script needs 'script'", "name the file, in the source folder")
    return Profile(name=name, **values)


def _no_nul(values: Mapping[str, Any], at: str) -> None:
    """No program can be given such a text."""
    for key, value in values.items():
        texts = [value] if isinstance(value, str) else list(value) if isinstance(value, tuple) else []
        if any("\0" in word for text in texts for word in ([text] if isinstance(text, str) else text)):
            raise UsageError("bad-value", f"{at}.{key} has a NUL in it", "take it out")


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _env(given: Any, at: str) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
        raise UsageError("bad-value", f"{at}.env must be a table of strings", 'write env = { CC = "gcc" }')
    if any(not k or "=" in k or "\0" in k for k in given):
        raise UsageError("bad-value", f"{at}.env: the name of a variable has no '='", 'write env = { CC = "gcc" }')
    return tuple(sorted(given.items()))


def inputs(profile: Profile) -> Sequence[str]:
    """What of a profile its results depend on, as lines; the number of jobs, a launcher and where a toolchain lies
    change nothing."""
    rest = profile._replace(jobs=0, launcher="", toolchain="")
    return [f"{key}={value!r}" for key, value in rest._asdict().items()]
