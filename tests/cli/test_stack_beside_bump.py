"""What is written while a bump waits: said to stop it, until it is put back."""

from __future__ import annotations

from .conftest import Diff, Sandbox
from .test_bump import CODE, carry, edit, stuck

__all__ = ["carry", "stuck"]
SAID = "a bump to new is under way, and does not go on with other patches: "


def test_what_stops_a_bump_says_so(stuck: Sandbox) -> None:
    assert stuck("bump", "new").code == 1
    for args in (["disable", "3"], ["squash", "1", "2"]):
        dry = stuck(*args, "--dry-run", "--json")
        assert (dry.code, [n.startswith(SAID) for n in dry.json["notes"]]) == (0, [True]), dry.raw
        done = stuck(*args)
        text = " ".join(done.out.split())
        assert (
            f"note: {SAID}'opencoti-patches undo' before 'opencoti-patches bump --continue', or 'opencoti-patches bump"
            in text
        )
        back = stuck("undo")
        assert (back.code, back.err) == (0, "")
    assert stuck("rename", "3", "fourth").code == 0
    refused = stuck("bump", "--continue", "--json").json["error"]
    assert refused["code"] == "project-changed" and "'opencoti-patches undo'" in refused["hint"]
    said = stuck("bump", "--status").out
    assert "--continue" not in said  # it would be refused
    assert said.splitlines()[-2:] == ["    opencoti-patches undo", "    opencoti-patches bump --abort"]
    assert stuck("bump", "--status", "--json").json["session"]["changed"] is True
    assert "does not go on with other patches" in " ".join(stuck("status").out.split())
    assert stuck("undo").err == ""
    assert stuck("bump", "--status", "--json").json["session"]["changed"] is False
    assert stuck("bump", "--continue", "--json").json["error"]["code"] == "markers"


def test_other_commands_say_it_beside_their_answer(stuck: Sandbox, diff: Diff) -> None:
    stuck("bump", "new")
    assert stuck("rename", "1", "0007-x", "--json").json["refused"] == ""
    stuck.write("more.patch", diff("b.c", "", edit(CODE, ("x * 2", "x * 7"))))
    assert stuck("import", "more.patch", "--dry-run", "-q").err == ""
    done = stuck("import", "more.patch", "--json")
    assert done.err.startswith(f"note: {SAID}")
    assert stuck("undo").err.startswith(f"note: {SAID}")
    assert stuck("undo").err == ""
    assert stuck("redo").err.startswith(f"note: {SAID}")
    stuck("bump", "--abort")
    assert stuck("undo").err == ""
