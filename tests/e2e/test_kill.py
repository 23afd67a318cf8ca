"""A kill, a full disk, an interrupt, another run: nothing is half written, and the next run works.

Every run is a real process. It is struck just before the k-th thing it does to the disk (see driver.py): in a
default run at a spread of them, with OPENCOTI_EXAMPLES set at every one. Besides, whole process groups, git
and all, are killed at random moments.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SLOWER, Git

from e2e.scene import THIRD, UPSTREAM, Scene
from e2e.trees import leftovers, numbered, patch_between, plain_git, text


def moments(events: list[str], few: int) -> list[int]:
    """Events to strike at, from 1: all, or a spread with the renames among them."""
    if SLOWER > 1:
        return list(range(1, len(events) + 1))
    renames = [i for i, name in enumerate(events, 1) if name == "os.rename"]
    spread = [1 + i * len(events) // few for i in range(few)]
    return sorted({*renames[:: max(1, len(renames) // few)], *spread, renames[-1]})


RUNS: dict[str, list[str]] = {
    "fresh": ["apply", "fresh"],
    "forward": ["apply"],
    "back": ["bootstrap", "tree"],
    "commits": ["apply", "--commits", "fresh"],
    "regen": ["regen"],
    "lock": ["lock"],
    "bump": ["bump", "v2", "--accept-adapted"],
    "import": ["import", "../in/0004-more.patch", "../in/0005-other.patch"],
}


def prepare(scene: Scene, name: str, git: Git) -> list[str]:
    """Make the scene for a run; its arguments."""
    if name == "lock":
        (scene.root / "patches/series").write_text("0001-step.patch\n")
    if name == "bump":
        scene.from_git(UPSTREAM, {**UPSTREAM, "b": text("up\n" + numbered(1, 40, n17="seventeen"))})
    if name == "import":
        fourth = {**THIRD, "c": text("fourth\n")}
        (scene.root.parent / "in").mkdir()
        for file, a, b in (("0004-more", THIRD, fourth), ("0005-other", fourth, {**fourth, "d": text("d\n")})):
            (scene.root.parent / f"in/{file}.patch").write_bytes(patch_between(git, a, b))
    scene.keep()
    return RUNS[name]


@pytest.mark.parametrize("name", RUNS)
def test_killed_at_the_kth_event(name: str, scene: Scene, git: Git) -> None:
    args = prepare(scene, name, git)
    old, old_trees = scene.patches(), scene.trees()
    whole = scene.run(*args)
    assert (whole.code, scene.clean()) == (0, True), whole.err
    new, new_trees = scene.patches(), scene.trees()
    assert (old, old_trees) != (new, new_trees)
    for at in moments(whole.events, 5):
        scene.back()
        killed = scene.run(*args, at=at, strike=signal.SIGKILL)
        if killed.code == 0:  # it took a shorter way this time
            continue
        assert killed.code == -signal.SIGKILL
        now = scene.patches()
        assert all(f in (old.get(p), new.get(p)) for p, f in now.items()), (at, whole.events[at - 1])
        assert all(p in now for p in old if p in new)
        if name in ("fresh", "commits"):  # whole or not there; a repository may still lack in it
            there = {p: f for p, f in scene.trees().get("fresh", {}).items() if not p.startswith(".opencoti-tmp-")}
            assert there in ({}, new_trees["fresh"])
        if at % 2:
            assert scene.run("status").code in (0, 1)
        decided = now == new or any((scene.root / ".opencoti").glob("projects/*/journal.json"))
        after = scene.run(*(["check"] if name == "import" and decided else args))  # it would be in twice
        assert after.code == 0, (at, whole.events[at - 1], after.err)
        assert (scene.patches(), scene.trees()) == (new, new_trees), (at, whole.events[at - 1])
        assert scene.clean(), (at, whole.events[at - 1], leftovers(scene.root))
        if name == "commits":
            assert plain_git(scene.root / "fresh", "status", "--porcelain") == ""
            assert plain_git(scene.root / "fresh", "rev-parse", "opencoti").strip() in whole.out


@pytest.mark.parametrize("name", ["forward", "back"])
def test_a_killed_move_can_be_turned_round(name: str, scene: Scene, git: Git) -> None:
    """The next run wants something else than the one that was killed."""
    args = prepare(scene, name, git)
    old = scene.trees()
    whole = scene.run(*args)
    for at in moments(whole.events, 3):
        scene.back()
        assert scene.run(*args, at=at, strike=signal.SIGKILL).code in (0, -signal.SIGKILL)
        after = scene.run("apply", "--to", "1")
        assert after.code == 0, (at, whole.events[at - 1], after.err)
        assert (scene.trees(), scene.clean()) == (old, True)


@pytest.mark.parametrize("name", ["fresh", "forward", "regen", "bump", "import"])
def test_interrupted_at_the_kth_event(name: str, scene: Scene, git: Git) -> None:
    """^C: exit 130, and all is as before, or all is done."""
    args = prepare(scene, name, git)
    old = scene.patches(), scene.trees()
    whole = scene.run(*args)
    new = scene.patches(), scene.trees()
    ends = set()
    for at in moments(whole.events, 3):
        scene.back()
        ran = scene.run(*args, at=at, strike=signal.SIGINT)
        assert ran.code == 130, (at, whole.events[at - 1], ran)
        assert "\nerror: interrupted\n" in f"\n{ran.err}"  # behind its progress, where it took long
        now = scene.patches(), scene.trees()
        assert now in (old, new), (at, whole.events[at - 1])
        assert leftovers(scene.root / "patches", scene.tree) == [], (at, whole.events[at - 1])
        ends.add(now == new)
        after = scene.run(*(["check"] if name == "import" and now == new else args))
        assert after.code == 0, (at, whole.events[at - 1], after.err)
        assert (scene.patches(), scene.trees(), scene.clean()) == (*new, True)
    assert ends >= {False}


@pytest.mark.parametrize("name", ["commits", "forward", "regen", "bump"])
def test_killed_at_random_with_every_git(name: str, scene: Scene, git: Git) -> None:
    """kill -9 of the whole process group, as when a machine or a CI job dies."""
    args = prepare(scene, name, git)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENCOTI_", "GIT_"))}
    old = scene.patches()

    def start() -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "opencoti_patches", *args]
        pipe = subprocess.DEVNULL
        return subprocess.Popen(argv, cwd=scene.root, env=kept, stdout=pipe, stderr=pipe, start_new_session=True)

    begun = time.monotonic()
    assert start().wait() == 0
    span = time.monotonic() - begun
    new = scene.patches(), scene.trees()
    draw = random.Random(name)
    for _ in range(3 * SLOWER):
        scene.back()
        for _ in range(draw.choice([1, 1, 2])):  # the next run may be killed as well
            child = start()
            time.sleep(span * draw.uniform(0.2, 1.0))
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            while any(f[0] != "Z" and f[2] == str(child.pid) for _, f in processes()):
                time.sleep(0.01)  # a git that is being killed still holds what it holds
        now = scene.patches()
        assert all(f in (old.get(p), new[0].get(p)) for p, f in now.items())
        after = scene.run(*args)
        assert after.code == 0, after.err
        assert (scene.patches(), scene.trees(), scene.clean()) == (*new, True)


# -- two at once -----------------------------------------------------------------------------


def test_the_second_of_two_runs_is_refused(scene: Scene, git: Git) -> None:
    scene.keep()
    whole = scene.run("apply")
    scene.back()
    at = max(i for i, name in enumerate(whole.events, 1) if name == "subprocess.Popen")
    job = {"root": str(scene.root), "args": ["apply"], "at": at, "strike": signal.SIGSTOP, "fsize": 0, "env": {}}
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("driver.py"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps(job).encode() + b"\n")
    server.stdin.flush()
    first = _stopped_child(server.pid)
    before = scene.patches(), scene.trees()
    for args in (["apply"], ["regen"], ["lock"], ["bootstrap", "tree"]):
        ran = scene.run("--json", *args)
        assert (ran.code, ran.json["error"]["code"]) == (3, "locked")
        assert f"'opencoti-patches apply' (process {first})" in ran.json["error"]["message"]
        assert ran.json["error"]["hint"]
    assert (scene.patches(), scene.trees()) == before
    assert scene.run("check").code == 0  # who only reads need not wait
    assert scene.run("status").code in (0, 1)
    os.kill(first, signal.SIGCONT)
    assert json.loads(server.stdout.readline())["code"] == 0
    server.stdin.close()
    server.wait()
    assert scene.run("apply").out.endswith("nothing to do\n")


def processes() -> Iterator[tuple[int, list[str]]]:
    """All processes: id, and (state, parent, process group)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            yield int(stat.parent.name), stat.read_text().rpartition(")")[2].split()[:3]


def _stopped_child(parent: int) -> int:
    """The child of a process that has stopped itself."""
    while True:
        for pid, fields in processes():
            if fields[:2] == ["T", str(parent)]:
                return pid
        time.sleep(0.02)
