"""Whether anything that a build is made of changed: the build system itself is asked, without running a step.

What ninja knows of the last build is exact: the compilers told it every file that they read. A makefile knows less, so
the sources that include a changed file get a new time first, as before every build.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.base.store import Store
from opencoti_patches.build import stale
from opencoti_patches.build.artefacts import is_prose
from opencoti_patches.build.toolchain import Place
from opencoti_patches.core.model import TreeId
from opencoti_patches.core.profile import Profile
from opencoti_patches.doors import proc

_OF_THE_TREE = ("base", "tree", "patches")


def same_but_tree(known: Mapping[str, Any], what: Mapping[str, Any]) -> bool:
    """Whether the inputs of two builds differ by nothing but the tree and what it is of."""
    kept = [{k: v for k, v in inputs.items() if k not in _OF_THE_TREE} for inputs in (known, what)]
    return kept[0] == kept[1]


def restructured(before: Sequence[TreeId], tip: TreeId, store: Store) -> bool:
    """Whether files came or went, which a build system that looks for its sources learns of when it is configured;
    also where one of the trees before is not known any more."""
    if not all(store.repo.has(tree) for tree in before):
        return True
    changes = store.repo.diffs_of_trees([(tree, tip) for tree in before])
    return any(None in sides and not is_prose(path) for found in changes for path, sides in found.items())


def nothing_to_do(
    profile: Profile, place: Place, targets: Sequence[str], changed: set[str], tree: Path, env: Mapping[str, str]
) -> bool:
    """Whether the build system would run nothing, now that ``changed`` files of ``tree`` are as they are. False
    wherever that is not sure. The folder was built whole and configured with the same settings before."""
    if profile.kind == "cmake" and (place.build / "build.ninja").exists():
        chosen = ["--target", *targets] if targets else []
        done = proc.run(["cmake", "--build", place.build, *chosen, "--", "-n"], cwd=place.source, env=env)
        return done.code == 0 and b"ninja: no work to do." in done.out.splitlines()
    if profile.kind == "make":
        stale.refresh(tree, changed)
        quiet = {k: v for k, v in env.items() if k not in ("MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS")}
        command = ["make", "-q", "-C", os.fspath(place.source), *profile.options, *targets]
        return proc.run(command, cwd=place.source, env=quiet).code == 0
    return False
