"""What ``check`` and its neighbours say beside the verdict: files nobody lists, names mistyped, what to run when."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from e2e.trees import numbered, set_base, text, write_project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Git

ONE = {"a": text(numbered(1, 40)), "b": text("b\n")}
TWO = {**ONE, "a": text(numbered(1, 40, n20="twenty"))}
THREE = {**TWO, "b": text("B\n")}


@pytest.fixture
def root(git: Git, tmp_path: Path) -> Path:
    """A project with two patches."""
    write_project(tmp_path, git, [ONE, TWO, THREE])
    return tmp_path


def test_a_file_that_the_series_does_not_name_is_said(cli: Cli, root: Path) -> None:
    (root / "patches/0003-forgotten.patch").write_text("x")
    (root / "patches/0004-off.patch").write_text("x")
    with (root / "patches/series").open("a") as f:
        f.write("# 0004-off.patch  # not yet\n")
    assert cli("-C", root, "check", "--json").json["unlisted"] == ["0003-forgotten.patch"]
    assert "note: 1 patch file not in the series: 0003-forgotten.patch" in cli("-C", root, "check").out


def test_a_mistyped_name_is_found_by_its_line(cli: Cli, root: Path) -> None:
    (root / "patches/series").write_text("# ours\n0001-step.patch\n0002-stop.patch\n")
    error = cli("-C", root, "check", "--json").json["error"]
    assert error["code"] == "missing-patch"
    assert "series line 3 names 0002-stop.patch" in error["message"]
    assert error["hint"] == "did you mean 0002-step.patch?"


def test_one_file_under_two_spellings_is_there_twice(cli: Cli, root: Path) -> None:
    (root / "patches/series").write_text("0001-step.patch\n./0001-step.patch\n")
    assert cli("-C", root, "check", "--json").json["error"]["code"] == "twice"


def test_nobody_is_sent_to_lock_what_does_not_apply(cli: Cli, root: Path) -> None:
    assert cli("-C", root, "lock").code == 0
    set_base(root, {**ONE, "a": text(numbered(1, 40, n20="other"))})
    said = cli("-C", root, "check").out.replace("\n  ", " ")
    assert "next: once the series applies: opencoti-patches lock" in said
    assert "once the series applies, run 'opencoti-patches" in cli("-C", root, "status").out.replace("\n         ", " ")
    set_base(root, ONE)
    (root / "patches/0002-step.patch").write_text("x" + (root / "patches/0002-step.patch").read_text())
    assert "next: opencoti-patches lock" in cli("-C", root, "check").out


def test_a_new_lock_has_the_mode_that_the_user_gives_files(cli: Cli, root: Path) -> None:
    before = os.umask(0o027)
    try:
        assert cli("-C", root, "lock").code == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "patches/series.lock").stat().st_mode) == 0o640


def test_the_lock_follows_an_import(cli: Cli, git: Git, root: Path) -> None:
    from e2e.trees import patch_between

    assert cli("-C", root, "lock").code == 0
    (root / "fix.diff").write_bytes(patch_between(git, THREE, {**THREE, "c": text("c\n")}))
    assert cli("-C", root, "import", root / "fix.diff").code == 0
    assert cli("-C", root, "check", "--locked").code == 0
    (root / "bad.diff").write_bytes(patch_between(git, ONE, TWO))
    before = (root / "patches/series.lock").read_bytes()
    cli("-C", root, "import", root / "bad.diff")
    assert (root / "patches/series.lock").read_bytes() == before


def test_status_says_that_the_tree_is_an_older_one(cli: Cli, root: Path) -> None:
    assert cli("-C", root, "apply").code == 0
    assert cli("-C", root, "status", "--json").json["tree"]["state"] == "after 0002-step.patch"
    set_base(root, {**ONE, "c": text("new\n")})
    assert cli("-C", root, "bootstrap").code == 0
    assert (
        cli("-C", root, "status", "--json").json["tree"]["state"].startswith("after 0002-step.patch as it was before")
    )
    assert cli("-C", root, "apply").code == 0
    assert cli("-C", root, "status", "--json").json["tree"]["state"] == "after 0002-step.patch"
