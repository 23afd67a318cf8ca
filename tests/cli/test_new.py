"""``new``: an edited folder becomes a patch in its place, and nothing that stands behind it breaks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from opencoti_patches.core.errors import Refused
from opencoti_patches.series.numbering import Folders, Numbers, named, slug

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox

LINES = "".join(f"the line number {n}\n" for n in range(1, 31))
FIRST = LINES.replace("number 3\n", "number three\n")
SECOND = FIRST.replace("number 20\n", "number twenty\n")


@pytest.fixture
def made(project: Project, diff: Diff) -> Sandbox:
    """Two patches, the tree written."""
    patches = {"0033-first.patch": diff("f.txt", LINES, FIRST), "0034-second.patch": diff("f.txt", FIRST, SECOND)}
    made = project({"f.txt": LINES, "old.txt": "same\n" * 20}, patches)
    assert made("apply").code == 0
    return made


def edit(made: Sandbox, folder: str, old: str, new: str) -> None:
    """Change a text in f.txt of a folder."""
    text = (made.root / folder / "f.txt").read_text()
    assert old in text
    made.write(f"{folder}/f.txt", text.replace(old, new))


def test_the_edited_tree_becomes_the_next_patch(made: Sandbox) -> None:
    edit(made, "tree", "number 10\n", "number ten\n")
    made.write("tree/sub/n.txt", "new\n")
    (made.root / "tree/old.txt").rename(made.root / "tree/moved.txt")
    ran = made("new", "pinned-kv")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "wrote patches/0035-pinned-kv.patch, behind 0034-second.patch: 3 files, +2 -1\n"
        "new files taken in: moved.txt, sub/n.txt\n"
        "next: say why below the first line of patches/0035-pinned-kv.patch, then\n"
        "    opencoti-patches lint\n"
    )
    text = (made.root / "patches/0035-pinned-kv.patch").read_text()
    assert text.startswith("Subject: pinned kv\n\ndiff --git a/f.txt b/f.txt\nindex ")
    assert "rename from old.txt\nrename to moved.txt\n" in text
    assert re.search(r"^index [0-9a-f]{10}\.\.[0-9a-f]{10} 100644$", text, re.M)
    assert (made.root / "patches/series").read_text().endswith("0034-second.patch\n0035-pinned-kv.patch\n")
    assert made("check", "--no-offset").code == 0
    assert "no-why" in made("lint").out


def test_the_tree_is_the_new_patch_from_then_on(made: Sandbox) -> None:
    edit(made, "tree", "number 10\n", "number ten\n")
    assert made("new", "ten", "-m", "Ten\n\nTen is a word.").code == 0
    assert made("lint", "--json").code in (0, 1)
    assert "nothing to do" in made("apply").out
    edit(made, "tree", "number 11\n", "number eleven\n")
    assert made("new", "eleven").code == 0
    assert "number ten" not in (made.root / "patches/0036-eleven.patch").read_text().replace(" the line number ten", "")
    assert made("apply", "--to", "35").code == 0
    assert "number 11\n" in (made.root / "tree/f.txt").read_text()


def test_the_header_says_what_it_is_told_and_names_nobody(made: Sandbox) -> None:
    edit(made, "tree", "number 10\n", "number ten\n")
    message = "Write ten – the word\n\nDigits are dull.\n"
    ran = made("new", "ten", "-m", message, GIT_AUTHOR_NAME="Somebody", EMAIL="somebody@x.invalid", USER="somebody")
    assert ran.code == 0
    text = (made.root / "patches/0035-ten.patch").read_text()
    assert text.startswith("Subject: Write ten – the word\n\nDigits are dull.\n\ndiff --git ")
    assert "omebody" not in text
    edit(made, "tree", "number 11\n", "number eleven\n")
    assert made("new", "eleven", "-m", "É", "--author", "A. Ü. Thor <a@example.invalid>").code == 0
    header = (made.root / "patches/0036-eleven.patch").read_text().partition("diff --git")[0]
    assert header == "From: =?utf-8?q?A=2E_=C3=9C=2E_Thor?= <a@example.invalid>\nSubject: =?utf-8?q?=C3=89?=\n\n"
    bad = made("new", "x", "--author", "nobody", "--json")
    assert (bad.code, bad.json["error"]["code"]) == (2, "bad-author")
    bad = made("new", "x", "-m", "x\n\ndiff --git a/x b/x\n", "--json")
    assert (bad.code, bad.json["error"]["code"]) == (2, "bad-message")


def test_behind_another_patch_from_a_folder(made: Sandbox) -> None:
    assert made("bootstrap", "--to", "33", "WORK").code == 0
    edit(made, "WORK", "number 27\n", "number twenty-seven\n")
    before = made.files()
    full = made("new", "in-between", "--from", "WORK", "--after", "33", "--json")
    assert (full.code, full.json["error"]["code"]) == (1, "no-number")
    assert "--renumber" in full.json["error"]["hint"]
    assert made.files() == before
    ran = made("new", "in-between", "--from", "WORK", "--after", "33", "--renumber")
    assert ran.code == 0
    assert "renamed 0034-second.patch to 0035-second.patch\n" in ran.out
    assert (made.root / "patches/series").read_text() == "0033-first.patch\n0034-in-between.patch\n0035-second.patch\n"
    assert made.files()["patches/0035-second.patch"] == before["patches/0034-second.patch"]
    assert "patches/0034-second.patch" not in made.files()
    assert made("check").code == 0


def test_a_later_patch_that_would_break_is_named(made: Sandbox) -> None:
    assert made("bootstrap", "--to", "33", "WORK").code == 0
    edit(made, "WORK", "number 20\n", "number XX\n")
    before = made.files()
    ran = made("new", "in-between", "--from", "WORK", "--after", "33", "--renumber", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "breaks-later")
    assert "0035-second.patch" in ran.json["error"]["message"]
    assert made.files() == before


def test_a_later_patch_that_only_moves_is_said(made: Sandbox) -> None:
    assert made("bootstrap", "--to", "33", "WORK").code == 0
    edit(made, "WORK", "the line number 1\n", "zero\nthe line number 1\n")
    ran = made("new", "zero", "--from", "WORK", "--after", "33", "--renumber")
    assert ran.code == 0
    assert "0035-second.patch applies with an offset now" in ran.out
    assert made("check").code == 0
    assert made("check", "--no-offset").code == 1


def test_what_failed_before_stands_in_nobodys_way(made: Sandbox, diff: Diff) -> None:
    made.write("patches/0040-broken.patch", diff("f.txt", "nowhere\n" * 5, "x\n"))
    made.write("patches/series", "0033-first.patch\n0034-second.patch\n0040-broken.patch\n")
    edit(made, "tree", "number 10\n", "number ten\n")
    ran = made("new", "ten", "--after", "34")
    assert (ran.code, ran.err) == (0, "")
    assert (made.root / "patches/series").read_text().split()[2:] == ["0035-ten.patch", "0040-broken.patch"]


def test_a_folder_that_began_elsewhere_is_refused(made: Sandbox) -> None:
    assert made("bootstrap", "--to", "33", "WORK").code == 0
    edit(made, "WORK", "number 10\n", "number ten\n")
    before = made.files()
    ran = made("new", "ten", "--from", "WORK", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "wrong-bootstrap")
    assert "--after 0033-first.patch" in ran.json["error"]["hint"]
    strange = made("new", "ten", "--from", "base", "--json")
    assert (strange.code, strange.json["error"]["code"]) == (2, "unknown-folder")
    nowhere = made("new", "ten", "--from", "nowhere", "--json")
    assert (nowhere.code, nowhere.json["error"]["code"]) == (2, "no-folder")
    assert made.files() == before


@pytest.mark.parametrize("top", ["# the series\n\n# of f\n", ""])
def test_a_patch_may_go_before_all_others(made: Sandbox, top: str) -> None:
    made.write("patches/series", f"{top}0033-first.patch\n0034-second.patch\n# the end\n")
    assert made("bootstrap", "WORK").code == 0
    edit(made, "WORK", "number 10\n", "number ten\n")
    last = made("new", "ten", "--from", "WORK", "--json").json["error"]
    assert "but as the bare base" in last["message"] and last["hint"].startswith("give --first, or make a folder again")
    assert made("new", "ten", "--from", "WORK", "--first", "--after", "33").code == 2
    ran = made("new", "0030-ten", "--from", "WORK", "--first", "--json")
    assert (ran.code, ran.json["after"]) == (0, None)
    series = (made.root / "patches/series").read_text()
    assert series == f"{top}0030-ten.patch\n0033-first.patch\n0034-second.patch\n# the end\n"
    assert made("check", "--no-offset").code == 0


def test_patches_that_come_in_may_go_before_all_others(made: Sandbox, diff: Diff) -> None:
    made.write("ten.patch", diff("f.txt", LINES, LINES.replace("number 10\n", "number ten\n")))
    made.write("six.patch", diff("old.txt", "same\n" * 20, "same\n" * 19 + "six\n"))
    assert made("import", "ten.patch", "six.patch", "--first", "--after", "33").code == 2
    assert made("import", "ten.patch", "six.patch", "--first").code == 0
    names = (made.root / "patches/series").read_text().split()
    assert [n[:4] for n in names] == ["0001", "0002", "0033", "0034"]
    assert "+the line number ten\n" in (made.root / "patches" / names[0]).read_text()
    assert made("check", "--no-offset").code == 0


def test_no_edit_no_patch(made: Sandbox) -> None:
    ran = made("new", "nothing", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "no-change")


def test_the_lock_follows(made: Sandbox) -> None:
    assert made("lock").code == 0
    edit(made, "tree", "number 10\n", "number ten\n")
    assert made("new", "ten").code == 0
    assert made("check", "--locked").code == 0
    assert "0035-ten.patch " in (made.root / "patches/series.lock").read_text()


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("kv", "0035-kv.patch"),
        ("kv.patch", "0035-kv.patch"),
        ("0050-kv", "0050-kv.patch"),
        ("50-kv", "0050-kv.patch"),
        ("0034-kv", "no-number"),
        ("a b", "bad-name"),
        ("../kv", "bad-name"),
        ("-kv", "usage"),
        ("", "bad-name"),
    ],
)
def test_the_name(made: Sandbox, wanted: str, name: str) -> None:
    edit(made, "tree", "number 10\n", "number ten\n")
    document = made("new", wanted, "--json").json
    assert document.get("name", document.get("error", {}).get("code")) == name


def test_other_habits(project: Project, diff: Diff) -> None:
    made = project(
        {"f.txt": LINES}, {"cpu.patch": diff("f.txt", LINES, FIRST), "gpu.patch": diff("f.txt", FIRST, SECOND)}
    )
    assert made("apply").code == 0
    edit(made, "tree", "number 10\n", "number ten\n")
    assert made("new", "ten").code == 0
    assert (made.root / "patches/series").read_text() == "cpu.patch\ngpu.patch\nten.patch\n"


def test_the_first_patch_of_a_project_with_another_strip_level(project: Project) -> None:
    from cli.conftest import CONFIG

    made = project({"f.txt": LINES}, {}, series=None, config=CONFIG + "\n[series]\nstrip = 0\n")
    assert made("apply").code == 0
    edit(made, "tree", "number 10\n", "number ten\n")
    ran = made("new", "ten")
    assert "patches/series was written" in ran.out
    assert (made.root / "patches/series").read_text() == "0001-ten.patch -p1\n"
    assert made("check").code == 0


# -- numbers and names ---------------------------------------------------------------------------


def test_numbers_follow_the_habit() -> None:
    names = ["0033-a.patch", "0034-b.patch", "x/0001-c.patch", "0040-d.patch", "0041-e.patch", "0050-f.patch"]
    assert [Numbers(names, len(names)).next(), Numbers(names, 3).next(), Numbers(names, 0).next()] == [51, 35, 1]
    assert Numbers(names, 4, folder="x/").next() == 2
    assert Numbers(["1_a.patch", "9_b.patch"], 2).written(10) == "10"
    assert not Numbers(["a", "b", "0001-c"], 3).numbered
    assert Numbers([], 0).written(Numbers([], 0).next()) == "0001"
    with pytest.raises(Refused, match=r"between 0040-d\.patch and 0041-e\.patch"):
        Numbers(names, 4).next()


@pytest.mark.parametrize(
    ("at", "beside", "room"),
    [
        (1, (), "0034 to 0039 fit"),
        (1, ("0036-out.patch", "0034-out.patch", "0041-out.patch"), "0035, 0037 to 0039 fit"),
        (1, ("0034-out.patch", "0035-out.patch", "0036-out.patch", "0038-out.patch", "0039-out.patch"), "0037 fits"),
        (2, (), ""),
        (3, ("0042-out.patch",), "0043 to 20260100 fit"),
        (4, ("20260102-out.patch",), "20260103 and those behind it fit"),
    ],
)
def test_a_number_that_does_not_fit_is_told_which_do(at: int, beside: tuple[str, ...], room: str) -> None:
    names = ["0033-a.patch", "0040-b.patch", "0041-c.patch", "20260101-d.patch"]
    numbers = Numbers(names, at, beside=beside)
    numbers.width = 4
    with pytest.raises(Refused) as e:
        numbers.take(33)
    end = "; a name without a number gets the first of them" if room else ""
    assert e.value.hint == f"{room}{end}" if room else e.value.hint.startswith("--renumber makes room")
    if room:
        assert room.startswith(numbers.written(numbers.next()))


def test_making_room_renames_no_more_than_it_must() -> None:
    names = ["0033-a.patch", "0034-b.patch", "0035-c.patch", "0037-d.patch", "9999-e.patch"]
    numbers = Numbers(names, 1, renumber=True)
    assert (numbers.next(), numbers.next()) == (34, 35)
    assert numbers.shifted() == {
        "0034-b.patch": "0036-b.patch",
        "0035-c.patch": "0037-c.patch",
        "0037-d.patch": "0038-d.patch",
    }


@pytest.mark.parametrize(
    "subject",
    [
        "ggml: fix x",
        "[kv] a... b",
        "--- a_b.c ---",
        "x" * 80,
        "é only ü",
        "word " * 20 + "end",
        "a/b\\c:d",
        "v1.2.",
        "..x",
    ],
)
def test_names_are_those_of_git_format_patch(sandbox: Sandbox, subject: str) -> None:
    from cli.test_import import git

    folder = sandbox.root
    git(folder, "init", "-q", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "base")
    sandbox.write("f", "x\n")
    git(folder, "add", "f")
    git(folder, "commit", "-q", "--cleanup=verbatim", "-m", subject)
    want = git(folder, "format-patch", "-1").decode().strip()
    if slug(subject):
        assert named("", subject, Folders([], 0)) == want
