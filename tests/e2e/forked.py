"""Fixtures: the program in forked processes that have imported it already, which is several times faster."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli.conftest import Ran, Sandbox
from conftest import Git

from e2e.driver import Driver
from e2e.scene import CONFIG_OUT, FIRST, SECOND, START, THIRD, UPSTREAM, Scene
from e2e.trees import write_folder, write_project


@dataclass(frozen=True)
class Forked(Sandbox):
    """A folder, and the program run in it by a driver."""

    driver: Driver

    def __call__(self, *args: str | Path, cwd: Path | None = None, **env: str) -> Ran:
        ran = self.driver(cwd or self.root, *map(str, args), env={"HOME": str(self.root), **env})
        return Ran(ran.code, ran.out.encode(), ran.err)


@pytest.fixture(scope="session")
def driver() -> Iterator[Driver]:
    """The one server of forked processes."""
    started = Driver()
    yield started
    started.close()


@pytest.fixture
def forked(tmp_path: Path, driver: Driver) -> Forked:
    """An empty folder."""
    root = tmp_path / "work"
    root.mkdir()
    return Forked(root, driver)


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
