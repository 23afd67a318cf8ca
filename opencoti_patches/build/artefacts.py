"""What a tree is built into, and which of its files go into what: the table of the configuration, or else what the
layout of llama.cpp says, also where llama.cpp is a folder of llamafile."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from opencoti_patches.build.includes import HEADERS
from opencoti_patches.core.errors import UsageError

HOST_SIDE = frozenset({"host", "cpu"})
"""What a patch may reach that is called "host only": no library of a device, and none that such a one shares."""

_GGML = "ggml/src/ggml.c"
_CORE = ("ggml.c", "ggml-alloc.c", "ggml-backend.cpp", "ggml-quants.c", "ggml-threading.cpp")
_APART = ("!**/tests/**", "!**/docs/**")
_BUILD = re.compile(r"(?:CMakeLists\.txt|CMakePresets\.json|(?:GNUm|M|m)akefile|BUILD\.mk|meson\.build)")
_EVERYWHERE = (".cmake", ".cmake.in", ".mk")
_PROSE = (".md", ".rst", ".png", ".jpg", ".svg", ".gif", ".pdf", ".ipynb", ".gitignore", ".gitattributes")


class Artefact(NamedTuple):
    """Something that is built. ``sources`` are globs of the tree's files; ``!`` takes out again."""

    name: str
    sources: tuple[str, ...]


def artefacts(paths: Collection[str], given: Mapping[str, Sequence[str]]) -> tuple[Artefact, ...]:
    """The artefacts of a tree with these files. ``given``, from the configuration, adds to those of llama.cpp's layout
    and overrides them; an empty list takes one out.

    Errors: UsageError ``no-artefact`` if there are none.
    """
    table = {**_of_layout(paths), **{name: tuple(globs) for name, globs in given.items()}}
    found = tuple(Artefact(name, globs) for name, globs in table.items() if globs)
    if not found:
        raise UsageError(
            "no-artefact",
            f"the tree has no llama.cpp ({_GGML}), and the configuration names no artefact",
            'say what is built of what: [artefact.NAME] sources = ["src/**"]',
        )
    return found


def _of_layout(paths: Collection[str]) -> dict[str, tuple[str, ...]]:
    tops = [p.removesuffix(_GGML) for p in paths if p == _GGML or p.endswith(f"/{_GGML}")]
    if not tops:
        return {}
    top = min(tops, key=len)
    src = f"{top}ggml/src"
    backend = re.compile(re.escape(f"{src}/ggml-") + r"([a-z0-9]+)/")
    backends = sorted({m[1] for m in map(backend.match, paths) if m})
    host = [f"{top}{name}/**" for name in ("src", "common", "tools", "app", "examples", "pocs", "vendor")]
    found = {name: [f"{src}/ggml-{name}/**"] for name in backends}
    for name in ("hip", "musa"):  # they compile the sources of cuda
        if name in found:
            found[name].append(f"{src}/ggml-cuda/**")
    # what only a host links; a backend has the rest of the core beside it, or inside
    base = [f"{src}/*", f"!{src}/ggml-backend-reg.cpp", f"!{src}/ggml-backend-dl.cpp"]
    if "llamafile/BUILD.mk" in paths and top:
        # the CPU backend is in the host; its scripts compile the core into the library of each device
        host += [
            f"{src}/*",
            *found.pop("cpu", ()),
            "llamafile/**",
            "!llamafile/**/*.cu",
            "!llamafile/*.sh",
            "!llamafile/*.bat",
        ]
        for name, globs in found.items():
            scripts = [f"llamafile/{name}*.{end}" for end in ("sh", "bat")]
            globs += [*(f"{src}/{file}" for file in _CORE), *scripts, "llamafile/build-functions.sh"]
        if "cuda" in found:
            found["cuda"] += ["llamafile/*.cu", "llamafile/cublas*.sh"]
        table = {"host": host}
    else:
        host += [f"{src}/ggml-backend-reg.cpp", f"{src}/ggml-backend-dl.cpp"]
        table = {"host": host, "base": base}
    first = [name for name in ("cpu", "cuda", "vulkan") if name in found]
    table |= {name: found[name] for name in (*first, *(n for n in found if n not in first))}
    return {name: (*globs, *_APART) for name, globs in table.items()}


def inputs(paths: Iterable[str]) -> list[str]:
    """The files that can go into an artefact by themselves. A header goes in where something includes it, a build file
    is no part, nor is what is written for people."""
    return [p for p in paths if not p.endswith(HEADERS) and not is_prose(p) and not is_build_file(p)]


def sources(artefact: Artefact, paths: Iterable[str]) -> list[str]:
    """Those of the paths that go into an artefact; of its globs the last that fits decides."""
    rules = [(not glob.startswith("!"), _pattern(glob.removeprefix("!"))) for glob in reversed(artefact.sources)]
    return [p for p in paths if next((wanted for wanted, rule in rules if rule.fullmatch(p)), False)]


def is_prose(path: str) -> bool:
    """Whether a file is for people alone."""
    return path.endswith(_PROSE)


def is_build_file(path: str) -> bool:
    """Whether a file says how others are built."""
    name = path.rsplit("/", 1)[-1]
    return _BUILD.fullmatch(name) is not None or name.endswith(_EVERYWHERE)


def governs(build_file: str) -> str:
    """The folder, with its last slash, whose files a build file has a say about: its own, or all of the tree for one
    that others include."""
    folder, _, name = build_file.rpartition("/")
    return f"{folder}/" if folder and _BUILD.fullmatch(name) else ""


def _pattern(glob: str) -> re.Pattern[str]:
    """``*`` and ``?`` stay in a folder, ``**/`` is any folders or none, ``**`` at the end all below."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(part, re.escape(part)) for part in parts), re.S)
