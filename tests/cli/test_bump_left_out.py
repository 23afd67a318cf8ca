"""Patches that do not go along with a bump, disabled or skipped: every report names them, and how one comes after."""

from __future__ import annotations

import shlex

import pytest

from .conftest import Diff, Sandbox
from .documents import checked
from .test_bump import CODE, CONFLICT, Carry, carry, edit, stuck

__all__ = ["carry", "stuck"]

OFF, HARD = "0002-off.patch", "0003-hard.patch"


@pytest.fixture
def behind(carry: Carry, diff: Diff) -> Sandbox:
    """One patch that goes along, and two disabled ones: one in each form of a comment. Upstream moves what the first
    changes and edits what the second changes."""
    patches = {
        "0001-four.patch": diff("a.c", CODE, edit(CODE, ("x - 3", "x - 4"))),
        OFF: diff("a.c", CODE, edit(CODE, ("#include", "// off\n#include"))),
        HARD: diff("a.c", CODE, edit(CODE, ("x * 2", "x * 7"))),
    }
    run = carry({"a.c": CODE}, {"a.c": "// new\n" + CONFLICT}, patches)
    comments = f"# disabled: {OFF}  # breaks CI\n# {HARD}\n# see 0009-nowhere.patch\n"
    run.write("patches/series", f"0001-four.patch\n{comments}")
    return run


def test_what_is_disabled_is_named_and_left_alone(behind: Sandbox) -> None:
    before = {name: (behind.root / "patches" / name).read_bytes() for name in (OFF, HARD)}
    tried = behind("bump", "new", "--dry-run").out
    said = f"not carried, their files stay as made for an older base: {OFF} (disabled), {HARD} (disabled)"
    assert said in " ".join(tried.split())
    assert "enable" not in tried  # it would bring them to the base of now
    summary = behind("bump", "new", "--dry-run", "--format", "markdown").out
    assert "**1 renumbered, 2 disabled.**" in summary
    assert f"| <code>{OFF}</code> | disabled | not carried; its file stays as made for an older base |\n" in summary
    ran = behind("bump", "new", "--json")
    document = checked(ran.raw, ran.code)
    assert (document["disabled"], document["skipped"]) == ([OFF, HARD], [])
    assert [row["name"] for row in document["patches"]] == ["0001-four.patch"]
    assert {name: (behind.root / "patches" / name).read_bytes() for name in (OFF, HARD)} == before


def test_the_command_to_have_one_back_is_one_that_works(behind: Sandbox) -> None:
    done = behind("bump", "new")
    command = done.out.partition("to have one back: ")[2].splitlines()[0]
    assert command == f"opencoti-patches enable {OFF}"
    assert behind(*shlex.split(command)[1:]).code == 0
    assert behind("check", "--no-offset").code == 0
    assert behind("enable", HARD).code == 1  # as docs/carry.md has it, then
    series = (behind.root / "patches/series").read_text()
    behind.write("patches/series", edit(series, (f"# {HARD}", HARD)))
    assert behind("bootstrap", "--to", HARD, "--merge", "WORK").code == 1
    work = behind.root / "WORK/a.c"
    head, _, rest = work.read_text().partition("<<<<<<<")
    work.write_text(head + "    int y = x * 35;" + rest.partition(">>>>>>>")[2].partition(HARD)[2])
    assert behind("regen", HARD, "--from", "WORK").code == 0
    assert behind("check", "--no-offset").code == 0


def test_what_is_skipped_is_told_in_the_same_way(stuck: Sandbox) -> None:
    stuck("bump", "new")
    stuck("bump", "--skip", "1")
    done = stuck("bump", "--skip", "2")
    said = "not carried, their files stay as made for an older base: 0001-three.patch (skipped), 0002-assert.patch (skipped)"
    assert said in " ".join(done.out.split())
    assert "\nto have one back: opencoti-patches enable 0001-three.patch\n" in done.out
    assert (
        stuck("bump", "old", "--dry-run", "--json").json["disabled"]
        == stuck("status", "--json").json["series"]["disabled"]
        == ["0001-three.patch", "0002-assert.patch"]
    )


def test_a_skipped_patch_keeps_how_it_is_applied(carry: Carry, diff: Diff) -> None:
    mine = diff("a.c", CODE, edit(CODE, ("x * 2", "x * 7")))
    back = diff("b.c", edit(CODE, ("x * 2", "x * 7")), CODE)
    bare = mine.replace(" a/a.c", " a.c").replace(" b/a.c", " a.c")
    run = carry(
        {"a.c": CODE, "b.c": CODE}, {"a.c": CONFLICT, "b.c": CONFLICT}, {"0001-a.patch": bare, "0002-b.patch": back}
    )
    lines = ["0001-a.patch -p0  # made by hand", "0002-b.patch -R"]
    run.write("patches/series", "".join(f"{line}\n" for line in lines))
    assert run("check").code == 0
    run("bump", "new")
    run("bump", "--skip", "0001")
    assert run("bump", "--skip", "0002").code == 0
    series = (run.root / "patches/series").read_text()
    assert series.splitlines() == [f"# {line}  # skipped in the bump to new" for line in lines]
    for at, name in enumerate(("0001-a.patch", "0002-b.patch")):
        asked = run("enable", name)
        assert f"does not apply where its line stands: {'ab'[at]}.c, hunk 1: " in " ".join(asked.out.split()), asked
        run("enable", name, "--leave-conflicts")
    put = [line.partition("  #")[0] for line in lines]
    assert (run.root / "patches/series").read_text().splitlines() == put
