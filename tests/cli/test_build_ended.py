"""Builds that are interrupted, terminated or killed: nothing of them is left at work, or it is not joined."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import CONFIG, text, write_project

from opencoti_patches.doors import proc

if TYPE_CHECKING:
    from conftest import Cli, Git

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="needs make")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_all_that_the_build_started(git: Git, tmp_path: Path, how: signal.Signals) -> None:
    slow = "all:\n\t@sh -c 'echo $$$$ > child; echo made > toy; sleep 600'\n"
    config = CONFIG + '\n[build.slow]\nkind = "make"\nartefacts = ["toy"]\n'
    write_project(tmp_path, git, [{"Makefile": text("all:\n")}, {"Makefile": text(slow)}], config=config)
    run = subprocess.Popen(
        [sys.executable, "-m", "opencoti_patches", "-C", str(tmp_path), "build", "slow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    child = tmp_path / "tree/child"
    for _ in range(3000):
        if child.exists() and child.read_text().strip():
            break
        time.sleep(0.01)
    number = int(child.read_text())
    run.send_signal(how)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130
    assert b"error: interrupted" in err
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
    assert not (tmp_path / "tree/toy").exists()


@pytest.mark.parametrize("clean", [[], ["--clean"]])
def test_what_a_killed_build_left_running_is_not_joined(cli: Cli, git: Git, tmp_path: Path, clean: list[str]) -> None:
    slow = "all:\n\t@sh -c 'echo $$$$ > child; sleep 600'\nclean:\n"
    config = CONFIG + '\n[build.slow]\nkind = "make"\nartefacts = ["toy"]\n'
    write_project(tmp_path, git, [{"Makefile": text("all:\nclean:\n")}, {"Makefile": text(slow)}], config=config)
    args = [sys.executable, "-m", "opencoti_patches", "-C", str(tmp_path), "build", "slow"]
    run = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child = tmp_path / "tree/child"
    while not (child.exists() and child.read_text().strip()):
        assert run.poll() is None
        time.sleep(0.01)
    run.kill()
    run.wait()
    ran = cli("-C", tmp_path, "build", "slow", *clean, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "locked")
    group = os.getpgid(int(child.read_text()))
    assert ran.json["error"]["hint"].endswith(f"kill -- -{group}")
    os.killpg(group, signal.SIGKILL)
    while True:
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            break
        time.sleep(0.01)
    (tmp_path / "patches/0001-step.patch").unlink()
    (tmp_path / "patches/series").write_text("")
    assert cli("-C", tmp_path, "build", "slow", *clean).code == 0


def test_an_interrupt_as_the_program_starts_leaves_nothing_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    log = tmp_path / "build.log"
    with pytest.raises(KeyboardInterrupt):
        proc.stream(["sleep", "600"], cwd=tmp_path, env=os.environ, log=log, heard=lambda _line: None)
    assert started[0].wait(60) == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == [log]


def test_a_program_finds_its_own_group_noted(tmp_path: Path) -> None:
    log, said = tmp_path / "build.log", list[str]()
    argv = ["sh", "-c", "cat .build.log.group; echo; echo $$"]
    assert proc.stream(argv, cwd=tmp_path, env=os.environ, log=log, heard=said.append) == 0
    assert said[-2].strip() == said[-1]
