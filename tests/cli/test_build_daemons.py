"""Steps and commands that end while something which they started goes on, and holds their output open."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import CONFIG, text, write_project

if TYPE_CHECKING:
    from conftest import Git

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="needs make")

# its group is ended with the step; one with a session of its own is a server such as sccache's, and stays
STARTS = """import os, subprocess, sys
for name, own in (("near", False), ("far", True)):
    child = subprocess.Popen(["sleep", "600"], start_new_session=own)
    print(child.pid, file=open(f"{sys.argv[1]}/{name}", "a"))
os.write(1, b"the last line, without its end")
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def project(git: Git, tmp_path: Path) -> Iterator[Path]:
    """A project whose make starts two sleepers; which of them run stands in ``near`` and ``far``."""
    root = tmp_path / "work"
    (tmp_path / "starts.py").write_text(STARTS)
    rule = f"all:\n\t@{sys.executable} {tmp_path}/starts.py {tmp_path} $(CODE)\n\t@echo made > toy\n"
    config = CONFIG + '\n[build.slow]\nkind = "make"\nartefacts = ["toy"]\noptions = ["CODE=0"]\n'
    write_project(root, git, [{"Makefile": text("all:\n")}, {"Makefile": text(rule)}], config=config)
    yield root
    for number in (n for n in (*started(tmp_path, "near"), *started(tmp_path, "far")) if runs(n)):
        os.kill(number, signal.SIGKILL)


def started(folder: Path, name: str) -> list[int]:
    """The sleepers of that kind."""
    file = folder / name
    return [int(line) for line in file.read_text().split()] if file.exists() else []


def runs(number: int) -> bool:
    """Whether a process is at work."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def opencoti(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run the program, for as long as no run of these takes unless it waits for a sleeper."""
    words = [sys.executable, "-m", "opencoti_patches", "-C", str(root), *args]
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)


def only_far_ones_run(folder: Path) -> bool:
    """Whether every sleeper with a session of its own runs, and no other."""
    return all(map(runs, started(folder, "far"))) and not any(map(runs, started(folder, "near")))


@pytest.mark.parametrize(("code", "answer"), [(0, 0), (7, 1)])
def test_a_build_ends_when_its_step_does(project: Path, tmp_path: Path, code: int, answer: int) -> None:
    config = project / "opencoti.toml"
    config.write_text(config.read_text().replace("CODE=0", f"CODE={code}"))
    ran = opencoti(project, "build", "slow")
    assert ran.returncode == answer, ran.stderr
    log = (project / ".opencoti/build/slow/build.log").read_text()
    assert "the last line, without its end" in log
    assert "still ran when this had ended" in log  # and why it does no more
    assert only_far_ones_run(tmp_path)
    assert not list((project / ".opencoti/build/slow").glob(".*.group"))
    assert opencoti(project, "build", "slow").returncode == answer  # nothing of the first stands in the way


def test_a_bisection_goes_on_when_its_command_ends(project: Path, tmp_path: Path) -> None:
    test = f"grep -q starts Makefile; {sys.executable} {tmp_path}/starts.py {tmp_path} $((! $?))"
    ran = opencoti(project, "bisect", "--run", shlex.join(["sh", "-c", test]))
    assert "0001-step.patch is the first at which it fails." in ran.stdout, ran.stdout + ran.stderr
    assert len(started(tmp_path, "far")) == 2
    assert only_far_ones_run(tmp_path)


def test_what_is_said_and_done_right_behind_the_end_is_not_lost(project: Path) -> None:
    ran = opencoti(project, "bisect", "--run", "sh -c '(echo late; touch made) & exit 1'")
    assert "the beginning of the range fails already" in ran.stdout, ran.stderr
    (log,) = (project / ".opencoti").rglob("logs/0000.log")
    assert log.read_text().splitlines()[1:] == ["late"]
    assert list((project / ".opencoti").rglob("made"))
