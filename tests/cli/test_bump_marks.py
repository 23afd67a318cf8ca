"""What a conflict of ``bump`` leaves to a person: the changes that have no certain place, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Diff
from .test_bump import Carry, carry

__all__ = ["carry"]

OLD = "".join(f"int a_line_of_its_own_{n};\n" for n in range(1, 31))


def edited(*pairs: tuple[int, str]) -> str:
    """The old file with other lines, by number."""
    lines = OLD.splitlines(keepends=True)
    for number, text in pairs:
        lines[number - 1] = text
    return "".join(lines)


BESIDE = (6, "int a_line_of_its_own_6;\nint ours_below;\n")  # upstream edits the line below: to git, a conflict
CLASH = (20, "int ours;\n")
THEIRS = ((7, "int theirs_7(int, int);\n"), (20, "int theirs_20(void);\n"))


def test_what_has_a_certain_place_is_not_between_markers(carry: Carry, diff: Diff) -> None:
    run = carry({"f.c": OLD}, {"f.c": edited(*THEIRS)}, {"0001-f.patch": diff("f.c", OLD, edited(BESIDE, CLASH))})
    ran = run("bump", "new", "--json").json
    assert ran["patches"][0]["status"] == "conflict"
    work = Path(ran["worktree"], "f.c")
    conflict = (
        "<<<<<<< upstream\nint theirs_20(void);\n||||||| before 0001-f.patch\nint a_line_of_its_own_20;\n=======\n"
        "int ours;\n>>>>>>> 0001-f.patch\n"
    )
    assert work.read_text() == edited(BESIDE, THEIRS[0], (20, conflict))
    (row,) = run("bump", "--status", "--json").json["session"]["markers"]
    assert (row["file"], work.read_text().splitlines()[row["line"] - 1]) == ("f.c", "<<<<<<< upstream")
    assert f"        f.c: a conflict marker in line {row['line']}\n" in run("bump", "--status").out
    work.write_text(work.read_text().replace(conflict, "int ours(void);\n"))
    assert run("bump", "--status", "--json").json["session"]["markers"] == []
    assert "        f.c\n" in run("bump", "--status").out
    assert run("bump", "--continue", "--json").code == 0
    assert run("apply").code == 0
    assert (run.root / "tree/f.c").read_text() == edited(BESIDE, THEIRS[0], (20, "int ours(void);\n"))


def test_a_file_in_which_all_has_a_certain_place_is_not_in_conflict(carry: Carry, diff: Diff) -> None:
    patch = diff("f.c", OLD, edited(BESIDE)) + diff("g.c", OLD, edited(CLASH))
    new = {"f.c": edited(THEIRS[0]), "g.c": edited(THEIRS[1])}
    run = carry({"f.c": OLD, "g.c": OLD}, new, {"0001-f.patch": patch})
    ran = run("bump", "new", "--json").json
    assert ran["files"] == ["g.c"]
    assert Path(ran["worktree"], "f.c").read_text() == edited(BESIDE, THEIRS[0])


@pytest.mark.parametrize("certain", [True, False])
def test_a_doubt_stays_between_markers(carry: Carry, diff: Diff, certain: bool) -> None:
    """Both sides put lines in one place; that is no better known where all else is."""
    ours, theirs = (20, "int a_line_of_its_own_20;\nint ours;\n"), (20, "int a_line_of_its_own_20;\nint theirs;\n")
    beside = [BESIDE] if certain else []
    patch = diff("f.c", OLD, edited(*beside, ours)) + diff("g.c", OLD, edited(CLASH))
    new = {"f.c": edited(THEIRS[0], theirs), "g.c": edited(THEIRS[1])}
    run = carry({"f.c": OLD, "g.c": OLD}, new, {"0001-f.patch": patch})
    ran = run("bump", "new", "--json").json
    assert ran["files"] == ["f.c", "g.c"]
    conflict = (
        "int a_line_of_its_own_20;\n<<<<<<< upstream\nint theirs;\n||||||| before 0001-f.patch\n=======\nint ours;\n"
        ">>>>>>> 0001-f.patch\n"
    )
    assert Path(ran["worktree"], "f.c").read_text() == edited(*beside, THEIRS[0], (20, conflict))


@pytest.mark.parametrize("conflict", [True, False])
def test_what_follows_upstream_does_so_for_a_person_too(carry: Carry, diff: Diff, conflict: bool) -> None:
    """In a file with a conflict and in one without: the report says that it follows, and git's merge does not."""
    use, renamed = (12, "int a_line_of_its_own_12;\nint ours = count(1);\n"), [(2, "int a = number(1);\n")]
    renamed.append((3, "int b = number(2);\n"))
    old = edited((2, "int a = count(1);\n"), (3, "int b = count(2);\n"))
    ours = edited((2, "int a = count(1);\n"), (3, "int b = count(2);\n"), use, *[CLASH] * conflict)
    new = {"f.c": edited(*renamed, *[THEIRS[1]] * conflict), "g.c": edited(THEIRS[1])}
    run = carry(
        {"f.c": old, "g.c": OLD}, new, {"0001-f.patch": diff("f.c", old, ours) + diff("g.c", OLD, edited(CLASH))}
    )
    ran = run("bump", "new", "--json").json
    (row,) = [h for h in ran["patches"][0]["hunks"] if h["file"] == "f.c" and "count" in h["how"]]
    assert row["how"].endswith("follows the renaming of count to number")
    lines = Path(ran["worktree"], "f.c").read_text().splitlines()
    assert lines[lines.index("int a_line_of_its_own_12;") + 1] == "int ours = number(1);"
    assert ("<<<<<<< upstream" in lines) == conflict
