"""docs/tutorial.md on the real llama.cpp: every command of it is run in order, every output compared (``page``).

Run as ``python -m e2e.test_tutorial`` in tests, this prints the page with what came instead of what it says.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from .page import ROOT, Shell, as_it_came, fits, steps_of

PAGE = ROOT / "docs/tutorial.md"


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


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print("\n".join(as_it_came(PAGE.read_text("utf-8"), Shell(Path(folder)))))
