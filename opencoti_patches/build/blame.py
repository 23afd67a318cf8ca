"""The first real error of a build: which file, and which patch wrote the line that it names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.core.model import Series, TreeId
from opencoti_patches.doors.git import line_commit
from opencoti_patches.tree import trees

_ERROR = re.compile(r"^(?P<file>[^\s:(][^:(]*):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<what>.*)$")
_NVCC = re.compile(r"^(?P<file>[^\s:(][^:(]*)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<what>.*)$")
_OTHER = re.compile(
    r"^cosmo\S+: fatal error: |^distcc\[\d+\] (?:\(\w+\) )?ERROR: "
    r"|(?:^|: )(?:undefined reference to|ld: |CMake Error|make(?:\[\d+\])?: \*\*\*|ninja: error:)"
)
# what a shell, make or ninja says of a program that is not there
_MISSING = re.compile(r"^\S*sh: .*: (?:command )?not found$|^make(?:\[\d+\])?: [^*].*: No such file or directory$")
_TITLE = re.compile(r"^CMake Error at .* \(.*\):$")  # the words stand below


class Failure(NamedTuple):
    """What a build died of. ``file`` is in the tree where the line is one of it, else as the compiler has it; ``patch``
    wrote that line, empty for a line of the base or where that is not known."""

    message: str
    file: str = ""
    line: int = 0
    patch: str = ""


def first_error(lines: Sequence[str], tree: Path, start: Path) -> Failure | None:
    """The first error in what a build printed; compilers' before linkers' and build systems'. Relative names are
    relative to ``start``."""
    for line in lines:
        m = _ERROR.match(line) or _NVCC.match(line)
        if m:
            file = (start / m["file"]).resolve()
            inside = file.is_relative_to(tree.resolve())
            name = str(file.relative_to(tree.resolve())) if inside else m["file"]
            return Failure(message=m["what"], file=name, line=int(m["line"]))
    at = next((n for n, line in enumerate(lines) if _OTHER.search(line)), None)
    other = lines[at] if at is not None else ""
    if not other or other.endswith(" 127"):  # a program that could not be started; said once, by whoever tried it
        other = next((line for line in lines[:at] if _MISSING.match(line)), other)
    if at is not None and _TITLE.match(other):
        said = itertools.takewhile(lambda line: not line or line.startswith(" "), lines[at + 1 :])
        other = " ".join((other, *(line.strip() for line in said if line)))
    return Failure(message=other.strip()) if other else None


def with_patch(failure: Failure, series: Series, base: TreeId, store: Store) -> Failure:
    """The failure with the patch that last changed its line."""
    if not failure.file or not series.entries:
        return failure
    made = trees.commits(series, base, store)
    commit = line_commit(store.objects, made[-1][0], failure.file, failure.line)
    owner = {c: e.name for (c, _), e in zip(made, series.entries, strict=True)}
    return failure._replace(patch=owner.get(commit, "") if commit else "")
