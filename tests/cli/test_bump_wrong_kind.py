"""A session of ``bump`` where a person puts something else in a conflicted file's place: one clear line, never a deletion."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import HEADER, Diff, Sandbox
from .test_bump import Carry, carry

__all__ = ["carry"]

OLD = "".join(f"int a_line_of_its_own_{n};\n" for n in range(1, 31))
OURS = OLD.replace("_own_20;", "_own_20_ours;")
THEIRS = OLD.replace("_own_20;", "_theirs;")


def put(kind: str, target: Path) -> str:
    """Put another thing in a file's place; what it is called."""
    target.unlink()
    match kind:
        case "pipe":
            os.mkfifo(target)
            return "is a pipe, a socket or a device"
        case "link":
            target.symlink_to("g.c")
            return "is a symbolic link now, and was a file"
        case "folder":
            target.mkdir()
        case "full folder":
            target.mkdir()
            (target / "x").write_text("x\n")
    return "is a folder now, and was a file"


@pytest.fixture(params=[False, True], ids=["there", "made"])
def waits(request: pytest.FixtureRequest, carry: Carry, diff: Diff) -> tuple[Sandbox, Path]:
    """A bump that waits, and its conflicted file: one of upstream's, or one that the patch makes."""
    patch = diff("f.c", OLD, OURS)
    if request.param:
        moves = "similarity index 90%\nrename from f.c\nrename to n.c\n--- a/"
        patch = patch.replace("b/f.c", "b/n.c").replace("--- a/", moves, 1)
    run = carry({"f.c": OLD, "g.c": "g\n"}, {"f.c": THEIRS, "g.c": "g\n"}, {"0001-f.patch": patch})
    answer = run("bump", "new", "--json").json
    return run, Path(answer["worktree"]) / answer["files"][0]


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "full folder"])
def test_it_is_no_deletion(waits: tuple[Sandbox, Path], kind: str) -> None:
    run, target = waits
    before = run.files()
    what = put(kind, target)
    refused = run("bump", "--continue")
    assert refused.code == 1 and run.files() == before
    assert what in refused.err and target.name in refused.err and "Traceback" not in refused.err, refused.err
    assert run("bump", "--continue", "--json").json["error"]["code"] == "wrong-kind"
    assert run("bump", "--status", "--json").json["session"]["waits_for"] == "0001-f.patch"
    if kind == "full folder":
        (target / "x").unlink()
    target.rmdir() if target.is_dir() and not target.is_symlink() else target.unlink()
    target.write_text(OURS)
    assert run("bump", "--continue", "--json").code == 0


def test_nor_is_a_pipe_in_any_other_files_place(waits: tuple[Sandbox, Path]) -> None:
    run, target = waits
    target.write_text(OURS)
    put("pipe", target.with_name("g.c"))
    assert run("bump", "--continue", "--json").json["error"]["code"] == "wrong-kind"


def test_nor_is_one_in_a_folder_to_edit_in(waits: tuple[Sandbox, Path]) -> None:
    run, _ = waits
    assert run("bump", "--abort").code == 0
    assert run("bootstrap", "--to", "0001", "work").code == 0
    put("pipe", run.root / "work/g.c")
    for command in (
        ["regen", "0001", "--from", "work"],
        ["new", "more", "--from", "work"],
        ["refresh", "0001", "work"],
    ):
        assert run(*command, "--json").json["error"]["code"] == "wrong-kind"


@pytest.mark.skipif(os.getuid() == 0, reason="root reads any file")
def test_a_file_that_cannot_be_read(waits: tuple[Sandbox, Path]) -> None:
    run, target = waits
    target.chmod(0)
    refused = run("bump", "--continue")
    assert (refused.code, "Permission denied" in refused.err) == (3, True), refused.err


def test_a_link_and_a_folder_that_the_patch_itself_makes_are_none(carry: Carry, diff: Diff) -> None:
    link = "diff --git a/f.c b/f.c\nnew file mode 120000\n--- /dev/null\n+++ b/f.c\n@@ -0,0 +1 @@\n+g.c\n\\ No newline at end of file\n"
    inside = "diff --git a/h.c/x b/h.c/x\nnew file mode 100644\n--- /dev/null\n+++ b/h.c/x\n@@ -0,0 +1 @@\n+ours\n"
    patch = HEADER + "".join(diff(p, OLD, "").removeprefix(HEADER) for p in ("f.c", "h.c")) + link + inside
    run = carry(
        {"f.c": OLD, "h.c": OLD, "g.c": "g\n"},
        {"f.c": "top\n" + OLD, "h.c": "top\n" + OLD, "g.c": "g\n"},
        {"1-f.patch": patch},
    )
    work = Path(run("bump", "new", "--json").json["worktree"])
    put("link", work / "f.c")
    put("full folder", work / "h.c")
    done = run("bump", "--continue", "--json")
    assert done.code == 0, done.raw
    assert run("check", "--no-offset").code == 0
