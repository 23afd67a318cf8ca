"""The scratch index: only the paths that the patches touch, so that asking git costs what they cost.

It answers as the whole tree's index would, because it also holds what git looks at beside a touched path:
any ancestor that is a file, a symlink or a gitlink, and one file under a directory of that name.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import Entry, IndexEntry, TreeId
from opencoti_patches.doors import fs
from opencoti_patches.doors.git import Applied, Landing, Repository, apply_check
from opencoti_patches.plan.chain import Changes
from opencoti_patches.plan.listing import Listing
from opencoti_patches.series.parse import Parsed, parse


def touched(parsed: Iterable[Parsed]) -> set[str]:
    """Every path that the patches may read or write."""
    return {p for one in parsed for f in one.files for p in (f.old, f.new) if p}


class Scratch:
    """A scratch index in ``folder``, at the state of ``changes`` on the base."""

    def __init__(
        self, repo: Repository, base: TreeId, listing: Listing, folder: Path, changes: Changes, paths: Iterable[str]
    ) -> None:
        self.repo = repo
        self.base = base
        self.listing = listing
        self.index = folder / "index"
        self._start = changes
        self._asked: set[str] = set()
        self._below: dict[str, str] = {}  # a file under an asked path that is a folder
        self._holds: dict[str, IndexEntry | None] = dict(changes)  # what the base, or the start, has there
        self._in_base: dict[str, IndexEntry | None] = {}
        self._entries: dict[str, IndexEntry] | None = {p: e for p, e in changes.items() if e}  # None: to be read
        self._unwritten = dict(self._entries or {})  # what the index lacks until git is asked
        self._add(paths)

    def _current(self, path: str) -> IndexEntry | None:
        return self._start[path] if path in self._start else self._base(path)

    def _base(self, path: str) -> IndexEntry | None:
        if path not in self._in_base:
            self._in_base[path] = self.listing.get(path)
        return self._in_base[path]

    def _add(self, paths: Iterable[str]) -> bool:
        """Bring in paths that no patch had asked for; True if the index changed."""
        fresh: dict[str, IndexEntry | None] = {}
        new_paths = set(paths) - self._asked
        self._asked |= new_paths
        for path in new_paths:
            parts = path.split("/")
            for near in (path, *("/".join(parts[:i]) for i in range(1, len(parts)))):
                if near not in self._holds and near not in fresh:
                    fresh[near] = self._current(near)
        for path in new_paths | {p for p, below in self._below.items() if below in new_paths}:
            if self._base(path):
                continue  # a file, so nothing is under it
            # one that no patch touches, so that it stays as long as the folder does in the whole tree
            below = next((p for p in self.listing.under(path) if p not in self._asked and self._current(p)), None)
            self._below.pop(path, None)
            if below is not None:
                self._below[path] = below
                if below not in self._holds:
                    fresh[below] = self._current(below)
        self._holds |= fresh
        new = {p: e for p, e in fresh.items() if e}
        self._unwritten |= new
        if self._entries is not None:
            self._entries |= new
        return bool(new)

    def _write(self) -> None:
        if self._unwritten:
            self.repo.add_to_index(self.index, self._unwritten)
            self._unwritten = {}

    def apply(
        self, entries: Sequence[Entry], index: Path | None = None, meanwhile: Callable[[], None] | None = None
    ) -> Applied:
        """git's verdict on a run of patches of one strip level and direction; all go in, or none."""
        first = entries[0]
        if index is None:
            self.copy("before")
        done = self.repo.apply_cached(
            index or self.index,
            [e.path for e in entries],
            strip=first.strip,
            reverse=first.reverse,
            meanwhile=meanwhile,
        )
        if index is None and done.ok:
            self._entries = None
        return done

    def ask(self, paths: Iterable[str]) -> None:
        """Hold these paths too."""
        self._add(paths)

    def take(
        self, rest: Sequence[Entry], meanwhile: Callable[[], None] | None = None
    ) -> tuple[Sequence[tuple[Landing, ...]], tuple[str, ...] | None]:
        """Apply as many of a run as git takes, from the first on: what it said of each. What it said of the
        first, if it takes not even that; else None. ``meanwhile`` is called while git is at it. One that git would take
        by chance is not asked about, and refused without a word."""
        first = _parsed(rest[0])
        if first.by_chance:
            return (), ()
        if first.alone:
            taken, errors = self._take(rest[:1], meanwhile)
            if errors is None and (errors := self._literally(rest[0], first)) is not None:
                taken = ()
            return taken, errors
        return self._take(list(takewhile(lambda e: not _parsed(e).alone, rest)), meanwhile)

    def _take(
        self, rest: Sequence[Entry], meanwhile: Callable[[], None] | None
    ) -> tuple[Sequence[tuple[Landing, ...]], tuple[str, ...] | None]:
        done = self.apply(rest, meanwhile=meanwhile)
        if done.ok:
            unseen = self.unforeseen()
            if not unseen:
                return done.landings, None
            self.undo()  # a patch changed a path that we had not read in it: look at what is there and about
            self._add(unseen)
            return self._take(rest, None)
        if self._add(_named_in(done.errors)):
            return self._take(rest, None)
        good = len(done.landings)
        if good == 0:
            return (), done.errors
        # Within one call git remembers every symlink that an earlier patch made, even one that is gone again:
        # a no counts only for the first patch of a call.
        return self._take(rest[:good], None)

    def _literally(self, entry: Entry, parsed: Parsed) -> tuple[str, ...] | None:
        """Where git has the new contents of a binary file in its objects, it never looks at the patch's: so let
        it try a patch that went in once more without any, on the files alone. If it says no, the patch is out
        again."""
        before, now = self.before(), self.state()
        changed = {p for p in before.keys() | now.keys() if before.get(p) != now.get(p)}
        with fs.scratch(self.index.parent, "binary-") as folder:
            self.lay_out(folder, changed | touched([parsed]), before)
            said = apply_check(folder, entry.path, strip=entry.strip, reverse=entry.reverse)
        if said.ok:
            return None
        self.undo()
        return said.errors

    def undo(self) -> None:
        """Take the last ``apply`` back."""
        before = self.index.with_name("before")
        if before.exists():
            before.replace(self.index)
        else:
            self.index.unlink(missing_ok=True)
        self._entries = None

    def before(self) -> dict[str, IndexEntry]:
        """The index before the last ``apply``."""
        return self.repo.read_index(self.index.with_name("before"))

    def lay_out(self, folder: Path, paths: Iterable[str], state: Mapping[str, IndexEntry]) -> set[str]:
        """Make files of a state in a folder, with what stands where their folders should. Returns those that
        no folder can hold: a symlink with a NUL in it."""
        wanted = {"/".join(p.split("/")[:i]) for p in paths for i in range(1, p.count("/") + 2)} & state.keys()
        contents = self.repo.blobs(state[p][1] for p in wanted if state[p][0] != "160000")
        left_out = set()
        for path in sorted(wanted):
            mode, oid = state[path]
            if mode == "160000":
                with fs.disk_errors(f"make {path}"):
                    fs.inside(folder, path).mkdir(parents=True)
                continue
            try:
                fs.put(folder, path, contents[oid], mode)
            except ValueError:
                left_out.add(path)
        return left_out

    def loosely(self, entry: Entry, index: Path) -> bool:
        """Whether git takes a patch on a copy with less context and white space ignored: a guess that
        helps to tell a cascade, never a verdict."""
        return self.repo.apply_loosely(index, entry.path, strip=entry.strip, reverse=entry.reverse)

    def state(self) -> dict[str, IndexEntry]:
        """The index now."""
        if self._entries is None:
            self._write()
            self._entries = self.repo.read_index(self.index)
        return self._entries

    def held(self, path: str) -> IndexEntry | None:
        """What stands at a path now, be it one that was asked for or not."""
        return self.state().get(path) if path in self._holds else self._base(path)

    def unforeseen(self) -> set[str]:
        """Paths that nobody asked for and that changed: a patch did it unseen by our reading of it."""
        now = self.state()
        beside = self._holds.keys() - self._asked
        return (now.keys() - self._holds.keys()) | {p for p in beside if now.get(p) != self._holds[p]}

    def changes(self) -> Changes:
        """What differs from the base tree now."""
        now = self.state()
        found: Changes = {}
        for path in now.keys() | self._holds.keys():
            entry = now.get(path)
            if entry != self._base(path):
                found[path] = entry
        return found

    def copy(self, name: str) -> Path:
        """A copy of the index to try something on."""
        self._write()
        target = self.index.with_name(name)
        try:
            shutil.copyfile(self.index, target)
        except FileNotFoundError:  # git writes no file for an index without entries
            target.unlink(missing_ok=True)
        except OSError as e:
            raise CouldNot("disk", f"cannot write {target}: {e.strerror}", fs.hint_of(e)) from None
        return target


def _parsed(entry: Entry) -> Parsed:
    return parse(entry.raw, entry.strip, entry.reverse)


def _named_in(errors: Sequence[str]) -> list[str]:
    """Paths that git says are not in the index, or are in its way."""
    ends = (": does not exist in index", ": already exists in index", ": No such file or directory")
    return [e.removesuffix(end) for e in errors for end in ends if e.endswith(end)]
