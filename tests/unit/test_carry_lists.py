"""Where a line goes that a patch puts at the very place at which upstream inserts others."""

from __future__ import annotations

import pytest
from e2e.one_file import added, carried, contents

from opencoti_patches.carry.contents import Contents
from opencoti_patches.carry.lists import Ordered, ends, is_kin, order

__all__ = ["contents"]


def rows(*items: str, like: str = "{}\n") -> list[bytes]:
    return [like.format(x).encode() for x in items]


@pytest.mark.parametrize(
    "like", ["#include <{}.h>\n", '\t"{}"\n', "    {}.cpp\n", "SRC += {}.c\n", "  {}.c \\\n", "    TYPE_{},\n"]
)
def test_lines_go_where_the_order_of_the_list_wants_each(like: str) -> None:
    found = order(
        rows("aa", "bb", like=like),
        rows("dd", "ff", like=like),
        rows("hh", "ii", like=like),
        rows("cc", "ee", "gg", like=like),
    )
    assert found == Ordered((0, 1, 2), sure=True)


def test_a_list_may_begin_or_end_there_and_is_less_sure() -> None:
    like = "#include <{}.h>\n"
    begins = order([b"\n"], rows("b", "d", like=like), [*rows("e", "f", like=like), b"\n"], rows("a", "c", like=like))
    assert begins == Ordered((0, 1), sure=False)
    ends = order(rows("a", "b", like=like), rows("d", "e", like=like), [b"\n"], rows("c", "f", like=like))
    assert ends == Ordered((0, 2), sure=False)


def test_numbers_count_as_numbers() -> None:
    like = "    LLM_TYPE_{}B,\n"
    assert order(
        rows("8", "9", like=like), rows("20", like=like), rows("27", "30", like=like), rows("22", like=like)
    ) == Ordered((1,), sure=True)


@pytest.mark.parametrize(
    ("before", "theirs", "after", "ours"),
    [
        ("ab", "e", "hg", "f"),  # what is there is in no order
        ("ab", "ed", "gh", "f"),
        ("ab", "e", "gh", "fc"),  # nor ours
        ("ab", "e", "gh", "e"),  # both put the same
        ("ab", "e", "gh", "z"),  # ours is of another place
        ("", "e", "g", "f"),  # too few to tell
    ],
)
def test_no_order_no_word(before: str, theirs: str, after: str, ours: str) -> None:
    given = [rows(*x, like='    "{}_name",\n') for x in (before, theirs, after, ours)]
    assert order(*given) is None


@pytest.mark.parametrize("like", ["    {}();\n", "    if ({}) {{\n", "{} is a sentence\n"])
def test_statements_and_sentences_in_order_by_chance_are_no_list(like: str) -> None:
    given = [rows(*x, like=like) for x in ("ab", "e", "gh", "f")]
    assert order(*given) is None


def test_what_both_add_to_one_list_is_merged_in_its_order(contents: Contents) -> None:
    """A hunk in several pieces, and not a line of upstream's in it."""
    head, tail = "// about\n\n", "#include <stdlib.h>\n#include <string.h>\n\nint x;\n"
    ours = head + "#include <assert.h>\n#include <stddef.h>\n" + tail
    found = carried(contents, head + tail, ours, head + "#include <limits.h>\n#include <stdint.h>\n" + tail)
    assert [x for x in added(found) if "<" in x] == [
        *["+#include <assert.h>", " #include <limits.h>", "+#include <stddef.h>"],
        *[" #include <stdint.h>", " #include <stdlib.h>", " #include <string.h>"],
    ]
    assert len(found.doubts) == 1


def test_a_line_stays_behind_the_one_that_begins_as_it_does(contents: Contents) -> None:
    old = "[Unit]\nConditionPathIsReadWrite=/\n\n[Service]\n"
    ours = old.replace("=/\n", "=/\nConditionPathExists=/run\n")
    found = carried(contents, old, ours, old.replace("=/\n", "=/\nOnFailure=emergency\n"))
    assert added(found)[1:4] == [" ConditionPathIsReadWrite=/", "+ConditionPathExists=/run", " OnFailure=emergency"]
    assert len(found.doubts) == 1


def test_kin_is_who_shares_the_most() -> None:
    assert is_kin(b"    pass_env(GPG)\n", b"    pass_env(SSH)\n", [b"    other(x)\n"])
    assert not is_kin(b"    pass_env(GPG)\n", b"    pass_env(SSH)\n", [b"    pass_env(TTY)\n"])
    assert not is_kin(b"    int b;\n", b"    int a;\n", [])


@pytest.mark.parametrize(
    ("before", "theirs", "after", "ours", "wanted"),
    [
        ("a", "X_", "_", "u", "Xu_"),  # what goes on with the lines above stays with them
        ("a", "XY__", "_", "uv", "XYuv__"),
        ("a", "_", "_", "u", "u_"),
        ("a", "X_", "", "u", "Xu_"),
        ("a", "X_", "z", "u", "X_u"),  # and what was not parted from the next one goes before that
        ("a", "X_Y_", "_", "u", "X_Y_u"),  # a paragraph more
        ("_", "X_", "_", "u", "X_u"),
        ("a", "X_", "_", "u_", "X_u_"),
        ("a", "X", "_", "u", "Xu"),
    ],
)
def test_blank_lines_behind_a_list_stay_behind_it(before: str, theirs: str, after: str, ours: str, wanted: str) -> None:
    lines = [[(b"" if x == "_" else x.encode()) + b"\n" for x in text] for text in (before, theirs, after, ours)]
    at = ends(*lines)
    assert theirs[:at] + ours + theirs[at:] == wanted


def test_an_item_goes_on_with_the_list_that_upstream_went_on_with(contents: Contents) -> None:
    old = "one(a);\n\nstruct next {\n"
    found = carried(
        contents, old, old.replace("(a);\n", "(a);\nthree(c);\n"), old.replace("(a);\n", "(a);\ntwo(b);\n\n")
    )
    assert added(found)[1:4] == [" two(b);", "+three(c);", " "]
    assert len(found.doubts) == 1
