"""A patch's changes brought from an old file to a new one, each where upstream's own diff says that its
surroundings are now; along with its function, where upstream moved that."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from opencoti_patches.carry.align import Alignment, Region
from opencoti_patches.carry.follow import Follower
from opencoti_patches.carry.home import TELLING
from opencoti_patches.carry.place import Brought, Change, Place, Stuck
from opencoti_patches.core.model import FilePatch, Hunk, printable
from opencoti_patches.plan.places import function_at, functions_with, has_functions, occurrences, squeezed

_WIDE = 10  # lines around those of a hunk among which its place in another file is looked for
_MANY = 50  # changes for which one look at all of upstream's edits before any of them costs less than it saves


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


Lines = Sequence[bytes]
Other = tuple[str, Lines]
"""Another file, by its path, and its lines."""


class Elsewhere(NamedTuple):
    """Other files to which upstream brought something: a function, by its heading, or lines that a hunk stands on."""

    function: Callable[[bytes], Other | None] = lambda heading: None
    lines: Callable[[Sequence[Lines]], list[Other | None]] = lambda groups: [None] * len(groups)


NOWHERE = Elsewhere()


def bring(
    f: FilePatch,
    alignment: Alignment,
    follower: Follower,
    elsewhere: Elsewhere,
    another: Callable[[], Follower | None] = lambda: None,
) -> Result:
    """Bring all changes of one file over. ``another`` is what upstream made of it by another diff, for changes that have no
    place by the first."""
    result = Result([], [], [])
    second = cache(another)
    rewritten = {h.number for h in f.hunks if _rewritten(h, alignment)}
    changes = changes_of(f)
    if len(changes) > _MANY:
        follower.expect(b"".join(line for c in changes for line in c.added))
    for change in changes:
        one = Place(change, alignment, follower).find()
        if (isinstance(one, Stuck) or not one.sure) and (heading := _gone(change, alignment, f.path)):
            one = _moved(change, alignment, alignment.new, "") or one
            other = elsewhere.function(heading) if isinstance(one, Stuck) or not one.moved else None
            if other and (away := _moved(change, alignment, other[1], other[0])):
                result.away.append((other[0], away))
                continue
        if isinstance(one, Stuck) and (other_way := second()):
            one = _by(change, other_way) or one
        if isinstance(one, Brought) and one.done and (other := _removed_in(change, alignment, elsewhere)):
            if away := _removed_there(change, alignment, *other):
                result.away.append((other[0], away))
                continue
            one = Stuck(change=change, why=f"the lines that it removes are in {printable(other[0])} now")
        if isinstance(one, Stuck):
            result.stuck.append(one)
        elif one.sure and one.hunk in rewritten:
            around = f"{one.how}; upstream rewrote what is around it"
            result.brought.extend(x._replace(more=(), sure=False, how=around) for x in (one, *one.more))
        else:
            result.brought.extend([one._replace(more=()), *one.more])
    if result.stuck:
        _look_for(f, result, alignment.old, elsewhere)
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


def _by(change: Change, follower: Follower) -> Brought | None:
    """The place of a change by another diff of the file; not that it is there already."""
    one = Place(change, follower.a, follower).find()
    if isinstance(one, Stuck) or one.done:
        return None
    more = [x._replace(sure=False) for x in one.more]
    return one._replace(sure=False, how=f"{one.how}, by another diff of the file", more=tuple(more))


def _look_for(f: FilePatch, result: Result, old: Sequence[bytes], elsewhere: Elsewhere) -> None:
    """Changes without a place go along with the lines that their hunks stand on, where one other file got these; or are
    said to be about lines that are there now."""
    stuck, numbers = [*result.stuck], {s.change.hunk for s in result.stuck}
    result.stuck.clear()
    hunks = {h.number: h for h in f.hunks if h.number in numbers}
    others = dict(zip(hunks, elsewhere.lines([h.old for h in hunks.values()]), strict=True))
    for s in stuck:
        other = others.get(s.change.hunk)
        if other and (away := _along(s.change, hunks[s.change.hunk], old, *other)):
            result.away.append((other[0], away))
        else:
            why = f"{s.why}; lines around it are in {printable(other[0])} now" if other else s.why
            result.stuck.append(s._replace(why=why))


def _removed_in(change: Change, a: Alignment, elsewhere: Elsewhere) -> Other | None:
    """The one other file that got the lines that a change only removes, and that are not there any more. One line may come to
    many a file, such as that of an include: it is meant if those beside it came along."""
    lo, hi = change.lo, change.hi
    if change.added or lo == hi:
        return None
    alone = len({x for x in a.old[lo:hi] if len(squeezed(x)) >= TELLING}) < 2
    lines = a.old[max(lo - 1, 0) : hi + 1] if alone else a.old[lo:hi]
    (other,) = elsewhere.lines([lines])
    return other if other and not (alone and len(occurrences(other[1], lines)) != 1) else None


def _removed_there(change: Change, a: Alignment, path: str, lines: Lines) -> Brought | None:
    """Its place in that file, if all its lines stand there in one."""
    lo, hi = change.lo, change.hi
    while lo < hi and not a.old[lo].strip():
        lo += 1
    while lo < hi and not a.old[hi - 1].strip():
        hi -= 1
    text = a.old[lo:hi]
    there = occurrences(lines, text)
    if len(there) != 1:
        return None
    how = f"upstream moved its lines to {printable(path)}"
    return Brought(change.hunk, there[0], there[0] + len(text), (), how, sure=False, was=change.lo, moved=True)


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
    inside = _of_two(old, new)
    here = change._replace(lo=change.lo - begin, hi=change.hi - begin)
    found = Place(here, inside, Follower(inside)).find()
    if isinstance(found, Stuck) or found.more:
        return None
    name = printable(old[0].decode("utf-8", "replace").strip())
    how = f"upstream moved '{name}'{f' to {printable(path)}' if path else ''}; {found.how}"
    return found._replace(lo=found.lo + at, hi=found.hi + at, was=change.lo, how=how, sure=False, moved=True)


def _along(change: Change, hunk: Hunk, old: Sequence[bytes], path: str, lines: Sequence[bytes]) -> Brought | None:
    """A change along with the lines that its hunk stands on, to another file that has them: its place there, if that is
    certain by these alone."""
    begin = max(hunk.old_start - 1, 0)
    lead = max(range(len(hunk.old)), key=lambda i: len(squeezed(hunk.old[i])))
    there = [i for i, line in enumerate(lines) if line == hunk.old[lead]]
    if len(there) != 1:
        return None
    at = max(there[0] - lead - _WIDE, 0)
    inside = _of_two(old[begin : begin + len(hunk.old)], lines[at : there[0] - lead + len(hunk.old) + _WIDE])
    found = Place(change._replace(lo=change.lo - begin, hi=change.hi - begin), inside, Follower(inside)).find()
    if isinstance(found, Stuck) or not found.sure or found.more:
        return None
    how = f"upstream moved its lines to {printable(path)}; {found.how}"
    return found._replace(lo=found.lo + at, hi=found.hi + at, was=change.lo, how=how, sure=False, moved=True)


def _of_two(old: Sequence[bytes], new: Sequence[bytes]) -> Alignment:
    """How two pieces of files stand to each other."""
    before, now = list(map(squeezed, old)), list(map(squeezed, new))
    blocks = difflib.SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    return Alignment(old, new, [Region(*block[1:]) for block in blocks if block[0] != "equal"])


def meet(a: Brought, b: Brought) -> bool:
    """Whether two changes are about the same lines, or begin at one place."""
    return (a.lo < b.hi and b.lo < a.hi) or a.lo == b.lo


def behind(b: Brought, earlier: Sequence[Brought]) -> Brought | None:
    """A change where it goes once ``earlier`` ones of the file are in; None where it meets one of these."""
    if any(meet(b, x) for x in earlier):
        return None
    grown = sum(len(x.added) - (x.hi - x.lo) for x in earlier if x.lo < b.lo)
    return b._replace(lo=b.lo + grown, hi=b.hi + grown)


def has(change: Change, alignment: Alignment) -> Brought | None:
    """Where the new file has a change already; None if it has not."""
    return Place(change, alignment, Follower(alignment)).done()


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
