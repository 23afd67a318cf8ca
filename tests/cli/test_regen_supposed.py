"""``regen`` with the patch alone: hunks are placed by the lines that are there, and what is said of that is true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import Files, numbered, set_base, text, write_project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Git


def regen(cli: Cli, git: Git, root: Path, states: list[Files], now: Files) -> list[Any]:
    """What is said of the patches from each state to the next, without index lines, and on a tree with the files ``now``."""
    write_project(root, git, states)
    for patch in (root / "patches").glob("*.patch"):
        kept = [x for x in patch.read_bytes().splitlines(True) if not x.startswith(b"index ")]
        patch.write_bytes(b"".join(kept))
    set_base(root, now)
    found = cli("-C", root, "regen", "--accept-adapted", "--json").json["patches"]
    assert isinstance(found, list)
    return found


def after(cli: Cli, root: Path) -> str:
    assert cli("-C", root, "apply").code == 0
    return (root / "tree/a").read_bytes().decode()


@pytest.mark.parametrize("ours", ["inside", "at the end"])
def test_the_file_goes_on_where_its_last_line_had_no_end(ours: str, cli: Cli, git: Git, tmp_path: Path) -> None:
    old, now = numbered(1, 30), numbered(1, 30, n28="twenty eight") + "more\n"
    new = numbered(1, 28) + "ours\n" + numbered(29, 30) if ours == "inside" else old + "ours\n"
    states: list[Files] = [{"a": text(old[:-1])}, {"a": text(new[:-1])}]
    (row,) = regen(cli, git, tmp_path, states, {"a": text(now)})
    assert row["status"] == "adapted"
    thirty = numbered(30, 30)
    assert after(cli, tmp_path) == (
        now.replace(numbered(29, 29), "ours\n" + numbered(29, 29))
        if ours == "inside"
        else now.replace(thirty, thirty + "ours\n")
    )


def test_two_places_with_half_of_its_lines_are_no_place(cli: Cli, git: Git, tmp_path: Path) -> None:
    """A copy beside the lines that somebody edited has more of them."""
    part = [f"part {n} of it\n" for n in range(1, 8)]
    ours = [*part[:3], "ours\n", *part[4:]]
    edited, copy = [*part[:5], "edited\n", "edited, too\n"], ["a copy\n", *part[1:]]
    around = numbered(1, 20)
    states: list[Files] = [{"a": text(around + "".join(x) + around)} for x in (part, ours)]
    now = around + "".join(copy) + around + "".join(edited) + around
    (row,) = regen(cli, git, tmp_path, states, {"a": text(now)})
    assert (row["status"], row["reason"]) == (
        "conflict",
        "a, hunk 1: its lines stand in 2 places, as far as they are there",
    )


def test_lines_with_other_ends_are_there(cli: Cli, git: Git, tmp_path: Path) -> None:
    states: list[Files] = [{"a": text(numbered(1, 60))}, {"a": text(numbered(1, 60, n30="ours"))}]
    now = numbered(1, 60, n32="theirs")
    (row,) = regen(cli, git, tmp_path, states, {"a": text(now.replace("\n", "\r\n"))})
    assert row["status"] == "adapted"
    said = [h["how"] for h in row["hunks"]]
    assert "1 of the 7 lines that it expects is not there; put where the others are, at line 27" in said
    assert (tmp_path / "patches/0001-step.patch").read_bytes().count(b"+ours\r\n") == 1


def test_each_hunk_has_a_line_of_its_own(cli: Cli, git: Git, tmp_path: Path) -> None:
    new = numbered(1, 90, n10="ours", n40="ours", n70="ours")
    now = numbered(1, 90, n12="theirs", n42="theirs", n72="theirs")
    states: list[Files] = [{"a": text(numbered(1, 90))}, {"a": text(new)}]
    (row,) = regen(cli, git, tmp_path, states, {"a": text(now)})
    assert row["reason"] == "3 of its changes want a look; placed by the lines of its hunks that are there"
    assert sum("that it expects is not there" in h["how"] for h in row["hunks"]) == 3


def test_beside_lines_of_a_patch_without_a_place_it_waits(cli: Cli, git: Git, tmp_path: Path) -> None:
    first, second = {"n30": "ours"}, {"n30": "ours", "n31": "ours, too"}
    states: list[Files] = [{"a": text(numbered(1, 60, **x))} for x in ({}, first, second)]
    rows = regen(cli, git, tmp_path, states, {"a": text(numbered(1, 60, n30="theirs"))})
    assert [r["status"] for r in rows] == ["conflict", "blocked"]
    assert rows[1]["reason"] == f"stands on {rows[0]['name']}: it expects lines that this adds"
