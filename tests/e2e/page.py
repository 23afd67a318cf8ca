"""Pages of the documentation whose commands are run in order, and their outputs compared with what came.

A line "…" of an output stands for any lines, "…" in a line for any text.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
Ran = tuple[int, list[str], str]
"""What a command came to: exit code, lines on stdout, stderr."""


class Step(NamedTuple):
    """A command of the page, and the lines that it says come from it; ``at`` is the command's line, from 0."""

    at: int
    command: str
    says: tuple[str, ...]


def steps_of(page: str) -> list[Step]:
    """The commands: lines that begin with "    $ ", and those behind them with "    > "."""
    found: list[Step] = []
    lines = page.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].startswith("    $ "):
            at += 1
            continue
        begin, command = at, [lines[at][6:]]
        at += 1
        while at < len(lines) and (lines[at] + " ").startswith("    > "):
            command.append(lines[at][6:])
            at += 1
        says = []
        while at < len(lines) and _goes_on(lines[at:]):
            says.append(lines[at][4:])
            at += 1
        found.append(Step(begin, "\n".join(command), tuple(says)))
    return found


def _goes_on(lines: list[str]) -> bool:
    """Whether the first of these lines belongs to an output: a blank one does if the output goes on behind it."""
    first = next((line for line in lines if line), "")
    return first.startswith("    ") and not first.startswith("    $ ")


class Shell:
    """Commands run one after the other, each where the one before it ended, with a store that begins with what was fetched
    here once."""

    def __init__(self, folder: Path, store: Path | None = None) -> None:
        self.at = folder
        self.where = folder / "where"
        store = store or folder / "store"
        (store / "downloads").mkdir(parents=True, exist_ok=True)
        for file in (ROOT / ".opencoti/downloads").glob("*"):
            if not (there := store / "downloads" / file.name).exists():
                os.link(file, there)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "OPENCOTI_"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        self.env = kept | {"PATH": path, "OPENCOTI_STORE": str(store), "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def __call__(self, command: str) -> Ran:
        script = f"cd {shlex.quote(str(self.at))}\n{command}\ncode=$?\npwd > {shlex.quote(str(self.where))}; exit $code"
        done = subprocess.run(["bash", "-c", script], env=self.env, capture_output=True, text=True, check=False)
        self.at = Path(self.where.read_text().strip())
        return done.returncode, [x.rstrip() for x in done.stdout.splitlines()], done.stderr


def fits(says: tuple[str, ...], came: list[str]) -> bool:
    """Whether an output is what the page says."""
    rows = [".*" if line.strip() == "…" else ".*".join(map(re.escape, line.split("…"))) for line in says]
    if "…" not in map(str.strip, says):
        return len(rows) == len(came) and all(re.fullmatch(r, c) for r, c in zip(rows, came, strict=True))
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else f"{r}\n" for line, r in zip(says, rows, strict=True))
    return re.fullmatch(pattern, "".join(f"{c}\n" for c in came)) is not None


def as_it_came(page: str, run: Callable[[str], Ran]) -> Iterator[str]:
    """The lines of a page with what came instead of what it says."""
    steps = {s.at: s for s in steps_of(page)}
    lines, at = page.splitlines(), 0
    while at < len(lines):
        step = steps.get(at)
        if step is None:
            yield lines[at]
            at += 1
            continue
        yield from lines[at : at + step.command.count("\n") + 1]
        code, came, err = run(step.command)
        yield from (_TIME.sub("…", f"    {line}".rstrip()) for line in came)
        if code:
            print(f"line {at + 1} ended with {code}: {step.command}\n{err}", file=sys.stderr)
        at += step.command.count("\n") + 1 + len(step.says)
