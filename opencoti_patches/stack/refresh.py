"""A folder's edits folded into a patch, and the later patches carried over it."""

from __future__ import annotations

from typing import NamedTuple

from opencoti_patches.carry.forward import forward
from opencoti_patches.carry.from_folder import Snapshot, guard_markers
from opencoti_patches.carry.rows import words
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import PatchName, TreeId, printable
from opencoti_patches.core.shell import word
from opencoti_patches.stack.arrange import note, refused
from opencoti_patches.stack.desk import Desk, index_of
from opencoti_patches.stack.model import Change, Fated


class Refreshed(NamedTuple):
    """The change, and the patch after which the folder is from now on: its own tree stays as it is."""

    change: Change
    at: PatchName


def refresh(desk: Desk, name: PatchName, snapshot: Snapshot, began_at: str, *, leave: bool = False) -> Refreshed:
    """Patch ``name`` with the folder's edits in it, its header untouched. The folder began as the tree after that
    patch, or after a later one, ``began_at``: then the edits are carried back first. ``leave``: later patches
    without a place stay as they are, in conflict, and the rest is written.

    Errors: Refused ``no-change``, ``wrong-bootstrap``, ``markers``.
    """
    entries, repo = desk.series.entries, desk.store.repo
    at = index_of(entries, name)
    entry, later = entries[at], entries[at + 1 :]
    before, after = desk.tree(entries[:at]), desk.tree(entries[: at + 1])
    if snapshot.now == snapshot.began:
        raise Refused(
            "no-change",
            "nothing was edited in the folder",
            f"edit it first, or name the one that was: opencoti-patches refresh {word(name)} DIR",
        )
    guard_markers(snapshot.began, snapshot, desk.store)
    now, place = snapshot.now, name
    if snapshot.began != after:
        place = _place(desk, at, snapshot.began, began_at)
        edits = desk.carry([desk.made("edits", forward(repo, snapshot.began, snapshot.now))], snapshot.began, after)
        if edits.stuck:
            why = words(edits.stuck[0].reason, "a later patch")
            what = f"the edits have no place in {printable(name)}: {why}"
            return Refreshed(Change(entries, (), None, refused=what), place)
        now = desk.tree((*entries[: at + 1], *edits.entries))
    if now == before:
        raise Refused(
            "no-change",
            f"nothing would be left of {printable(name)}",
            f"leave it out: opencoti-patches drop {word(name)}",
        )
    fresh = desk.composed(entry, before, now)
    carried = desk.carry(later, after, now)
    who = f"the new {printable(name)}"
    if carried.stuck and not leave:
        change = refused(desk, entries, carried, {name}, f"on {printable(name)} as it would be", who)
        return Refreshed(change, place)
    carried = carried.leaving(later)
    rows: dict[PatchName, Fated] = {name: Fated(name, "refreshed")}
    note(rows, carried.rows, who)
    left = {r.name for r in carried.stuck}
    moved = {e.name: e for e in carried.entries}
    new = (*entries[:at], fresh, *(e if e.name in left else moved[e.name] for e in later))
    upto = index_of(entries, place) + 1
    if not left and desk.tree(new[:upto]) != snapshot.now:
        what = (
            f"with the edits in {printable(name)}, the tree after {printable(place)} would be another than the folder"
        )
        return Refreshed(Change(entries, (), None, refused=what), place)
    return Refreshed(Change(new, tuple(rows.values()), None, left=tuple(n for n in rows if n in left)), place)


def _place(desk: Desk, at: int, began: TreeId, began_at: str) -> PatchName:
    """The later patch that the folder was after. Errors: Refused ``wrong-bootstrap``."""
    entries = desk.series.entries
    later = next((i for i in range(at + 1, len(entries)) if entries[i].name == began_at), None)
    if later is not None and desk.tree(entries[: later + 1]) == began:
        return entries[later].name
    name = entries[at].name
    raise Refused(
        "wrong-bootstrap",
        f"the folder was not made as the tree after {printable(name)}, nor after a later patch"
        + (f", but as that after {printable(began_at)}" if began_at else ""),
        f"make a folder to edit in: opencoti-patches edit {word(name)} DIR",
    )
