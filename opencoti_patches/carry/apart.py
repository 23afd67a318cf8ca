"""What upstream does not reach: patches on files that are the same in both bases, and on no other's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set

from opencoti_patches.core.model import PatchName


def unreached(paths: Mapping[PatchName, Set[str]], start: Iterable[str]) -> frozenset[PatchName]:
    """Patches that share no path with one that touches a path of ``start``, straight or through others. ``paths`` are
    those that each patch touches."""
    touching: defaultdict[str, list[PatchName]] = defaultdict(list)
    for name, its in paths.items():
        for path in its:
            touching[path].append(name)
    left, waiting = set(paths), list(start)
    while waiting:
        for name in touching.pop(waiting.pop(), ()):
            if name in left:
                left.remove(name)
                waiting += paths[name]
    return frozenset(left)
