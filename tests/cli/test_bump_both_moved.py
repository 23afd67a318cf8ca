"""``bump`` where upstream renamed, moved or took away a file that the series deletes, renames or copies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .conftest import HEADER, Diff, Sandbox
from .test_bump import Carry, carry, git

__all__ = ["carry"]

OLD = "".join(f"int a_line_of_its_own_{n};\n" for n in range(1, 31))
OTHER = OLD.replace("_own_", "_other_")
NEW = OLD.replace("_own_25;", "_own_25_by_upstream;")
EDIT = ("int a_line_of_its_own_5;\n", "int a_line_of_its_own_5;\nint ours;\n")


def moved(diff: Diff, how: str, text: str = OLD, old: str = "f.c", new: str = "mine.c") -> str:
    """A patch that renames or copies a file, with an edit."""
    change = diff(old, text, text.replace(*EDIT)).replace(f"b/{old}", f"b/{new}")
    return change.replace("--- a/", f"similarity index 90%\n{how} from {old}\n{how} to {new}\n--- a/", 1)


def executable(run: Sandbox, path: str) -> None:
    """Have a file be executable in both bases."""
    for tag, where in (("old", "f.c"), ("new", path)):
        upstream = run.root / "upstream"
        git(upstream, "checkout", "-q", tag)
        git(upstream, "update-index", "--chmod=+x", where)
        git(upstream, "commit", "-q", "-m", "mode")
        git(upstream, "tag", "-f", tag)
        git(upstream, "checkout", "-q", "-f", "new")


@pytest.mark.parametrize("how", ["rename", "copy"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_file_that_both_rename_is_laid_out_as_the_patch_has_it(
    carry: Carry, diff: Diff, how: str, swapped: bool
) -> None:
    upon = diff("mine.c", OLD.replace(*EDIT), OLD.replace(*EDIT).replace("int ours;\n", "int ours;\nint upon_it;\n"))
    new = {"g.c": NEW, "f.c": OTHER} if swapped else {"theirs.c": NEW, "g.c": OTHER}
    patches = {"0001-mine.patch": moved(diff, how), "0002-upon.patch": upon}
    run = carry({"f.c": OLD, "g.c": OTHER}, new, patches)
    theirs = "g.c" if swapped else "theirs.c"
    executable(run, theirs)
    ran = run("bump", "new", "--json").json
    assert ran["patches"][0]["reason"] == f"f.c: upstream renamed it to {theirs}", ran
    assert ran["files"] == ["mine.c"]
    work = Path(ran["worktree"])
    assert (work / "mine.c").read_text() == NEW.replace(*EDIT)
    assert os.access(work / "mine.c", os.X_OK)
    assert (work / theirs).exists() == (how == "copy")
    done = run("bump", "--continue", "--accept-adapted", "--json")
    assert done.code == 0, done.raw
    assert run("apply").code == 0
    assert (run.root / "tree/mine.c").read_text() == NEW.replace(*EDIT).replace(
        "int ours;\n", "int ours;\nint upon_it;\n"
    )
    assert (run.root / "tree/f.c").exists() == swapped


@pytest.mark.parametrize("new", [{"theirs.c": OLD}, {"theirs.c": NEW}, {"g.c": OLD, "f.c": OTHER}])
def test_a_file_to_be_deleted_that_upstream_renamed_is_named(carry: Carry, diff: Diff, new: dict[str, str]) -> None:
    patch = diff("f.c", OLD, "")
    run = carry({"f.c": OLD, "g.c": OTHER}, {"g.c": OTHER} | new, {"0001-out.patch": patch})
    ran = run("bump", "new", "--json").json
    theirs = next(p for p, text in new.items() if text != OTHER)
    assert (ran["patches"][0]["reason"], ran["files"]) == (f"f.c: upstream renamed it to {theirs}", [theirs])
    assert run("bump", "--continue", "--json").json["error"]["code"] == "untouched"
    (Path(ran["worktree"]) / theirs).unlink()
    assert run("bump", "--continue", "--json").code == 0
    assert f"--- a/{theirs}\n+++ /dev/null\n" in (run.root / "patches/0001-out.patch").read_text()


@pytest.mark.parametrize("how", ["rename", "copy"])
def test_a_file_that_became_a_folder_stops_nothing(carry: Carry, diff: Diff, how: str) -> None:
    run = carry({"f.c": OLD}, {"f.c/x.c": NEW}, {"0001-mine.patch": moved(diff, how)})
    ran = run("bump", "new", "--json")
    assert (ran.code, ran.json["files"]) == (1, ["mine.c"]), ran.raw
    assert (Path(ran.json["worktree"]) / "mine.c").read_text() == NEW.replace(*EDIT)
    assert run("bump", "--continue", "--json").code == 0
    assert run("check", "--no-offset").code == 0


def test_what_a_patch_took_out_of_its_way_stays_where_upstream_changed_that(carry: Carry, diff: Diff) -> None:
    inside = (
        "diff --git a/f.c/x.c b/f.c/x.c\nnew file mode 100644\n--- /dev/null\n+++ b/f.c/x.c\n@@ -0,0 +1 @@\n+ours\n"
    )
    run = carry(
        {"f.c": OLD, "g.c": OLD},
        {"f.c": "int top;\n" + OLD, "g.c": OLD},
        {"0001-in.patch": diff("f.c", OLD, "") + inside},
    )
    ran = run("bump", "new", "--json")
    assert (ran.code, ran.json["files"]) == (1, ["f.c", "f.c/x.c"]), ran.raw
    work = Path(ran.json["worktree"])
    (work / "f.c").unlink()
    (work / "f.c").mkdir()
    (work / "f.c/x.c").write_text("ours\n")
    assert run("bump", "--continue", "--json").code == 0
    assert run("check", "--no-offset").code == 0


def test_a_file_that_a_patch_before_took_away_is_not_written_to(carry: Carry, diff: Diff) -> None:
    """Upstream swapped two files; the first patch renames what stands there by now, the second one's file is that."""
    rename = f"{HEADER}diff --git a/f.c b/mine.c\nsimilarity index 100%\nrename from f.c\nrename to mine.c\n"
    second = diff("g.c", OTHER, OTHER.replace("_other_9;", "_other_9_ours;"))
    run = carry({"f.c": OLD, "g.c": OTHER}, {"f.c": OTHER, "g.c": OLD}, {"1-r.patch": rename, "2-g.patch": second})
    ran = run("bump", "new", "--json").json
    assert [row["status"] for row in ran["patches"]] == ["adapted", "conflict"]
    assert ran["patches"][1]["reason"] == "g.c: upstream renamed it to f.c, which a patch before took away"
    assert ran["files"] == ["g.c"]


@pytest.mark.parametrize("first", ["a.c", "z.c"])
def test_what_comes_to_one_file_from_two_goes_there_once(carry: Carry, diff: Diff, first: str) -> None:
    """Of two files that upstream joined, git takes one for the renamed one; a function of the other stands there as well."""
    body = "void only_here(int a) {\n" + "".join(f"    call_{n}(a);\n" for n in range(9)) + "}\n"
    old = {first: body, "m.c": OLD}
    patch = diff(first, body, body.replace("call_4(a)", "ours(a)"))
    both = [patch, diff("m.c", OLD, OLD.replace("_own_5;\n", "_own_5;\nint one;\nint two;\n"))]
    run = carry(old, {"n.c": OLD + body}, {"0001-both.patch": "".join(both if first == "a.c" else both[::-1])})
    ran = run("bump", "new", "--accept-adapted", "--json")
    assert (ran.code, ran.json["patches"][0]["status"]) == (0, "adapted"), ran.raw
    assert run("apply").code == 0
    joined = OLD.replace("_own_5;\n", "_own_5;\nint one;\nint two;\n") + body.replace("call_4(a)", "ours(a)")
    assert (run.root / "tree/n.c").read_text() == joined


def test_a_file_to_be_deleted_that_nobody_makes_is_named(carry: Carry, diff: Diff) -> None:
    first = diff("f.c", OLD, OLD.replace("_own_9;", "_own_9_ours;")) + diff("own.c", "", OTHER).removeprefix(HEADER)
    new = {"f.c": OLD.replace("_own_9;", "_theirs;")}
    run = carry({"f.c": OLD}, new, {"1-a.patch": first, "2-b.patch": diff("own.c", OTHER, "")})
    assert run("bump", "new", "--json").json["waits_for"] == "1-a.patch"
    ran = run("bump", "--skip", "1-a.patch", "--json").json
    assert (ran["waits_for"], ran["files"]) == ("2-b.patch", ["own.c"])
    assert run("bump", "--continue", "--json").json["error"]["code"] == "untouched"
    assert run("bump", "--skip", "2-b.patch", "--json").code == 0


WHOLE = {
    "mode": "diff --git a/f.c b/f.c\nold mode 100644\nnew mode 100755\n",
    "rename": "diff --git a/f.c b/mine.c\nsimilarity index 100%\nrename from f.c\nrename to mine.c\n",
}


@pytest.mark.parametrize("what", WHOLE)
def test_no_empty_file_is_laid_out_for_one_that_is_gone(carry: Carry, what: str) -> None:
    run = carry({"f.c": OLD, "g.c": OTHER}, {"g.c": OTHER}, {"0001-f.patch": HEADER + WHOLE[what]})
    ran = run("bump", "new", "--json").json
    path = "mine.c" if what == "rename" else "f.c"
    assert (ran["files"], (Path(ran["worktree"]) / path).exists()) == ([path], False)
    assert run("bump", "--continue", "--json").json["error"]["code"] == "untouched"


@pytest.mark.parametrize("swapped", [False, True])
def test_of_files_that_take_each_others_names_each_gets_its_own_changes(
    carry: Carry, diff: Diff, swapped: bool
) -> None:
    """One patch changes both: that is for a person, who finds the changes where they belong."""
    ours = OTHER.replace("_other_7;", "_other_7_ours;")
    patch = diff("f.c", OLD, OLD.replace(*EDIT)) + diff("g.c", OTHER, ours).removeprefix(HEADER)
    third = "f.c" if swapped else "h.c"
    run = carry({"f.c": OLD, "g.c": OTHER}, {"g.c": NEW, third: OTHER}, {"0001-both.patch": patch})
    ran = run("bump", "new", "--json").json
    assert (ran["patches"][0]["status"], sorted(ran["files"])) == ("conflict", sorted(["g.c", third]))
    work = Path(ran["worktree"])
    assert ((work / "g.c").read_text(), (work / third).read_text()) == (NEW.replace(*EDIT), ours)
    assert run("bump", "--continue", "--accept-adapted", "--json").code == 0
    assert run("check", "--no-offset").code == 0
