"""A plain check of what is on record: the same words as the long way, and only then."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import pytest
from e2e.trees import Files, numbered, set_base, text, write_project

from opencoti_patches.commands import warm

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Git

ONE: Files = {"a": text(numbered(1, 40))}
TWO: Files = {"a": text(numbered(1, 40, n20="twenty"))}


@pytest.fixture
def root(cli: Cli, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that was checked and locked."""
    write_project(tmp_path, git, [ONE, TWO])
    assert cli("-C", tmp_path, "lock").code == 0
    assert cli("-C", tmp_path, "check").code == 0
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_says_what_the_long_way_says(cli: Cli, root: Path) -> None:
    assert warm.answer(["check"]) == warm.answer(["-C", str(root), "check"]) == cli("check").out.rstrip("\n")
    (root / "patches/0009-loose.patch").write_text("x")
    assert warm.answer(["check"]) == cli("check").out.rstrip("\n")
    (root / "patches/series").unlink()
    (root / "patches/0009-loose.patch").unlink()
    assert warm.answer(["check"]) == cli("check").out.rstrip("\n")


def test_a_merge_that_nobody_settled_is_said_the_long_way(cli: Cli, root: Path) -> None:
    patch = root / "patches/0001-step.patch"
    patch.write_text("<<<<<<< a\n=======\n>>>>>>> b\n" + patch.read_text())
    assert cli("lock").code == cli("check").code == 0
    assert warm.answer(["check"]) is None
    assert "conflict markers" in cli("check").out


def test_it_imports_no_library_for_command_lines(root: Path) -> None:
    code = (
        "import sys; sys.argv = ['x', 'check']\n"
        "from opencoti_patches.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as e: print(e.code, 'click' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"


@pytest.mark.parametrize("args", [[], ["check", "--json"], ["-C", "check"], ["check", "-v"], ["list"]])
def test_anything_else_is_asked_the_long_way(root: Path, args: list[str]) -> None:
    assert warm.answer(args) is None


def test_whatever_changed_is_asked_the_long_way(cli: Cli, root: Path) -> None:
    patch, series, lock = root / "patches/0001-step.patch", root / "patches/series", root / "patches/series.lock"
    good = patch.read_bytes()
    patch.write_bytes(b"x" + good)
    assert warm.answer(["check"]) is None
    patch.write_bytes(good)
    assert warm.answer(["check"]) is not None
    claim = lock.read_bytes()
    lock.write_bytes(claim.replace(b"tip ", b"tip 0", 1)[:-2] + b"\n")
    assert warm.answer(["check"]) is None
    lock.write_bytes(claim)
    series.write_text("0001-step.patch\n0002-gone.patch\n")
    assert warm.answer(["check"]) is None
    series.write_text("0001-step.patch\n")
    set_base(root, {"a": text("x\n")})
    assert warm.answer(["check"]) is None
    assert cli("check").code == 1
    assert warm.answer(["check"]) is None  # a no on record is for the long way, too


def test_outside_a_project_it_keeps_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    heard = io.StringIO()
    with redirect_stdout(heard):
        assert warm.answer(["check"]) is None
    assert heard.getvalue() == ""
