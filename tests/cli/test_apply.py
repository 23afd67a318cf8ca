"""``apply``: a working tree goes from tree to tree, touching only what differs, and never what is yours."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import (
    LONG_AGO,
    Files,
    leftovers,
    link,
    numbered,
    patch_between,
    read_folder,
    script,
    text,
    times,
    write_folder,
    write_project,
)

if TYPE_CHECKING:
    from conftest import Git
    from e2e.forked import Forked

    from cli.conftest import Sandbox


START: Files = {
    "src/a.c": text(numbered(1, 30)),
    "src/b.c": text("b\n"),
    "src/deep/er/only.c": text("only\n"),
    "run.sh": script("#!/bin/sh\n"),
    "plain.sh": text("#!/bin/sh\n"),
    "l": link("src/a.c"),
    "empty": text(""),
    "bin": text(bytes(range(256)) * 4),
    "file-then-folder": text("file\n"),
    "folder-then-file/x": text("x\n"),
    "folder-then-file/y/z": text("z\n"),
    "link-then-file": link("empty"),
    "file-then-link": text("file\n"),
    "crlf.txt": text("one\r\ntwo\r\n"),
    ".gitattributes": text("* text=auto\n*.txt eol=lf\n*.c ident\n"),
    "id.c": text("$Id$\n"),
    "no end": text("no newline at end"),
    "ä b\tc": text("odd name\n"),
}
SECOND: Files = {
    **{p: f for p, f in START.items() if not p.startswith(("folder-then-file", "src/deep", "file-then-folder"))},
    "src/a.c": text(numbered(1, 30, n10="ten")),
    "plain.sh": script("#!/bin/sh\n"),
    "l": link("src/b.c"),
    "bin": text(bytes(range(255, -1, -1)) * 4),
    "file-then-folder/in/it": text("it\n"),
    "folder-then-file": text("file\n"),
    "link-then-file": text("file now\n"),
    "file-then-link": link("empty"),
    "new/empty": text(""),
    "no end": text("no newline at end\n"),
}
THIRD: Files = {**SECOND, "src/a.c": text(numbered(1, 30, n10="ten", n25="25")), "crlf.txt": text("one\r\n2\r\n")}


@pytest.fixture
def sandbox(forked: Forked) -> Sandbox:
    """An empty folder, and the program run in it."""
    return forked


@pytest.fixture
def made(sandbox: Sandbox, git: Git) -> Sandbox:
    """A project whose two patches do everything a patch can."""
    write_project(sandbox.root, git, [START, SECOND, THIRD])
    return sandbox


@pytest.fixture
def small(sandbox: Sandbox, git: Git) -> Sandbox:
    """A project of three files: the first patch edits one and makes one, the second edits another."""
    a = {"a": text(numbered(1, 9)), "b": text("b\n"), "d/c": text("c\n")}
    b = {**a, "a": text(numbered(1, 9, n5="five")), "d/new": text("new\n")}
    write_project(sandbox.root, git, [a, b, {**b, "b": text("B\n")}])
    return sandbox


def state(root: Path) -> tuple[dict[str, tuple[str, bytes]], dict[str, int]]:
    """A folder's contents and times: what must not change in a refusal."""
    return read_folder(root), times(root)


def test_fresh_again_back_and_forward(made: Sandbox) -> None:
    tree = made.root / "tree"
    ran = made("apply")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"tree: after 0002-step.patch (2 patches), {len(THIRD)} files written\n"
    assert read_folder(tree) == THIRD

    before = times(tree)
    again = made("apply", "--json")
    assert again.code == 0
    assert (again.json["written"], again.json["deleted"], again.json["kept"]) == ([], [], len(THIRD))
    assert times(tree) == before
    assert made("apply").out == "tree: after 0002-step.patch (2 patches); nothing to do\n"

    back = made("apply", "--to", "1", "--json")
    assert back.json["written"] == ["crlf.txt", "src/a.c"]
    assert read_folder(tree) == SECOND
    assert {p for p, t in times(tree).items() if t != before[p]} == {"crlf.txt", "src/a.c"}

    made("bootstrap", "tree")
    assert read_folder(tree) == START
    assert made("apply").code == 0
    assert read_folder(tree) == THIRD
    assert leftovers(made.root) == []


def test_only_what_one_edited_patch_changes_is_written(made: Sandbox, git: Git) -> None:
    made("apply")
    before = times(made.root / "tree")
    third = {**THIRD, "src/a.c": text(numbered(1, 30, n10="ten", n25="twenty-five"))}
    (made.root / "patches/0002-step.patch").write_bytes(patch_between(git, SECOND, third))
    assert made("apply", "--json").json["written"] == ["src/a.c"]
    assert read_folder(made.root / "tree") == third
    assert {p for p, t in times(made.root / "tree").items() if t != before[p]} == {"src/a.c"}


def test_an_empty_folder_is_filled_in_its_place(small: Sandbox) -> None:
    tree = small.root / "tree"
    tree.mkdir()
    tree.chmod(0o750)
    inode = tree.stat().st_ino
    assert small("apply").code == 0
    assert (tree.stat().st_ino, tree.stat().st_mode & 0o777) == (inode, 0o750)
    assert read_folder(tree)["b"] == text("B\n")


def test_from_nothing_to_something_and_back(sandbox: Sandbox, git: Git) -> None:
    write_project(sandbox.root, git, [{}, {"x": text("x\n")}, {}, {"y/z": text("z\n")}])
    tree = sandbox.root / "tree"
    for to, files in (("1", {"x"}), ("2", set()), ("3", {"y/z"}), ("2", set()), ("1", {"x"})):
        ran = sandbox("apply", "--to", to)
        assert (ran.code, ran.err, set(read_folder(tree))) == (0, "", files)


def test_a_symlinked_folder_is_followed(small: Sandbox) -> None:
    goal = small.root / "elsewhere"
    goal.mkdir()
    (small.root / "tree").symlink_to(goal)
    assert small("apply").code == 0
    assert small("apply", "--to", "1").code == 0
    assert read_folder(goal)["b"] == text("b\n")
    assert (small.root / "tree").is_symlink()


def test_local_edits_are_refused_by_name(small: Sandbox) -> None:
    small("apply")
    tree = small.root / "tree"
    (tree / "b").write_text("mine\n")
    (tree / "d/c").unlink()
    before = state(tree)
    ran = small("apply", "--to", "1", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "local-edits")
    assert "b, d/c" in ran.json["error"]["message"]
    assert state(tree) == before
    # an edit is an edit even where the move would not touch it, or there is nothing to move
    assert small("apply").code == 1
    assert state(tree) == before


def test_an_edit_of_the_same_size_and_time_is_seen(small: Sandbox) -> None:
    small("apply")
    file = small.root / "tree/b"
    was = file.stat()
    file.write_text("X\n")
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert small("apply").code == 1


def test_force_saves_edits_as_a_patch_that_applies(made: Sandbox, git: Git) -> None:
    made("apply")
    tree = made.root / "tree"
    (tree / "src/a.c").write_text(numbered(1, 31, n1="mine"))
    (tree / "run.sh").chmod(0o644)
    (tree / "empty").unlink()
    (tree / "bin").write_bytes(b"\0mine\xff")
    (tree / "l").unlink()
    (tree / "l").symlink_to("mine")
    edited = read_folder(tree)
    ran = made("apply", "--to", "1", "--force", "--json")
    assert ran.code == 0
    assert read_folder(tree) == SECOND
    (saved,) = ran.json["saved"]
    git("read-tree", git.tree({os.fsencode(p): f for p, f in THIRD.items()}))
    git("apply", "--cached", "--whitespace=nowarn", saved)
    assert git("write-tree").decode().strip() == git.tree({os.fsencode(p): f for p, f in edited.items()})


def test_a_folder_in_the_place_of_a_file_is_kept_aside(small: Sandbox) -> None:
    """The file was replaced by a folder of the user's: --force may not take that folder away."""
    small("apply")
    tree = small.root / "tree"
    (tree / "b").unlink()
    write_folder(tree / "b", {"mine/precious": text("precious\n")})
    assert small("apply").code == 1
    ran = small("apply", "--force", "--json")
    assert ran.code == 0
    assert read_folder(tree)["b"] == text("B\n")
    kept = [Path(p) for p in ran.json["saved"] if Path(p).is_dir()]
    assert [p.read_text() for k in kept for p in k.rglob("precious")] == ["precious\n"]


@pytest.mark.parametrize("to", ["2", "1", None])
def test_nothing_is_written_or_deleted_through_a_link(small: Sandbox, to: str | None) -> None:
    """A folder of the tree became a link to one of the user's, with files of the same names."""
    small("apply")
    tree, mine = small.root / "tree", small.root / "mine"
    shutil.rmtree(tree / "d")
    write_folder(mine, {"c": text("my c\n"), "new": text("my new\n")})
    (tree / "d").symlink_to(mine)
    args = ["bootstrap", "tree"] if to is None else ["apply", "--to", to]
    assert small(*args).code == 1
    assert small(*args, "--force").code == 0
    assert read_folder(mine) == {"c": text("my c\n"), "new": text("my new\n")}
    assert (tree / "d").is_symlink() is False
    assert read_folder(tree)["d/c"] == text("c\n")


def test_your_file_where_a_new_one_belongs(small: Sandbox) -> None:
    small("bootstrap", "tree")
    tree = small.root / "tree"
    (tree / "d/new").write_text("mine\n")
    before = state(tree)
    ran = small("apply", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "in-the-way")
    assert "d/new" in ran.json["error"]["message"]
    assert state(tree) == before
    ran = small("apply", "--force", "--json")
    assert ran.code == 0
    assert read_folder(tree)["d/new"] == text("new\n")
    (kept,) = ran.json["saved"]
    assert (Path(kept) / "d/new").read_text() == "mine\n"


@pytest.mark.parametrize("mine", ["folder-then-file/mine", "folder-then-file/y/.git/config", "file-then-folder/x"])
def test_your_file_where_files_and_folders_change_places(made: Sandbox, mine: str) -> None:
    made("bootstrap", "tree")
    tree = made.root / "tree"
    if mine.startswith("file-then-folder"):
        (tree / "file-then-folder").unlink()
    write_folder(tree, {mine: text("mine\n")})
    before = state(tree)
    assert made("apply").code == 1
    assert state(tree) == before
    ran = made("apply", "--force", "--json")
    assert ran.code == 0
    assert {p: f for p, f in read_folder(tree).items() if p != mine} == THIRD
    kept = [p for s in ran.json["saved"] for p in Path(s).rglob("*") if p.is_file()]
    assert [p.read_text() for p in [*kept, tree / mine] if p.name == Path(mine).name and p.exists()] == ["mine\n"]


def test_empty_folders_are_nobodys(made: Sandbox) -> None:
    made("bootstrap", "tree")
    (made.root / "tree/folder-then-file/left/over").mkdir(parents=True)
    assert made("apply").code == 0
    assert read_folder(made.root / "tree") == THIRD


def test_build_outputs_stay(small: Sandbox) -> None:
    small("bootstrap", "tree")
    tree = small.root / "tree"
    outputs = {"build/x.o": text("object\n"), "d/c.o": text("object\n"), "build/deep/app": script("app\n")}
    write_folder(tree, outputs)
    for args in (["apply"], ["apply", "--to", "1"], ["apply", "--force"], ["bootstrap", "tree"]):
        assert small(*args).code == 0
        assert {p: f for p, f in read_folder(tree).items() if p in outputs} == outputs
        assert {t for p, t in times(tree).items() if p in outputs} == {LONG_AGO * 10**9}


@pytest.mark.parametrize("files", [{"mine": text("mine\n")}, {"a": text("mine\n"), "x/y": text("y\n")}])
def test_a_foreign_folder_is_refused(small: Sandbox, files: Files) -> None:
    small("check")
    tree = write_folder(small.root / "theirs", files)
    before = state(tree)
    ran = small("apply", "theirs", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "local-edits" if "a" in files else "foreign-folder")
    assert state(tree) == before
    ran = small("apply", "theirs", "--force", "--json")
    assert ran.code == 0
    assert {p: f for p, f in read_folder(tree).items() if p not in files or p == "a"}["b"] == text("B\n")
    kept = [p.read_text() for s in ran.json["saved"] for p in [Path(s)]]
    assert all("+mine" in k for k in kept) and len(kept) == ("a" in files)


@pytest.mark.parametrize("goal", [".", "patches", "patches/sub", ".opencoti", ".opencoti/x", "..", "base", "base/d"])
def test_folders_of_the_project_are_refused(small: Sandbox, goal: str) -> None:
    small("check")
    before = small.files()
    ran = small("apply", goal, "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad-folder")
    assert small("apply", goal, "--force").code == 2
    assert small("bootstrap", goal, "--force").code == 2
    assert small.files() == before


def test_a_file_and_another_project_are_refused(small: Sandbox) -> None:
    small.write("file", "x")
    small.write("other/opencoti.toml", "schema = 1\n")
    before = small.files()
    for goal in ("file", "other"):
        assert small("apply", goal, "--force").code == 2
    assert small.files() == before


def test_the_store_deleted(small: Sandbox) -> None:
    small("apply")
    tree = small.root / "tree"
    before = times(tree)
    shutil.rmtree(small.root / ".opencoti")
    assert small("apply").out.endswith("nothing to do\n")
    assert times(tree) == before
    shutil.rmtree(small.root / ".opencoti")
    ran = small("apply", "--to", "1")  # nothing knows that "b" was written by us
    assert (ran.code, "b" in ran.err) == (1, True)
    assert times(tree) == before
    assert small("apply", "--to", "1", "--force").code == 0
    assert read_folder(tree)["b"] == text("b\n")
    assert {p for p, t in times(tree).items() if t != before[p]} == {"b"}


def test_a_series_that_does_not_apply(small: Sandbox) -> None:
    small("apply")
    before = state(small.root / "tree")
    file = small.root / "patches/0002-step.patch"
    file.write_bytes(file.read_bytes().replace(b"-b\n", b"-x\n"))
    for args in (["apply"], ["apply", "fresh"], ["apply", "--commits", "fresh"], ["apply", "--force"]):
        ran = small(*args)
        assert (ran.code, "0002-step.patch" in ran.err) == (1, True)
    assert state(small.root / "tree") == before
    assert not (small.root / "fresh").exists()
    assert small("apply", "--to", "1").code == 0  # the patches before it can be had


def test_the_folder_is_meant_from_where_one_stands(small: Sandbox) -> None:
    inner = small.root / "inner"
    inner.mkdir()
    assert small("apply", "out", cwd=inner).code == 0
    assert (inner / "out/b").exists()
    assert small("-C", "inner", "apply", "out2").code == 0
    assert (inner / "out2/b").exists()


def test_one_json_document(small: Sandbox) -> None:
    ran = small("--json", "apply")
    assert json.loads(ran.raw)["schema"] == 1
    assert ran.err == ""
