"""The commands that work on the stack in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.documents import Ask, Project
from cli.stacks import FIVE, NAMES, STACK

if TYPE_CHECKING:
    from e2e.forked import Forked


def test_move(ask: Ask, small: Project) -> None:
    small(STACK)
    done = ask("move", "3", "--before", "2", "--json", code=0)
    assert done["tip"]["before"] == done["tip"]["after"]
    assert done["series"][1:3] == [NAMES[2], NAMES[1]]
    assert [(r["name"], r["status"]) for r in done["patches"]] == [(NAMES[2], "regenerated"), (NAMES[1], "regenerated")]
    assert sorted(done["written"]) == [f"patches/{n}" for n in (NAMES[1], NAMES[2], "series")]
    no = ask("move", "6", "--first", "--json", code=1)
    assert no["in_the_way"] == [
        {"patch": "0006-again.patch", "of": NAMES[1], "file": "f.txt", "line": 10, "does": "adds", "text": "ten"}
    ]
    assert (no["written"], no["tip"]["after"]) == ([], None)
    assert no["refused"].startswith("0006-again.patch has no place before 0001-two.patch")


def test_drop_disable_enable(ask: Ask, small: Project) -> None:
    small(FIVE)
    done = ask("drop", "5", "--json", code=0)
    assert (done["differs"], done["removed"]) == (["f.txt"], [f"patches/{NAMES[4]}"])
    assert [(r["name"], r["status"]) for r in done["patches"]] == [(NAMES[4], "dropped")]
    done = ask("disable", "1", "--json", code=0)
    assert done["patches"][0] == {"name": NAMES[0], "status": "disabled", "reason": ""}
    ask("disable", "3", "--json", code=0)
    seen = ask("list", "--json", code=0)
    assert [r["name"] for r in seen["patches"]] == [NAMES[1], NAMES[3]]
    assert [(r["name"], r["after"], r["added"]) for r in seen["disabled"]] == [
        (NAMES[0], None, 1),
        (NAMES[2], NAMES[1], 1),
    ]
    assert ask("status", "--json", code=0)["series"]["disabled"] == [NAMES[0], NAMES[2]]
    ask("enable", "3", "--json", code=0)
    done = ask("enable", "1", "--json", code=0)
    assert done["patches"][0]["status"] == "enabled"
    assert done["series"] == NAMES[:4]


def test_rename_renumber_and_undo(ask: Ask, small: Project, forked: Forked) -> None:
    small(FIVE)
    forked.write(f"patches/{NAMES[4]}", f"Last\n\nPatch order: applies after 0002\n\n{FIVE[NAMES[4]]}")
    done = ask("rename", "2", "x", "--json", code=0)
    assert done["patches"] == [{"name": "0002-x.patch", "status": "renamed", "reason": "", "was": NAMES[1]}]
    done = ask("renumber", "--start", "5", "--json", code=0)
    assert done["claims"] == ["0009-last.patch, line 3 says that it applies after 0002, which is 0006-x.patch now"]
    assert ask("undo", "--json", code=0)["step"]["command"] == "renumber"
    assert ask("redo", "--json", code=0)["step"]["undone"] is False
    assert [s["number"] for s in ask("undo", "--list", "--json", code=0)["steps"]] == [2, 1]
    assert ask("redo", "--json", code=1)["error"]["code"] == "nothing-to-undo"


def test_edit_refresh_absorb(ask: Ask, small: Project, forked: Forked) -> None:
    root = small(STACK)
    assert ask("edit", "2", "WORK", "--json", code=0)["patch"] == NAMES[1]
    file = root / "WORK/f.txt"
    file.write_text(file.read_text().replace("ten\n", "number ten\n"))
    no = ask("refresh", "WORK", "--json", code=1)
    assert no["next"][0].startswith("opencoti-patches refresh 0002 WORK --leave-conflicts")
    assert no["in_the_way"][0]["of"] == NAMES[1]
    file.write_text(file.read_text().replace("number ten\n", "ten\n").replace("two\n", "two\nand more\n"))
    done = ask("refresh", "2", "WORK", "--json", code=0)
    assert done["patches"][0] == {"name": NAMES[1], "status": "refreshed", "reason": ""}
    assert (done["dir"], done["new_files"], done["differs"]) == (str(root / "WORK"), [], ["f.txt"])
    forked("apply")
    file = root / "tree/f.txt"
    file.write_text(file.read_text().replace("near the end\n", "at the end\n").replace("number 1\n", "number 0\n"))
    done = ask("absorb", "--json", code=0)
    assert done["edits"] == [
        {"file": "f.txt", "line": 1, "added": 1, "removed": 1, "into": None, "why": "the lines are the base's own"},
        {"file": "f.txt", "line": 29, "added": 1, "removed": 1, "into": NAMES[4], "why": ""},
    ]
    assert ask("absorb", "--json", code=1)["refused"] == "no edit has one patch that it belongs to"


def test_split_squash(ask: Ask, small: Project) -> None:
    small({"0001-x.patch": FIVE[NAMES[0]] + FIVE[NAMES[0]].replace("f.txt", "g.txt").partition("@@")[0]})
    assert ask("split", "1", "--files", "nothing", "--json", code=2)["error"]["code"] == "bad-selection"
    small(FIVE)
    done = ask("squash", "1", "2", "--json", code=0)
    assert [(r["name"], r["status"]) for r in done["patches"]] == [(NAMES[0], "refreshed"), (NAMES[1], "dropped")]
    done = ask("split", "1", "--hunks", "f.txt:2", "--name", "again", "--json", code=0)
    assert [(r["name"], r["status"]) for r in done["patches"]] == [
        (NAMES[0], "refreshed"),
        ("0002-again.patch", "made"),
    ]
