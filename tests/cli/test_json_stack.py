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
