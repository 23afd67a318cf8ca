"""What ``check`` and its neighbours say beside the verdict: files nobody lists, names mistyped, what to run when."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from e2e.trees import numbered, set_base, text, write_project

from opencoti_patches.series.header import read_header
from opencoti_patches.series.parse import parse

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
    assert f"next: opencoti-patches -C {root} lock  # once the series applies" in said
    assert f"put the old one back into opencoti.toml and run 'opencoti-patches -C {root} bump'" in said
    assert "once the series applies, run 'opencoti-patches" in cli("-C", root, "status").out.replace("\n         ", " ")
    set_base(root, ONE)
    (root / "patches/0002-step.patch").write_text("x" + (root / "patches/0002-step.patch").read_text())
    assert f"next: opencoti-patches -C {root} lock" in cli("-C", root, "check").out


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


def test_a_merge_in_the_series_is_called_one(cli: Cli, root: Path) -> None:
    (root / "patches/series").write_text("<<<<<<< HEAD\n0001-step.patch\n=======\n0002-step.patch\n>>>>>>> other\n")
    error = cli("-C", root, "check", "--json").json["error"]
    assert error["message"] == "series line 1 is a conflict marker that a merge left"


def test_many_differences_from_the_lock_are_one_line(cli: Cli, root: Path) -> None:
    assert cli("-C", root, "lock").code == 0
    for n in range(3, 8):
        (root / f"patches/000{n}-x.patch").write_bytes((root / "patches/0001-step.patch").read_bytes())
    with (root / "patches/series").open("a") as f:
        f.write("".join(f"000{n}-x.patch\n" for n in range(3, 8)))
    said = " ".join(cli("-C", root, "check").out.split())
    names = "0003-x.patch, 0004-x.patch, 0005-x.patch and 2 more"
    assert f"warning: {names} are not in the lock next: opencoti-patches -C {root} lock" in said
    assert f"stale: {names} are not in the lock; " in " ".join(cli("-C", root, "status").out.split())
    (root / "patches/series").write_text("0001-step.patch\n")
    assert "warning: 0002-step.patch is in the lock and not in the series" in cli("-C", root, "check").out
    (root / "patches/series").write_text("".join(f"000{n}-{'step' if n < 3 else 'x'}.patch\n" for n in range(1, 8)))
    assert len(cli("-C", root, "check", "--json").json["stale"]) == 5


def test_a_patch_without_a_word_is_called_by_its_name_after_regen_too(cli: Cli, git: Git, tmp_path: Path) -> None:
    from e2e.trees import patch_between

    write_project(tmp_path, git, [ONE, TWO])
    (tmp_path / "patches/0001-step.patch").write_bytes(patch_between(git, ONE, TWO, header=b""))
    set_base(tmp_path, {**ONE, "a": text(numbered(1, 40, n18="line  18"))})
    assert cli("-C", tmp_path, "regen").code == 0
    raw = (tmp_path / "patches/0001-step.patch").read_bytes()
    assert b"hunk regenerated via" in raw
    assert read_header(parse(raw).header).subject == ""


def test_paths_of_a_patch_are_put_under_a_folder_in_place(cli: Cli, git: Git, tmp_path: Path) -> None:
    deep = {f"x/{p}": f for p, f in ONE.items()}
    write_project(tmp_path, git, [ONE, TWO])
    set_base(tmp_path, deep)
    (row,) = cli("-C", tmp_path, "check", "--json").json["patches"]
    assert row["next"] == f"opencoti-patches -C {tmp_path} import --directory x patches/0001-step.patch"
    assert cli("-C", tmp_path, "import", tmp_path / "patches/0001-step.patch").code == 1
    ran = cli("-C", tmp_path, "import", "--directory", "x", tmp_path / "patches/0001-step.patch", "--json")
    assert (ran.code, ran.json["patches"][0]["status"]) == (0, "clean")
    assert cli("-C", tmp_path, "check").code == 0
    assert (tmp_path / "patches/series").read_text() == "0001-step.patch\n"


def test_lines_that_stand_all_over_a_file_tell_that_a_place_is_the_one(cli: Cli, git: Git, tmp_path: Path) -> None:
    """One line of three says where it is, and one is in every function: check sends to regen, which puts it there."""
    code = "".join(f"int f{n}(void) {{\n    step({n});\n    return nullptr;\n}}\n\n" for n in range(25))
    write_project(tmp_path, git, [{"a.c": text(code)}, {"a.c": text(code.replace("(12);\n", "(12);\n    ours();\n"))}])
    set_base(tmp_path, {"a.c": text(code.replace("int f12(void)", "long f12(int)"))})
    (row,) = cli("-C", tmp_path, "check", "--json").json["patches"]
    (problem,) = row["problems"]
    assert (problem["message"], problem["line"]) == ("the lines it expects are not there", 60)
    assert "+long f12(int) {" in problem["diff"]
    assert row["next"].endswith(" regen 0001")
    assert cli("-C", tmp_path, "regen", "0001", "--accept-adapted").code == 0
    assert cli("-C", tmp_path, "check").code == 0


def test_line_numbers_that_wait_for_a_failed_patch_are_not_regens_to_write(cli: Cli, git: Git, tmp_path: Path) -> None:
    more = {**ONE, "a": text(numbered(1, 40, n20="line 20\nours\nours"))}
    last = {**more, "a": text(numbered(1, 40, n20="line 20\nours\nours", n35="last")), "b": text("b\nc\n")}
    write_project(tmp_path, git, [ONE, more, last])
    set_base(tmp_path, {**ONE, "a": text(numbered(1, 40, n20="theirs", n21="theirs", n19="theirs"))})
    failed, moved = cli("-C", tmp_path, "check", "--json").json["patches"]
    assert (failed["status"], moved["status"]) == ("failed", "offset")
    assert moved["next"] == "mend 0001-step.patch first, then check again"
    waits = cli("-C", tmp_path, "regen", "0002", "--json").json["patches"][0]
    assert waits["reason"] == "moved; its line numbers wait for 0001-step.patch"


@pytest.mark.parametrize("name", ["series", "series.lock"])
@pytest.mark.parametrize("kind", ["folder", "loop"])
def test_a_series_or_lock_that_cannot_be_read(cli: Cli, root: Path, name: str, kind: str) -> None:
    """It is no file that is not there: the order, or what was locked, would be another unsaid."""
    file = root / "patches" / name
    file.unlink(missing_ok=True)
    file.mkdir() if kind == "folder" else file.symlink_to(name)
    commands = ("check", "status", "lock") if name == "series.lock" else ("check", "lint", "list", "status", "lock")
    for command in commands:
        ran = cli("-C", root, command, "--json")
        error = ran.json["error"]
        assert (ran.code, error["code"]) == ((2, "not-a-file") if name == "series" else (3, "disk"))
        assert name in error["message"]
        assert error["hint"]


def test_what_the_system_refuses_has_a_hint_too(cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "patches/series")

    monkeypatch.setattr("opencoti_patches.series.order.load", refuse)
    assert cli("-C", root, "list", "--json").json["error"] == {
        "code": "disk",
        "message": "Permission denied: patches/series",
        "hint": "check the permissions",
    }
