"""One refused patch carried over: its changes brought from the tree it was made on to the new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from opencoti_patches.carry import doubtful, heads, home, threeway, whole
from opencoti_patches.carry.align import Alignment, Region
from opencoti_patches.carry.follow import Follower
from opencoti_patches.carry.gone import gone_names, still_used
from opencoti_patches.carry.layout import hunks
from opencoti_patches.carry.model import HunkHow
from opencoti_patches.carry.place import Brought
from opencoti_patches.carry.tally import Both, Sides, Tally
from opencoti_patches.carry.whole import UNMARKED, is_binary
from opencoti_patches.core.model import Entry, FilePatch, Hunk, printable
from opencoti_patches.plan.places import has_functions
from opencoti_patches.plan.replay import Lines, lines_of, put
from opencoti_patches.series.parse import Parsed


class Conflict(Exception):
    """A change finds no place; the message says which and why."""

    def __init__(self, message: str, hows: Sequence[HunkHow] = (), stuck: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.hows = tuple(hows)
        self.stuck = tuple(stuck)  # each change without a place, in a sentence


class Over(NamedTuple):
    """A carried patch: its new bytes, how each hunk went, what somebody has to look at, what upstream has
    already."""

    raw: bytes
    hows: tuple[HunkHow, ...]
    doubts: tuple[str, ...]
    done: tuple[str, ...]
    left: int  # files with something left to do
    renamed: Mapping[str, str]  # what upstream calls files that the patch touches by now


def carry(entry: Entry, parsed: Parsed, sides: Sides) -> Over:
    """Carry a patch over. ``parsed`` has its hunks at their exact places in the old tree.

    Errors: Conflict, with what was found out about the other hunks.
    """
    return _Carry(entry, parsed, sides).run()


class _Carry(Tally):
    def __init__(self, entry: Entry, parsed: Parsed, sides: Sides) -> None:
        super().__init__(entry, parsed, sides)
        self.texts: list[tuple[bytes, bytes]] = []  # the touched files, before and now
        self.renamed: dict[str, str] = {}  # what upstream calls files by now
        self.away: dict[str, tuple[FilePatch, list[Brought]]] = {}  # changes that go to another file, by its path
        self.placed: dict[str, list[list[Brought]]] = {}  # by path, the changes that each part makes to the file

    def run(self) -> Over:
        raw, parts, at = self.entry.raw, [self.parsed.header], len(self.parsed.header)
        left = 0
        for f in self.parsed.files:
            lead_in, at = raw[at : f.span[0]], f.span[1]
            part = self._file(f)
            if part and f.operation == "modify" and f.path in self.renamed:
                lead_in = heads.renamed(lead_in, f.path, self.renamed[f.path])
            if part:
                parts += [lead_in, part]
                left += 1
        for path, (f, brought) in self.away.items():
            parts.append(self._part_away(f, path, brought))
            left += 1
        if self.stuck:
            hunks_ = f"{len(self.stuck)} of its changes find no place: " if len(self.stuck) > 1 else ""
            raise Conflict(hunks_ + self.stuck[0] + (", …" if len(self.stuck) > 1 else ""), self.hows, self.stuck)
        if gone := gone_names(self.parsed, self.texts):
            self.doubts.append(gone)
        return Over(
            raw=b"".join(parts) + self.parsed.trailer,
            hows=tuple(self.hows),
            doubts=tuple(dict.fromkeys(self.doubts)),
            done=tuple(self.done),
            left=left if self.live or not self.done else 0,
            renamed=self.renamed,
        )

    def _file(self, f: FilePatch) -> bytes:
        """The file's part of the new patch; empty if nothing is left to do."""
        path = printable(f.path)
        if f.binary:
            return whole.binary(f, self)
        if whole.is_special(f, self):
            return whole.special(f, self)
        if self._is_renamed_there(f):
            return self._renamed_there(f)
        if f.operation != "modify" and f.new and not self.is_free(f, f.new):
            return b""
        if f.operation == "create":
            return whole.created(f, self)
        old_path = f.old or ""
        moves = f.operation in ("rename", "copy")  # to git, from what the file was before the patch
        old, now = (self.sides.old(old_path), self.sides.now(old_path)) if moves else self.both(old_path)
        elsewhere = old_path not in self.made and self.sides.displaced(old_path) is not None
        if f.operation == "delete" or (f.operation == "rename" and old_path not in self.made):
            self.made[old_path] = Both(None, None)
        if now is None and f.operation == "delete" and not self.sides.renamed(old_path):
            self.whole_is_done(path, "deleted")
            return b""
        if old is None:
            self.stuck.append(f"{path}: its contents on the old base are not known")
            return b""
        if now is None or elsewhere:
            return self._renamed(f, old, path)
        if f.hunks and is_binary(now) and not is_binary(b"".join(old)):
            self.stuck.append(f"{path} is binary now{UNMARKED}")
            return b""
        return self._changed(f, old, now, path)

    def _renamed(self, f: FilePatch, old: Lines, path: str) -> bytes:
        new_path = home.renamed_to(f, self.sides)
        now = self.both(new_path).now if new_path else None
        if now is not None and any(new_path in (g.old, g.new) for g in self.parsed.files):
            self.stuck.append(f"{path}: upstream renamed it to {printable(new_path or '')}, and put that elsewhere")
            return b""
        if new_path is None:
            return self._gone(f, old, path)
        if now is None:
            self.stuck.append(f"{path}: upstream renamed it to {printable(new_path)}, which a patch before took away")
            return b""
        if f.operation != "modify":
            self.is_renamed_away(f.old or "")
            return b""
        if not self._only_there(f, new_path):
            self.doubts.append(f"{path} is {printable(new_path)} now")
        return self._at(new_path, f, old, f"renamed by upstream, was {path}")

    def _gone(self, f: FilePatch, old: Lines, path: str) -> bytes:
        """A file that upstream took away, or whose lines it put into others."""
        self.made[f.old or ""] = Both(None, None)
        edits = f.operation == "modify"
        plain = edits and f.old_mode == f.new_mode
        if plain and self._all_away(f, old, path, threeway.Elsewhere(function=self._function_in)):
            return b""
        (to,) = home.gained_by([[x for h in f.hunks for x in h.old]], self.sides)
        known = self._other(to)
        if edits and known and self._fits(known[0], f, old):
            self.doubts.append(
                f"{path} is gone, and a line that its hunks stand on came to {printable(known[0])} alone"
            )
            return self._at(known[0], f, old, f"upstream has its lines here now, was {path}")
        if plain and self._all_away(f, old, path, self._elsewhere(f)):
            return b""
        if len(self.parsed.files) > 1 and edits:
            self.doubts.append(f"upstream deleted {path}; the change to it is dropped")
        else:
            lines = f"; lines that it changes are in {printable(to)} now" if to else ""
            self.stuck.append(f"{path}: upstream has no such file any more{lines}")
        return b""

    def _fits(self, new_path: str, f: FilePatch, old: Lines) -> bool:
        """Whether all changes of a part have a place in another file."""
        follower = self.sides.follower(old, self.sides.now(new_path) or b"")
        return not threeway.bring(f, follower.a, follower, threeway.NOWHERE).stuck

    def _at(self, new_path: str, f: FilePatch, old: Lines, how: str) -> bytes:
        """The part as one that changes another file, to which upstream brought what it changes."""
        self.renamed[f.path] = new_path
        self.hows.append(HunkHow(file=printable(new_path), hunk=0, how=how))
        now = self.both(new_path).now or b""
        text = self._changed(f._replace(old=new_path, new=new_path), old, now, printable(new_path))
        self.made[f.old or ""] = Both(self.made[new_path].old, None)
        return heads.renamed(text, f.old or "", new_path)

    def _is_renamed_there(self, f: FilePatch) -> bool:
        """Whether upstream renamed a file just as the patch does."""
        untouched = f.old not in self.made and f.new not in self.made
        goes = f.operation == "rename" and untouched and f.old not in self.sides.state
        return goes and self.sides.renamed(f.old or "") == f.new and self.sides.now(f.new or "") is not None

    def _renamed_there(self, f: FilePatch) -> bytes:
        """What is left of such a part: its changes to the file, which has its new name."""
        path, held = f.new or "", self.held(f.new)
        old, now = self.sides.old(f.old or ""), self.sides.now(path)
        self.made[f.old or ""] = Both(None, None)
        self.whole_is_done(printable(f.old or ""), "renamed")
        if held and held[0] == f.new_mode:
            f = f._replace(old_mode=held[0])
        if not f.hunks and f.old_mode == f.new_mode:
            return b""
        if old is None or now is None or (f.hunks and is_binary(now) and not is_binary(b"".join(old))):
            self.stuck.append(f"{printable(path)}: it is no file any more that the change can be made to")
            return b""
        text = self._changed(f._replace(operation="modify", old=path), old, now, printable(path))
        return heads.in_place(f, text, self.entry.strip) if text else b""

    def _only_there(self, f: FilePatch, path: str) -> bool:
        """Whether the longest line that the hunks stand on and that is there came to this file alone: it is the renamed
        one, then, and not one of several that have a part of it or a copy."""
        here = set(lines_of(self.sides.now(path) or b""))
        told = max((x for h in f.hunks for x in h.old if x in here), key=len, default=b"")
        return len(told.strip()) >= home.TELLING and list(self.sides.holding([told])[told]) == [path]

    def _changed(self, f: FilePatch, old: Lines, now: bytes, path: str) -> bytes:
        before = b"".join(old)
        patched = list(old)
        was = patched if all(put(patched, h, 0) for h in f.hunks) else None
        if before == now and f.operation == "modify" and all(map(self._stands, f.hunks)):
            self.texts.append((now, now))
            self._note(f, [Brought(c.hunk, c.lo, c.hi, c.added, "") for c in threeway.changes_of(f)])
            self.made[f.new or ""] = Both(was, None if was is None else b"".join(was))
            self.live += 1
            return self.entry.raw[f.span[0] : f.span[1]]
        follower = self.sides.follower(old, now)
        alignment = follower.a
        new = alignment.new
        self.live += f.operation in ("rename", "copy", "delete") or bool(f.new_mode and f.old_mode != f.new_mode)
        self.texts.append((before, now))
        if back := still_used(f, before, now):
            self.doubts.append(f"{path}: {back}")
        result = threeway.bring(
            f, alignment, follower, self._elsewhere(f), lambda: self.sides.by_another_diff(old, now)
        )
        self._note(f, result.brought)
        self._goes_away(f, result.away, path)
        for stuck in result.stuck:
            self.stuck.append(f"{path}, hunk {stuck.change.hunk}: {stuck.why}")
            self.hows.append(HunkHow(file=path, hunk=stuck.change.hunk, how=f"conflict: {stuck.why}"))
        self.live += sum(not b.done and not b.counter for b in result.brought)
        for b in result.brought:
            self.hows.append(HunkHow(file=path, hunk=b.hunk, how=b.how, done=b.done, line=b.lo + 1 if b.done else 0))
            if b.done:
                self.done.append(f"{path}, hunk {b.hunk}: {b.how}")
        self.doubts += [f"{path}, hunk {n}: {why}" for n, why in doubtful.doubts(f, alignment, result.brought)]
        body = hunks(new, result.brought)
        after = b"".join(threeway.applied(new, result.brought))
        if f.new:
            self.made[f.new] = Both(was, after)
        if f.operation == "delete" and after:
            self.stuck.append(f"{path}: upstream added lines to the file that it deletes")
            return b""
        head = self.entry.raw[f.span[0] : f.hunks[0].span[0]] if f.hunks else self.entry.raw[f.span[0] : f.span[1]]
        if not body and f.hunks and f.operation == "modify" and f.old_mode == f.new_mode:
            return b""
        return heads.indexed(head, now, after, gone=f.operation == "delete") + body

    def _note(self, f: FilePatch, brought: Sequence[Brought]) -> None:
        self.placed.setdefault(f.new or "", []).append([b for b in brought if not b.done])

    def _goes_away(self, f: FilePatch, away: Sequence[tuple[str, Brought]], path: str) -> None:
        for other, b in away:
            if other not in self.away:
                self.away[other] = f, []
                self.texts.append((b"", self.sides.now(other) or b""))
            if any((b.lo, b.hi, b.added) == (x.lo, x.hi, x.added) for x in self.away[other][1]):
                continue  # of two files, each with a copy of the function, that are one now
            if any(threeway.meet(b, x) for x in self.away[other][1]):
                self.stuck.append(f"{path}, hunk {b.hunk}: two of its changes meet in one place, in {printable(other)}")
            self.away[other][1].append(b)
            self.hows.append(HunkHow(file=path, hunk=b.hunk, how=b.how))
            self.doubts.append(f"{path}, hunk {b.hunk}: {b.how}")
            self.live += not b.done

    def _all_away(self, f: FilePatch, old: Lines, path: str, elsewhere: threeway.Elsewhere) -> bool:
        """Whether all changes of a file that upstream deleted have a place in other files."""
        nothing = Alignment(old, [], [Region(0, len(old), 0, 0)])
        result = threeway.bring(f, nothing, Follower(nothing), elsewhere)
        if result.stuck or result.brought:
            return False
        self._goes_away(f, result.away, path)
        return True

    def _elsewhere(self, f: FilePatch) -> threeway.Elsewhere:
        return threeway.Elsewhere(self._function_in, partial(self._lines_in, f.path))

    def _function_in(self, heading: bytes) -> tuple[str, Lines] | None:
        """The one other file that has a function by now which it had not, and its lines; none that the patch touches."""
        paths = [p for p in self.sides.holding([heading])[heading] if has_functions(p)]
        return self._other(paths[0]) if len(paths) == 1 else None

    def _lines_in(self, here: str, groups: Sequence[threeway.Lines]) -> list[threeway.Other | None]:
        """By each group of lines, the one file other than ``here`` that got them."""
        return [self._other(path) if path != here else None for path in home.gained_by(groups, self.sides)]

    def _other(self, path: str | None) -> tuple[str, Lines] | None:
        """A file and its lines; None if it is none, or the patch touches it."""
        if not home.is_other(path, self.parsed, self.sides):
            return None
        return path, lines_of(self.sides.now(path) or b"")

    def _part_away(self, f: FilePatch, path: str, brought: Sequence[Brought]) -> bytes:
        """The part of the new patch for a file that the old one did not touch, headed like that of ``f``."""
        now = self.both(path).now or b""  # with what came to it from a file that upstream renamed
        lines = lines_of(now)
        for earlier in self.placed.get(path, ()):
            there = [threeway.behind(b, earlier) for b in brought]
            meet = [b.hunk for b, one in zip(brought, there, strict=True) if one is None]
            self.stuck += [
                f"{printable(f.path)}, hunk {n}: meets another of its changes in {printable(path)}" for n in meet
            ]
            brought = [one for one in there if one]
        head = heads.of_another(f, self.entry.raw[f.span[0] : f.hunks[0].span[0]], path)
        return heads.indexed(head, now, b"".join(threeway.applied(lines, brought))) + hunks(lines, brought)

    def _stands(self, hunk: Hunk) -> bool:
        """Whether a hunk stood at the very line that the patch names."""
        begin = hunk.span[0]
        return self.entry.raw[begin : begin + 30].startswith((b"@@ -%d," % hunk.old_start, b"@@ -%d " % hunk.old_start))
