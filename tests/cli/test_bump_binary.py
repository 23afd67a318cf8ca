"""``bump`` past patches of binary files: what git would take by chance, or takes unread, is that patch's conflict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Diff, Sandbox
from .test_bump import CODE, CONFLICT, Carry, carry, edit, git

__all__ = ["carry"]

ONE, TWO, OTHER = "\0one\n", "\0two\n", "\0other\n"


def binary(run: Sandbox, old: str, new: str, *options: str) -> str:
    """git's patch of the file ``b`` from one content to another, as upstream's repository would have it."""
    upstream = run.root / "upstream"
    ids = []
    for text in (old, new):
        (upstream / "x").write_text(text)
        ids.append(git(upstream, "hash-object", "-w", "x").strip())
    (upstream / "x").unlink()
    return re.sub(r"([ab])/[0-9a-f]{40}", r"\1/b", git(upstream, "diff", "--full-index", *options, *ids))


@pytest.mark.parametrize("options", ["", " -R"])
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("other", [False, True])
def test_one_that_only_says_that_files_differ_is_named_and_the_rest_is_carried(
    carry: Carry, diff: Diff, options: str, at: int, other: bool
) -> None:
    old = {"a.c": CODE, "b": ONE, "kept": TWO, "c.c": CODE}
    patches = [("0002-a.patch", diff("a.c", CODE, edit(CODE, ("x - 3", "x - 9"))))]
    new = {**old, "a.c": "int top;\n" + CODE} if other else {**old, "kept": TWO}
    patches.insert(at, ("0001-b.patch", ""))
    run = carry(old, new, dict(patches))
    a, b = (TWO, ONE) if options else (ONE, TWO)
    run.write("patches/0001-b.patch", f"Say what\n\n{binary(run, a, b)}")
    run.write("patches/series", "".join(f"{n}{options * ('-b' in n)}\n" for n, _ in patches))
    done = run("bump", "new", "--json")
    rows = {row["name"]: row for row in done.json["patches"]}
    assert done.code == 1 and rows["0002-a.patch"]["status"] == ("renumbered" if other else "kept")
    assert rows["0001-b.patch"]["status"] == "conflict"
    assert "it only says that binary files differ" in rows["0001-b.patch"]["reason"]
    assert run("bump", "--skip", "0001-b.patch").code == 0
    assert run("check", "--no-offset").code == 0


@pytest.mark.parametrize("options", ["", " -R"])
def test_a_binary_patch_that_git_takes_unread_is_judged_as_check_does(carry: Carry, diff: Diff, options: str) -> None:
    old = {"a.c": CODE, "b": ONE, "kept": TWO}
    run = carry(old, {**old, "a.c": "int top;\n" + CODE}, {"0001-b.patch": "", "0002-a.patch": ""})
    a, b = (TWO, ONE) if options else (ONE, TWO)
    head = binary(run, a, b, "--binary").partition("GIT binary patch")[0]
    others = binary(run, *((OTHER, b) if options else (a, OTHER)), "--binary").partition("GIT binary patch")[2]
    damaged = f"{head}GIT binary patch{others}"
    run.write("patches/0001-b.patch", f"Say what\n\n{damaged}")
    run.write("patches/0002-a.patch", diff("a.c", CODE, edit(CODE, ("x - 3", "x - 9"))))
    run.write("patches/series", f"0001-b.patch{options}\n0002-a.patch\n")
    assert run("check").code == 1  # its contents are others than it names
    done = run("bump", "new", "--json")
    rows = {row["name"]: row["status"] for row in done.json["patches"]}
    assert rows == {"0001-b.patch": "conflict", "0002-a.patch": "renumbered"}, done
    assert run("bump", "--skip", "0001-b.patch").code == 0


@pytest.fixture
def beside(carry: Carry) -> Sandbox:
    """A patch of text that upstream changed as well, and of binary files that upstream left alone."""
    old = {"a.c": CODE, "changed.png": ONE, "gone.png": ONE}
    run = carry(old, {**old, "a.c": CONFLICT}, {"0001-a.patch": ""})
    upstream = run.root / "upstream"
    git(upstream, "checkout", "-q", "old")
    (upstream / "a.c").write_text(edit(CODE, ("x * 2", "x * 3")))
    (upstream / "made.png").write_text(TWO)
    (upstream / "changed.png").write_text(TWO)
    (upstream / "gone.png").unlink()
    git(upstream, "add", "-A")
    run.write("patches/0001-a.patch", f"Say what\n\n{git(upstream, 'diff', '--cached', '--binary')}")
    assert run("check").code == 0
    return run


def test_binary_files_that_upstream_left_alone_lie_in_the_worktree_of_a_conflict(beside: Sandbox) -> None:
    answer = beside("bump", "new", "--json").json
    work = Path(answer["worktree"])
    assert answer["files"] == ["a.c"]
    assert (work / "made.png").read_text() == (work / "changed.png").read_text() == TWO
    assert not (work / "gone.png").exists()
    (work / "a.c").write_text(edit(CONFLICT, ("x * 5", "x * 6")))
    assert beside("bump", "--continue").code == 0
    assert beside("apply").code == 0
    tree = beside.root / "tree"
    assert (tree / "made.png").read_text() == (tree / "changed.png").read_text() == TWO
    assert not (tree / "gone.png").exists()


def test_a_file_that_the_patch_has_no_more_once_it_is_resolved_is_named(beside: Sandbox) -> None:
    work = Path(beside("bump", "new", "--json").json["worktree"])
    (work / "a.c").write_text(edit(CONFLICT, ("x * 5", "x * 6")))
    (work / "made.png").unlink()
    (row,) = beside("bump", "--continue", "--json").json["patches"]
    assert (row["status"], row["reason"]) == ("adapted", "resolved by hand; it has nothing of made.png any more")


def test_a_file_that_somebody_deleted_to_resolve_a_conflict_is_named(beside: Sandbox) -> None:
    """The patch changed it; a slip of the hand would take upstream's file away."""
    work = Path(beside("bump", "new", "--json").json["worktree"])
    (work / "a.c").unlink()
    (row,) = beside("bump", "--continue", "--json").json["patches"]
    assert (row["status"], row["reason"]) == (
        "adapted",
        "resolved by hand; it deletes a.c now, which it changed before",
    )


def test_binary_files_that_upstream_left_alone_go_along_where_the_text_beside_them_is_carried(beside: Sandbox) -> None:
    upstream = beside.root / "upstream"
    git(upstream, "checkout", "-qf", "new")
    (upstream / "a.c").write_text(edit(CODE, ("int y = x * 2;\n", "int y = x * 2;\n    int theirs;\n")))
    git(upstream, "commit", "-qam", "newer")
    git(upstream, "tag", "newer")
    (row,) = beside("bump", "newer", "--json").json["patches"]
    assert row["status"] == "regenerated", row
    assert beside("apply").code == 0
    tree = beside.root / "tree"
    assert (tree / "made.png").read_text() == (tree / "changed.png").read_text() == TWO
    assert not (tree / "gone.png").exists()
    for name in ("made.png", "changed.png"):
        (upstream / name).write_text(OTHER)
        git(upstream, "add", "-A")
        git(upstream, "commit", "-qm", name)
        git(upstream, "tag", name)
        (row,) = beside("bump", name, "--dry-run", "--json").json["patches"]
        assert (row["status"], f"{name}: a binary change cannot be carried" in row["reason"]) == ("conflict", True)
        git(upstream, "reset", "-q", "--hard", "newer")
