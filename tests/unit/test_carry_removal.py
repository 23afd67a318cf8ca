"""Lines that a patch removes and that upstream removed, moved or edited, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.one_file import PATH, added, carried, contents, patch_of

from opencoti_patches.carry import over
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.tally import Sides
from opencoti_patches.core.model import Entry, PatchName
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.series.parse import parse

__all__ = ["contents"]

STEPS = "void a() {\n    first(1);\n    second(2);\n    third(3);\n    last();\n}\n"


def test_of_lines_that_upstream_removed_in_part_the_others_go(contents: Contents) -> None:
    ours = STEPS.replace("    second(2);\n    third(3);\n", "")
    found = carried(contents, STEPS, ours, STEPS.replace("    third(3);\n", ""))
    assert [line for line in added(found) if line[0] in "+-"] == ["-    second(2);"]
    assert found.doubts == ("f.c, hunk 1: upstream removed some of its lines, too; removes the others",)


def test_lines_that_upstream_removed_among_others_are_done(contents: Contents) -> None:
    """The lines beside them are gone as well, and nothing was put there."""
    ours = STEPS.replace("    third(3);\n", "").replace("a()", "b()")
    found = carried(contents, STEPS, ours, STEPS.replace("    second(2);\n    third(3);\n    last();\n", ""))
    assert [line for line in added(found) if line[0] in "+-"] == ["-void a() {", "+void b() {"]


@pytest.mark.parametrize("put", ["    x = y;\n", "    if (x && y) third(3);\n"])
def test_lines_in_whose_place_upstream_put_others_are_a_conflict(contents: Contents, put: str) -> None:
    ours = STEPS.replace("    third(3);\n", "")
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, STEPS, ours, STEPS.replace("    second(2);\n    third(3);\n    last();\n", put))


def test_lines_that_upstream_edited_elsewhere_are_no_done_change(contents: Contents) -> None:
    new = STEPS.replace("    second(2);\n    third(3);\n    last();\n", "").replace(
        "    first", "    third(3, 4);\n    first"
    )
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, STEPS, STEPS.replace("    third(3);\n", ""), new)


def test_what_replaces_lines_that_upstream_removed_in_part_is_a_conflict(contents: Contents) -> None:
    ours = STEPS.replace("    second(2);\n    third(3);\n", "    ours();\n")
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, STEPS, ours, STEPS.replace("    third(3);\n", ""))


def test_of_two_braces_the_one_that_went_is_the_one_that_is_not_there(contents: Contents) -> None:
    """White space aside both are the same: a diff may take the brace of the function for that of the block, indented anew."""
    old = "void a() {\n    if (b) {\n        first(1);\n        second(2);\n    }\n}\n\nvoid c() {\n}\n"
    ours = old.replace("        second(2);\n    }\n", "")
    found = carried(contents, old, ours, old.replace("    if (b) {\n", "").replace("    }\n", ""))
    assert [line for line in added(found) if line[0] in "+-"] == ["-        second(2);"]


def test_a_line_that_upstream_moved_and_edited_is_not_removed_there(contents: Contents) -> None:
    old = "void a() {\n    first(1);\n}\n\nvoid b() {\n    load_it(2);\n    last(3);\n}\n"
    without = old.replace("    load_it(2);\n", "")
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, old, without, without.replace("    first", "    x = load_it(2, NULL);\n    first"))
    assert carried(contents, old, without, without.replace("    first", "    other(4);\n    first")).raw == b""


LIST = "set(SRC\n  alpha.c\n  beta.c\n  gm.c\n  delta.c\n)\nadd_library(x ${SRC})\n"


@pytest.mark.parametrize("line", ["  gm.c\n", "  beta.c\n"])
def test_lines_that_upstream_moved_are_removed_where_they_are_now(contents: Contents, line: str) -> None:
    """However short they are."""
    without = LIST.replace(line, "")
    found = carried(contents, LIST, without, without.replace(")\nadd", f"{line})\nadd"))
    assert [x for x in added(found) if x[0] in "+-"] == [f"-{line.rstrip()}"]
    assert found.doubts == ("f.c, hunk 1: upstream moved the lines that it removes",)


def test_what_replaces_lines_that_upstream_moved_goes_to_where_they_are_now(contents: Contents) -> None:
    without = LIST.replace("  gm.c\n", "")
    found = carried(contents, LIST, LIST.replace("gm.c", "gm2.c"), without.replace(")\nadd", "  gm.c\n)\nadd"))
    assert added(found) == [
        "   alpha.c",
        "   beta.c",
        "   delta.c",
        "-  gm.c",
        "+  gm2.c",
        " )",
        " add_library(x ${SRC})",
    ]
    assert found.doubts == ("f.c, hunk 1: upstream moved the lines that it changes",)


def test_of_a_line_that_there_is_twice_nobody_knows_which_upstream_moved(contents: Contents) -> None:
    old = "case 1:\n  go();\n  n++;\ncase 2:\n  run();\ncase 3:\n  end();\n  n++;\n"
    without = old.replace("  go();\n  n++;\n", "  go();\n")
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, old, without, without.replace("  run();\n", "  run();\n  n++;\n"))


@pytest.mark.parametrize(
    ("old", "line", "new"),
    [
        (
            "lock(a);\nv = load(p, n);\nunlock(a);\nreturn v;\nload(q, 1);\n",
            "v = load(p, n);\n",
            "lock(a);\nunlock(a);\nv = load(p, n + 1);\nreturn v;\nload(q, 1);\n",
        ),
        ("port: 80\nretry: 4\nlevel: info\n", "retry: 4\n", "port: 80\nlevel: info\nretry: 8\n"),
        (
            "OBJS = a.o b.o\nOBJS += c.o\nOBJS += d.o\nall: x\n",
            "OBJS += d.o\n",
            "OBJS = a.o b.o d.o\nOBJS += c.o\nall: x\n",
        ),
    ],
)
def test_a_line_that_stands_near_by_in_another_form_is_not_done(
    contents: Contents, old: str, line: str, new: str
) -> None:
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, old, old.replace(line, ""), new)


@pytest.mark.parametrize("head", ["    if (n > 3)\n", "    if (n > 3) {\n", "    else:\n"])
def test_a_line_that_upstream_made_the_body_of_a_statement_is_a_doubt(contents: Contents, head: str) -> None:
    without = STEPS.replace("    second(2);\n", "")
    new = STEPS.replace("    second(2);\n", f"{head}        second(2);\n" + "    }\n" * head.endswith("{\n"))
    (doubt,) = carried(contents, STEPS, without, new).doubts
    assert doubt.endswith("changed in white space only; the lines beside them stayed as deep as they were")


def test_a_line_of_a_block_that_upstream_indented_goes_with_no_doubt(contents: Contents) -> None:
    body = "    second(2);\n    third(3);\n    last();\n"
    deeper = "".join(f"    {line}\n" for line in body.splitlines())
    found = carried(
        contents, STEPS, STEPS.replace("    third(3);\n", ""), STEPS.replace(body, f"    if (n) {{\n{deeper}    }}\n")
    )
    assert [x for x in added(found) if x[0] in "+-"] == ["-        third(3);"]
    assert found.doubts == ()


def test_what_replaces_a_line_that_upstream_has_elsewhere_is_not_done(contents: Contents) -> None:
    """What it puts there is there already."""
    old = "f() {\n    legacy_audit(n);\n    int size = 10;\n    use(size);\n    end(n);\n}\n"
    ours = old.replace("    legacy_audit(n);\n    int size = 10;\n", "    int size = 20;\n")
    assert carried(contents, old, ours, ours).raw == b""
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, old, ours, ours.replace("    end", "    legacy_audit(n);\n    end"))


NUMBERED = "begin();\nput(relu, 1);\nput(conv, 2);\nput(pool, 3);\nend();\n"
ENUM = "OP_RELU = 1,\nOP_CONV = 2,\nOP_POOL = 3,\nOP_LAST = 9,\n"


@pytest.mark.parametrize(
    ("old", "line", "new"),
    [
        (NUMBERED, "put(conv, 2);\n", "begin();\nput(conv2d, 1);\nput(pool, 2);\nend();\n"),
        (ENUM, "OP_CONV = 2,\n", "OP_CONV_2D = 1,\nOP_POOL = 2,\nOP_LAST = 9,\n"),
    ],
)
def test_a_line_of_a_list_numbered_anew_is_no_other_one(contents: Contents, old: str, line: str, new: str) -> None:
    """Upstream dropped the one before, called this otherwise, and numbered the rest: the next one is none of these."""
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, old, old.replace(line, ""), new)


def test_what_stands_beside_a_line_of_such_a_list_is_a_doubt(contents: Contents) -> None:
    ours = NUMBERED.replace("put(conv", "prepare();\nput(conv")
    found = carried(contents, NUMBERED, ours, "begin();\nput(conv2d, 1);\nput(pool, 2);\nend();\n")
    assert found.doubts == ("f.c, hunk 1: the line after it is gone; put behind the one before",)


@pytest.mark.parametrize(
    ("old", "block", "last"),
    [
        (
            "jobs:\n  build:\n    - one\n  legacy:\n    - old\n  last:\n    - end\n",
            "  legacy:\n    - old\n",
            "    - old\n",
        ),
        (
            "def f(a):\n    if a.new:\n        one(a)\n    if a.old:\n        two(a)\n    end(a)\n",
            "    if a.old:\n        two(a)\n",
            "        two(a)\n",
        ),
    ],
)
def test_lines_that_upstream_put_into_a_removed_block_are_a_doubt(
    contents: Contents, old: str, block: str, last: str
) -> None:
    new = old.replace(last, last + last.replace("old", "more").replace("two", "more"))
    assert carried(contents, old, old.replace(block, ""), new).doubts == (
        "f.c, hunk 1: its lines are unchanged; upstream put others into the block that they are",
    )


def test_a_line_put_behind_one_as_deep_is_none(contents: Contents) -> None:
    new = STEPS.replace("    third", "    between();\n    third")
    assert carried(contents, STEPS, STEPS.replace("    second(2);\n", ""), new).doubts == ()


def test_of_blocks_alike_nobody_knows_whether_upstream_removed_the_same(contents: Contents) -> None:
    """Of three one is to go: upstream removed one, and edited the last."""
    block = "[x]\nk = 1\nv = 2\n\n"
    old = "top\n" + 3 * block + "end = 1\n"
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, old, old.replace(block, "", 1), "top\n" + block + block.replace("1", "7") + "end = 1\n")


def test_blank_lines_are_not_the_rest_of_lines_that_upstream_removed(contents: Contents) -> None:
    old = "# T\n\n- one item\n- two item\n\nText a.\n\n- end\n"
    new = old.replace("- two item\n\nText a.\n", "- two item. Text a.\n")
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, old, old.replace("Text a.\n\n", ""), new)


def test_a_line_that_went_with_those_beside_it_into_a_function_is_not_done(contents: Contents) -> None:
    old = "int a() {\n    one();\n    x++;\n    two();\n    return 0;\n}\n"
    new = "void h() {\n    x += 1;\n}\n\nint a() {\n    h();\n    return 0;\n}\n"
    with pytest.raises(over.Conflict, match="upstream changed the lines it removes"):
        carried(contents, old, old.replace("    x++;\n", ""), new)


def away(contents: Contents, old: str, ours: str, new: str, others: dict[str, str]) -> over.Over:
    """As ``carried``, where upstream has other files, too, with lines that they had not."""
    raw = patch_of(old, ours)
    files = {PATH: new, **others}
    sides = Sides(
        old=lambda _: lines_of(old.encode()),
        now=lambda path: files[path].encode() if path in files else None,
        state={},
        diff=contents.diff,
        renamed=lambda _: None,
        another_diff=contents.another_diff,
        holding=lambda lines: {x: [path for path, text in others.items() if x.decode() in text] for x in lines},
    )
    return over.carry(Entry(name=PatchName("p"), path=Path("p"), raw=raw), parse(raw, 1), sides)


MODE = "int legacy_mode(int x) {\n    return x * 2;\n}\n\n"
STAGES = "    prep_stage(x);\n    debug_dump(x);\n    emit_stage(x);\n"
CALLER = f"int a(int x) {{\n    int r = 0;\n{STAGES}\n    return finish(r);\n}}\n"


def test_a_function_that_upstream_put_into_another_file_is_removed_there(contents: Contents) -> None:
    old = f"int keep() {{\n    return 1;\n}}\n\n{MODE}int last() {{\n    return 3;\n}}\n"
    without = old.replace(MODE, "")
    found = away(contents, old, without, without, {"b.c": f"int other() {{\n    return 9;\n}}\n\n{MODE.rstrip()}\n"})
    assert [x.path for x in parse(found.raw, 1).files] == ["b.c"]
    assert [x for x in added(found) if x[0] == "-"] == ["-}", "-", "-int legacy_mode(int x) {", "-    return x * 2;"]
    assert found.doubts[0] == "f.c, hunk 1: upstream moved its lines to b.c"
    assert away(contents, old, without, without, {"b.c": "int other();\n"}).raw == b""


@pytest.mark.parametrize("again", [False, True])
def test_a_deletion_is_the_same_wherever_a_diff_begins_it(contents: Contents, again: bool) -> None:
    """At the end of the function before, or at its own heading."""
    old = f"int keep() {{\n    return 1;\n}}\n\n{MODE}int last() {{\n    return 3;\n}}\n"
    without = old.replace(MODE, "")
    new = without if again else old.replace("last", "latest")
    assert "-}\n-\n-int legacy" in patch_of(old, without).decode()
    found = carried(contents, old, without, new)
    assert found.doubts == ()
    assert (
        [x for x in added(found) if x[0] == "-"] == ["-}", "-", "-int legacy_mode(int x) {", "-    return x * 2;"]
        if not again
        else found.raw == b""
    )


def test_a_line_that_went_into_a_helper_of_another_file_is_removed_there(contents: Contents) -> None:
    ours = CALLER.replace("    debug_dump(x);\n", "")
    new = CALLER.replace(STAGES, "").replace("finish(r)", "finish(run(x))")
    found = away(contents, CALLER, ours, new, {"b.c": f"int run(int x) {{\n{STAGES}}}\n"})
    assert [x for x in added(found) if x[0] == "-"] == ["-    debug_dump(x);"]
    assert found.doubts[0] == "f.c, hunk 1: upstream moved its lines to b.c"


def test_a_line_that_another_file_has_as_well_is_removed_from_none_but_its_own(contents: Contents) -> None:
    old = '#include "first.h"\n#include "second.h"\n#include "third.h"\n\nint x;\n'
    without = old.replace('#include "second.h"\n', "")
    assert away(contents, old, without, without, {"b.c": '#include "other.h"\n#include "second.h"\n'}).raw == b""
