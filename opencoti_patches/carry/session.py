"""A bump that waits for a person: what was decided so far, and a worktree with the conflict in it.

The session lies in the store. Every step runs the whole carry again with what was resolved by hand, so it
can be taken up after a crash or on another day; nothing in the project changes until it is finished.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.base.store import Store
from opencoti_patches.carry.marks import tree_of
from opencoti_patches.carry.merged import left_over
from opencoti_patches.carry.model import Marked
from opencoti_patches.core.config import Config
from opencoti_patches.core.errors import Refused, UsageError
from opencoti_patches.core.model import NOT_TEXT, PatchName, Series, TreeId, printable
from opencoti_patches.core.shell import inline, word
from opencoti_patches.doors import fs
from opencoti_patches.series.parse import Parsed
from opencoti_patches.tree.worktree import At, WorkTree


class Session(NamedTuple):
    """``value`` and ``source`` (from 0) are what the bump goes to; ``waits_for`` the patch in conflict,
    empty when only acceptance is wanting; ``before`` the tree that it has to go on."""

    value: str
    source: int
    pinned: str = ""  # the commit that ``value`` meant when it began, for a git source
    project: str = ""  # a digest of the configuration and the patches as they were then
    tag: str = ""
    waits_for: str = ""
    before: str = ""
    laid: str = ""  # the tree that the worktree was laid out as, markers and all
    resolved: tuple[PatchName, ...] = ()
    skipped: tuple[PatchName, ...] = ()
    files: tuple[str, ...] = ()  # that want a person
    made: tuple[str, ...] = ()  # all files that the patch leaves, ignored ones too


def _home(store: Store) -> Path:
    return store.session


def worktree(store: Store) -> Path:
    """Where the conflict is resolved."""
    return _home(store) / "tree"


def load(store: Store) -> Session | None:
    """The open session; None if there is none."""
    doc = fs.read_json(_home(store) / "state.json")
    if not isinstance(doc, dict):
        return None
    lists = {k: tuple(doc[k]) for k in ("resolved", "skipped", "files", "made")}
    return Session(**{**doc, **lists})


def must(store: Store, what: str) -> Session:
    """The open session. Errors: UsageError ``no-session``."""
    session = load(store)
    if session is None:
        raise UsageError(
            "no-session",
            f"no bump is under way, so there is nothing to {what}",
            "start one: opencoti-patches bump REV-OR-VERSION",
        )
    return session


def digest(config: Config, series: Series) -> str:
    """A digest of what a bump reads: it must be the same when the bump goes on."""
    h = hashlib.sha256(config.file.read_bytes())
    for e in series.entries:
        h.update(f"\0{e.name}\0{e.sha256}\0{e.strip}{e.reverse}".encode("utf-8", "surrogateescape"))
    return h.hexdigest()


def guard_same(session: Session, config: Config, series: Series) -> None:
    """Errors: Refused ``project-changed`` if the patches or the configuration changed since it began."""
    if changed(session, config, series):
        raise Refused(
            "project-changed",
            f"patches or {config.file.name} changed since the bump to {session.value} began",
            "put them back, as 'opencoti-patches undo' does after a command of this program, or give the bump up: "
            "opencoti-patches bump --abort",
        )


def changed(session: Session, config: Config, series: Series) -> bool:
    """Whether patches or configuration are others than when it began, so that it does not go on."""
    return session.project != digest(config, series)


def guard_none(store: Store) -> None:
    """Errors: Refused ``session-open``, naming what it waits for and every way on."""
    session = load(store)
    if session is not None:
        waits = f", and waits for {session.waits_for}" if session.waits_for else ""
        raise Refused("session-open", f"a bump to {session.value} is under way{waits}", ways_on(session))


def ways_on(session: Session) -> str:
    """What may come next, in one line."""
    skip = f", {inline(f'opencoti-patches bump --skip {word(session.waits_for)}')}" if session.waits_for else ""
    return f"'opencoti-patches bump --continue'{skip}, or 'opencoti-patches bump --abort'"


def document(store: Store, session: Session, config: Config, series: Series) -> dict[str, Any]:
    """The session as ``--json`` tells it."""
    return {
        "value": session.value,
        "waits_for": printable(session.waits_for) or None,
        "worktree": printable(str(worktree(store))) if session.waits_for else None,
        "files": [printable(f) for f in session.files],
        "markers": [{"file": printable(f), "line": line} for f, line in _marked(store, session).items()],
        "resolved": [printable(n) for n in session.resolved],
        "skipped": [printable(n) for n in session.skipped],
        "changed": changed(session, config, series),
    }


def _marked(store: Store, session: Session) -> dict[str, int]:
    """The files of the worktree that have a conflict marker yet, and the line, from 1, of its first one."""
    if not session.laid:
        return {}
    laid = store.repo.diff_trees(TreeId(session.before), TreeId(session.laid))
    sides = {path: laid[path] for path in session.files if path in laid}
    contents = store.repo.blobs(e[1] for both in sides.values() for e in both if e and e[0] != "160000")
    found = {}
    for path, both in sides.items():
        target, now = worktree(store) / path, b""
        with contextlib.suppress(OSError):
            now = target.read_bytes() if target.is_file() and not target.is_symlink() else b""
        was, merge = (contents.get(e[1], b"") if e else b"" for e in both)
        if line := left_over(was, merge, now):
            found[path] = line
    return found


def save(store: Store, session: Session) -> None:
    """Write the session down."""

    fs.write(_home(store) / "state.json", fs.json_bytes(session._asdict()))


def open_conflict(store: Store, session: Session, name: PatchName, before: TreeId, marked: Marked) -> Session:
    """Lay the worktree for a patch in conflict, markers in the files that need a person."""
    folder = worktree(store)
    shutil.rmtree(folder, ignore_errors=True)
    WorkTree(folder, store).move(At(tree=before, patch=""), force=True)
    for path in marked.files:
        fs.remove(folder, path)
    for path, held in marked.files.items():
        if held is not None:
            fs.put(folder, path, held[1], held[0])
    made = tuple(p for p, held in marked.files.items() if held is not None)
    laid = tree_of(before, marked.files, store.repo)
    now = session._replace(waits_for=name, before=before, laid=laid, files=tuple(marked.conflicts), made=made)
    save(store, now)
    return now


def resolution(store: Store, session: Session, parsed: Parsed) -> TreeId:
    """The tree that the person made of the conflict in a patch. Errors: Refused ``markers``, ``untouched``, ``wrong-kind``,
    ``no-change``; CouldNot ``disk``."""
    folder = worktree(store)
    work = WorkTree(folder, store)
    if work.at() is None:
        raise Refused(
            "session-lost", f"the worktree {folder} is gone", "'opencoti-patches bump --abort', then start again"
        )
    ours = [p for p in (*session.made, *session.files) if fs.plain(p)]
    work.guard_files(ours)
    tree, _new = work.snapshot(also=ours)
    before = TreeId(session.before)
    changed = store.repo.diff_trees(before, tree)
    laid = store.repo.diff_trees(before, TreeId(session.laid)) if session.laid else {}
    sides = {path: (was, laid.get(path, (was, was))[1], new) for path, (was, new) in changed.items()}
    contents = store.repo.blobs(e[1] for three in sides.values() for e in three if e and e[0] != "160000")
    marks = {p: left_over(*(contents.get(e[1], b"") if e else b"" for e in three)) for p, three in sides.items()}
    if left := [p for p, line in marks.items() if line]:
        more = f"; so {'has' if len(left) == 2 else 'have'} {', '.join(map(printable, left[1:]))}" if left[1:] else ""
        raise Refused(
            "markers",
            f"{printable(left[0])} line {marks[left[0]]} still has a conflict marker{more}",
            f"edit {'them' if more else 'it'} in {folder}, then 'opencoti-patches bump --continue'",
        )
    for path in ours:
        was_file = path in session.made or any(e and e[0] not in NOT_TEXT for e in sides.get(path, ())[:2])
        if what := _other_kind(folder, path, parsed, was_file):
            hint = f"put the file there, or remove that, in {folder}; then 'opencoti-patches bump --continue'"
            raise Refused("wrong-kind", f"{printable(path)} is a {what} now, and was a file", hint)
    for path in session.files:
        if path not in changed and path not in session.made:  # one with markers was touched: they are gone
            skip = f"opencoti-patches bump --skip {word(session.waits_for)}"
            if not _stands(folder, path):
                if tree != session.laid:
                    continue
                hint = f"put what the patch makes into {folder}, there or elsewhere; or leave the patch out: {skip}"
                raise Refused("untouched", f"{printable(path)} is a conflict, and no such file is there to merge", hint)
            hint = f"make it what the patch wants in {folder}; if upstream's is right as it is, leave the patch out: {skip}"
            raise Refused("untouched", f"{printable(path)} is a conflict, and is still as upstream has it", hint)
    if not changed:
        raise Refused(
            "no-change",
            f"the worktree has nothing of {session.waits_for} in it",
            f"resolve it in {folder}, or {inline(f'opencoti-patches bump --skip {word(session.waits_for)}')}",
        )
    return tree


def _other_kind(folder: Path, path: str, parsed: Parsed, was_file: bool) -> str:
    """What else a person put in a file's place that the patch does not put there; empty for a file, and for none."""
    target = folder / path
    if was_file and target.is_symlink():
        return "" if any(f.new == path and f.new_mode == "120000" for f in parsed.files) else "symbolic link"
    if was_file and target.is_dir():
        return "" if any(p.startswith(f"{path}/") for p in parsed.made) else "folder"
    return ""


def _stands(folder: Path, path: str) -> bool:
    """Whether there is a file at a path of the worktree; a patch may name one that cannot be."""
    target = folder / path
    return fs.plain(path) and os.path.lexists(target) and not target.is_dir()


def keep(store: Store, session: Session, raw: bytes) -> Session:
    """Remember the patch that a person made of the conflict."""
    name = PatchName(session.waits_for)
    fs.write(_home(store) / "resolved" / name, raw)
    kept = session._replace(resolved=(*session.resolved, name), waits_for="", before="", laid="", files=(), made=())
    save(store, kept)
    return kept


def resolved(store: Store, session: Session) -> Mapping[PatchName, bytes]:
    """The patches carried by hand so far."""
    return {n: (_home(store) / "resolved" / n).read_bytes() for n in session.resolved}


def close(store: Store) -> None:
    """Leave no trace of the session."""
    WorkTree(worktree(store), store).forget()
    shutil.rmtree(_home(store), ignore_errors=True)
