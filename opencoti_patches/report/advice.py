"""What to run next for a patch that is not clean: a line that can be pasted, and what comes after it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from opencoti_patches.core.model import PatchName, Problem, Verdict
from opencoti_patches.core.shell import word

_MERGE = (
    "opencoti-patches bootstrap --to {short} --merge WORK",
    "opencoti-patches regen {short} --from WORK  # once WORK is right",
)
_AGAIN = (
    "opencoti-patches bootstrap {before}WORK",
    "opencoti-patches regen {short} --from WORK  # once its change is in WORK",
)
_REGEN = ("opencoti-patches regen {short}",)
_NEXT: dict[str, tuple[str, ...]] = {
    "whitespace": _REGEN,
    "eol": _REGEN,
    "missing-newline": _REGEN,
    "zero-context": _REGEN,
    "offset": _REGEN,
    "renamed-file": _REGEN,
    "corrupt": _AGAIN,
    "already-applied": (
        "opencoti-patches show {short}",
        "opencoti-patches drop {short}  # if the tree before it has all of it",
    ),
    "binary": ("make the patch again with 'git diff --binary'",),
    "unsafe-path": ("do not apply it; ask where it came from",),
    "empty": ("opencoti-patches drop {short}",),
}


def advice(verdict: Verdict, before: PatchName | None, patches: str, others: Sequence[Verdict]) -> tuple[str, ...]:
    """The command to run next for a patch that is not clean, and what to do then, if there is more.
    ``before`` is the patch before it, ``patches`` the patches folder as people type it, ``others`` what is said of the
    whole series."""
    if first := verdict.blocked_by or _awaited(verdict, others):
        return (f"mend {first[0]} first, then check again",)
    if verdict.cause == "wrong-strip":
        return _strip_advice(verdict, patches)
    templates = _NEXT.get(verdict.cause or "", _REGEN if all(map(_has_place, verdict.problems)) else _MERGE)
    if verdict.without and templates in (_MERGE, _AGAIN):  # there is no tree before it
        return (f"mend {verdict.without[0]} first, then check again",)
    return _filled(templates, verdict.name, before, [v.name for v in others])


def after_regen(name: PatchName, cause: str, before: PatchName | None, names: Sequence[str]) -> tuple[str, ...]:
    """What to run for a patch of which ``regen`` makes nothing, for that ``cause``: as ``advice``, but not that again.
    ``names`` are those of the series."""
    templates = _NEXT.get(cause, _MERGE)
    return _filled(_MERGE if templates == _REGEN else templates, name, before, names)


def _filled(
    templates: Sequence[str], name: PatchName, before: PatchName | None, names: Sequence[str]
) -> tuple[str, ...]:
    from opencoti_patches.series.naming import called

    words = {"short": called(name, names), "before": f"--to {called(before, names)} " if before else ""}
    return tuple(t.format(**words) for t in templates)


def _awaited(verdict: Verdict, others: Sequence[Verdict]) -> list[PatchName]:
    """Of a patch that moved, those in its files that did not apply: its line numbers are others once they do."""
    if verdict.status != "offset":
        return []
    return [v.name for v in others if v.name in verdict.without and not set(v.files).isdisjoint(verdict.files)]


def _has_place(problem: Problem) -> bool:
    """Whether ``regen`` may well mend it: most of the lines of a hunk stand in one place, or what differs is none of them."""
    return _NEXT.get(problem.cause) == _REGEN or (problem.cause == "context-changed" and problem.line > 0)


def _strip_advice(verdict: Verdict, patches: str) -> tuple[str, ...]:
    """The level that fits, or the folder that the paths lack, where the diagnosis found it."""
    words = " ".join(p.message for p in verdict.problems)
    if m := re.search(r"with (-p\d+) instead", words):
        return (f"write '{verdict.name} {m[1]}' in the series file",)
    if m := re.search(r"its paths lack '(.+?)/?'", words):
        return (f"opencoti-patches import --directory {word(m[1])} {word(f'{patches}/{verdict.name}')}",)
    return (f"give the strip level in the series file: '{verdict.name} -pN'",)
