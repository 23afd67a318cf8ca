"""``bump`` of patches that rename, where upstream renamed as well."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from .conftest import Diff, Sandbox
from .test_bump import Carry, carry, git

__all__ = ["carry"]

OLD = "".join(f"int a_line_of_its_own_{n};\n" for n in range(1, 31))
OTHER = OLD.replace("of_its_own", "of_another")
EDIT = OLD.replace("its_own_20;", "its_own_20_ours;")
THEIRS = OLD.replace("its_own_9;", "its_own_9_theirs;")
BOTH = EDIT.replace("its_own_9;", "its_own_9_theirs;")


def move(old: str, new: str, before: str = OLD, after: str = OLD, kind: str = "rename") -> str:
    """A patch that renames a file, with or without an edit."""
    hunks = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{old}", f"b/{new}")
    head = f"diff --git a/{old} b/{new}\nsimilarity index 90%\n{kind} from {old}\n{kind} to {new}\n"
    return f"Say what it does\n\n{head}{''.join(hunks)}"


def replayed(run: Sandbox) -> dict[str, str]:
    """The files of the new base with the series on it, by plain git."""
    work = run.root / "replayed"
    git(run.root, "clone", "-q", "-b", "new", str(run.root / "upstream"), str(work))
    for line in (run.root / "patches/series").read_text().split("\n"):
        if line and not line.startswith("#"):
            name, *options = line.split()
            git(work, "apply", *options, str(run.root / "patches" / name))
    found = (p for p in work.rglob("*") if p.is_file() and ".git" not in p.relative_to(work).parts)
    return {str(p.relative_to(work)): p.read_text() for p in found}


def row_of(run: Sandbox, *args: str) -> dict[str, str]:
    done = run("bump", "new", *args, "--json")
    return dict(done.json["patches"][0])


@pytest.mark.parametrize(
    ("ours", "theirs", "status", "left"),
    [
        (OLD, OLD, "upstreamed", OLD),
        (OLD, THEIRS, "upstreamed", THEIRS),
        (EDIT, EDIT, "upstreamed", EDIT),
        (EDIT, BOTH, "upstreamed", BOTH),
        (EDIT, OLD, "adapted", EDIT),
        (EDIT, THEIRS, "adapted", BOTH),
    ],
    ids=["plain", "theirs edited", "same edit", "same edit and more", "our edit is left", "both edited"],
)
def test_a_rename_that_upstream_made_is_there(carry: Carry, ours: str, theirs: str, status: str, left: str) -> None:
    run = carry({"a.c": OLD, "k": "k\n"}, {"b.c": theirs, "k": "k\n"}, {"0001-a.patch": move("a.c", "b.c", OLD, ours)})
    row = row_of(run, "--accept-adapted")
    assert row["status"] == status, row
    assert replayed(run) == {"b.c": left, "k": "k\n"}
    assert run("check", "--no-offset").code == 0


@pytest.mark.parametrize(
    "names", ["a.c>b.c", "d/a.c>d/a.c.orig", 'a.c>b"ä.c', "a b.c>c d.c", "a.c>a.c/a.c", "a.c>t\tb.c"]
)
@pytest.mark.parametrize("strip", [1, 2])
@pytest.mark.parametrize("theirs", [OLD, THEIRS], ids=["", "edited"])
def test_what_is_left_is_written_under_any_name(carry: Carry, names: str, strip: int, theirs: str) -> None:
    old, new = names.split(">")
    run = carry({old: OLD}, {new: theirs}, {"0001-a.patch": ""})
    patch = git_move(run, old, new, "x/" * (strip - 1))
    run.write("patches/0001-a.patch", patch)
    run.write("patches/series", f"0001-a.patch -p{strip}\n")
    row = row_of(run, "--accept-adapted")
    assert row["status"] == "adapted", row
    assert replayed(run) == {new: EDIT if theirs == OLD else BOTH}
    assert run("check", "--no-offset").code == 0


def git_move(run: Sandbox, old: str, new: str, above: str = "", after: str = EDIT) -> str:
    """git's own patch of a rename and an edit."""
    work = run.root / "making"
    (work / above / old).parent.mkdir(parents=True, exist_ok=True)
    git(work, "init", "-q")
    (work / above / old).write_text(OLD)
    git(work, "add", "-A")
    git(work, "commit", "-qm", "old")
    (work / above / old).unlink()
    (work / above / new).parent.mkdir(parents=True, exist_ok=True)
    (work / above / new).write_text(after)
    git(work, "add", "-A")
    return "Say what\n\n" + git(work, "diff", "-M", "HEAD")


@pytest.mark.parametrize("patched", ["a.c", "b.c"])
@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("edited", [False, True])
def test_a_file_is_followed_to_the_name_of_one_that_was_renamed_too(
    carry: Carry, diff: Diff, patched: str, alike: bool, edited: bool
) -> None:
    head = "".join(f"a line of the licence {n}\n" for n in range(20)) if alike else ""
    a, b = head + OLD, head + OTHER
    top = "int on_top;\n" if edited else ""
    text = {"a.c": a, "b.c": b}[patched]
    ours = text.replace("_20;", "_20_ours;")
    run = carry({"a.c": a, "b.c": b}, {"b.c": top + a, "c.c": top + b}, {"0001-f.patch": diff(patched, text, ours)})
    row = row_of(run, "--accept-adapted")
    assert row["status"] in ("regenerated", "adapted"), row
    want = {"b.c": top + a, "c.c": top + b}
    want[{"a.c": "b.c", "b.c": "c.c"}[patched]] = top + ours
    assert replayed(run) == want


@pytest.mark.parametrize("options", ["-p1", "-p2", "-p3", "-R", "-p2 -R"])
@pytest.mark.parametrize("names", ["a.c>b.c", "d/a.c>e f/b.c", "a.c>t\tb.c", "t\ta.c>b.c"])
def test_a_rename_that_was_resolved_by_hand_is_taken(carry: Carry, names: str, options: str) -> None:
    first, second = names.split(">")
    old, new = (second, first) if "-R" in options else (first, second)
    before = EDIT if "-R" in options else OLD
    theirs = "int top;\n" + before.replace("_20", "_twenty")
    run = carry({old: before}, {old: theirs}, {"0001-a.patch": ""})
    strip = int(options[2]) if options.startswith("-p") else 1
    run.write("patches/0001-a.patch", git_move(run, first, second, "x/" * (strip - 1)))
    run.write("patches/series", f"0001-a.patch {options}\n")
    assert run("check").code == 0
    done = run("bump", "new", "--json")
    assert done.json["patches"][0]["status"] == "conflict", done
    tree = Path(done.json["worktree"])
    want = theirs.replace("_twenty", "_twenty_ours")
    (tree / old).unlink(missing_ok=True)
    (tree / new).parent.mkdir(exist_ok=True, parents=True)
    (tree / new).write_text(want)
    done = run("bump", "--continue", "--json")
    assert done.code == 0, done
    assert replayed(run) == {new: want}
