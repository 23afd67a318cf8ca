"""``regen`` without the old tree: index lines name contents that the store still has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from e2e.trees import Files, numbered, set_base, text, write_project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Git

OLD: Files = {"a": text(numbered(1, 60)), "b": text("b\n")}
OURS: Files = {"a": text(numbered(1, 60, n30="THIRTY")), "b": text("b\n")}
NEW: Files = {"a": text("first\n" + numbered(1, 60, n29="twenty nine", n33="thirty three")), "b": text("b\n")}
BOTH = "first\n" + numbered(1, 60, n29="twenty nine", n30="THIRTY", n33="thirty three")


@pytest.fixture
def moved_on(cli: Cli, git: Git, tmp_path: Path) -> Path:
    """A project whose store has the old base, and whose base has other lines around the change."""
    write_project(tmp_path, git, [OLD, OURS])
    assert cli("-C", tmp_path, "check").code == 0
    set_base(tmp_path, NEW)
    assert cli("-C", tmp_path, "check", "--json").json["patches"][0]["cause"] == "context-changed"
    return tmp_path


def test_a_change_is_brought_over_from_the_contents_it_was_made_on(cli: Cli, moved_on: Path) -> None:
    assert " regen 0001\n" in cli("-C", moved_on, "check").out
    ran = cli("-C", moved_on, "regen", "--json")
    (row,) = ran.json["patches"]
    assert (ran.code, row["status"]) == (0, "regenerated")
    assert "three-way with the contents that its index lines name" in row["reason"]
    assert cli("-C", moved_on, "check", "--no-offset").code == 0
    assert cli("-C", moved_on, "apply").code == 0
    assert (moved_on / "tree/a").read_text() == BOTH
    assert cli("-C", moved_on, "regen", "--json").json["patches"][0]["status"] == "kept"


@pytest.mark.parametrize("how", ["another store", "no index line", "an edited hunk"])
def test_without_these_contents_the_place_is_a_doubt(cli: Cli, moved_on: Path, tmp_path: Path, how: str) -> None:
    patch = moved_on / "patches/0001-step.patch"
    if how == "another store":
        (moved_on / ".opencoti").rename(moved_on / ".gone")
    elif how == "no index line":
        patch.write_text("".join(x for x in patch.read_text().splitlines(True) if not x.startswith("index ")))
    else:
        patch.write_text(patch.read_text().replace(" line 29\n", " line 29, never\n"))
    before = patch.read_bytes()
    assert " regen 0001\n" in cli("-C", moved_on, "check").out
    ran = cli("-C", moved_on, "regen", "--json")
    (row,) = ran.json["patches"]
    assert (ran.code, row["status"]) == (1, "adapted")
    assert "that it expects are not there; put where the others are, at line" in row["reason"]
    assert patch.read_bytes() == before
    assert cli("-C", moved_on, "regen", "--accept-adapted").code == 0
    assert cli("-C", moved_on, "check", "--no-offset").code == 0
    assert cli("-C", moved_on, "apply").code == 0
    assert (moved_on / "tree/a").read_text() == BOTH


def test_lines_that_upstream_changed_too_are_a_conflict(cli: Cli, moved_on: Path) -> None:
    set_base(moved_on, {"a": text(numbered(1, 60, n30="thirty of theirs")), "b": text("b\n")})
    ran = cli("-C", moved_on, "regen", "--json")
    assert (ran.code, ran.json["patches"][0]["status"]) == (1, "conflict")
