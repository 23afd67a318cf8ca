"""``move``, ``drop``, ``disable``, ``enable``, ``rename``, ``renumber``: the order, the tree, the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.documents import CONFIG, HEAD, LINES, OTHER, TWICE, Project, diff, swap
from cli.stacks import FIVE, NAMES, STACK, TWO, chain, files_of, number, series_of, text_at, tip

if TYPE_CHECKING:
    from e2e.forked import Forked


@pytest.mark.parametrize(
    ("there", "order", "back"),
    [
        (["move", "1", "--last"], "0002 0003 0004 0005 0001", ["move", "1", "--first"]),
        (["move", "5", "--first"], "0005 0001 0002 0003 0004", ["move", "5", "--last"]),
        (["move", "3", "--before", "2"], "0001 0003 0002 0004 0005", ["move", "3", "--after", "2"]),
        (["move", "4", "--after", "1"], "0001 0004 0002 0003 0005", ["move", "4", "--after", "3"]),
    ],
)
def test_there_and_back(small: Project, forked: Forked, there: list[str], order: str, back: list[str]) -> None:
    root = small(FIVE)
    assert forked("lock").code == 0
    before, tree = files_of(root), tip(forked)
    assert forked(*there).code == 0
    assert number(series_of(root)) == order.split()
    assert tip(forked) == tree
    assert forked("check", "--locked").code == 0
    assert files_of(root) != before
    assert forked(*back).code == 0
    assert files_of(root) == before


@pytest.mark.parametrize(
    ("there", "start"), [("--last 1", " --start 1"), ("--first 5", " --start 1"), ("--before=2 3", "")]
)
def test_a_move_names_the_command_that_orders_the_numbers(
    small: Project, forked: Forked, there: str, start: str
) -> None:
    root = small(FIVE)
    command = forked("move", *there.split()).out.partition("next: opencoti-patches ")[2]
    assert command == f"renumber{start}  # the numbers ascend no more\n"
    assert "next: " not in forked("move", "4", "--last").out  # they did not ascend before
    assert forked(*command.partition("  #")[0].split()).code == 0
    assert number(series_of(root)) == ["0001", "0002", "0003", "0004", "0005"]


def test_what_does_not_commute_is_refused_with_its_lines(small: Project, forked: Forked) -> None:
    root = small(STACK)
    before = files_of(root)
    refused = forked("move", "0006", "--first")
    assert refused.code == 1
    assert "f.txt:10, which 0002-ten.patch adds:\n        ten\n" in refused.out
    assert forked("move", "0002", "--last").code == 1
    assert files_of(root) == before


def test_a_move_in_a_folder_without_a_series_file_writes_one(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    (root / "patches/series").unlink()
    assert forked("move", "1", "--last").code == 0
    assert number(series_of(root)) == ["0002", "0003", "0004", "0005", "0001"]


def test_comments_and_options_of_the_series_stay(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    lines = ["# ours", "0001-two.patch -p1  # first", "", *NAMES[1:4], "# theirs", NAMES[4]]
    forked.write("patches/series", "".join(f"{line}\n" for line in lines))
    assert forked("move", "1", "--after", "3").code == 0
    assert series_of(root) == ["# ours", "", *NAMES[1:3], "0001-two.patch -p1  # first", NAMES[3], "# theirs", NAMES[4]]


def test_drop_carries_the_later_patches_over_the_gap(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    done = forked("drop", "2", "4")
    assert done.code == 0, done.out
    assert "differs in 1 file" in done.out
    assert number(series_of(root)) == ["0001", "0003", "0005"]
    assert not (root / "patches" / NAMES[1]).exists()
    tip(forked)
    wanted = swap(swap(TWO, 11, "eleven\n"), 27, "near the end\n")
    assert text_at(forked, "5") == wanted


def test_drop_of_what_another_stands_on(small: Project, forked: Forked) -> None:
    root = small(STACK)
    before = files_of(root)
    refused = forked("drop", "2")
    assert refused.code == 1
    assert "0006-again.patch has no place without 0002-ten.patch" in refused.out
    assert "f.txt:10, which 0002-ten.patch adds:" in refused.out
    assert files_of(root) == before
    assert forked("drop", "2", "6").code == 0


def test_a_patch_that_only_takes_back_another(small: Project, forked: Forked) -> None:
    small({"0001-two.patch": HEAD + diff("f.txt", LINES, TWO), "0002-back.patch": HEAD + diff("f.txt", TWO, LINES)})
    refused = forked("drop", "1")
    assert refused.code == 1
    assert "without 0001-two.patch: it would have nothing left" in refused.out
    assert forked("drop", "1", "2").code == 0


def test_disabled_and_enabled_is_the_same_tree(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    tree = tip(forked)
    own = files_of(root)[NAMES[3]]
    assert forked("disable", "4").code == 0
    assert series_of(root)[3] == f"# disabled: {NAMES[3]}"
    assert files_of(root)[NAMES[3]] == own
    unlisted = forked("check", "--json").json["unlisted"]
    assert unlisted == []
    assert tip(forked) != tree
    assert "\n1 file  +1 -0  0004-longer.patch (disabled)\n1 file" in forked("list").out
    assert forked("list").out.endswith("4 patches, 1 file touched, +4 -4 lines; 1 disabled, not counted\n")
    assert forked("list", "-q").out.split() == [n for n in NAMES if n != NAMES[3]]
    assert "it applies strictly; 1 disabled, not counted lock" in " ".join(forked("status").out.split())
    assert forked("enable", "longer").code == 0
    assert series_of(root) == NAMES
    assert tip(forked) == tree


def test_comments_that_are_no_patches_left_out(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    forked.write("patches/0009-own.patch", HEAD + diff("g.txt", OTHER, swap(OTHER, 5, "five\n")))
    forked.write("more.patch", FIVE[NAMES[0]])
    head = ["# 0001-two.patch is the first", "# ../more.patch", "# see 0009-own.patch"]
    lines = [*head, *NAMES, "#0009-own.patch -p1  # not now"]
    forked.write("patches/series", "".join(f"{line}\n" for line in lines))
    for name, code, word in (("1", 1, "no-change"), ("more", 2, "unknown-patch"), ("0007", 2, "unknown-patch")):
        refused = forked("enable", name, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (code, word)
    assert forked("enable", "9").code == 0
    assert series_of(root) == [*head, *NAMES, "0009-own.patch -p1"]
    tip(forked)


def test_enable_of_what_drifted_meanwhile(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("disable", "5").code == 0
    more = ["a new first line\n", *LINES]
    forked.write("base/f.txt", "".join(more))
    for args in (["regen"], ["enable", "5"]):
        done = forked(*args)
        assert done.code == 0, done.out
    assert series_of(root) == NAMES
    tip(forked)


def test_drop_where_the_series_does_not_apply(small: Project, forked: Forked) -> None:
    broken = HEAD + diff("f.txt", swap(LINES, 5, "no such line\n"), swap(LINES, 5, "other\n"))
    root = small({NAMES[0]: FIVE[NAMES[0]], "0002-broken.patch": broken})
    assert forked("check").code == 1
    assert forked("drop", "2").code == 0
    assert series_of(root) == NAMES[:1]
    tip(forked)


def test_rename_and_renumber(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    forked("lock")
    assert forked("rename", "2", "tenth").code == 0
    assert forked("rename", "3", "0030-eleventh.patch").code == 0
    assert series_of(root)[1:3] == ["0002-tenth.patch", "0030-eleventh.patch"]
    assert forked("renumber", "--step", "10", "--start", "10").code == 0
    assert number(series_of(root)) == ["0010", "0020", "0030", "0040", "0050"]
    assert forked("renumber", "30", "--start", "21").code == 0
    assert number(series_of(root)) == ["0010", "0020", "0021", "0022", "0023"]
    assert sorted(files_of(root).values()) == sorted(
        [*(text.encode() for text in FIVE.values()), *(files_of(root)[n] for n in ("series", "series.lock"))]
    )
    assert forked("check", "--locked").code == 0
    for args in (["rename", "10", "no name"], ["rename", "10", "0020-tenth"], ["renumber", "21", "--start", "3"]):
        before = files_of(root)
        assert forked(*args).code in (1, 2)
        assert files_of(root) == before


def test_a_number_that_another_patch_has_is_not_given(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("disable", "4").code == 0
    before = files_of(root)
    for name in ("0005-ten", "5_ten.patch", "0004-ten"):  # of one in the series, and of one left out
        refused = forked("rename", "2", name, "--json")
        assert (refused.code, refused.json["error"]["code"]) == (1, "no-number")
        assert NAMES[int(name.lstrip("0")[0]) - 1] in refused.json["error"]["message"]
    assert forked("apply").code == 0
    forked.write("tree/more.txt", "more\n")
    assert forked("new", "0004-more", "--json").json["error"]["code"] == "no-number"
    assert files_of(root) == before
    assert forked("rename", "2", "0006-ten").code == 0
    assert forked("renumber").code == 0
    assert number(series_of(root)) == ["0001", "0002", "0003", "# disabled: 0004", "0005"]
    assert forked("rename", "2", "tenth").code == 0
    assert forked("enable", "4").code == 0


def test_numbers_swap_files(small: Project, forked: Forked) -> None:
    root = small({"0002-x.patch": FIVE[NAMES[0]], "0001-x.patch": FIVE[NAMES[1]]})
    assert forked("renumber", "--start", "1").code == 0
    assert series_of(root) == ["0001-x.patch", "0002-x.patch"]
    assert files_of(root)["0001-x.patch"].decode() == FIVE[NAMES[0]]


def test_a_dry_run_writes_nothing(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    before = files_of(root)
    for args in (
        ["drop", "2"],
        ["disable", "2"],
        ["move", "1", "--last"],
        ["rename", "1", "x"],
        ["renumber", "--step", "5"],
    ):
        done = forked(*args, "--dry-run")
        assert done.code == 0
        assert "would be written" in done.out
    assert files_of(root) == before
    assert forked("undo").code == 1


def test_the_last_patch_of_a_series(small: Project, forked: Forked) -> None:
    root = small({NAMES[0]: FIVE[NAMES[0]]}, CONFIG)
    assert forked("drop", "1").code == 0
    assert files_of(root) == {"series": b""}


def test_drop_beside_the_same_lines_elsewhere(small: Project, forked: Forked) -> None:
    more = swap(TWICE, 9, "\tmore();\n")
    other = swap(more, 3, "\tother();\n")
    fewer = [*other[:10], *other[11:]]  # one of two blank lines, of which there are four pairs
    first, second, third = chain(TWICE, more, other, fewer, path="twice.c")
    lines = " \n void one(void)\n {\n-\tcall();\n+\tmore();\n }\n \n \n"  # as git has it, which difflib has not
    first = f"{first.partition('@@')[0]}@@ -6,7 +6,7 @@\n{lines}"
    small(dict(zip(NAMES, (first, second, third), strict=False)))
    done = forked("drop", "1")
    assert done.code == 0, done.out
    assert "adapted" not in done.out
    tip(forked)
    assert text_at(forked, "3", "twice.c") == [*TWICE[:2], "\tother();\n", *TWICE[3:10], *TWICE[11:]]


def test_drop_of_lines_beside_which_another_changes_some_wants_a_look(small: Project, forked: Forked) -> None:
    start = "diff --git a/twice.c b/twice.c\n--- a/twice.c\n+++ b/twice.c\n"
    first = f"{HEAD}{start}@@ -7,6 +7,7 @@\n void one(void)\n {{\n \tcall();\n }}\n+/* more */\n \n \n"
    second = f"{HEAD}{start}@@ -8,7 +8,6 @@\n {{\n \tcall();\n }}\n /* more */\n-\n \n void one(void)\n"
    root = small({NAMES[0]: first, NAMES[1]: second})
    before = files_of(root)
    refused = forked("drop", "1", "--json").json
    assert (refused["ok"], refused["needs_acceptance"]) == (False, NAMES[1:2]), refused
    assert files_of(root) == before
