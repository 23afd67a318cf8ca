"""``edit``, ``refresh``, ``absorb``: edits in a folder become part of the patches they belong to."""

from __future__ import annotations

import os
import shlex
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.documents import FAILED, HEAD, LINES, OTHER_MOVED, Project, diff, swap
from cli.stacks import FIVE, NAMES, STACK, files_of, series_of, text_at, tip

if TYPE_CHECKING:
    from e2e.forked import Forked


def edit(path: Path, old: str, new: str) -> None:
    """Change one text of a file, which holds it once."""
    text = path.read_text()
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new))


def test_refresh_folds_everything_in_and_keeps_the_header_and_later_content(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    forked("lock")
    assert forked("edit", "2", "WORK").code == 0
    work = root / "WORK"
    edit(work / "f.txt", "ten\n", "ten\nand a half\n")
    (work / "new.sh").write_text("echo\n")
    os.chmod(work / "twice.c", 0o755)
    (work / "g.txt").unlink()
    wanted = text_at(forked, "5")
    done = forked("refresh", "2", "WORK")
    assert done.code == 0, done.out
    assert "new files taken in: new.sh" in done.out
    raw = files_of(root)[NAMES[1]].decode()
    assert raw.startswith("Say what\n\nAnd why.\n\ndiff --git")
    for part in ("+and a half\n", "new file mode 100644", "new mode 100755", "deleted file mode"):
        assert part in raw
    tip(forked)
    assert text_at(forked, "5") == [*wanted[:10], "and a half\n", *wanted[10:]]
    assert forked("check", "--locked").code == 0
    # the folder is at the patch now: nothing is left to fold in
    again = forked("refresh", "WORK")
    assert again.code == 1
    assert "nothing was edited" in again.err
    edit(work / "f.txt", "and a half", "and three quarters")
    assert forked("refresh", "WORK").code == 0
    assert text_at(forked, "2")[10] == "and three quarters\n"


def test_refresh_that_a_later_patch_does_not_stand(small: Project, forked: Forked) -> None:
    root = small(STACK)
    before = files_of(root)
    assert forked("edit", "2", "WORK").code == 0
    edit(root / "WORK/f.txt", "ten\n", "number ten\n")
    refused = forked("refresh", "2", "WORK")
    assert refused.code == 1
    assert files_of(root) == before
    commands = [line.split(": ", 1)[1] for line in refused.out.splitlines() if line.startswith(("next: ", "then: "))]
    assert [c.split()[1] for c in commands] == ["refresh", "bootstrap", "regen"]
    first, second, third = (c.split("  #")[0].split()[1:] for c in commands)
    wrote = forked(*first)
    assert (wrote.code, wrote.out.count("next: ")) == (1, 1)
    assert [p["status"] for p in forked("check", "--json").json["patches"]] == ["clean"] * 5 + ["failed"]
    forked(*second)
    lines = (root / "WORK/f.txt").read_text()
    start, end = lines.index("<<<<<<<"), lines.index(">>>>>>>")
    (root / "WORK/f.txt").write_text(lines[:start] + "ten once more\n" + lines[lines.index("\n", end) + 1 :])
    assert forked(*third).code == 0
    tip(forked)


def test_refresh_of_an_earlier_patch_from_the_tip(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("apply").code == 0
    edit(root / "tree/f.txt", "two\n", "the second\n")
    wanted = (root / "tree/f.txt").read_text().splitlines(keepends=True)
    assert forked("refresh", "1").code == 0
    assert "+the second\n" in files_of(root)[NAMES[0]].decode()
    assert text_at(forked, "5") == wanted
    assert forked("apply").code == 0  # the folder is the tip, and knows it
    before = files_of(root)
    edit(root / "tree/f.txt", "near the end\n", "not here\n")
    refused = forked("refresh", "1")
    assert refused.code == 1
    assert "no place in 0001-two.patch" in refused.out
    assert files_of(root) == before


def test_refresh_of_a_folder_of_an_earlier_patch(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("edit", "2", "WORK").code == 0
    edit(root / "WORK/f.txt", "ten\n", "number ten\n")
    refused = forked("refresh", "4", "WORK", "--json")
    assert refused.json["error"]["code"] == "wrong-bootstrap"


def test_absorb_of_three_edits_into_three_patches(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    forked("lock")
    assert forked("apply").code == 0
    tree = root / "tree/f.txt"
    edit(tree, "two\n", "number two\n")
    edit(tree, "a line more\n", "a line more\nand another\n")
    edit(tree, "near the end\n", "near the very end\n")
    edit(tree, "the line number 15\n", "fifteen\n")  # the base's own
    edit(tree, "ten\neleven\n", "ten, eleven\n")  # two owners
    (root / "tree/new.txt").write_text("new\n")
    wanted = tree.read_text().replace("fifteen", "the line number 15").replace("ten, eleven", "ten\neleven")
    before = files_of(root)
    done = forked("absorb", "--dry-run", "--json")
    assert done.code == 0
    assert files_of(root) == before
    assert [(e["line"], e["into"]) for e in done.json["edits"]] == [
        (0, None),
        (2, NAMES[0]),
        (10, None),
        (15, None),
        (21, NAMES[3]),
        (28, NAMES[4]),
    ]
    assert forked("absorb").code == 0
    assert "".join(text_at(forked, "5")) == wanted
    assert forked("check", "--locked", "--no-offset").code == 0
    changed = [n for n, raw in files_of(root).items() if raw != before[n]]
    assert {NAMES[0], NAMES[3], NAMES[4]} <= set(changed)
    assert "+number two\n" in files_of(root)[NAMES[0]].decode()
    # what was left is an edit of the folder still
    left = forked("absorb")
    assert left.code == 1
    assert left.out.count("left: ") == 3
    assert "0002-ten.patch and 0003-eleven.patch own its lines" in left.out
    assert forked("undo").code == 0
    assert files_of(root) == before


def test_absorb_of_an_edit_that_has_no_place_keeps_none_of_the_others(small: Project, forked: Forked) -> None:
    both = swap(swap(LINES, 10, "ten\n"), 25, "twenty-five\n")
    patches = [HEAD + diff("f.txt", LINES, both), HEAD + diff("f.txt", both, [*both[:10], *both[11:]])]
    root = small(dict(zip(["0001-both.patch", "0002-gone.patch"], patches, strict=True)))
    assert forked("apply").code == 0
    tree = root / "tree/f.txt"
    edit(tree, "ten\nthe line number 12\n", "ten and twelve\n")  # where 0001 is, a line stands between the two
    edit(tree, "twenty-five\n", "25\n")
    done = forked("absorb", "--json")
    assert done.code == 0, done.out
    first, second = done.json["edits"]
    assert (first["into"], second["into"]) == (None, "0001-both.patch")
    assert first["why"].startswith("has no place in 0001-both.patch: ")
    tip(forked)
    assert text_at(forked, "2") == [*both[:10], *both[11:24], "25\n", *both[25:]]


def test_absorb_wants_the_tip(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("apply", "--to", "2").code == 0
    edit(root / "tree/f.txt", "two\n", "number two\n")
    assert forked("absorb", "--json").json["error"]["code"] == "wrong-bootstrap"


def test_edit_does_not_lose_edits(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("edit", "2").code == 0
    edit(root / "tree/f.txt", "two\n", "number two\n")
    refused = forked("edit", "3")
    assert refused.code == 1
    assert "has local edits" in refused.err
    assert forked("edit", "3", "--force").code == 0


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize(
    ("at", "numbers", "options"),
    [("2", "1 2 3 4 5", "--after --renumber"), ("2", "1 2 4 5 6", "--after"), ("5", "1 2 3 4 5", "")],
)
def test_what_keeps_edits_is_a_whole_command(
    small: Project, forked: Forked, at: str, numbers: str, options: str, way: int
) -> None:
    root = small({f"000{n}{name[4:]}": text for n, (name, text) in zip(numbers.split(), FIVE.items(), strict=True)})
    assert forked("edit", at, "WORK in it").code == 0
    edit(root / "WORK in it/g.txt", "line 5\n", "line five\n")
    refused = forked("edit", "1", "WORK in it", "--json").json["error"]
    first, *ways = refused["hint"].splitlines()
    assert first == "keep them with one of these, or use --force, which puts them into the store first:"
    shown = forked("edit", "1", "WORK in it").screen.splitlines()
    assert shown[-len(ways) :] == [f"    {way}" for way in ways]
    assert " ".join(w for w in ways[1].split() if w in ("--after", "--renumber")) == options
    before = series_of(root)
    done = forked(*shlex.split(ways[way])[1:])
    assert done.code == 0, done.err
    assert (series_of(root) != before) == bool(way)
    assert forked("edit", "1", "WORK in it").code == 0
    assert "line five" in "".join(text_at(forked, series_of(root)[-1], "g.txt"))


def test_what_keeps_edits_of_the_bare_base_is_a_whole_command(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("bootstrap", "WORK").code == 0
    edit(root / "WORK/g.txt", "line 5\n", "line five\n")
    hint = forked("edit", "1", "WORK", "--json").json["error"]["hint"]
    _, way = hint.splitlines()
    assert way.endswith("--first --renumber")
    assert forked(*shlex.split(way)[1:]).code == 0
    assert "line five" in "".join(text_at(forked, series_of(root)[0], "g.txt"))


@pytest.mark.parametrize("command", ["rename", "renumber"])
def test_a_folder_is_after_its_patch_whatever_that_is_called(small: Project, forked: Forked, command: str) -> None:
    root = small(FIVE)
    assert forked("apply").code == 0
    assert forked(*(["rename", "5", "end"] if command == "rename" else ["renumber", "--start", "11"])).code == 0
    name = series_of(root)[-1]
    assert f"tree: after {name}\n" in forked("status").out
    edit(root / "tree/g.txt", "line 5\n", "line five\n")
    assert forked("refresh").code == 0
    assert "line five" in (root / "patches" / name).read_text()
    assert f"tree: after {name}\n" in forked("status").out


def test_a_folder_whose_patch_is_gone_says_so(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("apply").code == 0
    edit(root / "tree/g.txt", "line 5\n", "line five\n")
    last = series_of(root)[-1]
    assert forked("drop", "5").code == 0
    asked = forked("refresh", "--json")
    assert (asked.code, asked.json["error"]["code"]) == (2, "unknown-patch")
    assert f"the folder is the tree after {last}, and there is no such patch any more" in asked.json["error"]["message"]


def test_what_keeps_a_merge_is_the_command_for_that_patch(small: Project, forked: Forked) -> None:
    root = small({"0001-clean.patch": HEAD + OTHER_MOVED, "0002-root.patch": HEAD + FAILED})
    lay = ["bootstrap", "--to", "2", "--merge", "WORK"]
    assert forked(*lay).code == 1
    (root / "WORK/f.txt").write_text("resolved\n")
    hint = forked(*lay, "--json").json["error"]["hint"]
    assert hint.splitlines()[1:] == [f"opencoti-patches regen 0002-root.patch --from {root}/WORK"]


def test_edits_that_belong_nowhere_are_put_aside(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("edit", "5").code == 0
    edit(root / "tree/g.txt", "line 5\n", "line five\n")
    assert forked("drop", "5").code == 0
    assert forked("apply", "--json").json["error"]["hint"].startswith("use --force, which puts")


@pytest.mark.parametrize("args", [["edit", "3"], ["bootstrap", "--to", "3"]])
def test_new_files_are_no_other_patchs(small: Project, forked: Forked, args: list[str]) -> None:
    root = small(FIVE)
    assert forked("edit", "2", "WORK").code == 0
    more, edited = root / "WORK/more/new.txt", root / "WORK/g.txt"
    more.parent.mkdir()
    more.write_text("mine\n")
    refused = forked(*args, "WORK", "--json").json["error"]
    assert refused["code"] == "local-edits"
    assert refused["message"].endswith("/WORK has local edits: new files: more/new.txt")
    assert f"opencoti-patches refresh {NAMES[1]} {root}/WORK\n" in refused["hint"]
    edited.write_text("mine, too\n")
    assert forked(*args, "WORK").err.count("has local edits: g.txt; new files: more/new.txt") == 1
    done = forked(*args, "WORK", "--force", "--json").json
    assert not more.parent.exists()
    kept = [Path(p) for p in done["saved"]]
    assert "+mine, too" in next(p.read_text() for p in kept if p.is_file())
    assert [(p / "more/new.txt").read_text() for p in kept if p.is_dir()] == ["mine\n"]
    assert "nothing was edited" in forked("refresh", "3", "WORK").err
    more.parent.mkdir()
    more.write_text("mine\n")
    again = forked(*args, "WORK", "--force", "--json").json  # nothing but a new file is in the way
    assert [(Path(p) / "more/new.txt").read_text() for p in again["saved"]] == ["mine\n"]
    assert "nothing was edited" in forked("refresh", "3", "WORK").err


def test_what_a_gitignore_of_the_tree_ignores_stays(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    forked.write("base/.gitignore", "*.o\n")
    assert forked("edit", "2", "WORK").code == 0
    (root / "WORK/f.o").write_text("object\n")
    assert forked("edit", "3", "WORK").code == 0
    assert (root / "WORK/f.o").read_text() == "object\n"


def test_what_a_carry_says_names_who_changed_the_lines(small: Project, forked: Forked) -> None:
    root = small(STACK)
    assert forked("edit", "3", "WORK").code == 0
    edit(root / "WORK/f.txt", "line number 19\n", "line number 19\ninserted\n")
    refused = forked("refresh", "3", "WORK")
    said = " ".join(refused.out.split())
    assert "0004-longer.patch: adapted: f.txt, hunk 1: the new 0003-eleven.patch" in said
    assert "It does what it did: look where" in said
    edit(root / "WORK/f.txt", "ten\n", "ten, edited\n")
    said = " ".join(forked("refresh", "3", "WORK").out.split())
    assert "has no place on 0003-eleven.patch as it would be: f.txt, hunk 1: the new 0003-eleven.patch" in said
    for args in (["refresh", "3", "WORK"], ["drop", "2"], ["move", "6", "--first"]):
        assert "other tree" not in forked(*args).out
    assert "leaving out 0002-ten.patch changed the lines it removes" in " ".join(forked("drop", "2").out.split())


BLOCK = ["\n", "void one(void)\n", "{\n", "\tcall();\n", "}\n", "\n", "\n"]


def test_what_stands_behind_a_conflict_is_not_led_astray(small: Project, forked: Forked) -> None:
    """The second patch puts a copy of a block right before it. Numbers of the tree without it are those of the copy once
    it is back: git would take that for the third, unsaid."""
    base = [*LINES[:12], *BLOCK, *LINES[12:]]
    two = swap(base, 2, "two\n")
    copied = swap([*two[:12], *BLOCK, *two[12:]], 3, "three\n")
    right = swap(copied, 12 + len(BLOCK) + 4, "\tcall_it();\n")  # in the block itself
    states = pairwise([base, two, copied, right])
    root = small({name: HEAD + diff("f.txt", a, b) for name, (a, b) in zip(NAMES, states, strict=False)})
    (root / "base/f.txt").write_text("".join(base))
    before = files_of(root)
    assert forked("check", "--no-offset").code == 0
    assert forked("edit", "1", "WORK").code == 0
    edit(root / "WORK/f.txt", LINES[2], "another three\n")
    done = forked("refresh", "1", "WORK", "--leave-conflicts")
    assert done.code == 1
    assert f"{NAMES[2]}: blocked: waits for {NAMES[1]}, which changes the same file" in " ".join(done.out.split())
    assert files_of(root)[NAMES[2]] == before[NAMES[2]]
    assert forked("bootstrap", "--to", "2", "--merge", "MEND").code == 1
    lines = (root / "MEND/f.txt").read_text()
    start, end = lines.index("<<<<<<<"), lines.index(">>>>>>>")
    (root / "MEND/f.txt").write_text(lines[:start] + "three\n" + lines[lines.index("\n", end) + 1 :])
    assert forked("regen", "2", "--from", "MEND").code == 0
    tip(forked)
    assert text_at(forked, "3") == right


def test_line_numbers_wait_for_what_is_in_conflict(small: Project, forked: Forked) -> None:
    """As with regen: they would change again. What shares no file with it is as it will be."""
    two = swap(LINES, 2, "two\n")
    three = swap(two, 3, "three\n")
    patches = (HEAD + diff("f.txt", a, b) for a, b in pairwise([LINES, two, three, swap(three, 20, "twenty\n")]))
    root = small(dict(zip(NAMES, patches, strict=False)) | {NAMES[3]: HEAD + OTHER_MOVED})
    assert forked("regen").code == 0
    before = files_of(root)
    assert forked("edit", "1", "WORK").code == 0
    edit(root / "WORK/f.txt", LINES[2], "another three\nand one more\n")
    edit(root / "WORK/g.txt", "another file's line 1\n", "another file's line 1\nand one more\n")
    done = forked("refresh", "1", "WORK", "--leave-conflicts")
    said = " ".join(done.out.split())
    assert f"{NAMES[2]}: kept: moved; its line numbers wait for {NAMES[1]}" in said
    assert f"{NAMES[3]}: renumbered" in said
    after = files_of(root)
    assert [name for name in NAMES[:4] if after[name] == before[name]] == NAMES[1:3]
