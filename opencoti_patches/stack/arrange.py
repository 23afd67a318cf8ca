"""Patches renamed, left out, put back and moved: the same series, otherwise arranged."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from opencoti_patches.carry import guards
from opencoti_patches.carry.model import Row
from opencoti_patches.carry.regen import regen
from opencoti_patches.carry.rows import words
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Entry, PatchName, Series, TreeId, decode, encode, printable
from opencoti_patches.core.shell import word
from opencoti_patches.series import disabled
from opencoti_patches.series.beside import beside
from opencoti_patches.series.disabled import Out
from opencoti_patches.series.lookup import find
from opencoti_patches.series.naming import called, meant, number_of
from opencoti_patches.series.numbering import Numbers, folder_of, parted, with_number
from opencoti_patches.series.order import SUFFIXES, with_renamed, without
from opencoti_patches.series.parse import parse
from opencoti_patches.stack import lines
from opencoti_patches.stack.blockers import blockers
from opencoti_patches.stack.certain import certain
from opencoti_patches.stack.desk import Carried, Desk, index_of
from opencoti_patches.stack.model import Change, Fate, Fated

_ORDER = "the new order"  # what changes the lines under a patch that moves


def rename(desk: Desk, name: PatchName, wanted: str, out: Out | None = None) -> Change:
    """A patch under another name, a disabled one whose comment is ``out``, too; its number stays unless the new name
    has one. Errors: UsageError ``bad-name``; Refused ``no-change``, ``no-number``."""
    file = name.rsplit("/", 1)[-1]
    own = file[: len(file) - len(file.lstrip("0123456789"))] if number_of(name) is not None else ""
    suffix = next((s for s in SUFFIXES if name.endswith(s)), SUFFIXES[0])
    number, rest = parted(wanted)
    names = [e.name for e in desk.series.entries]
    at = out.before if out else 1 + names.index(name)
    if number is not None:
        width = Numbers(names, at, folder=folder_of(name)).width
        own, rest = f"{number:0{width}d}", rest or file.removesuffix(suffix)[len(own) :]
    elif own:
        rest = f"-{rest}"
    new = PatchName(f"{folder_of(name)}{own}{rest}{suffix}")
    names, others = [n for n in names if n != name], [n for n in beside(desk.series) if n != name]
    theirs = next(
        (n for n in (*names, *others) if folder_of(n) == folder_of(new) and number_of(n) == number_of(new)), None
    )
    if theirs and number_of(new) not in (None, number_of(name)):
        room = Numbers(names, at - (out is None), folder=folder_of(name), beside=others).room()
        hint = f"give a number that is free{room and f': here {room}'}; or none: then it keeps its own"
        raise Refused("no-number", f"the number of {printable(new)} is that of {printable(theirs)}", hint)
    if out is None or new == name:
        return _renamed(desk, {name: new})
    text = disabled.renamed(lines.text_of(desk.series), name, new)
    return Change(
        desk.series.entries,
        (Fated(new, "renamed", was=name),),
        encode(text),
        gone=(name,),
        beside={new: disabled.entry(desk.series, out, 1).raw},
        renamed={name: new},
    )


def renumber(desk: Desk, first: PatchName | None, start: int | None, step: int) -> Change:
    """Numbers that ascend, from ``first`` on (the first patch for None), ``step`` apart; those of files beside the
    series, such as disabled patches, are passed over. ``start`` is the first of them; else the first patch keeps its
    own. Errors: Refused ``no-change``, ``no-number``."""
    names = [e.name for e in desk.series.entries]
    at = names.index(first) if first else 0
    numbered = [n for n in names[at:] if number_of(n) is not None]
    if not numbered:
        raise Refused("no-change", "no patch has a number", "'opencoti-patches rename' gives one")
    begin = number_of(numbered[0]) if start is None else start
    before = max((x for n in names[:at] if (x := number_of(n)) is not None), default=-1)
    if begin is None or begin <= before:
        raise Refused("no-number", f"{begin} is not behind the numbers of the patches before", "give --start")
    taken = {(folder_of(n), number_of(n)) for n in beside(desk.series)}
    free = count(begin, step)
    return _renamed(
        desk,
        {n: PatchName(with_number(n, next(x for x in free if (folder_of(n), x) not in taken))) for n in numbered},
    )


def _renamed(desk: Desk, names: dict[str, PatchName]) -> Change:
    names = {old: new for old, new in names.items() if old != new}
    if not names:
        raise Refused("no-change", "the names are as they would be", "nothing was changed")
    entries = tuple(e._replace(name=names.get(e.name, e.name)) for e in desk.series.entries)
    known = [e.name for e in entries]
    if twice := next((n for n in known if known.count(n) > 1), None):
        raise Refused("exists", f"two patches would be called {printable(twice)}", "nothing was changed")
    text = with_renamed(lines.text_of(desk.series), dict(names))
    rows = tuple(Fated(new, "renamed", was=old) for old, new in names.items())
    gone = tuple(PatchName(n) for n in names)
    return Change(entries, rows, _text(desk.series, entries, text), gone=gone, renamed=names)


def drop(desk: Desk, names: Sequence[PatchName], outs: Sequence[PatchName]) -> Change:
    """Patches dropped, and disabled ones, ``outs``, whose comments go with their files."""
    change = leave_out(desk, names, disable=False)
    if change.refused or not outs:
        return change
    return change._replace(
        rows=(*change.rows, *(Fated(n, "dropped", "it was disabled") for n in outs)),
        text=encode(disabled.forgotten(decode(change.text or b""), outs)),
        gone=(*change.gone, *outs),
    )


def leave_out(desk: Desk, names: Sequence[PatchName], *, disable: bool) -> Change:
    """Patches dropped, or disabled: their files stay, their lines become comments."""
    entries, text = desk.series.entries, lines.text_of(desk.series)
    rows: dict[PatchName, Fated] = {}
    whole = desk.plan(entries).ok
    for name in sorted(names, key=lambda n: index_of(desk.series.entries, n), reverse=True):
        at = index_of(entries, name)
        later = entries[at + 1 :]
        if whole:
            carried = desk.carry(later, desk.tree(entries[: at + 1]), desk.tree(entries[:at]))
            who = f"leaving out {printable(name)}"
            if carried.stuck:
                return refused(desk, entries, carried, {name}, f"without {printable(name)}", who)
            sure = certain(desk, entries, at, carried)
            note(rows, carried.rows, who)
            rows |= {n: _plain(rows[n]) for n in sure}
            later = carried.entries
        entries = (*entries[:at], *later)
        rows[name] = Fated(name, "disabled" if disable else "dropped")
        text = disabled.disabled(text, name) if disable else without(text, name)
    order = [n for e in desk.series.entries if (n := e.name) in rows]
    gone = () if disable else tuple(names)
    return Change(
        entries,
        tuple(rows[n] for n in order),
        encode(text) if disable else _text(desk.series, entries, text),
        gone=gone,
    )


def enable(desk: Desk, wanted: str, *, usual: int, project: str, leave: bool = False) -> Change:
    """A disabled patch back in its place; ``usual`` is the project's strip level. One that has to be written anew gets
    the note that ``regen`` writes, by ``project``. ``leave``: it goes back as it is if it finds no place there, in
    conflict. Errors: UsageError ``unknown-patch``, ``ambiguous-patch``; Refused
    ``no-change``."""
    series = desk.series
    text = lines.text_of(series)
    outs = disabled.left_out(series)
    name, _ = meant(outs, [e.name for e in series.entries], wanted)
    if name is None:
        raise Refused(
            "no-change",
            f"{printable(find(series, wanted))} is in the series, not disabled",
            f"to leave it out: opencoti-patches disable {word(find(series, wanted))}",
        )
    out = outs[name]
    was = disabled.entry(series, out, usual)
    entry = desk.fresh(was, was.raw)
    before, later = series.entries[: out.before], series.entries[out.before :]
    row = regen(
        series._replace(entries=(*before, entry)),
        frozenset([name]),
        desk.base,
        desk.store,
        project=project,
        progress=desk.progress,
    )[-1]
    if row.status in ("conflict", "blocked", "upstreamed"):
        if desk.plan((*before, was)).verdicts[-1].cause == "already-applied":
            row = row._replace(status="upstreamed")
        return _no_place(desk, (*before, was, *later), text, out, row, leave=leave)
    if row.raw is not None:
        header = parse(row.raw, was.strip, was.reverse).header  # with its note; a diffstat follows, as elsewhere
        noted = desk.fresh(was, header + was.raw[len(parse(was.raw, was.strip, was.reverse).header) :])
        entry = desk.headed(noted, row.raw)
    rows: dict[PatchName, Fated] = {}
    carried = desk.carry(later, desk.tree(before), desk.tree([*before, entry]))
    if carried.stuck and not leave:
        no = refused(desk, series.entries, carried, set(), f"behind {printable(name)}", printable(name))
        return no._replace(steps=_by_hand(name, carried.stuck[0].name, (entry, *series.entries)))
    carried = carried.leaving(later)
    note(rows, carried.rows, printable(name))
    if not carried.stuck:  # taken out again, it must leave what is there now
        sure = certain(desk, (*before, entry, *carried.entries), len(before), Carried(carried.rows, later))
        rows |= {n: _plain(rows[n]) for n in sure}
    left = tuple(r.name for r in carried.stuck)
    now = {e.name: e for e in (*later, *carried.entries)}
    said = row.reason if row.status != "kept" else ""
    fate: Fate = "adapted" if row.status == "adapted" else "enabled"
    mine = Fated(name, fate, said, row.interdiff)
    return Change(
        (*before, entry, *(now[e.name] for e in later)),
        (mine, *rows.values()),
        encode(disabled.enabled(text, out)),
        there=(name,),
        left=left,
        steps=_by_hand(name, left[0], (entry, *series.entries))[1:] if left else (),
    )


def _no_place(desk: Desk, entries: Sequence[Entry], text: str, out: Out, row: Row, *, leave: bool) -> Change:
    """What becomes of a disabled patch that does not apply any more: refused with what mends it, or put back as it is."""
    name, why = row.name, f" ({printable(out.why)})" if out.why else ""
    rows = (Fated(name, row.status, row.reason),)
    if row.status == "upstreamed":
        said = f"{printable(name)}{why} has nothing left to do: what it does is there where its line stands"
        step = "take its line out of the series, and delete its file"
        return Change(desk.series.entries, rows, None, refused=said, steps=(step,))
    steps = _by_hand(name, name, entries)
    if leave:
        return Change(
            tuple(entries), rows, encode(disabled.enabled(text, out)), there=(name,), left=(name,), steps=steps[1:]
        )
    said = f"{printable(name)}{why} does not apply where its line stands: {row.reason}"
    return Change(desk.series.entries, rows, None, refused=said, steps=steps)


def _by_hand(name: PatchName, stuck: PatchName, entries: Sequence[Entry]) -> tuple[str, ...]:
    """The commands that put ``name`` back and mend what finds no place then."""
    which = called(stuck, [e.name for e in entries])
    return (
        f"opencoti-patches enable {word(name)} --leave-conflicts",
        f"opencoti-patches bootstrap --to {which} --merge WORK",
        f"opencoti-patches regen {which} --from WORK  # once WORK is right",
    )


def move(desk: Desk, name: PatchName, after: PatchName | None) -> Change:
    """A patch behind another, or before all for None. Errors: Refused ``no-change``, ``does-not-apply``."""
    entries = desk.series.entries
    at = index_of(entries, name)
    mine = entries[at]
    rest = (*entries[:at], *entries[at + 1 :])
    to = 0 if after is None else 1 + index_of(rest, after)
    if to == at:
        raise Refused("no-change", f"{printable(name)} stands there already", "'opencoti-patches list' shows the order")
    rows: dict[PatchName, Fated] = {}
    if to > at:
        before, middle, later = entries[:at], entries[at + 1 : to + 1], entries[to + 1 :]
        first = desk.carry(middle, desk.tree((*before, mine)), desk.tree(before))
        if first.stuck:
            return refused(desk, entries, first, {name}, f"before {printable(name)}", _ORDER)
        second = desk.carry([mine], desk.tree(before), desk.tree((*before, *first.entries)))
        now = (*before, *first.entries, *second.entries)
    else:
        before, middle, later = entries[:to], entries[to:at], entries[at + 1 :]
        first = desk.carry([mine], desk.tree(entries[:at]), desk.tree(before))
        others = {e.name for e in middle}
        if first.stuck:
            return refused(desk, entries, first, others, f"before {printable(middle[0].name)}", _ORDER)
        second = desk.carry(middle, desk.tree(before), desk.tree((*before, *first.entries)))
        now = (*before, *first.entries, *second.entries)
    note(rows, (*first.rows, *second.rows), _ORDER)
    wanted = desk.tree(entries[: len(now) + len(second.stuck)])
    why = "it finds no place there" if second.stuck else _other(desk, entries, now, wanted)
    if why:  # where two insert at one place, the tree that has to come out says which goes first
        stepped = _stepwise(desk, entries, at, to)
        if stepped is None:
            return Change(entries, tuple(rows.values()), None, refused=f"{printable(name)} cannot go there: {why}")
        rows = {e.name: Fated(e.name, "regenerated") for e in stepped if e is not entries[index_of(entries, e.name)]}
        now = stepped[: len(stepped) - len(later)]
    rows = {n: _plain(r) for n, r in rows.items()}
    rows[name] = Fated(
        name,
        rows[name].fate if name in rows else "kept",
        f"behind {printable(after)} now" if after else "the first now",
    )
    text = encode(lines.moved(lines.text_of(desk.series), name, after))
    order = [e.name for e in now if e.name in rows]
    was, numbers = (_numbers(some) for some in (entries, (*now, *later)))
    start = f" --start {was[0]}" if numbers[:1] > was[:1] else ""
    steps = (f"opencoti-patches renumber{start}  # the numbers ascend no more",)
    upset = was == sorted(was) and numbers != was
    return Change((*now, *later), tuple(rows[n] for n in order), text, steps=steps if upset else ())


def _numbers(entries: Sequence[Entry]) -> list[int]:
    """Those of the patches that have one, in their order."""
    return [n for e in entries if (n := number_of(e.name)) is not None]


def _stepwise(desk: Desk, entries: Sequence[Entry], at: int, to: int) -> tuple[Entry, ...] | None:
    """The patch moved past one other at a time, each pair making what it made; None where a pair cannot."""
    now = list(entries)
    for i in range(at, to) if to > at else range(at - 1, to - 1, -1):
        one, two = now[i], now[i + 1]
        start, between, end = desk.tree(now[:i]), desk.tree(now[: i + 1]), desk.tree(now[: i + 2])
        carried = desk.carry([two], between, start)
        if carried.stuck:
            return None
        now[i] = carried.entries[0]
        now[i + 1] = desk.composed(one, desk.tree(now[: i + 1]), end)
        if not (_same(two, now[i]) and _same(one, now[i + 1])):
            return None
    return tuple(now)


def _other(desk: Desk, old: Sequence[Entry], new: Sequence[Entry], wanted: TreeId) -> str:
    """Why a new order is not the same series; empty if it is."""
    got = desk.tree(new)
    if wanted != got:
        files = ", ".join(map(printable, sorted(desk.store.repo.diff_trees(wanted, got))[:3]))
        return f"in the new order they make another tree: {files}"
    had = {e.name: e for e in old}
    for e in new:
        if not _same(had[e.name], e):
            return f"{printable(e.name)} would do something else in the new order"
    return ""


def _same(old: Entry, new: Entry) -> bool:
    """Whether two forms of a patch add and remove the same lines."""
    a, b = (parse(e.raw, e.strip, e.reverse) for e in (old, new))
    return a is b or guards.compare(a, b).same


def _plain(row: Fated) -> Fated:
    """Where the tree is proven to be what it must be, a doubt about a place is none."""
    return row._replace(fate="regenerated", reason="", interdiff=()) if row.fate == "adapted" else row


def _text(series: Series, entries: Sequence[Entry], text: str) -> bytes | None:
    """The series file, where there is one or there has to be one now."""
    return encode(text) if series.listed or lines.needed([e.name for e in entries], text) else None


def note(rows: dict[PatchName, Fated], more: Sequence[Row], who: str) -> None:
    """Take down what was carried, over what ``who`` did; of a patch carried twice, what says more."""
    for r in more:
        if r.name not in rows or r.status != "kept":
            reason = "" if r.status == "regenerated" else words(r.reason, who)
            if r.status == "adapted" and not r.interdiff:
                reason += ". It does what it did: look where"
            rows[r.name] = Fated(r.name, r.status, reason, r.interdiff)


def refused(desk: Desk, entries: Sequence[Entry], carried: Carried, of: set[PatchName], where: str, who: str) -> Change:
    """Nothing may be written: the first patch without a place, and the lines that keep it from having one. ``who``
    changed what is there."""
    bad = carried.stuck[0]
    nothing = "it would have nothing left to do"
    rows = tuple(
        Fated(r.name, r.status, nothing if r.status == "upstreamed" else words(r.reason, who)) for r in carried.stuck
    )
    why = rows[0].reason
    found = blockers(desk, entries, bad.name, of) if of else ()
    return Change(
        tuple(entries), rows, None, blockers=found, refused=f"{printable(bad.name)} has no place {where}: {why}"
    )
