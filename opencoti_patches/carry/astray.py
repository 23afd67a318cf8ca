"""Patches that git takes, and whose files are not what they were: upstream put another file in the place of one, or
moved the folder away in which a patch makes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from opencoti_patches.carry.contents import Contents
from opencoti_patches.core.model import Entry, FilePatch, printable
from opencoti_patches.plan.listing import Listing
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.series.parse import Parsed


class Astray:
    """What two bases say of a patch's paths. ``moved``: where upstream put files by now, those too in whose place
    stands another; it costs, and is asked only where a file is hardly what it was. ``out``: the patches that are not in,
    to which others come while the series is gone through."""

    def __init__(
        self,
        old: Listing,
        new: Listing,
        contents: Contents,
        moved: Callable[[], Mapping[str, str]],
        out: Sequence[tuple[Entry, Parsed]],
    ) -> None:
        self.old, self.new = old, new
        self.out = out
        self.contents = contents
        self.moved = moved
        self._unlike: dict[str, bool] = {}
        self._made_of: dict[str, str] = {}  # by its name, the other file that the series renames or copies to it

    def doubts(self, parsed: Parsed) -> list[str]:
        """What somebody has to look at, in words. Patches are asked about in their order, any of them again."""
        found = []
        for f in parsed.files:
            path = f.old or ""
            if f.operation != "create" and self.is_unlike(path) and (to := self.moved().get(path)):
                found.append(f"{printable(path)} is another file now, what it was is {printable(to)}")
                self._made_of[f.new or ""] = path
            elif f.operation != "create" and path in self._made_of:
                found.append(
                    f"{printable(path)} is made of {printable(self._made_of[path])}, which is another file now"
                )
                self._made_of[f.new or ""] = self._made_of[path]
            elif f.operation != "create" and (maker := self._maker(path)):
                found.append(f"{printable(path)} is upstream's own; {printable(maker)}, which makes it, is not in")
                self._made_of[f.new or ""] = path
            elif folder := self._left(f):
                found.append(f"upstream has no folder {printable(folder)} any more, where it makes {printable(f.path)}")
        return found

    def _maker(self, path: str) -> str:
        """The patch that is not in and makes this file, where upstream has one of that name by now and had none."""
        if self.new.get(path) is None or self.old.get(path) is not None:
            return ""
        return next((e.name for e, parsed in self.out if path in parsed.made), "")

    def homeless(self, parsed: Parsed) -> Iterator[str]:
        """Files that a patch makes in a folder that is gone."""
        return (f.path for f in parsed.files if self._left(f))

    def _left(self, f: FilePatch) -> str:
        """The folder in which a patch makes a file, or the nearest around it that there was, if it is gone."""
        made = f.operation in ("create", "rename", "copy") and f.new
        for folder in PurePosixPath(made or "").parents:
            if any(self.old.under(str(folder))):
                return "" if any(self.new.under(str(folder))) else str(folder)
        return ""

    def is_unlike(self, path: str) -> bool:
        """Whether less than half of a file's lines are left."""
        if path not in self._unlike:
            was, now = self.old.get(path), self.new.get(path)
            before, after = (self.contents.of(e) if was != now else None for e in (was, now))
            lines = set(lines_of(before or b""))
            self._unlike[path] = after is not None and 2 * len(lines.intersection(lines_of(after))) < len(lines)
        return self._unlike[path]
