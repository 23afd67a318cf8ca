"""The answer of ``status``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from opencoti_patches.core.config import Source
from opencoti_patches.core.errors import Refused
from opencoti_patches.core.model import Plan, Report, Series, TreeId, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import Said, with_short_ids
from opencoti_patches.series import lock

_NAME = 9  # columns of the first word


class LockState(NamedTuple):
    """How the lock stands to the series; ``differences`` in sentences."""

    word: Literal["none", "in step", "stale", "damaged"]
    differences: tuple[str, ...] = ()


class State(NamedTuple):
    """All that ``status`` tells. ``base`` and ``plan`` are None where the store has no base."""

    name: str
    sources: tuple[Source, ...]
    base: TreeId | None
    series: Series
    disabled: tuple[str, ...]  # patches that comments of the series name
    patches: str
    plan: Plan | None
    lock: LockState
    tree_dir: str
    tree: str
    session: dict[str, Any] | None = None  # an open bump


def lock_state(folder: Path, series: Series, plan: Plan | None) -> LockState:
    """Compare the lock with the series as judged, or with its files alone where nothing was judged."""
    try:
        known = lock.read(folder)
        if known is None:
            return LockState(word="none")
        found = lock.disagreements(known, series, plan or Plan(base=TreeId(known.base), tip=None, verdicts=()))
    except Refused as e:
        return LockState(word="damaged", differences=(e.message,))
    return LockState(word="stale" if found else "in step", differences=found)


def report(state: State) -> Report:
    """One screen, whatever the state; ``ok`` is always true, since nothing was asked to hold."""
    text = [
        str(_row("project", printable(state.name))),  # the one that names no command, whatever its words are
        _row("base", _base(state)),
        _row("series", _series(state) + _disabled(state)),
        _row("lock", _lock(state)),
        _row("tree", f"{printable(state.tree_dir)}: {printable(state.tree)}"),
        _row("session", _session(state.session)),
    ]
    return Report(command="status", ok=True, data=_data(state), text=tuple(text))


def _session(session: dict[str, Any] | None) -> str:
    if session is None:
        return "none"
    waits = f", waits for {session['waits_for']}" if session["waits_for"] else ""
    more = ", and does not go on with other patches" if session["changed"] else ""
    return f"a bump to {session['value']} is under way{waits}{more}; 'opencoti-patches bump --status'"


def _data(state: State) -> dict[str, Any]:
    plan, series = state.plan, state.series
    return {
        "name": printable(state.name),
        "base": {
            "ready": state.base is not None,
            "tree": state.base,
            "sources": [
                {"kind": s.kind, "label": printable(s.label), "upstream": printable(s.upstream), "into": s.into}
                for s in state.sources
            ],
        },
        "series": {
            "dir": printable(state.patches),
            "listed": series.listed,
            "patches": len(series.entries),
            "disabled": [printable(n) for n in state.disabled],
            "applies": plan.ok if plan else None,
            "statuses": dict(Counter(v.status for v in plan.verdicts)) if plan else None,
            "first_failed": next((printable(v.name) for v in plan.verdicts if not v.applied), None) if plan else None,
        },
        "lock": {"state": state.lock.word, "differences": [printable(d) for d in state.lock.differences]},
        "tree": {"dir": printable(state.tree_dir), "state": printable(state.tree)},
        "session": state.session,
    }


def _base(state: State) -> str:
    labels = ", ".join(printable(s.label + (f", upstream {s.upstream}" if s.upstream else "")) for s in state.sources)
    if state.base is None:
        # a folder may have been taken, and changed since
        word = "as it is now" if any(s.kind == "directory" for s in state.sources) else "yet"
        return f"{labels}: not in the store {word}; run 'opencoti-patches bootstrap'"
    return f"{labels}: tree {state.base[:12]}, in the store"


def _series(state: State) -> str:
    head = plural(len(state.series.entries), "patch") + (
        "" if state.series.listed else " (no series file: in order of number, then name)"
    )
    plan = state.plan
    if plan is None:
        return f"{head}, not judged without the base"
    counts = Counter(v.status for v in plan.verdicts)
    parts = ", ".join(f"{counts[s]} {s}" for s in ("clean", "offset", "failed", "blocked", "empty") if counts[s])
    if not plan.verdicts:
        return f"{head}, nothing to apply"
    if plan.ok:
        return f"{head}: {parts}; it applies strictly"
    first = next(v.name for v in plan.verdicts if not v.applied)
    return f"{head}: {parts}; it does not apply, first {printable(first)}; run 'opencoti-patches check'"


def _disabled(state: State) -> str:
    count = len(state.disabled)
    return f"; {count} disabled, not counted" if count else ""


def _lock(state: State) -> str:
    found = state.lock.differences
    if state.lock.word == "none":
        return "none; 'opencoti-patches lock' writes it"
    if state.lock.word == "in step":
        return "in step" if state.plan else "in step with the patch files; base and tip not compared"
    shown = printable(lock.told(found))
    when = "" if state.plan is None or state.plan.ok else "once the series applies, "
    return f"{state.lock.word}: {shown}; {when}run 'opencoti-patches lock'"


def _row(name: str, text: str) -> Said:
    return Said(f"{name:<{_NAME}}{with_short_ids(text)}", 0, _NAME)
