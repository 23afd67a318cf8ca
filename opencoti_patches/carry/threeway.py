"""A patch's changes brought from an old file to a new one, each where upstream's own diff says that its
surroundings are now.

A change is a run of removed and added lines. Its place is certain where the lines it touches, or the two
between which it inserts, stand side by side in the new file. Where upstream edited, re-indented or moved
them, the change may follow, and then it is a doubt: somebody has to look.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from opencoti_patches.carry import lists
from opencoti_patches.carry.align import Alignment, Region, bare
from opencoti_patches.carry.follow import Follower, counted
from opencoti_patches.core.model import FilePatch, Hunk, printable
from opencoti_patches.plan.places import function_at, functions_with, has_functions, squeezed

_MANY = 50  # changes for which one look at all of upstream's edits before any of them costs less than it saves
_SAYS = 6  # bytes of a line that says something, more than these


class Change(NamedTuple):
    """A run of changed lines of a patch: old lines ``lo:hi`` (from 0) give way to ``added``."""

    hunk: int
    lo: int
    hi: int
    added: tuple[bytes, ...]


class Brought(NamedTuple):
    """A change in the new file: lines ``lo:hi`` give way to ``added``. ``sure`` if nobody needs to look;
    ``how`` in one line; ``done`` if the new file has it already, in these lines."""

    hunk: int
    lo: int
    hi: int
    added: tuple[bytes, ...]
    how: str
    sure: bool = True
    done: bool = False
    counter: bool = False  # a number that both sides stepped: says nothing of whether the rest is there
    was: int = 0  # the old line at which it stood, from 0
    moved: bool = False  # along with its function, past other changes
    more: tuple[Brought, ...] = ()  # the rest of it, where it goes to several places


class Stuck(NamedTuple):
    """A change without a place, and why."""

    change: Change
    why: str


class Result(NamedTuple):
    """All changes of one file: what was brought, what is stuck, what went to another file."""

    brought: list[Brought]
    stuck: list[Stuck]
    away: list[tuple[str, Brought]]


def changes_of(f: FilePatch) -> list[Change]:
    """The changes of a file's hunks, in the numbering of the exact pre-image."""
    found = []
    for h in f.hunks:
        at = max(h.old_start - 1, 0) if h.old_count else h.old_start
        begin = at
        added: list[bytes] = []
        removed = 0
        for line in (*h.lines, b" "):
            kind = line[:1]
            if kind == b" ":
                if removed or added:
                    found.append(Change(hunk=h.number, lo=begin, hi=begin + removed, added=tuple(added)))
                at = begin + removed + 1
                begin, removed, added = at, 0, []
            elif kind == b"-":
                removed += 1
            else:
                added.append(line[1:])
    return found


Elsewhere = Callable[[bytes], "tuple[str, Sequence[bytes]] | None"]
"""By a function's heading, the other file that has it by now, and its lines."""


def bring(f: FilePatch, alignment: Alignment, follower: Follower, elsewhere: Elsewhere) -> Result:
    """Bring all changes of one file over."""
    result = Result([], [], [])
    rewritten = {h.number for h in f.hunks if _rewritten(h, alignment)}
    changes = changes_of(f)
    if len(changes) > _MANY:
        follower.expect(b"".join(line for c in changes for line in c.added))
    for change in changes:
        one = _Place(change, alignment, follower).find()
        if (isinstance(one, Stuck) or not one.sure) and (heading := _gone(change, alignment, f.path)):
            one = _moved(change, alignment, alignment.new, "") or one
            other = elsewhere(heading) if isinstance(one, Stuck) or not one.moved else None
            if other and (away := _moved(change, alignment, other[1], other[0])):
                result.away.append((other[0], away))
                continue
        if isinstance(one, Stuck):
            result.stuck.append(one)
        elif one.sure and one.hunk in rewritten:
            around = f"{one.how}; upstream rewrote what is around it"
            result.brought.extend(x._replace(more=(), sure=False, how=around) for x in (one, *one.more))
        else:
            result.brought.extend([one._replace(more=()), *one.more])
    spans = sorted((b.lo, b.hi, i) for i, b in enumerate(result.brought) if not b.done)
    for (_, hi, i), (lo, _, j) in pairwise(spans):
        if lo < hi or (j < i and not (result.brought[i].moved or result.brought[j].moved)):
            clash = result.brought[j]
            result.stuck.append(
                Stuck(
                    change=Change(hunk=clash.hunk, lo=0, hi=0, added=clash.added),
                    why="two of its changes meet in one place",
                )
            )
    return result


def _gone(change: Change, a: Alignment, path: str) -> bytes:
    """The heading of the function that a change is inside of, if upstream took that from its place; else empty."""
    was = function_at(a.old, change.lo) if has_functions(path) else None
    inside = was is not None and change.hi <= was[1] and a.now(was[0]) is None
    return a.old[was[0]] if was and inside and len(functions_with(a.old, a.old[was[0]])) == 1 else b""


def _moved(change: Change, a: Alignment, lines: Sequence[bytes], path: str) -> Brought | None:
    """A change inside a function that stands among other ``lines`` now, those of ``path`` or of the same file: its place
    in there."""
    begin, end = function_at(a.old, change.lo) or (0, 0)
    there = functions_with(lines, a.old[begin])
    if len(there) != 1:
        return None
    at, old, new = there[0][0], a.old[begin:end], lines[slice(*there[0])]
    before, now = list(map(squeezed, old)), list(map(squeezed, new))
    blocks = difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    inside = Alignment(old, new, [Region(*block[1:]) for block in blocks if block[0] != "equal"])
    here = change._replace(lo=change.lo - begin, hi=change.hi - begin)
    found = _Place(here, inside, Follower(inside)).find()
    if isinstance(found, Stuck) or found.more:
        return None
    name = printable(old[0].decode("utf-8", "replace").strip())
    how = f"upstream moved '{name}'{f' to {printable(path)}' if path else ''}; {found.how}"
    return found._replace(lo=found.lo + at, hi=found.hi + at, was=change.lo, how=how, sure=False, moved=True)


def has(change: Change, alignment: Alignment) -> Brought | None:
    """Where the new file has a change already; None if it has not."""
    return _Place(change, alignment, Follower(alignment)).done()


def _rewritten(hunk: Hunk, a: Alignment) -> bool:
    """Whether upstream took lines out of a hunk's surroundings, edited others and put new ones in: then
    more may have changed than the place."""
    at = max(hunk.old_start - 1, 0)
    lines = range(at, min(at + len(hunk.old), len(a.old)))
    now = [n for i in lines if (n := a.now(i)) is not None]
    edited = any(a.exact[i] is None and a.now(i) is not None for i in lines)
    return len(now) < len(lines) and edited and bool(now) and now[-1] - now[0] + 1 > len(now)


def applied(new: Sequence[bytes], brought: Sequence[Brought]) -> list[bytes]:
    """The new file with the changes in it."""
    lines: list[bytes] = []
    at = 0
    for b in sorted((b for b in brought if not b.done), key=lambda b: (b.lo, b.hi)):
        lines += [*new[at : b.lo], *b.added]
        at = b.hi
    return [*lines, *new[at:]]


def _grouped(places: Sequence[int]) -> list[tuple[int, list[int]]]:
    """The numbers of those with one place, by place."""
    return [(place, list(numbers)) for place, numbers in groupby(range(len(places)), key=places.__getitem__)]


def _first_word(line: bytes) -> bytes:
    """The indentation and first word of a line; empty for a blank one."""
    return line[: len(line) - len(line.lstrip())] + line.split()[0] if line.strip() else b""


class _Place:
    def __init__(self, change: Change, alignment: Alignment, follower: Follower) -> None:
        self.c = change
        self.a = alignment
        self.follow = follower

    def find(self) -> Brought | Stuck:
        found = self._replaced() if self.c.hi > self.c.lo else self._inserted()
        end = self.a.new[-1:]
        if (
            isinstance(found, Brought)
            and any(x.added and x.lo == len(self.a.new) for x in (found, *found.more))
            and end
            and not end[0].endswith(b"\n")
        ):
            return Stuck(change=self.c, why="the file has lost the newline at its end, where it adds lines")
        if isinstance(found, Brought) and found.sure and not found.done and self._blank():
            return found._replace(sure=False, how=f"{found.how}; it changes blank lines")
        return found

    def _blank(self) -> bool:
        """Whether the change takes blank lines out, or is of blank lines only: where a patch drifted, such
        are often left-overs of an edit."""
        removed = self.a.old[self.c.lo : self.c.hi]
        return not any(x.strip() for x in (removed or self.c.added))

    def _brought(
        self, lo: int, hi: int, how: str, sure: bool, added: Sequence[bytes] | None = None, near: int | None = None
    ) -> Brought:
        """``added`` in place of the change's own lines, with upstream's edits and the indentation of old line ``near`` in
        them."""
        near = self.c.lo if added is None else near
        lines, follows = self.follow.lines(self.c.added if added is None else added, near)
        return Brought(
            hunk=self.c.hunk,
            lo=lo,
            hi=hi,
            added=tuple(lines),
            how="; ".join([how, *follows]),
            sure=sure and not follows,
            was=self.c.lo,
        )

    def _replaced(self) -> Brought | Stuck:
        c, a = self.c, self.a
        where = [a.exact[i] for i in range(c.lo, c.hi)]
        if None not in where:
            lo, hi = where[0] or 0, (where[-1] or 0) + 1
            if hi - lo == c.hi - c.lo and not c.added and self._wrapped(lo, hi):
                return self._brought(lo, hi, "its lines are unchanged; upstream put others before and behind", False)
            if hi - lo == c.hi - c.lo:
                return self._brought(lo, hi, "three-way: its lines are unchanged", True)
            return Stuck(change=c, why="upstream put lines between those it removes")
        if (counted := self._counted()) is not None:
            return counted
        if (done := self.done()) is not None:
            return done
        now = [a.now(i) for i in range(c.lo, c.hi)]
        known = [n for n in now if n is not None]
        if len(known) == len(now):
            lo, hi = known[0], known[-1] + 1
            if hi - lo == c.hi - c.lo:
                return self._edited(lo, hi, known)
        left = [n for n in where if n is not None]
        gone = [a.old[c.lo + i] for i, n in enumerate(now) if n is None]
        if left == known and left and known[-1] + 1 - known[0] == len(left) and not any(map(bare, gone)):
            how = "its lines are unchanged but for blank ones, which upstream removed, too"
            return self._brought(known[0], known[-1] + 1, how, False)
        return Stuck(change=c, why="upstream changed the lines it removes")

    def _wrapped(self, lo: int, hi: int) -> bool:
        """Whether upstream put lines right before and right behind these of the new file."""
        c, a = self.c, self.a
        before = a.now(c.lo - 1) if c.lo else -1
        after = a.now(c.hi) if c.hi < len(a.old) else len(a.new)
        return before != lo - 1 and after != hi

    def _counted(self) -> Brought | None:
        """Both sides count the same number up or down on one line: the steps add up."""
        c, a = self.c, self.a
        if c.hi - c.lo != 1 or len(c.added) != 1 or (at := a.now(c.lo)) is None:
            return None
        line = counted(a.old[c.lo], a.new[at], c.added[0])
        if line is None:
            return None
        found = self._brought(at, at + 1, "both count the same number; the steps add up", False, [line])
        return found._replace(counter=True)

    def _edited(self, lo: int, hi: int, now: Sequence[int]) -> Brought | Stuck:
        """Upstream edited the removed lines: what takes their place gets the same edits."""
        c, a = self.c, self.a
        old, new = [a.old[i] for i in range(c.lo, c.hi)], [a.new[j] for j in now]
        if all(bare(o) == bare(n) for o, n in zip(old, new, strict=True)):
            whole = len(old) != len(c.added) and self.follow.indent(c.lo)  # then all lines follow what is around
            respaced = None if whole else self.follow.respaced(old, new, c.added)
            follows = respaced is not None and tuple(respaced) != c.added
            how = f"removed lines changed in white space only{'; follows that' * follows}"
            return self._brought(lo, hi, how, not c.added, respaced if follows else None)
        if not c.added:
            return self._brought(lo, hi, "removes what upstream made of the lines it removed", False)
        merged = self.follow.merged(old, new, c.added)
        if merged is None:
            return Stuck(change=c, why="upstream edited the very words that it changes")
        return self._brought(lo, hi, "upstream edited the lines it changes; its change follows", False, merged)

    def _inserted(self) -> Brought | Stuck:
        c, a = self.c, self.a
        before = a.exact[c.lo - 1] if c.lo else -1
        after = a.exact[c.lo]
        if before is not None and after is not None and after == before + 1:
            return self._brought(after, after, "three-way: between unchanged lines", True)
        if (done := self.done()) is not None:
            return done
        soft_before = a.now(c.lo - 1) if c.lo else -1
        soft_after = a.now(c.lo) if c.lo < len(a.old) else a.exact[c.lo]
        if soft_before is not None and soft_after is not None:
            if soft_after == soft_before + 1:
                return self._brought(soft_after, soft_after, "between lines that upstream edited", True)
            if soft_after > soft_before:
                return self._among(soft_before + 1, soft_after, before is not None, after is not None)
        return self._beside(soft_before, soft_after)

    def _among(self, lo: int, hi: int, before: bool, after: bool) -> Brought:
        """Upstream put lines at the very same place. Ours stay with the neighbour that alone is unchanged, or go
        where a sorted list wants them; else behind upstream's, as a patch does, and somebody has to look."""
        if before != after:
            at, which = (lo, "before") if before else (hi, "after")
            return self._brought(at, at, f"upstream edits beside it; stays with the unchanged line {which}", True)
        ours, theirs = self.c.added, self.a.new[lo:hi]
        old, at = self.a.old, self.c.lo
        if (found := lists.order(old[max(at - 2, 0) : at], theirs, old[at : at + 2], ours)) is not None:
            how = "upstream inserts at the same place; the order of the list decides"
            rows = [
                self._brought(lo + place, lo + place, how, found.sure, [ours[i] for i in group], near=at)
                for place, group in _grouped(found.places)
            ]
            return rows[0]._replace(more=tuple(rows[1:]))
        if at and lists.is_kin(ours[0], old[at - 1], [*theirs, *old[at : at + 1]]):
            how = "upstream inserts at the same place; put behind the line that begins as it does"
            return self._brought(lo, lo, how, False)
        if self._ends_what_is_before(theirs[0]):
            return self._brought(lo, lo, "upstream inserts an item at the same place; put before that", False)
        end = lo + lists.ends(old[at - 1 : at] if at else (), theirs, old[at : at + 1], ours)
        return self._brought(end, end, "upstream inserts at the same place; put behind its lines", False)

    def _ends_what_is_before(self, theirs: bytes) -> bool:
        """Whether upstream's first line begins as the line after both does, and none of ours does: what it inserts is an
        item like the next, and ours belongs to the one before."""
        after = self.a.old[self.c.lo : self.c.lo + 1]
        begins = [_first_word(x) for x in (*after, theirs, *self.c.added)]
        return len(begins) > 1 and bool(begins[0]) and begins[0] == begins[1] and begins[0] not in begins[2:]

    def _beside(self, before: int | None, after: int | None) -> Brought | Stuck:
        """Only one neighbour is left."""
        if before is not None:
            return self._brought(
                before + 1,
                before + 1,
                "the line after it is gone; put behind the one before",
                self._telling(self.c.lo - 1) and not self._elsewhere(self.c.lo),
            )
        if after is not None:
            return self._brought(
                after,
                after,
                "the line before it is gone; put before the one after",
                self._telling(self.c.lo) and not self._elsewhere(self.c.lo - 1),
            )
        return Stuck(change=self.c, why="both lines beside it are gone")

    def _elsewhere(self, line: int) -> bool:
        """Whether an old line that seems gone stands in another place now: then its order mattered."""
        text = squeezed(self.a.old[line]) if 0 <= line < len(self.a.old) else b""
        return bool(text) and any(squeezed(x) == text for x in self.a.new)

    def _telling(self, line: int) -> bool:
        """Whether an old line stands once only and says something."""
        text = squeezed(self.a.old[line]) if 0 <= line < len(self.a.old) else b""
        return len(text) > _SAYS and sum(squeezed(x) == text for x in self.a.new) == 1

    def _moved_away(self) -> bool:
        """Whether lines that the change removes stand, or are a part of one, where upstream put some: it did not remove
        them, then."""
        removed = [x for line in self.a.old[self.c.lo : self.c.hi] if len(x := bare(line)) > _SAYS]
        put = b"\n".join(bare(self.a.new[j]) for j in self.a.fresh) if removed and not self.c.added else b""
        return any(x in put for x in removed)

    def done(self) -> Brought | None:
        """Upstream has the change: between what stood beside it, both still there, stand its added lines
        to the byte and nothing else."""
        c, a = self.c, self.a
        before = a.now(c.lo - 1) if c.lo else -1
        after = a.now(c.hi) if c.hi < len(a.old) else len(a.new)
        if before is None or after is None or tuple(a.new[before + 1 : after]) != c.added or self._moved_away():
            return None
        what = "upstream has it already" if c.added else "upstream removed it, too"
        return Brought(hunk=c.hunk, lo=before + 1, hi=after, added=(), how=what, done=True)
