"""What upstream calls or puts otherwise by now, in the lines of patches that git takes as they are: nothing in the
text stands against them, and a compiler may be the first to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from opencoti_patches.carry.align import aligned
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.follow import Follower
from opencoti_patches.carry.gone import gone_names, still_used
from opencoti_patches.carry.twice import twice
from opencoti_patches.core.model import PatchName, printable
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.series.parse import Parsed


def notes(taken: Iterable[PatchName], parsed: Mapping[PatchName, Parsed], sides: Sides) -> tuple[str, ...]:
    """A line a patch and file, for people. ``taken`` are the patches that git took."""
    found = []
    for name in taken:
        one = parsed[name]
        known: set[str] = set()
        changed = {f.path: f for f in one.files if f.operation == "modify" and sides.differs(f.path)}
        for path, f in changed.items():
            added = b"".join(line for h in f.hunks for line in h.added)
            for old, new in sides.follower(path).outdated(added):
                known.add(old)
                found.append(f"{printable(name)} has '{old}' in {printable(path)}, which upstream made '{new}' there")
            if back := still_used(f, *sides.texts(path)):
                found.append(f"{printable(name)}, {printable(path)}: {back}")
            for hunk, both in twice({h.number: h.added for h in f.hunks}, sides.follower(path).a):
                found.append(f"{printable(name)}, {printable(path)}, hunk {hunk}: {both}")
        texts = [sides.texts(f.path) for f in one.files if f.operation == "modify"]
        if changed and (gone := gone_names(one, texts, known)):
            found.append(f"{printable(name)}: {gone}")
    return tuple(dict.fromkeys(found))


class Sides:
    """The files of two bases that differ, and what upstream's edits of each mean."""

    def __init__(self, old: Listing, new: Listing, contents: Contents, diff: Callable[[bytes, bytes], bytes]) -> None:
        self._old, self._new = old, new
        self._contents = contents
        self._diff = diff
        self._followers: dict[str, Follower] = {}

    def differs(self, path: str) -> bool:
        """Whether both have the file, with other contents."""
        before, now = self._old.get(path), self._new.get(path)
        return before != now and None not in (self._contents.of(before), self._contents.of(now))

    def texts(self, path: str) -> tuple[bytes, bytes]:
        """A file before and now; empty where it is none."""
        return self._contents.of(self._old.get(path)) or b"", self._contents.of(self._new.get(path)) or b""

    def follower(self, path: str) -> Follower:
        """What the edits of such a file mean for lines that a patch adds."""
        if path not in self._followers:
            before, now = self.texts(path)
            self._followers[path] = Follower(aligned(lines_of(before), now, self._diff))
        return self._followers[path]
