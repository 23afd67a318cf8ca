"""``bump`` where upstream makes a place doubtful: never wrong in silence."""

from __future__ import annotations

import re

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
    assert one(run) not in SURE, name


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
