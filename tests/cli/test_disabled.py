"""Disabled patches: what reads them shows them, what works on the series says that they are disabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.documents import LINES, TWICE, Ask, Project, swap
from cli.stacks import FIVE, NAMES, TWO, chain, files_of, number, series_of, tip

if TYPE_CHECKING:
    from e2e.forked import Forked

SKIPPED = f"# {NAMES[3]}  # skipped in the bump to v3"


@pytest.fixture
def four_out(small: Project, forked: Forked) -> Forked:
    """The series of five, the fourth left out as a bump does it."""
    small(FIVE)
    forked.write("patches/series", "".join(f"{line}\n" for line in [*NAMES[:3], SKIPPED, NAMES[4]]))
    return forked


def test_show_and_list_read_it(four_out: Forked, ask: Ask) -> None:
    shown = ask("show", "4", "--json", code=0)["patch"]
    assert (shown["name"], shown["added"], shown["disabled"]) == (NAMES[3], 1, "skipped in the bump to v3")
    assert ask("show", "5", "--json", code=0)["patch"]["disabled"] is None
    assert four_out("show", "4").out.startswith(f"{NAMES[3]} (disabled: skipped in the bump to v3)\n\nSay what\n")
    assert four_out("show", "4", "--raw").raw == FIVE[NAMES[3]].encode()
    (row,) = ask("list", "--json", code=0)["disabled"]
    assert (row["name"], row["after"], row["why"]) == (NAMES[3], NAMES[2], "skipped in the bump to v3")


@pytest.mark.parametrize("wanted", ["4", "0004", NAMES[3], "longer"])
def test_it_is_said_to_be_disabled(four_out: Forked, ask: Ask, wanted: str) -> None:
    error = ask("deps", wanted, "--json", code=2)["error"]
    assert error == {
        "code": "disabled-patch",
        "message": f"{NAMES[3]} is disabled (skipped in the bump to v3)",
        "hint": f"opencoti-patches enable {NAMES[3]}",
    }
    assert four_out(*error["hint"].split()[1:]).code == 0
    assert four_out("deps", wanted).code == 0


def test_every_command_says_so(four_out: Forked) -> None:
    before = files_of(four_out.root)
    for args in (
        ["annotate", "f.txt", "--to", "4"],
        ["apply", "--to", "4"],
        ["bootstrap", "--to", "4", "WORK"],
        ["check", "--to", "4"],
        ["disable", "4"],
        ["edit", "4", "WORK"],
        ["export", "OUT", "--to", "4"],
        ["impact", "4"],
        ["move", "1", "--after", "4"],
        ["move", "4", "--first"],
        ["regen", "4"],
        ["renumber", "4"],
        ["split", "4", "--files", "f.txt"],
        ["squash", "3", "4"],
        ["upstreamed", "4"],
    ):
        ran = four_out(*args)
        assert (ran.code, ran.err.count(f"{NAMES[3]} is disabled (skipped in the bump to v3)")) == (2, 1), args
    assert files_of(four_out.root) == before


def test_its_number_is_no_part_of_another_patch(four_out: Forked) -> None:
    assert four_out("rename", "5", "0040-last").code == 0
    assert "is disabled" in four_out("deps", "4").err
    assert four_out("show", "40").out.startswith("0040-last.patch")


def test_drop_takes_comment_and_file(four_out: Forked, ask: Ask) -> None:
    """One that does not apply is dropped as well, and beside one of the series."""
    root = four_out.root
    four_out.write(f"patches/{NAMES[3]}", "no patch at all\n")
    assert four_out("lock").code == 0
    before = files_of(root)
    assert [r["status"] for r in ask("drop", "4", "--dry-run", "--json", code=0)["patches"]] == ["dropped"]
    assert files_of(root) == before
    dropped = ask("drop", "5", "longer", "--json", code=0)
    assert [(r["name"], r["status"]) for r in dropped["patches"]] == [(NAMES[4], "dropped"), (NAMES[3], "dropped")]
    assert series_of(root) == NAMES[:3]
    assert not {NAMES[3], NAMES[4]} & files_of(root).keys()
    assert four_out("check", "--locked").code == 0
    assert ask("list", "--json", code=0)["disabled"] == []
    assert four_out("undo").code == 0
    assert files_of(root) == before


@pytest.mark.parametrize(
    ("line", "after"),
    [
        (SKIPPED, "# 0042-more.patch  # skipped in the bump to v3"),
        (f"# disabled: {NAMES[3]} -p1 # it is late", "# disabled: 0042-more.patch -p1 # it is late"),
        (f"#{NAMES[3]}", "#0042-more.patch"),
    ],
)
def test_rename_gives_it_another_name(four_out: Forked, ask: Ask, line: str, after: str) -> None:
    root = four_out.root
    words = [f"# {NAMES[3]} was good once", *NAMES[:3], line, NAMES[4], "# the end"]
    four_out.write("patches/series", "".join(f"{row}\n" for row in words))
    before = files_of(root)
    assert "is that of 0003-eleven.patch" in four_out("rename", "4", "3-more").err
    assert "the names are as they would be" in four_out("rename", "4", "longer").err
    taken = four_out.write("patches/0004-taken.patch", "words\n")
    assert "there is a 0004-taken.patch in patches/ already" in four_out("rename", "0004-longer", "taken").err
    taken.unlink()
    renamed = ask("rename", "4", "42-more", "--json", code=0)
    assert [(r["name"], r["was"]) for r in renamed["patches"]] == [("0042-more.patch", NAMES[3])]
    assert (renamed["written"], renamed["removed"]) == (
        ["patches/0042-more.patch", "patches/series"],
        [f"patches/{NAMES[3]}"],
    )
    assert series_of(root) == [*words[:4], after, *words[5:]]
    assert files_of(root)["0042-more.patch"] == before[NAMES[3]]
    assert four_out("enable", "42").code == 0
    assert number(n for n in series_of(root) if n[0] != "#") == ["0001", "0002", "0003", "0042", "0005"]
    for _ in range(2):
        assert four_out("undo").code == 0
    assert files_of(root) == before


def test_a_skipped_patch_that_does_not_apply_any_more(four_out: Forked, ask: Ask) -> None:
    root = four_out.root
    theirs = [f"upstream's {n}\n" for n in range(18, 22)]  # about what 0004 inserts
    four_out.write("base/f.txt", "".join([*LINES[:17], *theirs, *LINES[21:]]))
    before = files_of(root)
    refused = ask("enable", "4", "--json", code=1)
    says = f"{NAMES[3]} (skipped in the bump to v3) does not apply where its line stands: "
    assert refused["refused"].startswith(says)
    assert [(r["name"], r["status"]) for r in refused["patches"]] == [(NAMES[3], "conflict")]
    assert f"then: {refused['next'][1]}\n" in four_out("enable", "4").out + "\n"
    assert files_of(root) == before
    again, lay, take = (step.partition("  #")[0].split()[1:] for step in refused["next"])
    left = ask(*again, "--json", code=1)
    assert (left["left"], left["next"]) == ([NAMES[3]], refused["next"][1:])
    assert series_of(root)[3] == NAMES[3]
    assert files_of(root)[NAMES[3]] == before[NAMES[3]]
    assert four_out(*lay).code == 1
    text = (root / "WORK/f.txt").read_text()
    four_out.write(
        "WORK/f.txt", text[: text.index("<<<")] + "a line more\n" + text[text.rindex("the line number 22") :]
    )
    done = four_out(*take, "--accept-adapted")
    assert done.code == 0, done.out
    assert four_out("regen").code == 0
    tip(four_out)


def test_a_skipped_patch_of_which_nothing_is_left(four_out: Forked, ask: Ask) -> None:
    four_out.write("base/f.txt", "".join([*LINES[:19], "a line more\n", *LINES[19:]]))
    assert four_out("regen").code == 0
    refused = ask("enable", "4", "--json", code=1)
    assert "has nothing left to do" in refused["refused"]
    assert refused["next"] == ["take its line out of the series, and delete its file"]
    assert "takes its line" not in four_out("enable", "4", "--leave-conflicts").out
    assert series_of(four_out.root)[3] == SKIPPED


def test_enable_where_a_later_patch_finds_no_place(small: Project, forked: Forked, ask: Ask) -> None:
    root = small(FIVE)
    assert forked("disable", "1").code == 0
    two = swap(LINES, 2, "two otherwise\n")
    forked.write("patches/0001-two.patch", FIVE[NAMES[0]])
    assert forked("edit", "2", "WORK").code == 0
    forked.write("WORK/f.txt", "".join(swap(two, 10, "ten\n")))
    assert forked("refresh", "2", "WORK", "--accept-adapted").code == 0
    refused = ask("enable", "1", "--json", code=1)
    assert refused["next"][1] == "opencoti-patches bootstrap --to 0002 --merge WORK"
    left = ask("enable", "1", "--leave-conflicts", "--json", code=1)
    assert left["left"][0] == NAMES[1]
    assert series_of(root) == NAMES
    assert TWO[1] in forked("show", "1").out


def test_enable_beside_the_same_lines_elsewhere(small: Project, forked: Forked) -> None:
    """Taken out again, the patch would leave what is there: so a carry's doubt about a place is none."""
    more = swap(TWICE, 9, "\tmore();\n")
    other = swap(more, 3, "\tother();\n")
    first, second = chain(TWICE, more, other, path="twice.c")
    lines = " \n void one(void)\n {\n-\tcall();\n+\tmore();\n }\n \n \n"  # as git has it, which difflib has not
    first = f"{first.partition('@@')[0]}@@ -6,7 +6,7 @@\n{lines}"
    root = small(dict(zip(NAMES, (first, second), strict=False)))
    before, tree = series_of(root), tip(forked)
    for args in (["disable", "1"], ["enable", "1"]):
        done = forked(*args)
        assert done.code == 0, done.out
        assert "adapted" not in done.out
    assert (series_of(root), tip(forked)) == (before, tree)


def test_enable_of_a_patch_that_is_in_the_series_says_so(small: Project, forked: Forked) -> None:
    small(dict(zip(NAMES, chain(TWICE, swap(TWICE, 3, "\tmore();\n"), path="twice.c"), strict=False)))
    assert f"{NAMES[0]} is in the series, not disabled" in forked("enable", "1").err
    assert "no patch '7' in the series" in forked("enable", "7").err


def test_commands_to_paste_name_the_folder_that_was_given(four_out: Forked) -> None:
    there = four_out.root.parent
    (there / "a folder").mkdir()
    folder = f"{four_out.root.name}"
    for args in (["-C", folder, "deps", "4"], ["deps", "4", "-C", folder]):
        assert f"hint: opencoti-patches -C {folder} enable {NAMES[3]}\n" in four_out(*args, cwd=there).err
    done = four_out("-C", folder, "edit", "3", "WORK", cwd=there)
    assert done.out.endswith(f"next: opencoti-patches -C {folder} refresh 0003 WORK  # once it is edited\n")
    assert four_out("edit", "5", "TIP").code == 0
    four_out.write("TIP/g.txt", "edited\n")
    made = four_out("-C", folder, "new", "more-of-it-with-a-name-that-is-long", "--from", "TIP", cwd=there).out
    assert f"then\n    opencoti-patches -C {folder} lint" in made
    assert "opencoti-patches -C 'a folder' check" in four_out("-C", "a folder", "init", cwd=there).out
    assert "next: opencoti-patches refresh" in four_out("-C", ".", "edit", "2", "WORK").out
