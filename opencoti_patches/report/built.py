"""The answer of ``build``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from opencoti_patches.build.manifest import Artefact
from opencoti_patches.build.run import Built
from opencoti_patches.core.model import Finding, Report, printable
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import from_here, wrapped

_SHOWN = 12  # artefacts in text


def report(profile: str, built: Built, start: Path, *, verbose: bool = False) -> Report:
    """What was made, or what it died of. Paths are shown from ``start``."""
    return Report(
        command="build",
        ok=built.failure is None,
        data=_data(profile, built),
        text=tuple(_failed(profile, built, start) if built.failure else _made(profile, built, start, verbose)),
        findings=_findings(built),
    )


def _made(profile: str, built: Built, start: Path, verbose: bool) -> list[str]:
    where = from_here(built.outputs, start)
    done = "nothing to do" if built.up_to_date else plural(built.steps, "step") if built.steps else "built"
    text = wrapped(f"{profile}: {done}, {plural(len(built.artefacts), 'artefact')} in {where}", 0, 2)
    if built.since:
        text += wrapped(f"nothing that {profile} is made of changed since tree {built.since[:12]}", 4, 2)
    rows = built.artefacts if verbose else built.artefacts[:_SHOWN]
    text += [f"    {printable(a.path)}  {_size(a.bytes)}{_kind(a)}  sha256 {a.sha256[:12]}" for a in rows]
    if not built.artefacts:
        text += wrapped('none of the profile\'s artefacts was made: name them, artefacts = ["bin/*"]', 4, 2)
    left = len(built.artefacts) - len(rows)
    return text + ([f"    {left} more: -v shows all"] if left else [])


def _failed(profile: str, built: Built, start: Path) -> list[str]:
    f = built.failure
    assert f is not None
    where = f"{printable(f.file)}, line {f.line}: " if f.file else ""
    text = [f"{profile}: {built.step} failed", *wrapped(where + printable(f.message), 4, 2)]
    if f.patch:
        text += wrapped(f"the line is from {printable(f.patch)}", 4, 2)
    elif f.file and not Path(f.file).is_absolute():
        text += wrapped("the line is from the base", 4, 2)
    return [*text, *wrapped(f"the whole log: {from_here(built.log, start)}", 4, 2)]


def _findings(built: Built) -> tuple[Finding, ...]:
    f = built.failure
    if f is None:
        return ()
    return (Finding(level="error", rule="build", message=printable(f.message), path=f.file, line=max(f.line, 1)),)


def _data(profile: str, built: Built) -> dict[str, Any]:
    f = built.failure
    return {
        "profile": profile,
        "tree": built.tree,
        "dir": printable(str(built.outputs)),
        "log": printable(str(built.log)),
        "up_to_date": built.up_to_date,
        "steps": built.steps,
        "artefacts": [{**a._asdict(), "path": printable(a.path)} for a in built.artefacts],
        "failure": None
        if f is None
        else {
            "step": built.step,
            "message": printable(f.message),
            "file": printable(f.file) or None,
            "line": f.line,
            "patch": printable(f.patch) or None,
        },
    } | ({"since": built.since} if built.since else {})


def _kind(a: Artefact) -> str:
    return "  APE" if a.kind == "ape" else ""


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"
