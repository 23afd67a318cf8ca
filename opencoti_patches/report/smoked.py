"""The answers of ``smoke``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opencoti_patches.core.model import Report, TreeId, printable
from opencoti_patches.core.smoke import Prompt
from opencoti_patches.core.words import plural
from opencoti_patches.report.wrapping import from_here, wrapped
from opencoti_patches.smoke.against import Compared, Difference, Side
from opencoti_patches.smoke.check import Answered, Smoked
from opencoti_patches.smoke.server import Failure, Launch

BASE = "the base"


def report(
    profile: str, tree: TreeId, server: str, model: str, launch: Launch, smoked: Smoked, record: Path, start: Path
) -> Report:
    """How the server did. Paths are shown from ``start``."""
    f = smoked.failure
    if f:
        text = [
            f"{profile}: {f.where} failed",
            *_said(f, smoked.lines),
            *(_log(launch.log, start) if f.step != "pair" else ()),
        ]
    else:
        text = [f"{profile}: {printable(server)} starts, answers {plural(len(smoked.prompts), 'prompt')}, ends"]
    answered = [row for p in smoked.prompts if p.answer for row in _answer(p)]
    data = {
        "profile": profile,
        "tree": tree,
        "server": printable(server),
        "model": {"path": printable(str(launch.model)), "sha256": model},
        "log": printable(str(launch.log)),
        "record": printable(str(record)),
        "prompts": [_prompt(p) for p in smoked.prompts],
        "failure": failure(f, smoked.lines) if f else None,
    }
    return Report(command="smoke", ok=f is None, data=data, text=(*text[:1], *answered, *text[1:]))


def compared(profile: str, both: Compared, prompts: Sequence[Prompt], start: Path) -> Report:
    """Whether two builds answer the same, and where not."""
    failed = both.failed
    name = printable(both.old.patch) or BASE
    if failed:
        text = _failed(profile, failed, start)
    elif both.same:
        smoked = both.old.smoked
        assert smoked is not None
        tokens = sum(len(p.answer.tokens or ()) for p in smoked.prompts if p.answer)
        same = (
            f"{plural(len(prompts), 'prompt')}, {plural(tokens, 'token')}: the same as after {name}, to the last digit"
        )
        text = wrapped(f"{profile}: {same}", 0, 2)
    else:
        count = f"{len(both.differences)} of {plural(len(prompts), 'prompt')}"
        text = wrapped(f"{profile}: {count} answered otherwise than after {name}", 0, 2)
        for d in both.differences:
            text += _difference(d, prompts[d.prompt - 1])
    data: dict[str, Any] = {
        "profile": profile,
        "against": printable(both.old.patch) or None,
        "old": _side(both.old),
        "new": _side(both.new) if both.new else None,
        "differences": [_row(d, prompts[d.prompt - 1]) for d in both.differences],
        "failure": None,
    }
    if failed:
        f, lines = _what(failed)
        side = {"side": "old" if failed is both.old else "new", "log": printable(str(failed.log))}
        data["failure"] = side | failure(f, lines)
    return Report(command="smoke", ok=both.same, data=data, text=tuple(text))


def failure(f: Failure, lines: Sequence[str]) -> dict[str, Any]:
    """A failure as JSON has it."""
    return {
        "step": f.step,
        "prompt": f.prompt or None,
        "cause": f.cause,
        "message": printable(f.message),
        "lines": [printable(line) for line in lines],
    }


def _failed(profile: str, side: Side, start: Path) -> list[str]:
    name = printable(side.patch) or BASE
    f, lines = _what(side)
    return [*wrapped(f"{profile}, after {name}: {f.where} failed", 0, 2), *_said(f, lines), *_log(side.log, start)]


def _what(side: Side) -> tuple[Failure, Sequence[str]]:
    """What a side failed of, and the telling lines of its log."""
    if side.smoked is not None:
        assert side.smoked.failure is not None
        return side.smoked.failure, side.smoked.lines
    unbuilt = side.built.failure
    assert unbuilt is not None
    where = f"{unbuilt.file}, line {unbuilt.line}: " if unbuilt.file else ""
    return Failure("build", "build", where + unbuilt.message), ()


def _said(f: Failure, lines: Sequence[str]) -> list[str]:
    return [*wrapped(printable(f.message), 4, 2), *(f"    | {printable(line)}" for line in lines)]


def _log(log: Path, start: Path) -> list[str]:
    return wrapped(f"the whole log: {from_here(log, start)}", 4, 2)


def _answer(p: Answered) -> list[str]:
    assert p.answer is not None
    return wrapped(f'"{printable(p.prompt.text)}" -> "{printable(p.answer.text)}"', 4, 2)


def _prompt(p: Answered) -> dict[str, Any]:
    return {
        "text": p.prompt.text,
        "contains": p.prompt.contains or None,
        "answer": p.answer.text if p.answer else None,
        "tokens": len(p.answer.tokens or ()) if p.answer else 0,
    }


def _difference(d: Difference, prompt: Prompt) -> list[str]:
    old, new = (_value(d.what, v) for v in (d.old, d.new))
    what = {"top": "logprobs of the others"}.get(d.what, d.what)
    at = "" if d.what == "text" else f"token {d.token}: "
    return [*wrapped(f'"{printable(prompt.text)}": {at}{what}', 4, 2), f"      - {old}", f"      + {new}"]


def _value(what: str, value: str | None) -> str:
    if value is None:
        return "(the answer has ended)"
    return printable(repr(value)) if what in ("token", "text") else printable(value)


def _row(d: Difference, prompt: Prompt) -> dict[str, Any]:
    return {**d._asdict(), "text": prompt.text}


def _side(side: Side) -> dict[str, Any]:
    prompts = [_prompt(p) for p in side.smoked.prompts] if side.smoked else []
    return {"tree": side.built.tree, "dir": printable(str(side.built.outputs)), "prompts": prompts}
