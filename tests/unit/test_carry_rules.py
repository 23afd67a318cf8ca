"""Single rules of the carry, each on the smallest upstream that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.one_file import added, carried, contents, patch_of

from opencoti_patches.carry import confirm, over
from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.tally import Sides
from opencoti_patches.core.model import Entry, PatchName
from opencoti_patches.plan.replay import lines_of
from opencoti_patches.series.parse import parse

__all__ = ["contents"]


def items(*numbers: int) -> str:
    return "enum sizes {\n" + "".join(f"    SIZE_{n}B,\n" for n in numbers) + "};\n"


def test_a_sorted_list_that_both_inserted_into_stays_sorted(contents: Contents) -> None:
    before = carried(contents, items(8, 20, 30, 100), items(8, 20, 22, 30, 100), items(8, 20, 27, 30, 100))
    assert before.doubts == ()
    assert added(before)[2:5] == ["     SIZE_20B,", "+    SIZE_22B,", "     SIZE_27B,"]
    behind = carried(contents, items(8, 20, 30, 100), items(8, 20, 27, 30, 100), items(8, 20, 22, 30, 100))
    assert behind.doubts == ()
    assert added(behind)[2:5] == ["     SIZE_22B,", "+    SIZE_27B,", "     SIZE_30B,"]


def test_a_list_in_no_order_is_a_doubt(contents: Contents) -> None:
    found = carried(contents, items(9, 7, 3, 5), items(9, 7, 4, 3, 5), items(9, 7, 6, 3, 5))
    assert len(found.doubts) == 1
    assert "put behind its lines" in found.doubts[0]


BLOCK = "void f(void) {\n    before_it();\n    one_call();\n    two_calls();\n    behind_it();\n}\n"
DEEPER = "void f(void) {\n    if (more) {\n        before_it();\n        one_call();\n        two_calls();\n        behind_it();\n    }\n}\n"


def test_a_directive_in_the_first_column_follows_no_indentation(contents: Contents) -> None:
    ours = BLOCK.replace("    two_calls();\n", "#ifdef OURS\n    ours();\n#endif\n    two_calls();\n")
    found = carried(contents, BLOCK, ours, DEEPER)
    assert [line for line in added(found) if line.startswith("+")] == ["+#ifdef OURS", "+        ours();", "+#endif"]


def test_a_line_that_stays_with_an_unchanged_one_keeps_its_depth(contents: Contents) -> None:
    """Upstream wraps the line before: that went deeper, and the end of the block, with which ours stays, did not."""
    old, wrapped = "void a() {\n    use(1);\n}\n", "void a() {\n    if (b) {\n        use(1);\n    }\n}\n"
    found = carried(contents, old, old.replace("1);\n", "1);\n    ours();\n"), wrapped)
    assert added(found) == ["     if (b) {", "         use(1);", "     }", "+    ours();", " }"]
    assert found.doubts == ()


def test_a_line_that_stays_with_a_blank_one_goes_as_deep_as_its_block(contents: Contents) -> None:
    old, new = "    use(1);\n\nint other;\n", "        use(1);\n        more();\n\nint other;\n"
    found = carried(contents, old, old.replace("1);\n", "1);\n    ours();\n"), new)
    assert added(found)[2] == "+        ours();"
    assert len(found.doubts) == 1


def test_a_change_that_lands_in_another_function_is_a_doubt(contents: Contents) -> None:
    body = "{\n    int x = a;\n    step(x);\n    return x;\n}\n"
    ours = body.replace("    step(x);\n", "    step(x);\n    OURS(x);\n")
    found = carried(contents, f"int alpha(int a)\n{body}", f"int alpha(int a)\n{ours}", f"int delta(int a)\n{body}")
    assert found.doubts == ("f.c, hunk 1: was in 'int alpha(int a)', would be in 'int delta(int a)'",)


def test_what_stands_between_functions_is_in_none(contents: Contents) -> None:
    """A new function behind one that upstream replaced by another of its own."""
    first, last = "int one(int a)\n{\n    return a;\n}\n\n", "int last(int a)\n{\n    return -a;\n}\n"
    new = first.replace("one", "other").replace("return a", "return a + 1")
    ours = "int ours(void) {\n    return 0;\n} // ours\n\n"
    found = carried(contents, first + last, first + ours + last, new + last)
    assert found.doubts == ()


def test_a_file_that_upstream_left_alone_keeps_its_part_to_the_byte(contents: Contents) -> None:
    """Also the heading of a hunk, and a blank line that it takes out."""
    old = "a\n\nb\nc\nd\n"
    raw = patch_of(old, old.replace("a\n\n", "a\n")).replace(b"@@\n", b"@@ as we wrote it\n")
    sides = Sides(
        old=lambda _: lines_of(old.encode()), now=lambda _: old.encode(), state={}, diff=contents.diff, renamed=str
    )
    found = over.carry(Entry(name=PatchName("p"), path=Path("p"), raw=raw), parse(raw, 1), sides)
    assert (found.raw, found.doubts) == (raw, ())


def test_lines_that_an_earlier_hunk_adds_do_not_shift_the_function_of_a_later_one(contents: Contents) -> None:
    names = ("one", "two", "three")
    old = "".join(
        f"int {n}(int a)\n{{\n    int {n}_1 = a;\n    int {n}_2 = a;\n    return {n}_1;\n}}\n\n" for n in names
    )
    long = "".join(f"    more_{i}();\n" for i in range(16))
    ours = old.replace("    int one_2 = a;\n", long).replace("    int three_2 = a;\n", "    ours();\n")
    (f,) = parse(patch_of(old, ours), 1).files
    assert len(f.hunks) == 2
    now = "// a line of upstream's\n" + old
    offsets = {1: 1, 2: 1}
    assert confirm.doubts(f, f, offsets, lines_of(old.encode()), lines_of(now.encode()), contents.diff) == []


CALLS = "".join(f"void f_{i}(void) {{\n    run(graph, {i});\n    wait(graph);\n}}\n\n" for i in range(4))


def test_a_piece_that_upstream_put_another_way_all_over_is_followed(contents: Contents) -> None:
    """An argument that came; the word itself is still there."""
    ours = CALLS.replace("    run(graph, 2);\n", "    run(graph, 2);\n    ours(graph, 2);\n    run(graph, 22);\n")
    new = CALLS.replace("run(graph,", "run(queue, graph,").replace("wait(graph)", "wait(queue, graph)")
    found = carried(contents, CALLS, ours, new)
    lines = [line for line in added(found) if line.startswith("+")]
    assert lines == ["+    ours(graph, 2);", "+    run(queue, graph, 22);"]
    assert "follows the change of" in found.doubts[0]


def test_a_piece_that_upstream_left_somewhere_is_not(contents: Contents) -> None:
    ours = CALLS.replace("    run(graph, 2);\n", "    run(graph, 2);\n    run(graph, 22);\n")
    new = CALLS.replace("run(graph,", "run(queue, graph,").replace("run(queue, graph, 0)", "run(graph, 0)")
    found = carried(contents, CALLS, ours, new)
    assert [line for line in added(found) if line.startswith("+")] == ["+    run(graph, 22);"]


def test_one_edit_alone_proves_nothing(contents: Contents) -> None:
    old = "void f(void) {\n    run(graph, 1);\n    wait(all);\n}\n"
    ours = old.replace("    wait(all);\n", "    run(graph, 2);\n    wait(all);\n")
    found = carried(contents, old, ours, old.replace("run(graph, 1)", "run(queue, graph, 1)"))
    assert [line for line in added(found) if line.startswith("+")] == ["+    run(graph, 2);"]


def test_one_line_that_became_several_gets_upstreams_edit(contents: Contents) -> None:
    old = "void a() {\n    cur = attention(q, k, v, mask, sinks, scale);\n}\n"
    ours = old.replace("sinks, scale);\n", "part(sinks), scale);\n\n    host(cur);\n")
    found = carried(contents, old, ours, old.replace("sinks, scale", "sinks, 0, scale"))
    assert [line for line in added(found) if line[0] in "+-"] == [
        "-    cur = attention(q, k, v, mask, sinks, 0, scale);",
        "+    cur = attention(q, k, v, mask, part(sinks), 0, scale);",
        "+",
        "+    host(cur);",
    ]
    assert len(found.doubts) == 1


def test_a_removed_line_that_became_none_of_several_is_a_conflict(contents: Contents) -> None:
    """Upstream edited a line that ours takes away: nobody knows where that edit belongs."""
    old = "void a() {\n    first(q, k, v);\n    second(mask, sinks, scale);\n}\n"
    ours = old.replace("    second(mask, sinks, scale);\n", "    x = 1;\n").replace("(q, k, v)", "(p, k, v)")
    ours = ours.replace("    x = 1;\n", "    x = 1;\n    y = 2;\n")
    with pytest.raises(over.Conflict, match="the very words"):
        carried(contents, old, ours, old.replace("v);", "v, n);").replace("scale);", "scale, n);"))


def test_between_the_next_lines_that_stayed(contents: Contents) -> None:
    """Upstream moved the line behind and dropped the blank one before; what stands around these is side by side now."""
    old = "void a(int b) {\n    if (c) {\n        d();\n    }\n\n    check(b);\n    return e();\n}\n"
    ours = old.replace("    check", "    if (ours) {\n        f();\n    }\n\n    check")
    new = "void a(int b) {\n    check(b);\n    if (c) {\n        d();\n    }\n    return e();\n}\n"
    found = carried(contents, old, ours, new)
    assert added(found)[3:7] == ["+    if (ours) {", "+        f();", "+    }", "+"]
    assert added(found)[2:8:5] == ["     }", "     return e();"]
    assert found.doubts == ("f.c, hunk 1: the lines beside it are gone; put between the next ones that stayed",)


@pytest.mark.parametrize(
    "new",
    [
        "void a() {\n    before();\n    after();\n}\n",  # the call is gone, and what it had
        "void a() {\n    before();\n    call(\n        x,\n        y);\n    after();\n}\n",  # it has others
    ],
)
def test_no_place_where_the_block_is_gone_or_has_others(contents: Contents, new: str) -> None:
    old = "void a() {\n    before();\n    call(\n        first(1),\n        second(2));\n    after();\n}\n"
    with pytest.raises(over.Conflict, match="both lines beside it are gone"):
        carried(contents, old, old.replace("first(1),\n", "first(1),\n        ours,\n"), new)
