"""The answer of the commands that rearrange the stack: what became of each patch, and whether the tree is what
it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.base.states import Step
from opencoti_patches.core.model import Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.files import REMOVED, listed
from opencoti_patches.report.wrapping import Said, cut, from_here, wrapped
from opencoti_patches.report.wrapping import steps as shown_steps
from opencoti_patches.stack.absorb import Edit
from opencoti_patches.stack.model import Blocker, Change, Fated, Settled

_SHOWN = 30  # lines of an interdiff, files that differ
_DOES = {"+": "adds", "-": "takes out"}


def report(
    command: str,
    change: Change,
    settled: Settled | None,
    *,
    written: Sequence[str] = (),
    removed: Sequence[str] = (),
    dry_run: bool = False,
    needs: Sequence[str] = (),
    claims: Sequence[str] = (),
    notes: Sequence[str] = (),
    steps: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
    head: Sequence[str] = (),
    verbose: bool = False,
) -> Report:
    """``settled`` is None where nothing may be written: ``change`` says why, or ``needs`` names adapted patches that
    nobody accepted. ``claims`` and ``notes`` are sentences, ``steps`` the commands to run next, ``more`` and ``head`` what
    one command alone has to say."""
    ok = settled is not None and not change.left
    text = list(head)
    for row in change.rows if not change.refused else ():
        if row.fate != "kept" or row.reason or verbose:
            text += _block(row)
    if settled:
        text += _tree(settled)
        text += [line for claim in claims for line in wrapped(f"note: {claim}", 0)]
        text += [Said(f"note: {note}", 0) for note in notes]
        names = [*written, *(name + REMOVED for name in removed)]
        verb = "would be written" if dry_run else "written"
        text += wrapped(f"{verb}: {listed(names)}" if names else "nothing to write", 0)
    elif needs:
        text += wrapped("nothing was written: look at what was adapted, then run it again with --accept-adapted", 0)
    else:
        text += [*wrapped(change.refused, 0), *_blocked(change.blockers), "nothing was written"]
    text += shown_steps(steps, 0)
    data: dict[str, Any] = {
        "patches": [_row(r) for r in change.rows],
        "series": [printable(e.name) for e in change.entries],
        "tip": {"before": settled.before if settled else None, "after": settled.after if settled else None},
        "differs": [printable(p) for p in settled.differs] if settled else [],
        "written": [] if dry_run else [printable(p) for p in written],
        "removed": [] if dry_run else [printable(p) for p in removed],
        "dry_run": dry_run,
        "needs_acceptance": [printable(n) for n in needs],
        "claims": list(claims),
        "notes": list(notes),
        "in_the_way": [_blocker(b) for b in change.blockers],
        "refused": printable(change.refused),
        "left": [printable(n) for n in change.left],
        "next": list(steps),
        **(more or {}),
    }
    return Report(command=command, ok=ok, data=data, text=tuple(text))


def _block(row: Fated) -> list[str]:
    name = f"{printable(row.was)} is {printable(row.name)} now" if row.was else f"{printable(row.name)}: {row.fate}"
    lines = wrapped(f"{name}: {row.reason}" if row.reason else name, 0)
    lines += cut([f"    {line}" for line in row.interdiff[:_SHOWN]])
    if len(row.interdiff) > _SHOWN:
        lines.append(f"    … {plural(len(row.interdiff) - _SHOWN, 'more line')}")
    return lines


def _row(row: Fated) -> dict[str, Any]:
    data: dict[str, Any] = {"name": printable(row.name), "status": row.fate, "reason": row.reason}
    if row.was:
        data["was"] = printable(row.was)
    if row.interdiff:
        data["interdiff"] = list(row.interdiff)
    return data


def _blocked(blockers: Sequence[Blocker]) -> list[str]:
    lines: list[str] = []
    for b in blockers:
        what = f"{b.file}:{b.line}, which {printable(b.of)} {_DOES[b.sign]}:" if b.line else ""
        lines += wrapped(what or f"{printable(b.of)} {b.sign} {b.file}", 4)
        lines += cut([f"        {b.text}"]) if b.line else []
    return lines


def _blocker(b: Blocker) -> dict[str, Any]:
    return {
        "patch": printable(b.patch),
        "of": printable(b.of),
        "file": b.file,
        "line": b.line,
        "does": _DOES.get(b.sign, b.sign),
        "text": b.text,
    }


def _tree(settled: Settled) -> list[str]:
    if settled.after is None and settled.before:
        return ["the series does not apply as a whole until that is mended"]
    if settled.after is None:
        return ["the series does not apply as a whole, as before"]
    if settled.before == settled.after:
        return [f"the tree after the last patch is what it was: {settled.after[:12]}"]
    if settled.before is None:
        return [f"the tree after the last patch: {settled.after[:12]}"]
    files = list(map(printable, settled.differs))
    more = [f"    … {plural(len(files) - _SHOWN, 'more file')}"] if len(files) > _SHOWN else []
    return [
        f"the tree after the last patch differs in {plural(len(files), 'file')}:",
        *(f"    {f}" for f in files[:_SHOWN]),
        *more,
    ]


def absorbed(edits: Sequence[Edit]) -> list[str]:
    """Where each edit goes."""
    lines: list[str] = []
    for e in edits:
        size = f":{e.lo + 1}, +{len(e.added)} -{e.hi - e.lo}" if e.added or e.hi > e.lo else ""
        lines.append(Said(f"{printable(e.file)}{size}: {f'into {printable(e.into)}' if e.into else f'left: {e.why}'}"))
    return lines


def edit_row(e: Edit) -> dict[str, Any]:
    """An edit as the document has it."""
    return {
        "file": printable(e.file),
        "line": e.lo + 1 if e.added or e.hi > e.lo else 0,
        "added": len(e.added),
        "removed": e.hi - e.lo,
        "into": printable(e.into) if e.into else None,
        "why": e.why,
    }


def undone(
    command: str, step: Step, saved: Sequence[Path], folders: Sequence[Path], kept: Sequence[str], start: Path
) -> Report:
    """The answer of ``undo`` and ``redo``, run in ``start``. ``folders`` are those whose edits are edits again, or a
    patch's again; how the patches of ``kept`` were resolved waits in the store for the next bump."""
    done = "undone" if command == "undo" else "done again"
    data = {
        "step": step_row(step),
        "saved": list(map(str, saved)),
        "folders": [printable(str(f)) for f in folders],
        "kept": list(kept),
    }
    files = list(map(printable, step.files))
    text = wrapped(f"{done}: {step.what} of {step.when}, {plural(len(files), 'file')}")
    text += [f"    {f}" for f in files[:_SHOWN]]
    text += wrapped(f"what had changed since is in {', '.join(from_here(p, start) for p in saved)}") if saved else []
    again = "edits" if command == "undo" else "a patch's"
    text += [line for f in folders for line in wrapped(f"{from_here(f, start)}: its edits are {again} again", 0)]
    text += wrapped(f"how these were resolved is kept for the next bump: {', '.join(kept)}", 0) if kept else []
    back = "redo" if command == "undo" else "undo"
    text += shown_steps([f"opencoti-patches check  # or opencoti-patches {back}, which takes it back"], 0)
    return Report(command=command, ok=True, data=data, text=tuple(text))


def log(steps: Sequence[Step]) -> Report:
    """The answer of ``undo --list``."""
    text = [
        f"{s.number:>4}  {s.when}  {s.what}, {plural(len(s.files), 'file')}{'  (undone)' if s.undone else ''}"
        for s in steps
    ]
    data = {"steps": [step_row(s) for s in steps]}
    return Report(command="undo", ok=True, data=data, text=tuple(text) or ("nothing was written yet",))


def step_row(step: Step) -> dict[str, Any]:
    """A step as the documents have it."""
    return {
        "number": step.number,
        "command": step.what,
        "when": step.when,
        "files": [printable(f) for f in step.files],
        "undone": step.undone,
    }
