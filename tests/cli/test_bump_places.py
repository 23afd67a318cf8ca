"""``bump`` where upstream makes a place doubtful: never wrong in silence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import Diff, Sandbox
from .test_bump import CODE, Carry, carry, edit, statuses

__all__ = ["carry"]

SURE = ("kept", "renumbered", "regenerated", "upstreamed")


def one(run: Sandbox) -> str:
    """The status of the one patch, nothing accepted."""
    return next(iter(statuses(run, "new", "--dry-run").values()))


def function(name: str) -> str:
    lines = ["int x = a;", "step1(x);", "step2(x);", "x += 1;", "log_it(x);", "done(x);", "return x;"]
    return f"int {name}(int a)\n{{\n" + "".join(f"    {line}\n" for line in lines) + "}\n\n"


def block(name: str, kind: str = "x") -> str:
    return f"[{name}]\nkind = {kind}\nmode = 1\nopt = 2\nsize = 10\ncolor = red\nfoo = 1\nend = 1\n\n"


@pytest.mark.parametrize(
    ("name", "old", "ours", "new"),
    [
        (
            "the added line is there, the removed one too",
            "start\nbegin of it\n  call_old(a, b);\n  tail of it\nend\n",
            "start\nbegin of it\n  check(a);\n  tail of it\nend\n",
            "start\nbegin of it\n  check(a);\n  call_old(a, b, c);\n  tail of it\nend\n",
        ),
        (
            "the added line is there at another depth",
            "for a in x:\n    one(a)\nlast(x)\n",
            "for a in x:\n    one(a)\n    two(a)\nlast(x)\n",
            "for a in x:\n    one(a)\ntwo(a)\nlast(x)\n",
        ),
        (
            "a twin of the function stands where it stood",
            '#include "x.h"\n' + function("two"),
            '#include "x.h"\n' + function("two").replace("x += 1", "x += 2"),
            '#include "x.h"\n' + function("zero") + function("two"),
        ),
        (
            "the right block changed, an equal one lies elsewhere",
            block("alpha") + "s1\ns2\ns3\n" + block("beta"),
            block("alpha").replace("size = 10", "size = 20") + "s1\ns2\ns3\n" + block("beta"),
            block("alpha", "y") + "s1\ns2\ns3\n" + block("beta"),
        ),
        (
            "the neighbours changed places",
            "begin();\nprepare_it(a);\nfinish_it(b);\nend();\n",
            "begin();\nprepare_it(a);\nOUR_CALL(a);\nfinish_it(b);\nend();\n",
            "begin();\nfinish_it(b);\nprepare_it(a);\nend();\n",
        ),
        (
            "the last line lost its newline",
            "l1\nl2\nl3\nthe last line of it\n",
            "l1\nl2\nl3\nthe last line of it\nappended by us\n",
            "l1\nl2\nl3\nthe last line of it",
        ),
    ],
)  # fmt: skip
def test_a_doubtful_place_is_never_sure(carry: Carry, diff: Diff, name: str, old: str, ours: str, new: str) -> None:
    run = carry({"f.c": old}, {"f.c": new}, {"0001-ours.patch": diff("f.c", old, ours)})
    (row,) = run("bump", "new", "--dry-run", "--json").json["patches"]
    assert row["status"] not in SURE, name
    assert row["status"] == "conflict" or row.get("look") or row.get("interdiff"), name  # there is something to look at


@pytest.mark.parametrize(
    ("new", "line"),
    [(block("alpha", "y") + "s1\ns2\ns3\n" + block("beta"), 14), (block("beta"), 2)],
    ids=["it moves the hunk", "it takes it where it was"],
)
def test_a_hunk_that_git_put_where_nothing_confirms_it_is_shown(carry: Carry, diff: Diff, new: str, line: int) -> None:
    old = block("alpha") + "s1\ns2\ns3\n" + block("beta")
    patch = diff("f.c", old, old.replace("size = 10", "size = 20", 1))
    said = carry({"f.c": old}, {"f.c": new}, {"0001-ours.patch": patch})("bump", "new", "--dry-run")
    assert "which upstream's diff does not confirm" in " ".join(said.out.split())
    assert f"    f.c, line {line}:\n" in said.out and "      +size = 20\n" in said.out


@pytest.mark.parametrize("how", ["reversed", "renamed", "copied"])
def test_a_twin_is_no_surer_where_the_patch_is_of_another_kind(carry: Carry, diff: Diff, how: str) -> None:
    """git takes each on the twin, some lines further down."""
    old = '#include "x.h"\n' + function("two")
    ours = old.replace("x += 1", "x += 2")
    new = (
        "// one\n// more\n" + '#include "x.h"\n' + function("zero") + function("two").replace("step2(x)", "step2(x, 1)")
    )
    patch = diff("f.c", *((ours, old) if how == "reversed" else (old, ours)))
    if how != "reversed":
        kind = {"renamed": "rename", "copied": "copy"}[how]
        head = f"diff --git a/f.c b/g.c\nsimilarity index 90%\n{kind} from f.c\n{kind} to g.c\n--- a/f.c\n+++ b/g.c\n"
        patch = f"Say what\n\nAnd why.\n\n{head}{patch[patch.index('@@') :]}"
    run = carry({"f.c": old}, {"f.c": new}, {"0001-ours.patch": patch})
    if how == "reversed":
        run.write("patches/series", "0001-ours.patch -R\n")
    assert run("check").code == 0
    assert one(run) == "adapted"


def test_a_rename_that_upstream_does_not_have_is_not_upstreamed(carry: Carry, diff: Diff) -> None:
    text = "a1\na2\na3\na4\n"
    added = edit(text, ("a2\n", "a2\nnew line\n"))
    patch = diff("f.c", text, added) + "diff --git a/g.c b/h.c\nsimilarity index 100%\nrename from g.c\nrename to h.c\n"
    run = carry({"f.c": text, "g.c": "x\n"}, {"f.c": added, "g.c": "x\n"}, {"0001-both.patch": patch})
    assert one(run) == "adapted"


def test_a_twin_elsewhere_is_no_doubt_where_upstreams_diff_says_so(carry: Carry, diff: Diff) -> None:
    old = function("one") + function("two")
    ours = function("one") + function("two").replace("x += 1", "x += 2")
    run = carry({"f.c": old}, {"f.c": "// a line\n" + old}, {"0001-two.patch": diff("f.c", old, ours)})
    assert one(run) == "renumbered"


def test_a_change_goes_along_with_the_function_that_upstream_moved(carry: Carry, diff: Diff) -> None:
    head, first, second, third = re.split(r"(?=static int )", CODE)
    patch = diff("a.c", CODE, edit(CODE, ("    check(y);\n", "    check(y);\n    count(y);\n"), ("x - 3", "x - 4")))
    edited = edit(second, ("    check(y);\n", "    check_it(y);\n"))
    new = head + first + third + "\n" + edited.rstrip("\n") + "\n"
    run = carry({"a.c": CODE}, {"a.c": new}, {"0001-count.patch": patch})
    row = run("bump", "new", "--accept-adapted", "--json").json["patches"][0]
    assert row["status"] == "adapted"
    assert "upstream moved 'static int second(int x) {'" in row["reason"]
    assert run("apply").code == 0
    wanted = edit(new, ("    check_it(y);\n", "    check_it(y);\n    count(y);\n"), ("x - 3", "x - 4"))
    assert (run.root / "tree/a.c").read_text() == wanted
    assert run("check", "--no-offset").code == 0


@pytest.mark.parametrize("rest", [True, False])
def test_a_change_goes_along_with_the_function_that_went_to_another_file(carry: Carry, diff: Diff, rest: bool) -> None:
    """``rest``: the old file is still there, with what is left of it."""
    head, first, second, third = re.split(r"(?=static int )", CODE)
    ours = [("    check(y);\n", "    check(y);\n    count(y);\n"), *([("x - 3", "x - 4")] if rest else [])]
    patch = "Count.\n\n" + diff("src/a.c", CODE, edit(CODE, *ours))
    new = {"src/b.c": head + edit(second, ("    check(y);\n", "    check_it(y);\n")), "src/c.c": head + first}
    new |= {"src/a.c": head + third} if rest else {"src/d.c": third}
    run = carry({"src/a.c": CODE, "src/c.c": head}, new, {"0001-count.patch": patch})
    row = run("bump", "new", "--json").json["patches"][0]
    assert (row["status"], "upstream moved 'static int second(int x) {' to src/b.c" in row["reason"]) == (
        "adapted",
        True,
    )
    assert statuses(run, "new", "--accept-adapted") == {"0001-count.patch": "adapted"}
    assert run("apply").code == 0
    assert (run.root / "tree/src/b.c").read_text() == edit(
        new["src/b.c"], ("    check_it(y);\n", "    check_it(y);\n    count(y);\n")
    )
    if rest:
        assert (run.root / "tree/src/a.c").read_text() == edit(new["src/a.c"], ("x - 3", "x - 4"))
    assert run("check", "--no-offset").code == 0


def test_a_function_that_went_to_two_files_is_nobodys_guess(carry: Carry, diff: Diff) -> None:
    head, first, second, third = re.split(r"(?=static int )", CODE)
    patch = diff("a.c", CODE, edit(CODE, ("    check(y);\n", "    check(y);\n    count(y);\n")))
    moved = edit(second, ("    check(y);\n", "    check_it(y);\n"))
    run = carry({"a.c": CODE}, {"a.c": head + first + third, "b.c": moved, "c.c": moved}, {"0001-count.patch": patch})
    assert one(run) == "conflict"


def test_a_place_in_doubt_is_shown_where_no_line_changed(carry: Carry, diff: Diff) -> None:
    """Upstream puts a line at the very place of ours. The note in the header tells of the lines, which are what they were."""
    rows = [f"row {n}\n" for n in range(12)]
    patch = diff("f.txt", "".join(rows), "".join([*rows[:6], "ours\n", *rows[6:]]))
    run = carry(
        {"f.txt": "".join(rows)}, {"f.txt": "".join([*rows[:6], "theirs\n", *rows[6:]])}, {"0001-a.patch": patch}
    )
    said = run("bump", "new", "--dry-run")
    assert said.code == 1
    assert "    f.txt, line 5:\n       row 4\n       row 5\n       theirs\n      +ours\n       row 6\n" in said.out
    (row,) = run("bump", "new", "--dry-run", "--json").json["patches"]
    assert row["look"][0] == "f.txt, line 5:" and "  +ours" in row["look"] and "interdiff" not in row
    page = run("bump", "new", "--dry-run", "--format", "markdown").out
    assert "+ours" in page and "stand now" in page
    assert run("bump", "new", "--accept-adapted").code == 0
    assert "Content unchanged." in (run.root / "patches/0001-a.patch").read_text()


def test_status_says_that_only_a_yes_is_missing(carry: Carry, diff: Diff) -> None:
    rows = [f"row {n}\n" for n in range(30)]
    old = "".join(rows)
    new = old.replace("row 5\n", "theirs 5\n").replace("row 20\n", "theirs 20\nrow 20\n")
    patches = {
        "0001-a.patch": diff("f.txt", old, old.replace("row 5\n", "ours 5\n")),
        "0002-b.patch": diff("g.txt", old, old.replace("row 20\n", "ours 20\nrow 20\n")),
    }
    run = carry({"f.txt": old, "g.txt": old}, {"f.txt": new, "g.txt": new}, patches)
    stopped = run("bump", "new", "--json")
    assert [r["status"] for r in stopped.json["patches"]] == ["conflict", "adapted"]
    Path(stopped.json["worktree"], "f.txt").write_text(new.replace("theirs 5\n", "ours 5\n"))
    assert run("bump", "--continue").code == 1
    said = run("bump", "--status").out
    assert "opencoti-patches bump --continue --accept-adapted\n" in said and "accepted" in said
    assert run("bump", "--continue", "--accept-adapted").code == 0
