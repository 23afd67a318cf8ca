"""``regen`` of a patch that names files which the tree has under other names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from e2e.trees import Files, numbered, set_base, text, write_project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Git


def source(**other: str) -> str:
    return numbered(1, 60, **other).replace("line ", "the line of number ")


OLD: Files = {"src/a.c": text(source()), "b": text("b\n")}
OURS: Files = {"src/a.c": text(source(n30="THIRTY")), "b": text("b\n")}
THEIRS = "first\n" + source(n3="three of theirs")


@pytest.mark.parametrize("path", ["src/kv.c", "lib/src/a.c"])
def test_a_patch_follows_its_lines_to_the_file_that_has_them(cli: Cli, git: Git, tmp_path: Path, path: str) -> None:
    """Under another name, or in another folder; what nobody wrote down is a doubt."""
    write_project(tmp_path, git, [OLD, OURS])
    set_base(tmp_path, {path: text(THEIRS), "b": text("b\n")})
    before = (tmp_path / "patches/0001-step.patch").read_bytes()
    asked = cli("-C", tmp_path, "regen", "--json")
    (row,) = asked.json["patches"]
    assert (asked.code, row["status"]) == (1, "adapted")
    assert f"src/a.c is {path} now" in row["reason"]
    assert (tmp_path / "patches/0001-step.patch").read_bytes() == before
    assert cli("-C", tmp_path, "regen", "--accept-adapted").code == 0
    assert cli("-C", tmp_path, "check", "--no-offset").code == 0
    assert cli("-C", tmp_path, "apply").code == 0
    assert (tmp_path / "tree" / path).read_text() == THEIRS.replace("the line of number 30\n", "THIRTY\n")
    assert not (tmp_path / "tree/src/a.c").exists()


def test_a_patch_follows_a_renaming_by_one_before_it(cli: Cli, git: Git, tmp_path: Path) -> None:
    """As after a 'move' by hand: the second was made before the first."""
    write_project(tmp_path, git, [OLD, OURS])
    patches = tmp_path / "patches"
    (patches / "0001-step.patch").rename(patches / "0002-step.patch")
    (patches / "0001-rename.patch").write_text(
        "diff --git a/src/a.c b/src/kv.c\nsimilarity index 100%\nrename from src/a.c\nrename to src/kv.c\n"
    )
    series = patches / "series"
    if series.exists():
        series.write_text("0001-rename.patch\n0002-step.patch\n")
    told = cli("-C", tmp_path, "check").out
    assert "0001-rename.patch renames it to" in told and "regen 0002\n" in told
    ran = cli("-C", tmp_path, "regen", "--accept-adapted", "--json")
    assert [row["status"] for row in ran.json["patches"]] == ["kept", "adapted"]
    assert cli("-C", tmp_path, "check").code == 0


@pytest.mark.parametrize("copies", [{"one.c": text(THEIRS), "two.c": text(THEIRS)}, {"one.c": text("other\n")}])
def test_lines_in_several_files_or_in_none_lead_nowhere(cli: Cli, git: Git, tmp_path: Path, copies: Files) -> None:
    write_project(tmp_path, git, [OLD, OURS])
    set_base(tmp_path, {**copies, "b": text("b\n")})
    ran = cli("-C", tmp_path, "regen", "--accept-adapted", "--json")
    (row,) = ran.json["patches"]
    assert (ran.code, row["status"], row["reason"]) == (1, "conflict", "src/a.c is not a file of the tree")
