"""docs/tutorial.md on the real llama.cpp: every command of it is run in order, every output compared.

A line "…" of an output stands for any lines, "…" in a line for any text. Run as a program, this prints the page with
what came instead of what it says.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/tutorial.md"
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


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
    """Commands run one after the other, each where the one before it ended."""

    def __init__(self, folder: Path) -> None:
        self.at = folder
        self.where = folder / "where"
        store = folder / "store/downloads"
        store.mkdir(parents=True)
        for file in (ROOT / ".opencoti/downloads").glob("*"):
            os.link(file, store / file.name)  # what was fetched once is not fetched again
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "OPENCOTI_"))}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        self.env = kept | {"PATH": path, "OPENCOTI_STORE": str(store.parent), "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def __call__(self, command: str) -> tuple[int, list[str], str]:
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


def test_what_fits() -> None:
    assert fits(("a …", "b"), ["a 1", "b"])
    assert fits(("a", "…", "c"), ["a", "x", "y", "c"])
    assert fits(("a", "…"), ["a"])
    assert not fits(("a …", "b"), ["a 1", "b", "c"])
    assert not fits(("a", "…", "c"), ["a", "x"])
    assert not fits(("a.",), ["ab"])


def test_every_command_of_the_tutorial(tmp_path: Path) -> None:
    steps = steps_of(PAGE.read_text("utf-8"))
    assert len(steps) > 30
    shell = Shell(tmp_path)
    for step in steps:
        code, came, err = shell(step.command)
        if code == 3 and re.search(r"error: .*(reach|network|answer|index)", err):
            pytest.skip(f"the base is not in the store, and there is no package index: {err.splitlines()[-2:]}")
        assert fits(step.says, came), (step.at + 1, step.command, came, err)


def _as_it_came(page: str) -> Iterator[str]:
    steps = {s.at: s for s in steps_of(page)}
    lines, at = page.splitlines(), 0
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder))
        while at < len(lines):
            step = steps.get(at)
            if step is None:
                yield lines[at]
                at += 1
                continue
            yield from lines[at : at + step.command.count("\n") + 1]
            code, came, err = shell(step.command)
            yield from (_TIME.sub("…", f"    {line}".rstrip()) for line in came)
            if code:
                print(f"line {at + 1} ended with {code}: {step.command}\n{err}", file=sys.stderr)
            at += step.command.count("\n") + 1 + len(step.says)


if __name__ == "__main__":
    print("\n".join(_as_it_came(PAGE.read_text("utf-8"))))
