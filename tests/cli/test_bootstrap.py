"""``bootstrap``: the base in the store, and a folder to edit in that ``regen --from`` makes a patch of."""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from e2e.trees import (
    HEADER,
    Files,
    leftovers,
    link,
    numbered,
    patch_between,
    read_folder,
    script,
    set_base,
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
    "a.c": text(numbered(1, 40)),
    "b.c": text("int b;\n"),
    "gone.c": text("gone\n"),
    "old/name.c": text(numbered(1, 20)),
    "tool.sh": text("#!/bin/sh\n"),
    "pic.bin": text(bytes(range(256))),
    "to": link("a.c"),
    ".gitignore": text("*.o\n/build/\n"),
}
FIRST: Files = {**START, "a.c": text(numbered(1, 40, n3="three"))}
SECOND: Files = {**FIRST, "a.c": text(numbered(1, 40, n3="three", n20="twenty"))}
THIRD: Files = {**SECOND, "b.c": text("int b3;\n")}


@pytest.fixture
def sandbox(forked: Forked) -> Sandbox:
    """An empty folder, and the program run in it."""
    return forked


@pytest.fixture
def made(sandbox: Sandbox, git: Git) -> Sandbox:
    """A project of three patches, and in ``work`` the tree after the first."""
    write_project(sandbox.root, git, [START, FIRST, SECOND, THIRD])
    assert sandbox("bootstrap", "--to", "1", "work").code == 0
    return sandbox


def tree_made_by(sandbox: Sandbox, to: str) -> dict[str, tuple[str, bytes]]:
    """The tree after a patch, checked out anew."""
    shutil.rmtree(sandbox.root / "again", ignore_errors=True)
    ran = sandbox("apply", "--to", to, "again")
    assert ran.code == 0, ran.err
    return read_folder(sandbox.root / "again")


def test_bootstrap(made: Sandbox) -> None:
    assert read_folder(made.root / "work") == FIRST
    ran = made("bootstrap")
    assert ran.code == 0
    assert re.fullmatch(r"base: \S+, 8 files, tree [0-9a-f]{12}", " ".join(ran.out.split()))
    shutil.move(made.root / "base", made.root / "elsewhere")  # offline: nothing but the folder itself is missing
    assert made("bootstrap").code == 2
    shutil.move(made.root / "elsewhere", made.root / "base")
    bare = made("bootstrap", "bare", "--json")
    assert (bare.code, bare.json["to"]) == (0, None)
    assert read_folder(made.root / "bare") == START
    assert bare.json["tree"] == bare.json["base"]["tree"]
    assert made("bootstrap", "--to", "1").code == 2  # a patch needs a folder
    assert made("bootstrap", "--to", "9", "x").code == 2
    assert not (made.root / "x").exists()
    before = times(made.root / "work")
    assert made("bootstrap", "--to", "1", "work").code == 0
    assert times(made.root / "work") == before
    (made.root / "work/a.c").write_text("mine\n")
    assert made("bootstrap", "--to", "1", "work").code == 1
    assert (made.root / "work/a.c").read_text() == "mine\n"


def test_bootstrap_stops_before_a_patch_that_does_not_apply(made: Sandbox) -> None:
    file = made.root / "patches/0002-step.patch"
    file.write_bytes(file.read_bytes().replace(b"-line 20\n", b"-line XX\n"))
    ran = made("bootstrap", "--to", "3", "x")
    assert (ran.code, "0002-step.patch does not apply" in ran.err) == (1, True)
    assert not (made.root / "x").exists()
    assert made("bootstrap", "--to", "1", "x").code == 0


def test_the_patch_becomes_exactly_the_difference(made: Sandbox, git: Git) -> None:
    work = made.root / "work"
    (work / "a.c").write_text(numbered(1, 40, n3="three", n30="thirty"))
    (work / "gone.c").unlink()
    (work / "old/name.c").rename(work / "name.c")
    (work / "old").rmdir()
    (work / "tool.sh").chmod(0o755)
    (work / "pic.bin").write_bytes(bytes(range(256))[::-1])
    (work / "to").unlink()
    (work / "to").symlink_to("b.c")
    write_folder(
        work,
        {
            "new/ä b.c": text("new\n"),
            "new/run": script("#!/bin/sh\n"),
            "new/empty": text(""),
            "new/link": link("../a.c"),
            "new/no-end": text("no newline"),
            "new/dos": text("a\r\nb\r\n"),
            "x.o": text("ignored\n"),
            "build/y": text("ignored\n"),
        },
    )
    wanted = {p: f for p, f in read_folder(work).items() if p not in ("x.o", "build/y")}
    ran = made("regen", "2", "--from", "work", "--json", SOURCE_DATE_EPOCH="0")
    assert (ran.code, ran.err) == (0, "")
    assert [(r["name"], r["status"]) for r in ran.json["patches"]] == [("0002-step.patch", "adapted")]
    new = ["name.c", "new/dos", "new/empty", "new/link", "new/no-end", "new/run", "new/ä b.c"]
    assert sorted(ran.json["new_files"]) == sorted(new)
    raw = (made.root / "patches/0002-step.patch").read_bytes()
    note = b"small note (1970-01-01): hunk regenerated via snapshot-diff against the post-0001 bootstrap; "
    first, second, rest = raw.split(b"\n", 2)
    assert first == HEADER.split(b"\n")[0]
    assert second.startswith(note) and second.endswith(b"Content adapted.")
    assert rest.startswith(HEADER.split(b"\n", 1)[1])
    assert tree_made_by(made, "2") == wanted
    # and git says the same of the file
    made.root.joinpath("judge.patch").write_bytes(raw)
    git("read-tree", git.tree({os.fsencode(p): f for p, f in FIRST.items()}))
    git("apply", "--cached", "--whitespace=nowarn", made.root / "judge.patch")
    assert git("write-tree").decode().strip() == git.tree({os.fsencode(p): f for p, f in wanted.items()})
    assert made("regen", "2", "--from", "again", "--json").json["patches"][0]["status"] == "kept"
    assert leftovers(made.root) == []


@pytest.mark.parametrize("to", ["1", "2"])
def test_an_untouched_tree_after_the_patch_keeps_it(made: Sandbox, to: str) -> None:
    """The folder may have begun before the patch or after it; what counts is what it is now."""
    made("bootstrap", "--to", to, "w2")
    write_folder(made.root / "w2", {"a.c": SECOND["a.c"]})
    file = made.root / "patches/0002-step.patch"
    before = file.read_bytes(), file.stat().st_mtime_ns
    ran = made("regen", "2", "--from", "w2", "--json")
    assert (ran.code, ran.json["patches"][0]["status"], ran.json["written"]) == (0, "kept", [])
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before


@pytest.mark.parametrize("strip", [0, 2])
def test_other_strip_levels(made: Sandbox, git: Git, strip: int) -> None:
    """A patch keeps its way of naming files, for those that it had and those that are new in it."""
    old = patch_between(git, FIRST, SECOND)
    sides = (b"", b"") if strip == 0 else (b"a/deep/", b"b/deep/")
    renamed = re.sub(rb"(?m)^((?:diff --git|---) )a/", rb"\1" + sides[0], old)
    renamed = re.sub(rb"(?m)^(diff --git \S+ |\+\+\+ )b/", rb"\1" + sides[1], renamed)
    (made.root / "patches/0002-step.patch").write_bytes(renamed)
    made.write("patches/series", f"0001-step.patch\n0002-step.patch -p{strip}\n0003-step.patch\n")
    assert made("check").code == 0
    work = made.root / "work"
    (work / "a.c").write_text(numbered(1, 40, n3="three", n31="thirty-one"))
    (work / "a.c").chmod(0o755)
    (work / "tool.sh").chmod(0o755)
    (work / "gone.c").unlink()
    write_folder(work, {"new/a b.c": text("new\n"), "ä": text("x\n"), "e": text("")})
    ran = made("regen", "2", "--from", "work", "--json")
    assert ran.code == 0, ran.err
    assert tree_made_by(made, "2") == read_folder(work)


def test_a_mode_that_the_folder_does_not_have_leaves_the_patch(made: Sandbox, git: Git) -> None:
    third = {**THIRD, "b.c": script("int b3;\n")}
    (made.root / "patches/0003-step.patch").write_bytes(patch_between(git, SECOND, third))
    made("bootstrap", "--to", "3", "w3")
    (made.root / "w3/b.c").chmod(0o644)
    assert made("regen", "3", "--from", "w3").code == 0
    assert b"new mode" not in (made.root / "patches/0003-step.patch").read_bytes()
    assert tree_made_by(made, "3") == THIRD


@pytest.mark.parametrize("what", ["mode", "binary", "empty"])
def test_what_is_no_line_is_content_too(made: Sandbox, git: Git, what: str) -> None:
    third = {**THIRD, "pic.bin": text(b"\0other")}
    (made.root / "patches/0003-step.patch").write_bytes(patch_between(git, SECOND, third))
    made("bootstrap", "--to", "3", "w3")
    if what == "mode":
        (made.root / "w3/a.c").chmod(0o755)
    elif what == "binary":
        (made.root / "w3/pic.bin").write_bytes(b"\0third")
    else:
        (made.root / "w3/empty").touch()
    ran = made("regen", "3", "--from", "w3", "--json")
    assert (ran.code, ran.json["patches"][0]["status"]) == (0, "adapted")
    assert tree_made_by(made, "3") == read_folder(made.root / "w3")


def test_folders_and_files_change_places(made: Sandbox) -> None:
    work = made.root / "work"
    (work / "b.c").unlink()
    write_folder(work, {"b.c/in/it": text("it\n")})
    shutil.rmtree(work / "old")
    (work / "old").symlink_to("b.c")
    (work / "to").unlink()
    write_folder(work, {"to/x": text("x\n")})
    ran = made("regen", "2", "--from", "work")
    assert (ran.code, "0003-step.patch" in ran.out) == (1, True)  # it edits b.c, which is a folder now
    assert tree_made_by(made, "2") == read_folder(work)


def test_later_patches_that_stood_on_it_are_named(made: Sandbox) -> None:
    (made.root / "work/b.c").write_text("int other;\n")
    later = (made.root / "patches/0003-step.patch").read_bytes()
    ran = made("regen", "2", "--from", "work", "--json")
    assert ran.code == 1
    assert [(r["name"], r["status"]) for r in ran.json["patches"]] == [
        ("0002-step.patch", "adapted"),
        ("0003-step.patch", "conflict"),
    ]
    assert ran.json["written"] == ["patches/0002-step.patch"]
    assert (made.root / "patches/0003-step.patch").read_bytes() == later
    assert tree_made_by(made, "2") == read_folder(made.root / "work")


def test_a_patch_that_does_not_apply_any_more_is_made_anew(made: Sandbox) -> None:
    """The main use: upstream changed, nobody can place the patch but you."""
    set_base(made.root, {**START, "a.c": text(numbered(1, 40, n20="upstream was here"))})
    assert made("bootstrap", "--to", "1", "new").code == 0
    (made.root / "new/a.c").write_text(numbered(1, 40, n3="three", n20="twenty, and upstream"))
    ran = made("regen", "2", "--from", "new", "--json")
    assert (ran.code, ran.json["patches"][0]["status"]) == (0, "adapted")
    assert tree_made_by(made, "2") == read_folder(made.root / "new")
    assert made("check", "-q").code == 0


def test_refusals(made: Sandbox) -> None:
    before = made.files()

    def refused(code: int, word: str, *args: str) -> None:
        ran = made("regen", *args, "--json")
        assert (ran.code, ran.json["error"]["code"]) == (code, word)
        assert made.files() == before

    refused(1, "no-change", "2", "--from", "work")
    refused(1, "wrong-bootstrap", "3", "--from", "work")
    refused(2, "unknown-folder", "2", "--from", "base")
    refused(2, "unknown-folder", "2", "--from", "nowhere")
    refused(2, "usage", "--from", "work")
    refused(2, "usage", "1", "2", "--from", "work")
    refused(2, "unknown-patch", "7", "--from", "work")
    set_base(made.root, {**START, "b.c": text("int upstream;\n")})
    before = made.files()
    refused(1, "wrong-bootstrap", "2", "--from", "work")  # it began on another base


def test_dry_run_writes_nothing(made: Sandbox) -> None:
    (made.root / "work/b.c").write_text("int dry;\n")
    before = made.files()
    ran = made("regen", "2", "--from", "work", "--dry-run", "--json")
    assert (ran.json["dry_run"], ran.json["written"]) == (True, [])
    assert made.files() == before


def test_ignore_rules_are_the_trees_own(made: Sandbox) -> None:
    """What somebody ignores on their machine is no fact about the project."""
    made.write(".config/git/ignore", "*.mine\n")
    made.write(".gitconfig", f"[core]\n\texcludesFile = {made.root}/.config/git/ignore\n")
    write_folder(made.root / "work", {"x.mine": text("x\n"), "sub/.gitignore": text("skip\n"), "sub/skip": text("s\n")})
    (made.root / "work/sub/repo/.git").mkdir(parents=True)
    ran = made("regen", "2", "--from", "work", "--json", XDG_CONFIG_HOME=str(made.root / ".config"))
    assert ran.json["new_files"] == ["sub/.gitignore", "x.mine"]


def test_a_killed_apply_is_finished_before_the_folder_is_read(made: Sandbox) -> None:
    state = next(p for p in (made.root / ".opencoti/trees").rglob("state.json"))
    doc = json.loads(state.read_bytes())
    tree = made("bootstrap", "--to", "2", "two", "--json").json["tree"]
    write_folder(made.root / "work/.opencoti-stage", {"a.c": SECOND["a.c"]})
    moving = {"tree": tree, "patch": "0002-step.patch", "commits": False, "writes": ["a.c"], "deletes": []}
    state.write_text(json.dumps({**doc, "moving": moving}))
    ran = made("regen", "2", "--from", "work", "--json")
    assert (ran.code, ran.json["patches"][0]["status"]) == (0, "kept")
    assert leftovers(made.root) == []
