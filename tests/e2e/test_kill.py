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
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import SLOWER, File, Git

from e2e.driver import Driver, Struck
from e2e.trees import (
    CONFIG,
    Files,
    leftovers,
    link,
    numbered,
    patch_between,
    plain_git,
    read_folder,
    script,
    text,
    write_folder,
    write_project,
)

pytest_plugins = ["e2e.forked"]

START: Files = {
    "a": text(numbered(1, 40)),
    "b": text(numbered(1, 40)),
    "c": text("c\n"),
    "gone": text("gone\n"),
    "to-folder": text("file\n"),
    "to-file/x": text("x\n"),
    "l": link("a"),
}
FIRST: Files = {
    **{p: f for p, f in START.items() if p not in ("gone", "to-folder", "to-file/x")},
    "a": text(numbered(1, 40, n20="twenty")),
    "to-folder/y": text("y\n"),
    "to-file": script("file\n"),
    "l": link("b"),
    "new/z": text("z\n"),
}
SECOND: Files = {**FIRST, "b": text(numbered(1, 40, n20="twenty"))}
THIRD: Files = {**SECOND, "c": text("C\n"), "b": text(numbered(1, 40, n20="twenty", n30="thirty"))}
UPSTREAM: Files = {**START, "a": text("up\n" + numbered(1, 40)), "b": text("up\n" + numbered(1, 40))}
CONFIG_OUT = CONFIG.replace('"base"', '"../base"').replace("[[base", '[tree]\ndir = "tree"\n\n[[base')


@dataclass(frozen=True)
class Scene:
    """A project that can be put back to where it was. What stands outside ``root`` (base, tree's times)
    stays, so that a run after it costs little."""

    root: Path
    kept: Path
    driver: Driver

    @property
    def tree(self) -> Path:
        """The working tree."""
        return self.root / "tree"

    def run(self, *args: str, at: int = 0, strike: signal.Signals | None = None, **env: str) -> Struck:
        """Run the program, and strike it."""
        return self.driver(self.root, *args, at=at, strike=strike, **env)

    def keep(self) -> None:
        """Remember this state."""
        shutil.copytree(self.root, self.kept, symlinks=True)

    def back(self) -> None:
        """Go back to it."""
        shutil.rmtree(self.root)
        shutil.copytree(self.kept, self.root, symlinks=True)

    def patches(self) -> dict[str, File]:
        """What people see of the patches folder: a temporary file is nobody's."""
        return {p: f for p, f in read_folder(self.root / "patches").items() if not p.startswith(".opencoti-tmp-")}

    def trees(self) -> dict[str, dict[str, File]]:
        """The working trees there are, by name."""
        names = [n for n in ("tree", "fresh") if (self.root / n).exists()]
        return {n: read_folder(self.root / n) for n in names}

    def clean(self) -> bool:
        """Whether nothing lies about that a run needed only while it was at work. (Who only reads writes
        verdicts too, beside others; nobody may sweep there.)"""
        scratch = self.root / ".opencoti/scratch"
        journal = self.root / ".opencoti/journal.json"
        left = [p for p in leftovers(self.root) if "verdicts" not in p.parts]
        return not left and not (scratch.exists() and any(scratch.iterdir())) and not journal.exists()


@pytest.fixture
def scene(tmp_path: Path, git: Git, driver: Driver) -> Scene:
    """Three patches that apply, two of them with other line numbers; a lock; the tree after the first."""
    root = tmp_path / "work"
    write_project(root, git, [START, FIRST, SECOND, THIRD], config=CONFIG_OUT)
    shutil.rmtree(root / "base")
    write_folder(tmp_path / "base", UPSTREAM)
    scene = Scene(root, tmp_path / "kept", driver)
    for args in (["lock"], ["apply", "--to", "1"]):
        assert scene.run(*args).code == 0
    return scene


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
    "import": ["import", "../in/0004-more.patch", "../in/0005-other.patch"],
}


def prepare(scene: Scene, name: str, git: Git) -> list[str]:
    """Make the scene for a run; its arguments."""
    if name == "lock":
        (scene.root / "patches/series").write_text("0001-step.patch\n")
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
    for at in moments(whole.events, 6):
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
        decided = now == new or (scene.root / ".opencoti/journal.json").exists()
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


@pytest.mark.parametrize("name", ["fresh", "forward", "regen", "import"])
def test_interrupted_at_the_kth_event(name: str, scene: Scene, git: Git) -> None:
    """^C: exit 130, and all is as before, or all is done."""
    args = prepare(scene, name, git)
    old = scene.patches(), scene.trees()
    whole = scene.run(*args)
    new = scene.patches(), scene.trees()
    ends = set()
    for at in moments(whole.events, 5):
        scene.back()
        ran = scene.run(*args, at=at, strike=signal.SIGINT)
        assert ran.code == 130, (at, whole.events[at - 1], ran)
        assert ran.err.lstrip().startswith("error: interrupted\n")
        now = scene.patches(), scene.trees()
        assert now in (old, new), (at, whole.events[at - 1])
        assert leftovers(scene.root / "patches", scene.tree) == [], (at, whole.events[at - 1])
        ends.add(now == new)
        after = scene.run(*(["check"] if name == "import" and now == new else args))
        assert after.code == 0, (at, whole.events[at - 1], after.err)
        assert (scene.patches(), scene.trees(), scene.clean()) == (*new, True)
    assert ends >= {False}


@pytest.mark.parametrize("name", ["commits", "forward", "regen"])
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


def _stopped_child(parent: int) -> int:
    """The child of a process that has stopped itself."""
    while True:
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] == "T" and int(fields[1]) == parent:
                return int(stat.parent.name)
        time.sleep(0.02)


# -- a full disk -----------------------------------------------------------------------------

FULL = "free some space"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes, where one may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "opencoti-test", str(disk)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system can be mounted here; see the test with a limit on file sizes")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Use up what is left of it."""
    hog = disk / "hog"
    with hog.open("wb", buffering=0) as f, contextlib.suppress(OSError):
        while True:
            f.write(os.urandom(4096))
    return hog


def one_clear_line(ran: Struck) -> None:
    """Exit 3, an error of one line, a hint at most; no traceback."""
    assert ran.code == 3, ran
    lines = ran.err.splitlines()
    assert lines[0].startswith("error: ") and all(x.startswith("hint: ") for x in lines[1:]), ran.err
    assert len(lines) <= 2
    assert ran.out == ""


Place = Callable[[Scene, Path], dict[str, str]]


def _store(scene: Scene, disk: Path) -> dict[str, str]:
    shutil.copytree(scene.root / ".opencoti", disk / "store", symlinks=True)
    return {"OPENCOTI_STORE": str(disk / "store")}


def _patches(scene: Scene, disk: Path) -> dict[str, str]:
    shutil.move(scene.root / "patches", disk / "patches")
    (scene.root / "patches").symlink_to(disk / "patches")
    return {}


def _tree(scene: Scene, disk: Path) -> dict[str, str]:
    shutil.rmtree(scene.tree)
    (scene.root / "tree").symlink_to(disk)
    assert scene.run("apply", "--to", "1", "tree/inner").code == 0
    return {}


@pytest.mark.parametrize(
    ("place", "args"),
    [
        (_store, ["apply"]),
        (_store, ["regen"]),
        (_store, ["lock"]),
        (_store, ["check"]),
        (_patches, ["regen"]),
        (_patches, ["lock"]),
        (_tree, ["apply", "tree/inner"]),
        (_tree, ["apply", "tree/fresh"]),
        (_tree, ["apply", "--commits", "tree/fresh"]),
    ],
)
def test_a_full_disk(place: Place, args: list[str], scene: Scene, small_disk: Path) -> None:
    if args == ["lock"]:
        (scene.root / "patches/series").write_text("0001-step.patch\n0002-step.patch\n")
    env = place(scene, small_disk)
    if place is _store:  # the verdicts it knew are of no use
        assert scene.run("apply", "--to", "1", "--force", **env).code == 0
        (scene.root / "patches/0003-step.patch").write_bytes(
            (scene.root / "patches/0003-step.patch").read_bytes().replace(b"why", b"what for")
        )
    before = scene.patches(), scene.trees()
    hog = fill(small_disk)
    full = scene.run(*args, **env)
    one_clear_line(full)
    hog.unlink()
    assert (scene.patches(), scene.trees()) == before
    assert leftovers(scene.root / "patches", scene.root / "tree") == []
    after = scene.run(*args, **env)
    assert after.code == 0, after.err
    assert (scene.patches(), scene.trees()) != before or args == ["check"]


@pytest.mark.parametrize("args", [["apply"], ["apply", "fresh"], ["regen"], ["lock"], ["import", "in.patch"]])
def test_a_limit_on_file_sizes(args: list[str], scene: Scene, git: Git) -> None:
    """No file may grow beyond a few bytes, wherever it lies: the first that is written says no."""
    if args == ["lock"]:
        (scene.root / "patches/series").write_text("0001-step.patch\n0002-step.patch\n")
    fourth = patch_between(git, THIRD, {**THIRD, "c": text("fourth\n")})
    (scene.root / "in.patch").write_bytes(fourth)
    before = scene.patches(), scene.trees()
    for size in (1, 100, 600):
        limited = scene.driver(scene.root, *args, fsize=size)
        if limited.code != 0:  # enough for a lock, say
            one_clear_line(limited)
            assert (scene.patches(), scene.trees()) == before
            assert leftovers(scene.root / "patches", scene.tree) == []
        else:
            assert (size, args) == (600, ["lock"])
    after = scene.run(*args)
    assert after.code == 0 or args == ["lock"], after.err
    assert (scene.patches(), scene.trees()) != before
