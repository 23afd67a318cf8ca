"""A full disk: exit 3, one clear line, everything as it was, and the next run works."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Git

from e2e.driver import Struck
from e2e.scene import THIRD, Scene
from e2e.trees import leftovers, patch_between, text


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
    lines = ran.err.replace("\n  ", " ").splitlines()  # one message, however wide the screen
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
        assert scene.run("apply", "--to", "1", "--force", env=env).code == 0
        (scene.root / "patches/0003-step.patch").write_bytes(
            (scene.root / "patches/0003-step.patch").read_bytes().replace(b"why", b"what for")
        )
    before = scene.patches(), scene.trees()
    hog = fill(small_disk)
    full = scene.run(*args, env=env)
    one_clear_line(full)
    hog.unlink()
    assert (scene.patches(), scene.trees()) == before
    assert leftovers(scene.root / "patches", scene.root / "tree") == []
    after = scene.run(*args, env=env)
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
