"""Fixtures: the program in forked processes that have imported it already, which is several times faster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cli.conftest import Ran, Sandbox

from e2e.driver import Driver


@dataclass(frozen=True)
class Forked(Sandbox):
    """A folder, and the program run in it by a driver."""

    driver: Driver

    def __call__(self, *args: str | Path, cwd: Path | None = None, **env: str) -> Ran:
        ran = self.driver(cwd or self.root, *map(str, args), **{"HOME": str(self.root), **env})
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
