"""``undo`` and ``redo``: every command that writes patches, back to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.documents import HEAD, MOVED, OTHER_MOVED, Project, diff
from cli.stacks import FIVE, NAMES, files_of
from cli.test_bump import CODE, Carry, carry

if TYPE_CHECKING:
    from e2e.forked import Forked

TWO = HEAD + diff("f.c", CODE.splitlines(True), CODE.replace("x * 2", "x * 22").splitlines(True))
__all__ = ["carry"]  # the fixture
WRITES = [
    ["move", "1", "--last"],
    ["drop", "2"],
    ["disable", "3"],
    ["rename", "1", "other"],
    ["renumber", "--start", "7"],
    ["import", "more.patch"],
    ["lock"],
]


@pytest.mark.parametrize("command", WRITES, ids=lambda c: c[0])
def test_each_is_undone_and_redone(small: Project, forked: Forked, command: list[str]) -> None:
    root = small(FIVE)
    if command != ["lock"]:
        forked("lock")
    forked.write("more.patch", MOVED)
    before = files_of(root)
    assert forked(*command).code == 0
    after = files_of(root)
    assert after != before
    for _ in range(2):
        assert forked("undo").code == 0
        assert files_of(root) == before
        assert forked("redo").code == 0
        assert files_of(root) == after


def test_regen_and_new_are_undone(small: Project, forked: Forked) -> None:
    root = small({"0001-ten.patch": MOVED})
    states = [files_of(root)]
    assert forked("regen").code == 0
    states.append(files_of(root))
    assert forked("apply").code == 0
    (root / "tree/g.txt").write_text("other\n")
    assert forked("new", "other").code == 0
    states.append(files_of(root))
    for state in states[-2::-1]:
        assert forked("undo").code == 0
        assert files_of(root) == state


def test_bump_is_undone_with_the_configuration(carry: Carry) -> None:
    project = carry({"f.c": CODE}, {"f.c": f"// new\n{CODE}"}, {"0001-two.patch": TWO})
    before = project.files()
    assert project("bump", "new").code == 0
    assert project.files() != before
    assert project("undo").code == 0
    assert project.files() == before


def test_steps_are_undone_one_by_one(small: Project, forked: Forked) -> None:
    root = small({**FIVE, "0006-ten.patch": ""})
    forked.write("patches/series", "".join(f"{n}\n" for n in NAMES))
    states = [files_of(root)]
    for command in (["drop", "5"], ["move", "1", "--last"], ["disable", "4"]):
        assert forked(*command).code == 0
        states.append(files_of(root))
    listed = forked("undo", "--list", "--json").json["steps"]
    assert [s["command"] for s in listed] == ["disable", "move", "drop"]
    for state in states[-2::-1]:
        assert forked("undo").code == 0
        assert files_of(root) == state
    assert forked("undo").code == 1
    assert forked("redo").code == 0
    assert files_of(root) == states[1]
    assert forked("rename", "2", "x").code == 0  # another way on: what was undone is gone
    assert forked("redo").code == 1
    assert [s["command"] for s in forked("undo", "--list", "--json").json["steps"]] == ["rename", "drop"]


def test_what_was_changed_since_is_not_lost(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    before = files_of(root)
    assert forked("move", "1", "--last").code == 0
    (root / "patches" / "series").write_text("# mine\n")
    refused = forked("undo")
    assert refused.code == 1
    assert "patches/series changed since 'move'" in refused.err
    assert (root / "patches" / "series").read_text() == "# mine\n"
    done = forked("undo", "--force", "--json").json
    assert files_of(root) == before
    assert [Path(p).read_text() for p in done["saved"]] == ["# mine\n"]


def test_files_of_one_name_in_two_folders_are_put_aside_both(small: Project, forked: Forked) -> None:
    root = small({"one/0001-ten.patch": MOVED, "two/0001-ten.patch": OTHER_MOVED})
    assert forked("drop", "one/0001-ten.patch", "two/0001-ten.patch").code == 0
    for folder in ("one", "two"):
        forked.write(f"patches/{folder}/0001-ten.patch", f"mine in {folder}\n")
    done = forked("undo", "--force", "--json").json
    assert sorted(Path(p).read_text() for p in done["saved"]) == ["mine in one\n", "mine in two\n"]
    assert (root / "patches/one/0001-ten.patch").read_text() == MOVED


def test_a_store_elsewhere_is_one_transaction_too(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    before = files_of(root)
    store = str(root.parent / "store")
    assert forked("drop", "5", OPENCOTI_STORE=store).code == 0
    assert forked("undo", OPENCOTI_STORE=store).code == 0
    assert files_of(root) == before


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        (["edit", "2", "W"], ["refresh", "2", "W"]),
        (["apply"], ["absorb"]),
        (["edit", "2", "W"], ["regen", "2", "--from", "W"]),
        (["edit", "5", "W"], ["new", "more", "--from", "W"]),
    ],
    ids=["refresh", "absorb", "regen", "new"],
)
def test_what_went_into_a_patch_is_an_edit_again(
    small: Project, forked: Forked, folder: list[str], command: list[str]
) -> None:
    """The only copy of hand work may be what the folder holds: no next command may write over it."""
    root = small(FIVE)
    assert forked(*folder).code == 0
    file = root / ("W" if "W" in folder else "tree") / "f.txt"
    text = file.read_text().replace("two\n", "number two\n")
    file.write_text(text)
    adapt = ["--accept-adapted"] if command[0] == "regen" else []
    assert forked(*command, *adapt).code == 0
    after = files_of(root)
    done = forked("undo", "--json", cwd=None)
    assert done.json["folders"] == [str(file.parent)]
    refused = forked("edit", "3", "W") if "W" in folder else forked("apply", "--to", "3")
    assert refused.code == 1
    assert "local" in refused.err + refused.out
    assert file.read_text() == text
    assert forked(*command, *adapt).code == 0  # they are still there to be taken in
    assert files_of(root) == after
    assert forked("undo").code == 0
    assert forked("redo", "--json", cwd=None).json["folders"] == [str(file.parent)]
    assert forked(*folder).code == 0  # nothing of it is an edit now


def test_what_was_put_back_by_hand_is_undone_too(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    before = files_of(root)
    assert forked("drop", "5").code == 0
    for name, raw in before.items():
        (root / "patches" / name).write_bytes(raw)
    assert forked("undo").code == 0
    assert files_of(root) == before


def test_the_number_of_a_disabled_patch_is_its_own_still(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("disable", "5").code == 0
    assert forked("apply").code == 0
    (root / "tree/f.txt").write_text((root / "tree/f.txt").read_text() + "at the end\n")
    assert forked("new", "more", "--json", cwd=None).json["name"] == "0006-more.patch"
    assert forked("enable", "5").code == 0


def test_a_folder_of_which_nothing_was_written_has_no_part_in_the_step_before(small: Project, forked: Forked) -> None:
    root = small(FIVE)
    assert forked("disable", "5").code == 0
    assert forked("bootstrap", "--to", "1", "--merge", "WORK").code == 0
    assert "1 kept. Nothing to write." in forked("regen", "1", "--from", "WORK").out
    (root / "WORK/f.txt").write_text("edited\n")
    undone = forked("undo").out
    assert undone.startswith("undone: disable of ") and "WORK" not in undone
    assert forked("bootstrap", "--to", "2", "WORK").code == 1  # the edit is seen
