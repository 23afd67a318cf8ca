"""The answers of ``bump``: what became of the series, where a session stands, what was given up or forgotten."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.carry.model import Row
from opencoti_patches.carry.session import Session
from opencoti_patches.core.config import Source
from opencoti_patches.core.model import Report, TreeId, is_full_id, printable
from opencoti_patches.core.shell import word
from opencoti_patches.core.words import plural
from opencoti_patches.doors.net import shown
from opencoti_patches.report import carried
from opencoti_patches.report.wrapping import Said, from_here, wrapped

_GO_ON, _GIVE_UP = "opencoti-patches bump --continue", "opencoti-patches bump --abort"
_RESOLVED = f"{_GO_ON}  # once it is resolved"
_UNDO = "opencoti-patches undo"


class Base(NamedTuple):
    """A base: the tree of all sources, and the one source that the bump is about."""

    tree: TreeId
    source: Source
    root: Path  # the project's folder

    def document(self) -> dict[str, str]:
        """As ``--json`` tells it."""
        return {
            "tree": self.tree,
            "kind": self.source.kind,
            "source": printable(self._name()),
            "rev": printable(self.rev()),
            "label": printable(self.source.label),
            "upstream": printable(self.source.upstream),
        }

    def rev(self) -> str:
        """The revision or version as people call it: by its name, if the label knows one."""
        source = self.source
        if source.kind != "git" or not is_full_id(source.rev):
            return source.version or source.rev
        named = re.fullmatch(rf"{source.rev} \((.+)\)", source.upstream)
        return named[1] if named else source.rev[:12]

    def _name(self) -> str:
        """What people call the source, whatever revision it is at."""
        here = os.path.isabs(self.source.url)
        return self.source.package or (os.path.relpath(self.source.url, self.root) if here else shown(self.source.url))


class Waiting(NamedTuple):
    """A patch in conflict, the folder to resolve it in, the files there that want a person."""

    name: str
    folder: Path
    files: Sequence[str]


def report(
    rows: Sequence[Row],
    old: Base,
    new: Base,
    tip: TreeId | None,
    *,
    again: str,
    written: Sequence[str],
    deleted: Sequence[str],
    dry_run: bool,
    refused: Sequence[str],
    skipped: Set[str],
    disabled: Sequence[str],
    reused: Sequence[str],
    waits: Waiting | None,
    notes: Sequence[str],
    session: bool,
    finished: Sequence[str],
    start: Path,
    quiet: bool,
    verbose: bool,
) -> Report:
    """What became of the series. ``tip`` is the tree after the last patch, None unless all of it could be
    carried; ``again`` the command line that starts this bump; ``disabled`` patches that comments of the series
    name; ``reused`` those whose conflicts were resolved before; ``session`` whether one is open; ``finished`` what to
    run once it is written; ``start`` the folder in which the program runs."""
    tail = [line for note in notes for line in wrapped(f"note: {note}", 0)]
    tail += _left_out([r.name for r in rows if r.name in skipped], disabled, bool(written) and not dry_run)
    if new.source.upstream and new.source.upstream != old.source.upstream and tip and not refused:
        tail += wrapped(f"upstream: {printable(new.source.upstream)}", 0)
    if waits:
        name = printable(waits.name)
        tail += wrapped(f"{name} waits for you in {from_here(waits.folder, start)}:", 0)
        tail += [f"        {printable(f)}" for f in waits.files]
        tail.append("resolve it there, or go on without it, or give the bump up:")
        tail += _ways(waits.name)
    # it is the next to mend
    first = next((r.name for r in rows if r.status == "conflict" and r.name not in skipped), "")
    then = list(finished) if written and not dry_run else []
    if refused and not first:
        then = [f"{_GO_ON if session else again} --accept-adapted"]
    more: dict[str, Any] = {
        "answer": "carried",
        "deleted": [] if dry_run else [printable(d) for d in deleted],
        "from": old.document(),
        "base": new.document(),
        "tip": {"tree": tip},
        "skipped": [printable(r.name) for r in rows if r.name in skipped],
        "disabled": [printable(n) for n in disabled],
        "reused": [printable(n) for n in reused],
        "notes": list(notes),
    }
    if waits:
        more |= {
            "waits_for": printable(waits.name),
            "worktree": printable(str(waits.folder)),
            "files": [printable(f) for f in waits.files],
        }
    return carried.report(
        "bump",
        rows,
        written=written,
        deleted=deleted,
        dry_run=dry_run,
        refused=refused,
        skipped=skipped,
        more=more,
        tail=tail,
        then=then,
        next_of=lambda r: [r.next or again if dry_run and not session else _RESOLVED] if r.name == first else (),
        quiet=quiet,
        verbose=verbose,
    )


def _left_out(skipped: Sequence[str], disabled: Sequence[str], done: bool) -> list[str]:
    """The patches that do not go along, and, once the others have gone, how one comes after them."""
    names = [*(f"{printable(n)} (skipped)" for n in skipped), *(f"{printable(n)} (disabled)" for n in disabled)]
    if not names:
        return []
    stay, it = ("their files stay", "one") if len(names) > 1 else ("its file stays", "it")
    lines = wrapped(f"not carried, {stay} as made for an older base: {', '.join(names)}", 0)
    if done:
        one = word((*skipped, *disabled)[0])
        lines.append(Said(f"to have {it} back: opencoti-patches enable {one}", whole=True))
    return lines


def _ways(waits_for: str, option: str = "") -> list[str]:
    """What may come next, a line each that can be pasted; ``option`` goes with --continue."""
    skip = [f"opencoti-patches bump --skip {word(waits_for)}"] if waits_for else []
    return [Said(printable(c), 4, whole=True) for c in (_GO_ON + option, *skip, _GIVE_UP)]


def command_line(value: str, source: int | None) -> str:
    """The command line that starts a bump, as it can be pasted; ``source`` from 1, where it was named."""
    return f"opencoti-patches bump {word(value)}" + (f" --source {source}" if source else "")


def already(source: Source, value: str) -> Report:
    """The base is what was asked for."""
    more = f" ({printable(source.upstream)})" if source.upstream else ""
    return Report(
        command="bump",
        ok=True,
        data={
            "answer": "already",
            "value": printable(value),
            "label": printable(source.label),
            "upstream": printable(source.upstream),
        },
        text=tuple(wrapped(f"already on {printable(value)}{more if len(more) < 60 else ''}: nothing to do", 0)),
    )


def status(session: Session | None, document: dict[str, Any] | None, start: Path, shared: Path | None = None) -> Report:
    """Where a bump stands; both are None where there is none. ``document`` is the session as ``--json`` tells it,
    ``start`` the folder in which the program runs, ``shared`` a store outside the project, which knows it by its place."""
    if session is None or document is None:
        text = ["no bump is under way"]
        if shared:
            where = f"note: the store {printable(str(shared))} has none for this folder"
            text += wrapped(f"{where}; one that began before the project was moved goes on at the old place alone", 0)
        return Report(command="bump", ok=True, data={"answer": "session", "session": None}, text=tuple(text))
    value = session.value[:12] if is_full_id(session.value) else session.value
    text = wrapped(f"a bump to {printable(value)} is under way", 0)
    if session.resolved:
        text += wrapped(f"resolved: {', '.join(map(printable, session.resolved))}", 0)
    if session.skipped:
        text += wrapped(f"skipped: {', '.join(map(printable, session.skipped))}", 0)
    if session.waits_for:
        folder = from_here(Path(str(document["worktree"])), start)
        text += wrapped(f"waits for {printable(session.waits_for)}, in {folder}:", 0)
        left = {row["file"]: f": a conflict marker in line {row['line']}" for row in document["markers"]}
        text += [f"        {f}{left.get(f, '')}" for f in map(printable, session.files)]
    if document["changed"]:
        text += wrapped("patches or configuration changed since it began, and it does not go on with others", 0)
        text += ["take that back, by hand or, where the last command did it, with the first, or", "give the bump up:"]
        text += [Said(command, 4, whole=True) for command in (_UNDO, _GIVE_UP)]
    else:
        if not session.waits_for:  # all was resolved, and the last run wanted only that
            text += wrapped("nothing is in conflict any more; what was adapted has to be accepted", 0)
        text += ["next, one of:", *_ways(session.waits_for, "" if session.waits_for else " --accept-adapted")]
    return Report(command="bump", ok=True, data={"answer": "session", "session": document}, text=tuple(text))


def aborted(value: str, kept: Sequence[str]) -> Report:
    """A bump was given up; how the patches of ``kept`` were resolved waits in the store for the next one."""
    text = wrapped(f"the bump to {printable(value)} is given up; nothing was changed", 0)
    if kept:
        text += wrapped(f"how these were resolved is kept for the next one: {', '.join(kept)}", 0)
    data = {"answer": "aborted", "aborted": printable(value), "kept": list(kept)}
    return Report(command="bump", ok=True, data=data, text=tuple(text))


def forgotten(patch: str, count: int, written: Sequence[str], deleted: Sequence[str]) -> Report:
    """Resolutions of a patch were forgotten; ``written`` is the shared file, if it had some, ``deleted`` if it had no
    others."""
    line = f"forgot {plural(count, 'resolution')} of {patch}"
    line += "".join(f". Written: {w}" for w in written) + "".join(f". Deleted: {d}" for d in deleted)
    return Report(
        command="bump",
        ok=True,
        data={
            "answer": "forgotten",
            "forgotten": patch,
            "resolutions": count,
            "written": [printable(w) for w in written],
            "deleted": [printable(d) for d in deleted],
        },
        text=tuple(wrapped(line, 0)),
    )
