"""Runs that start servers, killed: the next one does not join what they left at work, and sweeps the notes of it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.served import served, state

if TYPE_CHECKING:
    from conftest import Cli

pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="needs cmake")
MODEL = ("--model", "toy.gguf")
LOADING = ("--args", "--toy loading")
# what is killed while its server loads; what is refused then, though its own log would be another one
RUNS = {
    "smoke": (("smoke", "cpu"), ("smoke", "cpu", "--args", "-t 1")),
    "canary": (("canary", "cpu", "--context", "128"), ("smoke", "cpu")),
    "against": (("smoke", "cpu", "--against", "base"), ("smoke", "cpu", "--against", "1")),
    "bisect": (("bisect", "cpu", "--smoke", "--from", "1"), ("bisect", "cpu", "--smoke")),
    "run": (("bisect", "--run", "sleep 600", "--from", "1"), ("bisect", "--run", "true")),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with two patches, built. No server is left of it."""
    root = served(tmp_path_factory.mktemp("served") / "p", [state(), state(1), state(2)])
    subprocess.run([*program(root), "build", "cpu"], check=True, capture_output=True)
    yield root
    for note in notes(root):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(note.read_text()), signal.SIGKILL)


def program(root: Path) -> list[str]:
    """How the program is called on a project."""
    return [sys.executable, "-m", "opencoti_patches", "-C", str(root)]


def notes(root: Path) -> list[Path]:
    """The notes of process groups; written, not only begun."""
    return [p for p in (root / ".opencoti").rglob(".*.group") if p.read_text()]


@pytest.mark.parametrize("name", RUNS)
def test_what_a_killed_run_left_is_named_and_not_joined(cli: Cli, built: Path, name: str) -> None:
    args, then = ((*a, *(() if "--run" in a else MODEL)) for a in RUNS[name])
    words = [*program(built), *args, *(() if name == "run" else LOADING)]
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (found := notes(built)) or found[0].parent.name not in ("smoke", "logs"):  # not yet, or a build's
        assert run.poll() is None
        time.sleep(0.01)
    run.kill()
    run.wait()
    (note,) = notes(built)
    group = int(note.read_text())
    for _ in range(2):  # a refused run changes nothing of it
        ran = cli("-C", built, *then, "--json")
        assert (ran.code, ran.json["error"]["code"]) == (3, "locked"), ran.out
        assert ran.json["error"]["hint"].endswith(f"kill -- -{group}")
    kill = re.search(r"kill -- -\d+$", ran.json["error"]["hint"])
    assert kill
    subprocess.run(["sh", "-c", kill[0]], check=True)
    while cli("-C", built, *then, "--json").json.get("error", {}).get("code") == "locked":
        time.sleep(0.01)  # it was asked to end, and has a moment for that
    assert not notes(built)
