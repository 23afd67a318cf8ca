"""Numbers of an ``@@`` line that git cannot count to: the patch's own problem, in every command."""

from __future__ import annotations

import pytest

from .conftest import Diff, Project
from .test_bump import Carry, carry

__all__ = ["carry"]

FILE = "".join(f"a line of its own {n}\n" for n in range(1, 21))
CHANGED = FILE.replace("own 6\n", "own six\n")
AT = "@@ -3,7 +3,7 @@"
# git takes a start of these for another line, or the file's first; it says so of no one
STARTS = ["2147483648", "4294967299", "18446744073709551619", "9" * 5000]
PLACES = ["@@ -{},7 +3,7 @@", "@@ -3,7 +{},7 @@", "@@ -3,{} +3,7 @@", "@@ -3,7 +3,{} @@"]


def garbled(diff: Diff, place: str, number: str) -> str:
    patch = diff("f", FILE, CHANGED)
    assert AT in patch
    return patch.replace(AT, place.format(number))


@pytest.mark.parametrize("number", STARTS, ids=lambda n: n[:12])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("options", ["", " -R"])
def test_check_says_which_line_of_the_patch_it_is(
    project: Project, diff: Diff, place: str, number: str, options: str
) -> None:
    base = CHANGED if options else FILE
    run = project({"f": base}, {"0001-a.patch": garbled(diff, place, number)}, series=f"0001-a.patch{options}\n")
    done = run("check", "--json")
    (one,) = done.json["patches"]
    assert (done.code, one["status"], one["cause"]) == (1, "failed", "corrupt"), one
    (problem,) = one["problems"]
    assert number[:17] in problem["message"] and problem["patch_line"] == 8, problem


@pytest.mark.parametrize("place", PLACES)
def test_every_command_names_the_patch(carry: Carry, diff: Diff, place: str) -> None:
    bad = garbled(diff, place, "99999999999")
    good = diff("g", FILE, CHANGED)
    files = {"f": FILE, "g": FILE}
    run = carry(files, {"f": FILE, "g": "on top\n" + FILE}, {"0001-a.patch": bad, "0002-b.patch": good})
    assert "0001-a.patch does not apply" in run("deps").err
    (found,) = (x for x in run("lint", "--json").json["findings"] if x["rule"] == "corrupt")
    assert "99999999999" in found["message"] and found["line"] == 8
    for args in (["regen"], ["bump", "new"]):
        first, second = run(*args, "--dry-run", "--json").json["patches"]
        assert first["status"] == "conflict" and "damaged at line 8: " in first["reason"], first
        assert second["status"] == ("kept" if args == ["regen"] else "renumbered")
    assert run("show", "0001", "--json").code == run("list", "--json").code == 0
    assert run("disable", "0001").code == run("check").code == 0


def test_numbers_with_noughts_before_them_are_read(project: Project, diff: Diff) -> None:
    patch = diff("f", FILE, CHANGED).replace(AT, f"@@ -{'0' * 40}3,7 +{'0' * 5000}3,007 @@")
    assert project({"f": FILE}, {"0001-a.patch": patch})("check", "--no-offset").code == 0
