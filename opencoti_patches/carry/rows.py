"""What is said of one patch of a bump: taken by git as it is, or carried."""

from __future__ import annotations

from collections.abc import Sequence

from opencoti_patches.carry import guards, note, over
from opencoti_patches.carry.compose import renumbered
from opencoti_patches.carry.model import HunkHow, Row
from opencoti_patches.carry.regen import moved_by, starts
from opencoti_patches.core.model import Entry, PatchName, printable
from opencoti_patches.doors.git import Landing
from opencoti_patches.series.header import with_note
from opencoti_patches.series.parse import Parsed, parse


def taken(entry: Entry, parsed: Parsed, landed: tuple[Landing, ...], doubts: Sequence[str]) -> Row:
    """The row of a patch that git takes, moved or not; ``doubts`` are what upstream's diff does not confirm."""
    if not landed and not doubts:
        return Row(name=entry.name, status="kept")
    if not landed:
        return Row(name=entry.name, status="adapted", reason="; ".join(doubts), raw=entry.raw)
    raw = renumbered(entry.raw, parse(entry.raw, entry.strip), starts(parsed, landed, entry.reverse))
    offsets = sorted({w.offset for w in landed})
    far = f"{offsets[0]:+d}" + (f" to {offsets[-1]:+d}" if len(offsets) > 1 else "")
    hows = tuple(
        HunkHow(file=printable(parsed.files[w.file].path), hunk=w.hunk, how=moved_by(w.offset)) for w in landed
    )
    if doubts:
        why = "; ".join(doubts)
        return Row(name=entry.name, status="adapted", reason=f"moved ({far}), and {why}", hunks=hows, raw=raw)
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
) -> Row:
    """The row of a patch that was carried, with its new bytes; without any where nothing of it is left.
    ``left_out`` says that it stands on a patch that the series leaves out, ``earlier`` is the one before it."""
    if not found.left:
        return Row(name=entry.name, status="upstreamed", reason="upstream has all of it", hunks=found.hows)
    guarded = guards.compare(parsed, parse(found.raw, entry.strip, entry.reverse))
    doubts = [*([left_out] if left_out else []), *found.doubts, *found.done]
    doubts += [f"would remove {x}" for x in guarded.clobbered]
    adapted = bool(doubts) or not guarded.same_added or not (guarded.same_removed or guarded.normalised)
    why = list(dict.fromkeys(h.how for h in found.hows if not h.how.startswith("three-way")))
    line = note.note(project, earlier, why or ["context changed by upstream"], adapted=adapted, tag=tag)
    return Row(
        name=entry.name,
        status="adapted" if adapted else "regenerated",
        reason="; ".join(doubts) or "; ".join(why) or "three-way, context changed by upstream",
        hunks=found.hows,
        interdiff=guarded.interdiff,
        raw=with_note(parsed.header, line) + found.raw[len(parsed.header) :],
    )
