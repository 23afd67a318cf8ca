"""What ``init`` writes, and its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from opencoti_patches.core.model import Report, Series, printable
from opencoti_patches.core.shell import word
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import Said, wrapped
from opencoti_patches.series.order import NO_SERIES

SERIES_TEXT = """\
# The patches in the order in which they apply: a name a line, then -pN or -R.
"""

_CONFIGURATION = """\
# A patch series and what it stands on.
# Every key is explained in docs/configuration.md of opencoti-patches.
schema = 1
name = NAME

# What the patches stand on. Several sources make one tree, each in its 'into'.

[[base.source]]
kind = "pypi-sdist"            # a source archive from pip's configured index
package = "llama-cpp-python"
version = "0.3.24"
sha256 = "f610476c5c737366859dad2315ed7948b1580202f5d139bd0b3437718d6d7092"
subdir = "vendor/llama.cpp"    # take this folder of it; default: all
into = "llama.cpp"             # its place in the tree; default: the tree's root
upstream = "af6528e6df5d798f7f1363ec1141699be0f638e2 (b9445)"  # for people

# The other kinds of source:

# [[base.source]]
# kind = "git"                 # one commit; submodules become plain folders
# url = "https://github.com/ggml-org/llama.cpp"  # or a local path
# rev = "b9445"                # a tag, a branch or a commit
# submodules = true

# [[base.source]]
# kind = "archive"             # a tar or zip file: 'url', or a local 'path'
# url = "https://github.com/ggml-org/llama.cpp/archive/refs/tags/b9445.tar.gz"
# sha256 = ""                  # left empty once, the line to add is printed

# [[base.source]]
# kind = "directory"           # a folder as it is, without its .git
# path = "../llama.cpp"        # relative to this file
# subdir = "src"
# into = "src"

[series]
# dir = "patches"              # where the patches and their 'series' file are
# strip = 1                    # -pN of patches whose series line gives none

[tree]
# dir = "tree"                 # where 'apply' puts the patched tree
"""


def configuration(folder_name: str) -> str:
    """The commented configuration of a new project."""
    name = folder_name if folder_name and folder_name.isprintable() else "patches"
    return _CONFIGURATION.replace("NAME", json.dumps(name, ensure_ascii=False), 1)


def report(folder: str, root: Path, found: Series | None, written: Sequence[str], kept: Sequence[str]) -> Report:
    """What was made in ``folder`` as it was given. ``found`` is the series that was there before."""
    data = {
        "project": printable(str(root)),
        "written": list(written),
        "kept": list(kept),
        "listed": found is None or found.listed or not found.entries,
        "patches": len(found.entries) if found else 0,
    }
    text = wrapped(f"wrote {', '.join(written)}")
    if kept:
        text += wrapped(f"kept {', '.join(kept)} as {'it was' if len(kept) == 1 else 'they were'}")
    if found and found.entries:
        text.append(f"{plural(len(found.entries), 'patch')} found in patches/")
        if not found.listed:
            text.append(f"note: {NO_SERIES}")
    if folder == ".":
        text.append(Said("next: see opencoti.toml, then opencoti-patches check"))
    else:  # there no command needs to be told where that is
        text += wrapped(f"next: cd {word(folder)}, see opencoti.toml, then opencoti-patches check")
    return Report(command="init", ok=True, data=data, text=tuple(text))
