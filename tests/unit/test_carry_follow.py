"""What a carried change takes over from upstream: white space, the order of a list, and what is a doubt about it."""

from __future__ import annotations

import pytest
from e2e.one_file import added, carried, contents

from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.over import Conflict
from opencoti_patches.plan.places import enclosing
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.series.parse import parse

__all__ = ["contents"]

CALL = "int f(void) {\n    before();\n    put(out,\n       FIRST, SECOND, THIRD,\n        last);\n    behind();\n}\n"
ALIGNED = CALL.replace("       FIRST", "        FIRST")


def plus(text: str) -> list[str]:
    return [f"+{line}" for line in text.splitlines()]


def new_lines(rows: list[str]) -> list[str]:
    return [row for row in rows if row.startswith("+")]


def test_a_line_follows_the_indentation_of_the_one_that_it_replaces(contents: Contents) -> None:
    """The lines around it stay where they are."""
    found = carried(contents, CALL, CALL.replace("SECOND", "OURS"), ALIGNED)
    assert new_lines(added(found)) == ["+        FIRST, OURS, THIRD,"]
    assert found.doubts == ("f.c, hunk 1: removed lines changed in white space only; follows that",)


def test_of_several_lines_the_one_like_the_old_follows(contents: Contents) -> None:
    ours = CALL.replace("       FIRST, SECOND, THIRD,\n", "       FIRST, SECOND,\n        ours(),\n")
    found = carried(contents, CALL, ours, ALIGNED)
    assert new_lines(added(found)) == ["+        FIRST, SECOND,", "+        ours(),"]


def test_white_space_inside_a_line_is_followed_too(contents: Contents) -> None:
    old = "log {\n    file:    /var/a.log\n    level: 1\n}\n"
    found = carried(contents, old, old.replace("a.log", "ours.log"), old.replace("file:    ", "file: "))
    assert new_lines(added(found)) == ["+    file: /var/ours.log"]
    tight = carried(
        contents, "x;\ny = f( a );\nz;\n", "x;\ny = f( a );\nz;\n".replace("y =", "ours ="), "x;\ny = f(a);\nz;\n"
    )
    assert new_lines(added(tight)) == ["+ours = f(a);"]


def test_an_edited_line_of_a_block_that_went_deeper_goes_as_deep_and_no_deeper(contents: Contents) -> None:
    old = "int f(void) {\n    before();\n    call(one, two);\n    behind();\n}\n"
    new = (
        "int f(void) {\n    if (x) {\n        before();\n        call(one, two, three);\n        behind();\n    }\n}\n"
    )
    found = carried(contents, old, old.replace("one", "ours"), new)
    assert new_lines(added(found)) == ["+        call(ours, two, three);"]


def test_the_neighbour_as_deep_as_the_new_line_says_how_deep_that_goes(contents: Contents) -> None:
    """The brace that closes the block stays where it is, and is no witness."""
    old = "lib = library('x',\n    first: 1,\n    second: true,\n)\n"
    ours = old.replace("    second: true,\n", "    second: true,\n    ours: dir,\n")
    found = carried(contents, old, ours, old.replace("    ", "  "))
    assert new_lines(added(found)) == ["+  ours: dir,"] and len(found.doubts) == 1
    above = carried(contents, old, old.replace("    first", "    ours: dir,\n    first"), old.replace("    ", "  "))
    assert new_lines(added(above)) == ["+  ours: dir,"]


def test_a_line_of_another_depth_than_both_its_neighbours_wants_both_to_agree(contents: Contents) -> None:
    old = "int f(void) {\n    before();\n    behind();\n}\n"
    ours = old.replace("    behind", "  ours:\n    behind")
    both = old.replace("    before", "      before").replace("    behind", "      behind")
    assert new_lines(added(carried(contents, old, ours, both))) == ["+    ours:"]
    one = carried(contents, old, ours, old.replace("    before", "      before"))
    assert new_lines(added(one)) == ["+  ours:"]


def test_white_space_at_the_end_goes_only_where_the_file_has_none(contents: Contents) -> None:
    old = "".join(f"line {n}\n" for n in range(9))
    ours = old.replace("line 4\n", "line 4\nours \n")
    tidy = carried(contents, old, ours, old.replace("line 6", "other"))
    assert new_lines(added(tidy)) == ["+ours"] and len(tidy.doubts) == 1
    loose = carried(contents, old + "left \n", ours + "left \n", (old + "left \n").replace("line 6", "other"))
    assert new_lines(added(loose)) == ["+ours "] and loose.doubts == ()


def test_a_line_that_loses_white_space_at_its_end_keeps_the_end(contents: Contents) -> None:
    old = "".join(f"int a_{n};\r\n" for n in range(12))
    new = old.replace("a_5", "b_5").replace("a_6", "b_6")
    found = carried(contents, old, old.replace("int a_6", "int ours; \r\nint a_6"), new)
    assert b"\n+int ours;\r\n" in found.raw and found.doubts


@pytest.mark.parametrize(("theirs", "at"), [(1, 0), (4, 1), (6, 2)])
def test_a_line_goes_between_those_of_upstream_where_the_order_wants_it(
    contents: Contents, theirs: int, at: int
) -> None:
    head, tail = ["#include <a.h>\n", "#include <b0.h>\n"], ["#include <c.h>\n", "#include <d.h>\n"]
    both = ["#include <b2.h>\n", "#include <b5.h>\n"]
    old, ours = "".join([*head, *tail]), "".join([*head, f"#include <b{theirs}.h>\n", *tail])
    found = carried(contents, old, ours, "".join([*head, *both, *tail]))
    rows = added(found)
    assert found.doubts == ()
    assert rows.index(f"+#include <b{theirs}.h>") - rows.index(" #include <b0.h>") == at + 1


def test_what_ends_an_item_stays_with_it_where_upstream_inserts_the_next(contents: Contents) -> None:
    old = ".It one\nSays this.\n.It two\nSays that.\n"
    found = carried(
        contents, old, old.replace("this.\n", "this.\nAnd ours.\n"), old.replace(".It two", ".It new\nNew.\n.It two")
    )
    assert added(found)[1:4] == [" Says this.", "+And ours.", " .It new"]
    assert len(found.doubts) == 1
    item = carried(
        contents, old, old.replace(".It two", ".It ours\n.It two"), old.replace(".It two", ".It new\n.It two")
    )
    assert added(item)[2:4] == [" .It new", "+.It ours"]


def test_lines_that_upstream_put_something_around_are_taken_out_with_a_doubt(contents: Contents) -> None:
    old = "a();\n#ifdef X\nx();\n#endif\nb();\nc();\nd();\n"
    ours = old.replace("#ifdef X\nx();\n#endif\n", "")
    around = carried(
        contents, old, ours, old.replace("#ifdef", "#if Y\n#ifdef").replace("#endif\n", "#endif\n#endif\n")
    )
    assert around.doubts == ("f.c, hunk 1: its lines are unchanged; upstream put others before and behind",)
    beside = carried(contents, old, ours, old.replace("#ifdef", "y();\n#ifdef"))
    assert beside.doubts == ()


def test_blank_lines_that_upstream_removed_too_are_no_conflict(contents: Contents) -> None:
    old = "a();\nout_1();\nout_2();\n\n\nb();\n"
    found = carried(contents, old, "a();\nours();\nb();\n", "a();\nout_1();\nout_2();\nb();\n")
    assert [row for row in added(found) if row[0] in "+-"] == ["-out_1();", "-out_2();", "+ours();"]
    assert len(found.doubts) == 1


def test_a_name_that_a_patch_takes_out_and_upstream_uses_anew_is_a_doubt(contents: Contents) -> None:
    old = "int f(void) {\n    int old_fd = get();\n    first();\n    second();\n    third();\n    keep(old_fd);\n}\n"
    ours = old.replace("    int old_fd = get();\n", "").replace("old_fd", "get()")
    found = carried(contents, old, ours, old.replace("    second();\n", "    look(old_fd);\n    second();\n"))
    assert found.doubts == ("f.c: upstream's new lines use old_fd, which the patch takes out of the file",)
    assert carried(contents, old, ours, old.replace("    second();\n", "    look();\n    second();\n")).doubts == ()


def test_a_name_that_a_patch_puts_into_comments_is_taken_out(contents: Contents) -> None:
    old = "@SomeMark\nint f();\nfirst();\nsecond();\nthird();\nfourth();\n"
    ours = old.replace("@SomeMark", "// @SomeMark")
    found = carried(contents, old, ours, old.replace("third();", "@SomeMark\nint g();"))
    assert found.doubts == ("f.c: upstream's new lines use SomeMark, which the patch takes out of the file",)


BLOCK = "    # ours, for two disks\n    disk_one = 1\n    disk_two = 2\n"
AROUND = "[a]\n    first = 1\n\n[b]\n    second = 2\n\n[c]\n    third = 3\n"


@pytest.mark.parametrize(
    ("theirs", "doubt"),
    [
        pytest.param(BLOCK, "3 of the 3 new lines that it adds into the file, too, at line 6", id="all"),
        pytest.param(BLOCK.replace("ours", "theirs"), "2 of the 3 new lines that it adds", id="most"),
        pytest.param("    disk_one = 1\n", "1 of the 3 new lines that it adds into the file, too, at line 6", id="one"),
        pytest.param("    first = 1\n", "", id="none"),
    ],
)
def test_lines_that_both_put_into_a_file_are_a_doubt(contents: Contents, theirs: str, doubt: str) -> None:
    ours = AROUND.replace("    first = 1\n", "    first = 1\n" + BLOCK)
    new = AROUND.replace("[a]", "[a]  # the first").replace("    second = 2\n", "    second = 2\n" + theirs)
    found = carried(contents, AROUND, ours, new)
    assert [d.startswith("f.c, hunk 1: upstream has put " + doubt) for d in found.doubts] == [True] * bool(doubt)


def test_phrases_that_both_use_and_lines_that_were_there_are_none(contents: Contents) -> None:
    many = "".join(f"    ours_{n} = {n}\n" for n in range(9)) + "    return value\n"
    new = AROUND.replace("[a]", "[a]  # the first").replace("    second = 2\n", "    second = 2\n    return value\n")
    assert carried(contents, AROUND, AROUND.replace("    first = 1\n", "    first = 1\n" + many), new).doubts == ()
    again = AROUND.replace("    first = 1\n", "    first = 1\n    third = 3\n")
    assert carried(contents, AROUND, again, new + "    third = 3\n").doubts == ()
    often = AROUND.replace("    first = 1\n", "    first = 1\n    lock();\n").replace("[c]", "    lock();\n[c]")
    assert carried(contents, AROUND, often, new.replace("return value", "lock();")).doubts == ()
    theirs = new.replace("    return value\n", "    lock();\n    lock();\n")
    assert carried(contents, AROUND, AROUND.replace("[c]", "    lock();\n[c]"), theirs).doubts == ()


WRAPPED = "if a; then\n    x=1\nelse\n    x=2\nfi\nsay x\nkeep x\nthen that\nand this\n"


@pytest.mark.parametrize("both", [False, True])
def test_of_a_line_with_other_indentation_and_its_like_any_may_be_meant(contents: Contents, both: bool) -> None:
    inner = "".join("    " + line for line in WRAPPED.splitlines(keepends=True)[:6])
    outer = "say x\n" if both else "say y\n"
    new = WRAPPED.replace(WRAPPED[: WRAPPED.index("keep")], f"if b; then\n    y=3\nelse\n{inner}fi\n{outer}")
    found = carried(contents, WRAPPED, WRAPPED.replace("say x\n", ""), new)
    what = "f.c, hunk 1: removed lines changed in white space only; upstream put their like beside them"
    assert found.doubts == ((what,) if both else ())
    block = carried(contents, WRAPPED, WRAPPED.replace("    x=2\nfi\nsay x\n", ""), new)
    assert block.doubts == ()  # one of its lines has no like


STEPS = "only once\n" + "step();\ndone();\n" * 4


def test_where_one_diff_has_no_place_the_other_may_have_one(contents: Contents) -> None:
    """The rare line went down past the many: one diff holds on to that, the other to these."""
    lines = STEPS.splitlines(keepends=True)
    ours = "".join([*lines[:5], "ours();\n", *lines[6:]])
    new = "".join([*lines[1:], lines[0], "more\n"])
    found = carried(contents, STEPS, ours, new)
    assert found.doubts == ("f.c, hunk 1: three-way: its lines are unchanged, by another diff of the file",)
    assert [row for row in added(found) if row[0] in "+-"] == ["-step();", "+ours();"]
    both = new.replace("step();\n", "other();\n")
    with pytest.raises(Conflict):
        carried(contents, STEPS, ours, both)


def test_a_change_of_white_space_alone_is_no_piece_to_follow(contents: Contents) -> None:
    old = "".join(f"void f_{n}(void) {{\n    if ( x == null )\n        run( {n} );\n}}\n\n" for n in range(4))
    new = old.replace("( x == null )", "(x == null) {").replace(" );", ");").replace("run( ", "run(")
    ours = old.replace(
        "    if ( x == null )\n        run( 2 );\n",
        "    if ( x == null )\n        run( 2 );\n    if ( y != null )\n        ours( 2 );\n",
    )
    rows = new_lines(added(carried(contents, old, ours, new)))
    assert rows == ["+    if ( y != null )", "+        ours( 2 );"]


@pytest.mark.parametrize(
    ("text", "at", "name"),
    [
        pytest.param("int f(int x) {\n  a;\nout:\n  b;\n}\n", 3, "int f(int x) {", id="behind a label"),
        pytest.param("int f(int x) {\nif (x) {\n  b;\n}\n", 2, "int f(int x) {", id="control flow in the first column"),
        pytest.param("static int\nf(int a)\n{\n  x;\n", 3, "f(int a)", id="a type on a line of its own"),
        pytest.param("int f(int);\n\nint g(int);\n", 1, "", id="between declarations"),
        pytest.param("import sys\n\ndef g():\n  x\n", 1, "", id="a statement of Python"),
        pytest.param("def g():\n  x\n\n  y\n", 2, "def g():", id="a blank line inside of a function of Python"),
        pytest.param("def g():\n  x\n\ndef h():\n", 2, "", id="a blank line behind one"),
        pytest.param("requires dd\n\nf() {\n", 1, "", id="a command of a shell"),
        pytest.param("f() {\n  a\n\n}\n", 2, "f() {", id="a function of a shell"),
        pytest.param("struct a\n{\n  int b;\n", 2, "struct a", id="a struct"),
    ],
)
def test_the_function_that_a_line_is_in(text: str, at: int, name: str) -> None:
    assert enclosing(lines_of(text.encode()), at).decode() == name


@pytest.mark.parametrize(("was", "now"), [("\r\n", "\n"), ("\n", "\r\n")])
def test_added_lines_end_as_upstream_ends_all_lines_by_now(contents: Contents, was: str, now: str) -> None:
    old = "one(a);\ntwo(b);\nthree(c);\n"
    for ours in (old.replace("three", "ours(d);\nthree"), old.replace("two(b);\n", "ours(d);\nmore(e);\n")):
        found = carried(contents, old.replace("\n", was), ours.replace("\n", was), old.replace("\n", now))
        (hunk,) = parse(found.raw, 1).files[0].hunks
        assert {line.endswith(b"\r\n") for line in hunk.lines} == {now == "\r\n"}
        assert found.doubts[0].endswith("follows the new line ends")


def test_of_mixed_line_ends_none_is_followed(contents: Contents) -> None:
    old = "one(a);\r\ntwo(b);\nthree(c);\r\n"
    found = carried(contents, old, old.replace("three", "ours(d);\r\nthree"), old.replace("\r\n", "\n"))
    assert b"\n+ours(d);\r\n" in found.raw
