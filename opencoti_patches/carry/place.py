"""The place of one change in the new file.

It is certain where the lines that a change touches, or the two between which it inserts, stand side by side in the new
file. Where upstream edited, re-indented or moved them, the change may follow, and then it is a doubt: somebody has to look.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opencoti_patches.carry import lists, removal
from opencoti_patches.carry.align import Alignment, bare
from opencoti_patches.carry.follow import Follower, counted, depth, shift, tells_depth
from opencoti_patches.plan.places import enclosing, squeezed

_NEAR = 10  # lines from a place that count as beside it
_WAY = 4  # lines from an insertion up to which one that stayed is looked for
_SAYS = 6  # bytes of a line that says something, more than these
_GOES_ON = "upstream put others into the block that they are"
_CONTINUES = re.compile(rb"\s*(?:(?:else|elif|except|finally|catch)\b|[})\]]|#\s*(?:else|elif|endif)\b)")


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


class Place:
    """Where a change goes, by what upstream made of the lines that it touches."""

    def __init__(self, change: Change, alignment: Alignment, follower: Follower) -> None:
        self.c = change
        self.a = alignment
        self.follow = follower

    def find(self) -> Brought | Stuck:
        """The change in the new file, or why it has no place there."""
        found = self._replaced() if self.c.hi > self.c.lo else self._inserted()
        if not self.c.added and not (isinstance(found, Brought) and found.sure):
            others = [Place(c, self.a, self.follow)._replaced() for c in self._slid()]
            sure = [x for x in others if isinstance(x, Brought) and x.sure]
            if sure and all(x.done for x in sure):  # else there are several alike, of which upstream removed one
                found = sure[0]
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

    def _slid(self) -> Iterator[Change]:
        """The same deletion further down or up: a diff may begin it at any of several lines, where those before it are as its
        last ones."""
        c, old = self.c, self.a.old
        down = itertools.takewhile(lambda k: old[c.lo + k - 1] == old[c.hi + k - 1], range(1, len(old) - c.hi + 1))
        up = itertools.takewhile(lambda k: old[c.lo - k] == old[c.hi - k], range(1, c.lo + 1))
        yield from (c._replace(lo=c.lo + k, hi=c.hi + k) for k in (*down, *(-k for k in up)))

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
        lines, follows = self.follow.lines(self.c.added if added is None else added, near, self.c.lo == self.c.hi)
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
            return self._unchanged(where[0] or 0, (where[-1] or 0) + 1)
        if (counted := self._counted()) is not None:
            return counted
        if (done := self.done()) is not None:
            return done
        now = [a.now(i) for i in range(c.lo, c.hi)]
        known = [n for n in now if n is not None]
        if len(known) == len(now) and known[-1] + 1 - known[0] == c.hi - c.lo:
            return self._edited(known[0], known[-1] + 1, known)
        if known == [n for n in where if n is not None] and known and known[-1] + 1 - known[0] == len(known):
            if not any(bare(a.old[c.lo + i]) for i, n in enumerate(now) if n is None):
                how = "its lines are unchanged but for blank ones, which upstream removed, too"
                return self._brought(known[0], known[-1] + 1, how, False)
            if not c.added and not self._went_elsewhere(now):
                how = "upstream removed some of its lines, too; removes the others"
                return self._brought(known[0], known[-1] + 1, how, False)
        if not (known or c.added) and (at := removal.gap(a, c.lo, c.hi)) is not None:
            return Brought(hunk=c.hunk, lo=at, hi=at, added=(), how="upstream removed it, too", done=True)
        if (at := removal.whole(a, c.lo, c.hi)) is not None:
            how = f"upstream moved the lines that it {'changes' if c.added else 'removes'}"
            return self._brought(at, at + c.hi - c.lo, how, False, c.added)._replace(moved=True)
        return Stuck(change=c, why="upstream changed the lines it removes")

    def _unchanged(self, lo: int, hi: int) -> Brought | Stuck:
        """All lines that it removes are as they were, the first and last of them at these of the new file."""
        c = self.c
        if hi - lo != c.hi - c.lo:
            return Stuck(change=c, why="upstream put lines between those it removes")
        if not c.added and self._wrapped(lo, hi):
            return self._brought(lo, hi, "its lines are unchanged; upstream put others before and behind", False)
        if not c.added and self._goes_on(lo, hi):
            return self._brought(lo, hi, f"its lines are unchanged; {_GOES_ON}", False)
        return self._brought(lo, hi, "three-way: its lines are unchanged", True)

    def _goes_on(self, lo: int, hi: int) -> bool:
        """Whether upstream put a line right behind these of the new file that is of the block that they begin."""
        c, a = self.c, self.a
        depths = [depth(x) for x in a.new[lo:hi] if tells_depth(x)]
        fresh = a.new[hi : hi + 1] if c.hi < len(a.old) and a.now(c.hi) != hi else []
        return bool(depths) and any(tells_depth(x) and depth(x) > min(depths) for x in fresh)

    def _went_elsewhere(self, now: Sequence[int | None]) -> bool:
        """Whether of the lines that it removes, each with where it is ``now``, one that is gone stands elsewhere, or none but
        blank ones are left."""
        rows = list(enumerate(now, self.c.lo))
        at = next(n for _, n in rows if n is not None)
        gone = (i for i, n in rows if n is None)
        left = any(bare(self.a.old[i]) for i, n in rows if n is not None)
        return not left or any(removal.is_elsewhere(self.a, i, i + 1, range(at, at)) for i in gone)

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
            again = self._again(lo, hi)
            how = f"removed lines changed in white space only{'; follows that' * follows}"
            how += "; upstream put their like beside them" * again
            alone = not c.added and self._indented_alone(old, new)
            how += "; the lines beside them stayed as deep as they were" * alone
            goes_on = not c.added and self._goes_on(lo, hi)
            how += f"; {_GOES_ON}" * goes_on
            sure = not (c.added or again or alone or goes_on)
            return self._brought(lo, hi, how, sure, respaced if follows else None)
        if not c.added:
            return self._brought(lo, hi, "removes what upstream made of the lines it removed", False)
        merged = self.follow.merged(old, new, c.added)
        if merged is None:
            return Stuck(change=c, why="upstream edited the very words that it changes")
        which = "" if len(merged) == len(old) else ", in the lines most like them"
        return self._brought(lo, hi, f"upstream edited the lines it changes; its change follows{which}", False, merged)

    def _indented_alone(self, old: Sequence[bytes], new: Sequence[bytes]) -> bool:
        """Whether upstream indented these lines otherwise, and not all of those beside them: it may have made them the body of
        a statement that cannot be without one."""
        shifts = {shift(o, n) for o, n in zip(old, new, strict=True) if o.strip()}
        return any(a != b for a, b in shifts) and (len(shifts) > 1 or self.follow.indent(self.c.lo) not in shifts)

    def _again(self, lo: int, hi: int) -> bool:
        """Whether upstream put each of these lines near by once more, white space aside: any of both may be meant."""
        near = range(lo - _NEAR, hi + _NEAR)
        return all(any(j in near for j in self.a.put.get(squeezed(self.a.new[i]), ())) for i in range(lo, hi))

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
            if (block := self._of_another_block(lo, hi, before)) is not None:
                return block
            at, which = (lo, "before") if before else (hi, "after")
            how = f"upstream edits beside it; stays with the unchanged line {which}"
            return self._brought(at, at, how, True, self.c.added if self._is_as_deep(before) else None)
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

    def _deeper(self) -> int | None:
        """By how many columns the block went deeper in which it inserts; None if nothing tells."""
        head = self.follow.head(self.c.lo, self.c.added)
        return depth(self.a.new[head[1]]) - depth(self.a.old[head[0]]) if head else None

    def _is_as_deep(self, before: bool) -> bool:
        """Whether what is inserted is as deep as it was: as its block, or else as the unchanged neighbour, if that tells."""
        if (deeper := self._deeper()) is not None:
            return deeper == 0
        stays = self.c.lo - 1 if before else self.c.lo
        return any(map(tells_depth, self.a.old[stays : stays + 1]))  # the end of the file does not

    def _of_another_block(self, lo: int, hi: int, before: bool) -> Brought | None:
        """Where the unchanged neighbour is of another block than what is inserted, and upstream's lines go on with that or
        end ours: the place where ours are as deep as what is around them."""
        theirs = [(depth(x), j) for j, x in enumerate(self.a.new[lo:hi], lo) if tells_depth(x)]
        deeper = self._deeper() or 0
        ours = [depth(x) + deeper for x in self.c.added if tells_depth(x)]
        beside = self.a.old[self.c.lo - 1 : self.c.lo] if before else self.a.old[self.c.lo : self.c.lo + 1]
        if not theirs or not ours or not any(map(tells_depth, beside)):
            return None
        deep = depth(beside[0])
        if before and deep > ours[0] and theirs[0][0] > ours[0]:
            at = next((j for d, j in theirs if d <= ours[0]), hi)
            return self._brought(at, at, "upstream goes on with the block before it; put behind that", False)
        if not before and deep < min(ours) and any(d < min(ours) for d, _ in theirs):
            return self._brought(lo, lo, "upstream ends the block that it is in; put before that", False)
        return None

    def _ends_what_is_before(self, theirs: bytes) -> bool:
        """Whether upstream's first line begins as the line after both does, and none of ours does: what it inserts is an
        item like the next, and ours belongs to the one before."""
        after = self.a.old[self.c.lo : self.c.lo + 1]
        begins = [_first_word(x) for x in (*after, theirs, *self.c.added)]
        return len(begins) > 1 and bool(begins[0]) and begins[0] == begins[1] and begins[0] not in begins[2:]

    def _beside(self, before: int | None, after: int | None) -> Brought | Stuck:
        """Only one neighbour is left."""
        if before is not None or after is not None:
            behind = before is not None
            place = before + 1 if before is not None else after or 0
            if (block := self._of_another_block(*self._fresh(place, behind), behind)) is not None:
                return block
            how = "the line after it is gone; put behind the one before"
            how = how if behind else "the line before it is gone; put before the one after"
            if self._goes_on_with_what_went(not behind):
                return self._brought(place, place, f"{how}; what it was a part of may be gone", False)
            kept, gone = (self.c.lo - 1, self.c.lo) if behind else (self.c.lo, self.c.lo - 1)
            return self._brought(place, place, how, self._telling(kept) and not self._elsewhere(gone, place))
        if (at := removal.whole(self.a, self.c.lo - 1, self.c.lo + 1)) is not None:
            how = "upstream moved the lines beside it"
            return self._brought(at + 1, at + 1, how, False, self.c.added)._replace(moved=True)
        if (at := self._between_others()) is not None:
            return self._brought(at, at, "the lines beside it are gone; put between the next ones that stayed", False)
        return Stuck(change=self.c, why="both lines beside it are gone")

    def _between_others(self) -> int | None:
        """Where both lines beside an insertion are gone: the place between the next ones, if these stand side by side now,
        in the same function, and none of those that went was less deep than what is inserted: else the block that it was
        a part of may be gone."""
        c, a = self.c, self.a
        before = next((i for i in range(c.lo - 1, max(c.lo - 1 - _WAY, -1), -1) if a.exact[i] is not None), None)
        after = next((i for i in range(c.lo, min(c.lo + _WAY, len(a.old))) if a.exact[i] is not None), None)
        if before is None or after is None or a.exact[after] != (a.exact[before] or 0) + 1:
            return None
        ours = min((depth(x) for x in c.added if x.strip()), default=None)
        gone = [depth(x) for x in a.old[before + 1 : after] if x.strip()]
        at = a.exact[after]
        if ours is None or at is None or min(gone, default=ours) < ours:
            return None
        return at if enclosing(a.old, c.lo) == enclosing(a.new, at) else None

    def _fresh(self, at: int, behind: bool) -> tuple[int, int]:
        """The lines that upstream put right ``behind`` a place, or before it."""
        lo = hi = at
        while behind and hi in self.a.is_fresh:
            hi += 1
        while not behind and lo - 1 in self.a.is_fresh:
            lo -= 1
        return lo, hi

    def _goes_on_with_what_went(self, before: bool) -> bool:
        """Whether what is inserted continues a statement, or is inside of a block of which the lines ``before`` it that went
        were the head."""
        c, a = self.c, self.a
        first = next((x for x in c.added if x.strip()), b"")
        if not before or _CONTINUES.match(first):
            return bool(_CONTINUES.match(first))
        gone = itertools.takewhile(lambda i: a.now(i) is None, range(c.lo - 1, -1, -1))
        return any(depth(a.old[i]) < depth(first) for i in gone if tells_depth(a.old[i]))

    def _elsewhere(self, line: int, at: int) -> bool:
        """Whether an old line that seems gone stands in another place now, or its like, seen from ``at``: then its order
        mattered."""
        text = squeezed(self.a.old[line]) if 0 <= line < len(self.a.old) else b""
        same = bool(text) and any(squeezed(x) == text for x in self.a.new)
        return same or (bool(text) and removal.is_elsewhere(self.a, line, line + 1, range(at, at)))

    def _telling(self, line: int) -> bool:
        """Whether an old line stands once only and says something."""
        text = squeezed(self.a.old[line]) if 0 <= line < len(self.a.old) else b""
        return len(text) > _SAYS and sum(squeezed(x) == text for x in self.a.new) == 1

    def done(self) -> Brought | None:
        """Upstream has the change: between what stood beside it, both still there, stand its added lines
        to the byte and nothing else."""
        c, a = self.c, self.a
        before = a.now(c.lo - 1) if c.lo else -1
        after = a.now(c.hi) if c.hi < len(a.old) else len(a.new)
        if before is None or after is None or tuple(a.new[before + 1 : after]) != c.added:
            return None
        if removal.is_elsewhere(a, c.lo, c.hi, range(before + 1, after)):
            return None
        what = "upstream has it already" if c.added else "upstream removed it, too"
        return Brought(hunk=c.hunk, lo=before + 1, hi=after, added=(), how=what, done=True)


def _grouped(places: Sequence[int]) -> list[tuple[int, list[int]]]:
    """The numbers of those with one place, by place."""
    return [(place, list(numbers)) for place, numbers in itertools.groupby(range(len(places)), key=places.__getitem__)]


def _first_word(line: bytes) -> bytes:
    """The indentation and first word of a line; empty for a blank one."""
    return line[: len(line) - len(line.lstrip())] + line.split()[0] if line.strip() else b""
