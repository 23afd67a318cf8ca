"""What is said of one patch that went in: taken by git as it is, or carried."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from opencoti_patches.carry import guards, note, over
from opencoti_patches.carry.compose import renumbered
from opencoti_patches.carry.model import Carried, HunkHow, Row
from opencoti_patches.core.model import Entry, FilePatch, Hunk, PatchName, printable
from opencoti_patches.doors.git import Landing
from opencoti_patches.series.parse import Parsed, parse


def taken(entry: Entry, parsed: Parsed, landed: tuple[Landing, ...], doubts: Sequence[str]) -> Row:
    """The row of a patch that git takes, moved or not; ``doubts`` are what upstream's diff does not confirm."""
    if not landed and not doubts:
        return Row(name=entry.name, status="kept")
    if not landed:
        look = tuple(_landed(parsed, doubts))
        return Row(name=entry.name, status="adapted", reason="; ".join(doubts), look=look, raw=entry.raw)
    raw = renumbered(entry.raw, parse(entry.raw, entry.strip), starts(parsed, landed, entry.reverse))
    offsets = sorted({w.offset for w in landed})
    far = f"{offsets[0]:+d}" + (f" to {offsets[-1]:+d}" if len(offsets) > 1 else "")
    hows = tuple(
        HunkHow(file=printable(parsed.files[w.file].path), hunk=w.hunk, how=moved_by(w.offset)) for w in landed
    )
    if doubts:
        why = "; ".join(doubts)
        look = tuple(_landed(parse(raw, entry.strip, entry.reverse), doubts))
        reason = f"moved ({far}), and {why}"
        return Row(name=entry.name, status="adapted", reason=reason, hunks=hows, look=look, raw=raw)
    return Row(name=entry.name, status="renumbered", reason=f"line numbers only ({far})", hunks=hows, raw=raw)


def carried(
    entry: Entry,
    parsed: Parsed,
    found: over.Over,
    left_out: str,
    *,
    earlier: PatchName | None,
    project: str,
    tag: str,
    notes: Sequence[str] = (),
) -> Row:
    """The row of a patch that was carried, with its new bytes; without any where nothing of it is left.
    ``left_out`` says that it stands on a patch that the series leaves out, ``earlier`` is the one before it,
    ``notes`` what is said of the carry as a whole in place of what its hunks say."""
    if not found.left:
        return Row(name=entry.name, status="upstreamed", reason="upstream has all of it", hunks=found.hows)
    why = list(notes) or list(dict.fromkeys(h.how for h in found.hows if not h.how.startswith("three-way")))

    def noted(adapted: bool) -> bytes:
        line = note.note(project, earlier, why or ["context changed by upstream"], adapted=adapted, tag=tag)
        return note.headed(entry, found.raw, line)

    doubts = [*([left_out] if left_out else []), *found.doubts, *found.done]
    raw = noted(False)
    new = parse(raw, entry.strip, entry.reverse)  # read once, for git's part as well
    guarded = guards.compare(parsed, new, found.renamed)
    doubts += guards.words(guarded._replace(lost=()))
    same = guarded.same_added and (guarded.same_removed or guarded.normalised)
    adapted = bool(doubts) or not same
    return Row(
        name=entry.name,
        status="adapted" if adapted else "regenerated",
        reason="; ".join([*doubts, *notes]) or "; ".join(why) or "three-way, context changed by upstream",
        hunks=found.hows,
        interdiff=guarded.interdiff,
        look=tuple(_look(parsed, new, found, guarded.interdiff)) if adapted else (),
        raw=raw if same else noted(True),
        gist="; ".join([*gist(doubts, found.hows, "want a look"), *notes]) or "; ".join(placed(why, found.hows)),
    )


def _look(old: Parsed, new: Parsed, found: over.Over, shown: Sequence[str]) -> Iterator[str]:
    """The hunks of the new patch that have changes in doubt, of files that ``shown`` does not have: the lines that these
    change are what they were, and only their place is to be seen."""
    was = {path: name for name, path in found.renamed.items()}
    for f in new.files:
        path = printable(f.path)
        numbers = {h.hunk for h in found.hows if any(d.startswith(f"{path}, hunk {h.hunk}: ") for d in found.doubts)}
        if not numbers or path in shown:
            continue
        hunks = (h for g in old.files if g.path in (f.path, was.get(f.path)) for h in g.hunks)
        lines = {x for h in hunks if h.number in numbers for x in h.lines if x[:1] in b"+-"}
        for hunk in f.hunks:
            if lines.intersection(hunk.lines):
                yield from _shown(path, hunk)


def _landed(new: Parsed, doubts: Sequence[str]) -> Iterator[str]:
    """The hunks whose place is in doubt, where git put them."""
    for f in new.files:
        path = printable(f.path)
        for hunk in f.hunks:
            at = f"{path}, hunk {hunk.number}"
            if any(d.startswith((f"{at} ", f"{at}: ")) for d in doubts):
                yield from _shown(path, hunk)


def _shown(path: str, hunk: Hunk) -> Iterator[str]:
    yield f"{path}, line {hunk.new_start}:"
    rows = b"".join(hunk.lines).decode("utf-8", "surrogateescape").splitlines()
    yield from (f"  {printable(row)}" for row in rows)


def words(reason: str, who: str) -> str:
    """What a carry says, where no upstream had a part in it but ``who``."""
    reason = reason.replace("upstream's diff", "the diff of the two trees")
    return re.sub(r"(?<![\w./'-])upstream(?![\w/-]|\.\w)", lambda _: who, reason)


def gist(doubts: Sequence[str], hows: Sequence[HunkHow], what: str) -> list[str]:
    """Doubts beside ``hows``, which say most of them already: of these only how many there are, if there are more than
    one."""
    said = {h.said.replace(": conflict: ", ": ", 1) for h in hows}
    there = [d for d in doubts if d in said]
    few = there if len(there) < 2 else [f"{len(there)} of its changes {what}"]
    return [*few, *(d for d in doubts if d not in said)]


def placed(notes: Sequence[str], hows: Sequence[HunkHow]) -> list[str]:
    """What is said of a patch as a whole, with its place where ``hows`` say it of one."""
    there = {note: list(dict.fromkeys(h.said for h in hows if h.how == note)) for note in notes}
    return [said[0] if len(said) == 1 else note for note, said in there.items()]


def by_hand(entry: Entry, parsed: Parsed, raw: bytes, renames: Callable[[], Mapping[str, str]]) -> Row:
    """The row of a patch that somebody resolved. ``renames`` are upstream's, asked for where it has not all files any
    more."""
    new = parse(raw, entry.strip, entry.reverse)
    renamed = gone_along(parsed, new, renames)
    parsed = guards.under(parsed, renamed)
    found = guards.compare(parsed, new)
    gone = dict.fromkeys(printable(f.path) for f in parsed.files if f.path not in {g.path for g in new.files})
    notes = [
        "resolved by hand",
        *(f"{printable(to)}: renamed by upstream, was {printable(was)}" for was, to in renamed.items()),
    ]
    notes += [f"it has nothing of {', '.join(gone)} any more"] if gone else []
    kept = {f.path for f in parsed.files if f.operation != "delete"}
    deleted = [printable(f.path) for f in new.files if f.operation == "delete" and f.path in kept]
    notes += [f"it deletes {', '.join(deleted)} now, which it changed before"] if deleted else []
    if many := guards.respaced(parsed, new):
        lines = "a line" if many == 1 else f"{many} lines"
        notes.append(f"it changes white space or line ends alone of {lines} that it left as they were before")
    status: Carried = "regenerated" if found.same and not gone else "adapted"
    return Row(name=entry.name, status=status, reason="; ".join(notes), interdiff=found.interdiff, raw=raw)


def gone_along(old: Parsed, new: Parsed, renames: Callable[[], Mapping[str, str]]) -> dict[str, str]:
    """The files of a patch that it has no more, but has under the name that upstream gave them, and that name."""
    there = {f.path for f in new.files}
    lacks = [f.path for f in old.files if f.path not in there]
    return {p: to for p in lacks if (to := renames().get(p, "")) in there}


def moved_by(lines: int) -> str:
    """How a hunk moved, in words."""
    return f"moved by {lines:+d} line{'s' * (abs(lines) != 1)}"


def exact(parsed: Parsed, landed: Sequence[Landing]) -> Parsed:
    """A patch that git took, with every hunk where it was put: git goes by the new line number, and the old one that a
    patch names may be any."""
    files = []
    for number, f in enumerate(parsed.files):
        places = _places(f, {w.hunk: w.offset for w in landed if w.file == number})
        hunks = (h._replace(old_start=old, new_start=new) for h, (old, new) in zip(f.hunks, places, strict=True))
        files.append(f._replace(hunks=tuple(hunks)))
    return parsed._replace(files=tuple(files))


def starts(parsed: Parsed, landed: Sequence[Landing], reverse: bool) -> Mapping[tuple[int, int], tuple[int, int]]:
    """Old and new start of every hunk of the files in which one moved, as the patch file writes them."""
    starts = {}
    for number in {w.file for w in landed}:
        f = parsed.files[number]
        places = _places(f, {w.hunk: w.offset for w in landed if w.file == number})
        for hunk, (old, new) in zip(f.hunks, places, strict=True):
            starts[(number, hunk.number)] = (new, old) if reverse else (old, new)
    return starts


def _places(f: FilePatch, offsets: Mapping[int, int]) -> list[tuple[int, int]]:
    """Old and new start of every hunk of a file, by how far git moved some of them."""
    places = []
    sofar: list[tuple[int, int]] = []  # hunks: where they are now, and by how much the file grew there
    last = total = 0  # of them: the lowest in the file, all growth
    for hunk in f.hunks:
        new = hunk.new_start + offsets.get(hunk.number, 0)
        growth = hunk.new_count - hunk.old_count
        before = total if new > last else sum(g for at, g in sofar if at < new)
        if new < last:
            sofar = [(at + growth * (at > new), g) for at, g in sofar]
        sofar.append((new, growth))
        last = new if new >= last else max(at for at, _ in sofar)
        total += growth
        places.append((new - before + (hunk.new_count == 0) - (hunk.old_count == 0), new))
    return places
