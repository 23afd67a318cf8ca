"""``split`` and ``squash``: parted and joined, the tree the same."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from cli.documents import HEAD, LINES, OTHER, Ask, Project, diff, swap
from cli.stacks import FIVE, NAMES, STACK, files_of, series_of, tip

if TYPE_CHECKING:
    from e2e.forked import Forked

WIDE = [*LINES[:2], "three more\n", "and more\n", *swap(LINES, 15, "fifteen\n")[2:27], "", *LINES[28:]]
BOTH = HEAD + diff("f.txt", LINES, [x for x in WIDE if x]) + diff("g.txt", OTHER, swap(OTHER, 4, "four\n"))
AFTER = HEAD + diff("g.txt", swap(OTHER, 4, "four\n"), swap(swap(OTHER, 4, "four\n"), 5, "five\n"))


@pytest.mark.parametrize(
    ("what", "taken"),
    [
        (["--hunks", "f.txt:1"], ["three more"]),
        (["--hunks", "f.txt:2-3"], ["fifteen"]),
        (["--hunks", "f.txt:1,3", "--files", "g.*"], ["three more", "four"]),
        (["--files", "f.txt"], ["three more", "fifteen"]),
    ],
)
def test_split_and_squash_is_the_same_patch(small: Project, forked: Forked, what: list[str], taken: list[str]) -> None:
    root = small({"0001-both.patch": BOTH, "0002-after.patch": AFTER})
    forked("lock")
    tree, before = tip(forked), files_of(root)
    done = forked("split", "1", *what, "--name", "taken", "-m", "Take it out\n\nWhy.", "--renumber")
    assert done.code == 0, (done.out, done.err)
    assert series_of(root) == ["0001-both.patch", "0002-taken.patch", "0003-after.patch"]
    assert tip(forked) == tree
    added = [
        x for x in files_of(root)["0002-taken.patch"].decode().splitlines() if x.startswith("+") and x[:3] != "+++"
    ]
    assert [x for x in ("three more", "fifteen", "four") if f"+{x}" in added] == taken
    rest = files_of(root)["0001-both.patch"].decode()
    assert not any(f"+{x}\n" in rest for x in taken)
    assert forked("squash", "1", "taken").code == 0
    assert tip(forked) == tree
    joined = re.sub("index .*\n", "", files_of(root)["0001-both.patch"].decode())
    assert sorted(joined.split("diff --git")[1:]) == sorted(BOTH.split("diff --git")[1:])
    assert joined.startswith("Say what\n\nAnd why.\n\nTake it out\n\nWhy.\n\ndiff")
    assert forked("undo").code == 0
    assert forked("undo").code == 0
    assert files_of(root) == before


@pytest.mark.parametrize(
    "what",
    [
        [],
        ["--files", "*"],
        ["--files", "x.c"],
        ["--hunks", "f.txt"],
        ["--hunks", "f.txt:9"],
        ["--hunks", "f.txt:2-1"],
        ["--hunks", "f.txt:1,3-2"],
        ["--hunks", "f.txt:1-3", "--files", "g.txt"],
    ],
)
def test_a_selection_of_nothing_or_all(small: Project, forked: Forked, what: list[str]) -> None:
    root = small({"0001-both.patch": BOTH})
    before = files_of(root)
    done = forked("split", "1", *what, "--json")
    assert done.code == 2
    assert done.json["error"]["code"] == "bad-selection"
    assert files_of(root) == before


def test_a_number_that_is_not_free(small: Project, forked: Forked) -> None:
    small({"0001-both.patch": BOTH, "0002-after.patch": AFTER})
    assert forked("split", "1", "--files", "g.txt", "--json").json["error"]["code"] == "no-number"


def test_split_of_a_patch_that_makes_and_moves_files(small: Project, forked: Forked) -> None:
    made = "diff --git a/n.c b/n.c\nnew file mode 100755\n--- /dev/null\n+++ b/n.c\n@@ -0,0 +1 @@\n+int n;\n"
    moved = "diff --git a/twice.c b/once.c\nsimilarity index 100%\nrename from twice.c\nrename to once.c\n"
    root = small({"0001-all.patch": HEAD + made + moved + diff("f.txt", LINES, swap(LINES, 9, "nine\n"))})
    tree = tip(forked)
    assert forked("split", "1", "--files", "n.c", "--files", "once.c").code == 0
    assert series_of(root) == ["0001-all.patch", "0002-all-part.patch"]
    assert tip(forked) == tree
    assert files_of(root)["0002-all-part.patch"].decode().endswith(made + moved)


def test_split_of_a_patch_that_lands_elsewhere(small: Project, forked: Forked) -> None:
    root = small({"0001-both.patch": BOTH})
    forked.write("base/f.txt", "".join(LINES[:8] + ["one more line\n"] * 3 + LINES[8:]))
    assert forked("check", "--json").json["patches"][0]["status"] == "offset"
    assert forked("split", "1", "--hunks", "f.txt:2").code == 0
    assert len(series_of(root)) == 2
    tip(forked)


def test_squash_of_patches_that_stand_apart(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    tree = tip(forked)
    done = forked("squash", "5", "1", "3")
    assert done.code == 0, done.out
    assert series_of(root) == [NAMES[0], NAMES[1], NAMES[3]]
    assert tip(forked) == tree
    assert not (root / "patches" / NAMES[4]).exists()


def test_squash_of_what_does_not_commute(small: Project, forked: Forked) -> None:
    root = small(STACK)
    before = files_of(root)
    refused = forked("squash", "1", "6")
    assert refused.code == 1
    assert "which 0002-ten.patch adds" in refused.out
    assert files_of(root) == before
    assert forked("squash", "2", "6").code == 0


def test_squash_of_what_undoes_itself(small: Project, forked: Forked) -> None:
    there, back = diff("f.txt", LINES, swap(LINES, 3, "x\n")), diff("f.txt", swap(LINES, 3, "x\n"), LINES)
    small({"0001-there.patch": HEAD + there, "0002-back.patch": HEAD + back})
    assert forked("squash", "1", "2", "--json").json["error"]["code"] == "no-change"


@pytest.mark.parametrize("command", ["split", "new", "import"])
def test_room_is_made_in_a_series_out_of_order(small: Project, forked: Forked, command: str) -> None:
    made = HEAD + "diff --git a/n.txt b/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+n\n"
    others = {f"000{n}-{x}.patch": made.replace("n.txt", f"{x}.txt") for n, x in ((4, "x"), (2, "y"), (3, "off"))}
    root = small({"0001-both.patch": BOTH, **others})
    assert forked("disable", "off").code == 0
    tree = tip(forked)
    assert forked("bootstrap", "--to", "1", "WORK").code == 0
    forked.write("WORK/part.txt", "part\n")
    forked.write("part.patch", made.replace("n.txt", "part.txt"))
    args = {
        "split": ["1", "--files", "g.txt", "--name", "part"],
        "new": ["part", "--from", "WORK", "--after", "1"],
        "import": ["part.patch", "--after", "1"],
    }[command]
    refused = forked(command, *args, "--json").json["error"]
    assert (refused["code"], refused["hint"].split()[0]) == ("no-number", "--renumber")
    done = forked(command, *args, "--renumber")
    assert done.code == 0, (done.out, done.err)
    new = "0002-Say-what.patch" if command == "import" else "0002-part.patch"
    assert series_of(root) == ["0001-both.patch", new, "0004-x.patch", "0005-y.patch", "# disabled: 0003-off.patch"]
    assert (tip(forked) == tree) == (command == "split")


def test_a_folder_of_the_series_has_numbers_of_its_own(small: Project, forked: Forked) -> None:
    root = small({"a/0001-both.patch": BOTH, "b/0002-after.patch": AFTER})
    assert forked("split", "both", "--files", "f.txt", "--name", "part").code == 0
    assert series_of(root) == ["a/0001-both.patch", "a/0002-part.patch", "b/0002-after.patch"]


def mail(who: str, subject: str, body: str, stat: str = " f.txt | 2 +-\n") -> str:
    stat = f"{stat} 1 file changed, 1 insertion(+), 1 deletion(-)\n\n"
    return f"From: {who}\nSubject: [PATCH] {subject}\n\nWhy.\n---\n{stat}{body}"


def test_squash_keeps_who_made_what_and_the_diffstat_is_of_all(small: Project, forked: Forked) -> None:
    one, two, three = LINES, swap(LINES, 2, "two\n"), swap(swap(LINES, 2, "two\n"), 20, "twenty\n")
    patches = {
        "0001-two.patch": mail("A <a@example.com>", "Two", diff("f.txt", one, two)),
        "0002-twenty.patch": mail("B <b@example.com>", "Twenty", diff("f.txt", two, three)),
    }
    root = small(patches)
    assert forked("squash", "1", "2").code == 0
    header = files_of(root)["0001-two.patch"].decode().partition("diff --git")[0]
    assert header == (
        "From: A <a@example.com>\nSubject: [PATCH] Two\n\nWhy.\n\nTwenty\n\nWhy.\n\n"
        "Co-authored-by: B <b@example.com>\n---\n f.txt | 4 ++--\n"
        " 1 file changed, 2 insertions(+), 2 deletions(-)\n\n"
    )


def test_split_of_a_mail_keeps_who_made_it_and_the_diffstat_follows(small: Project, forked: Forked) -> None:
    who = "From: =?utf-8?q?A=2E_=C3=9C=2E?=\n <a@example.com>\nDate: Mon, 2 Feb 2026 10:00:00 +0100\n"
    rest = "Subject: [PATCH 1/2] Say\n both\nMIME-Version: 1.0\n\nWhy.\n---\nv2: a | b\n\n"
    stat = " f.txt | 4 ++--\n g.txt | 2 +-\n 2 files changed, 3 insertions(+), 3 deletions(-)\n\n"
    three = swap(swap(LINES, 3, "three\n"), 20, "twenty\n")
    body = diff("f.txt", LINES, three) + diff("g.txt", OTHER, swap(OTHER, 4, "four\n"))
    root = small({"0001-both.patch": f"From {'a' * 40} Mon Sep 17 00:00:00 2001\n{who}{rest}{stat}{body}-- \n2.39.5\n"})
    tree = tip(forked)
    for what, subject in (
        (["--hunks", "f.txt:2"], "hunk 2 of f.txt"),
        (["--files", "g.txt", "--name", "the-g"], "the g"),
    ):
        assert forked("split", "1", *what).code == 0
        made = next(raw for n, raw in files_of(root).items() if n.startswith("0002-")).decode()
        assert made.partition("diff --git")[0] == f"{who}Subject: Say both: {subject}\n\n"
        header = files_of(root)["0001-both.patch"].decode().partition("diff --git")[0]
        kept = (
            " f.txt | 4 ++--\n 1 file changed, 2"
            if "--name" in what
            else " f.txt | 2 +-\n g.txt | 2 +-\n 2 files changed, 2"
        )
        kept = f"{kept} insertions(+), {kept[-1]} deletions(-)\n\n"
        assert header == f"From {'a' * 40} Mon Sep 17 00:00:00 2001\n{who}{rest}{kept}"
        assert tip(forked) == tree
        assert forked("undo").code == 0


def test_a_diffstat_of_another_form_is_said_to_go(ask: Ask, small: Project, forked: Forked) -> None:
    patches = {
        "0001-gits.patch": mail("A <a@example.com>", "Two", diff("f.txt", LINES, swap(LINES, 2, "two\n"))),
        "0002-other.patch": mail(
            "A <a@example.com>", "Four", diff("g.txt", OTHER, swap(OTHER, 4, "4\n")), " g.txt |    2 +-\n"
        ),
    }
    root = small(patches)
    assert forked("apply").code == 0
    for name, old in (("f.txt", "two\n"), ("g.txt", "4\n")):
        file = root / "tree" / name
        file.write_text(file.read_text().replace(old, f"{old}more\n"))
    done = ask("absorb", "--json", code=0)
    assert done["notes"] == ["0002-other.patch: its diffstat was not as git writes it, and is taken out"]
    first, second = (files_of(root)[n].decode().partition("diff --git")[0] for n in patches)
    assert first == mail("A <a@example.com>", "Two", "", " f.txt | 3 ++-\n").replace("1 insertion(", "2 insertions(")
    assert second == mail("A <a@example.com>", "Four", "", "").partition(" 1 file")[0] + "\n"
    assert ask("move", "1", "--last", "--json", code=0)["notes"] == []


@pytest.mark.parametrize(
    ("wanted", "file", "subject"),
    [
        ("0007-x", "0007-x.patch", "x"),
        ("7-x.patch", "0007-x.patch", "x"),
        ("007_x", "0007_x.patch", "x"),
        ("12", "0012-both-part.patch", "both part"),
        ("3d-x", "0002-3d-x.patch", "3d x"),
        ("x", "0002-x.patch", "x"),
    ],
)
def test_a_number_in_a_name_is_the_patchs(
    small: Project, forked: Forked, ask: Ask, wanted: str, file: str, subject: str
) -> None:
    root = small({"0001-both.patch": BOTH})
    done = ask("split", "1", "--files", "g.txt", "--name", wanted, "--json", code=0)
    assert series_of(root) == ["0001-both.patch", file]
    assert done["next"] == [f"say why below the first line of patches/{file}, then opencoti-patches lint"]
    assert files_of(root)[file].startswith(f"Subject: Say what: {subject}\n\n".encode())
    assert forked("lint", "--json").json["findings"][0]["rule"] == "no-why"


@pytest.mark.parametrize("wanted", ["0001-x", "0003-x", "a b", f"{'9' * 400}-x", "../x"])
def test_a_name_that_a_new_patch_cannot_have(small: Project, forked: Forked, wanted: str) -> None:
    root = small({"0001-both.patch": BOTH, "0003-after.patch": AFTER})
    before = files_of(root)
    refused = forked("split", "1", "--files", "g.txt", "--name", wanted, "--json").json["error"]["code"]
    assert refused == ("no-number" if wanted.startswith("000") else "bad-name")
    assert files_of(root) == before


@pytest.mark.parametrize("wanted", ["../x", "../99999999999-x", "./.x", "x y", "\u00e9x", "99999999999"])
def test_the_hint_at_a_name_is_a_command(small: Project, forked: Forked, wanted: str) -> None:
    small({"0001-both.patch": BOTH, "0005-after.patch": AFTER})
    assert forked("edit", "1", "WORK in it").code == 0
    forked.write("WORK in it/part.txt", "part\n")
    for command in (
        ["rename", "1", wanted],
        ["new", wanted, "--from", "WORK in it", "--after", "1"],
        ["split", "1", "--files", "g.txt", "--name", wanted],
    ):
        error = forked(*command, "--json").json["error"]
        assert error["code"] == "bad-name"
        if wanted == "99999999999":  # nothing is left of it
            assert error["hint"] == "use letters, digits, '-', '_' and '.'"
            continue
        done = forked(*shlex.split(error["hint"])[1:])
        assert done.code == 0, (error, done.err)
        assert forked("undo").code == 0


@pytest.mark.parametrize("command", ["split", "new", "rename"])
def test_a_number_without_a_place_is_told_which_numbers_have_one(small: Project, forked: Forked, command: str) -> None:
    """``rename`` takes any that is free."""
    root = small({"0001-both.patch": BOTH, "0005-after.patch": AFTER})
    assert forked("edit", "1", "WORK").code == 0
    forked.write("WORK/part.txt", "part\n")

    def named(name: str) -> list[str]:
        return {
            "split": ["split", "1", "--files", "g.txt", "--name", name],
            "new": ["new", name, "--from", "WORK", "--after", "1"],
            "rename": ["rename", "1", name],
        }[command]

    first = "0001" if command == "rename" else "0002"  # its own is free for it
    assert f"{first} to 0004 fit" in forked(*named("5-x")).err
    if command != "rename":
        assert "0002 to 0004 fit" in forked(*named("0042-x")).err
        assert forked(*named("x")).code == 0
        assert series_of(root) == ["0001-both.patch", "0002-x.patch", "0005-after.patch"]


@pytest.mark.parametrize(
    ("wanted", "name"),
    [
        ("12-log.patch", "0012-log.patch"),
        ("0012_log", "0012_log.patch"),
        ("12", "0012-longer.patch"),
        ("log", "0004-log.patch"),
        ("3d", "0004-3d.patch"),
        ("10012-log", "10012-log.patch"),
    ],
)
def test_rename_writes_numbers_as_the_neighbours_do(small: Project, forked: Forked, wanted: str, name: str) -> None:
    root = small(FIVE)
    assert forked("rename", "4", wanted).code == 0
    assert series_of(root) == [*NAMES[:3], name, NAMES[4]]
