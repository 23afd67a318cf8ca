"""``bootstrap --merge``: a patch that does not apply, laid into a folder for a person to finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from e2e.trees import Files, numbered, script, set_base, text, write_project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Git

BEFORE: Files = {
    "a": text(numbered(1, 60)),
    "b": script(numbered(1, 9)),
    "gone": text("x\ny\n"),
    "moves": text("m\n" * 9),
}
AFTER: Files = {
    "a": text(numbered(1, 60, n10="TEN", n30="THIRTY")),
    "b": script(numbered(1, 9, n5="FIVE")),
    "made": text("made\n"),
}
UPSTREAM: Files = {
    **BEFORE,
    "a": text(numbered(1, 60, n29="twenty nine", n30="thirty, of upstream")),
    "b": script("first\n" + numbered(1, 9)),
}


def resolved(folder: Path, path: str, content: str) -> None:
    """What a person does."""
    (folder / path).write_text(content)


def test_what_fits_is_in_and_the_rest_is_between_markers(cli: Cli, git: Git, tmp_path: Path) -> None:
    name = write_project(tmp_path, git, [BEFORE, AFTER])[0]
    set_base(tmp_path, UPSTREAM)
    said = cli("-C", tmp_path, "check", "--json").json["patches"][0]
    assert said["next"] == "opencoti-patches bootstrap --to 0001 --merge WORK"
    assert said["then"] == "resolve the markers in WORK, and opencoti-patches regen 0001 --from WORK"

    ran = cli("-C", tmp_path, "bootstrap", "--to", "0001", "--merge", "WORK", "--json")
    assert ran.code == 1
    assert ran.json["to"] is None
    assert ran.json["merged"]["patch"] == name
    assert [(x["file"], x["hunk"], x["line"]) for x in ran.json["merged"]["left"]] == [("a", 2, 29)]
    work = tmp_path / "WORK"
    assert (work / "a").read_text() == (
        numbered(1, 28, n10="TEN")
        + "<<<<<<< the tree\ntwenty nine\nthirty, of upstream\n"
        + "||||||| what the patch expects\nline 29\nline 30\n"
        + "=======\nline 29\nTHIRTY\n>>>>>>> 0001-step.patch\n"
        + numbered(31, 60)
    )
    assert (work / "b").read_text() == "first\n" + numbered(1, 9, n5="FIVE")
    assert (work / "b").stat().st_mode & 0o111
    assert (work / "made").read_text() == "made\n"
    assert not (work / "gone").exists()
    assert not (work / "moves").exists()

    early = cli("-C", tmp_path, "regen", "0001", "--from", "WORK", "--json")
    assert (early.code, early.json["error"]["code"]) == (1, "markers")
    assert "a line 29" in early.json["error"]["message"]
    resolved(work, "a", numbered(1, 60, n10="TEN", n29="twenty nine", n30="THIRTY"))
    assert cli("-C", tmp_path, "regen", "0001", "--from", "WORK").code == 0
    assert cli("-C", tmp_path, "check", "--no-offset").code == 0
    assert cli("-C", tmp_path, "apply").code == 0
    assert (tmp_path / "tree/a").read_text() == numbered(1, 60, n10="TEN", n29="twenty nine", n30="THIRTY")


def test_a_patch_that_applies_is_the_tree_after_it(cli: Cli, git: Git, tmp_path: Path) -> None:
    name = write_project(tmp_path, git, [BEFORE, AFTER])[0]
    ran = cli("-C", tmp_path, "bootstrap", "--to", "1", "--merge", "WORK", "--json")
    assert (ran.code, ran.json["to"], "merged" in ran.json) == (0, name, False)


@pytest.mark.parametrize(
    ("upstream", "file", "why"),
    [
        ({"made": text("other\n")}, "made", "the patch makes it; it is there already, with other lines"),
        ({"gone": text("x\nnew\ny\n")}, "gone", "the patch deletes it; it has other lines than the patch expects"),
    ],
)
def test_a_file_that_cannot_be_merged_is_named(
    cli: Cli, git: Git, tmp_path: Path, upstream: Files, file: str, why: str
) -> None:
    write_project(tmp_path, git, [BEFORE, AFTER])
    set_base(tmp_path, {**BEFORE, **upstream})
    ran = cli("-C", tmp_path, "bootstrap", "--to", "1", "--merge", "WORK", "--json")
    assert ran.code == 1
    assert [(x["file"], x["hunk"], x["why"]) for x in ran.json["merged"]["left"]] == [(file, 0, why)]
    assert (tmp_path / "WORK/b").read_text() == numbered(1, 9, n5="FIVE")


def test_a_missing_file_and_a_binary_change_are_named(cli: Cli, git: Git, tmp_path: Path) -> None:
    blob = text(b"\0one")
    write_project(tmp_path, git, [{**BEFORE, "bin": blob}, {**AFTER, "bin": text(b"\0two")}])
    set_base(tmp_path, {p: f for p, f in BEFORE.items() if p != "a"} | {"bin": text(b"\0three")})
    left = cli("-C", tmp_path, "bootstrap", "--to", "1", "--merge", "WORK", "--json").json["merged"]["left"]
    assert [(x["file"], x["why"]) for x in left] == [
        ("a", "there is no file a"),
        ("bin", "a binary change is not merged"),
    ]


def test_nothing_like_it_stands_where_the_hunk_says(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [{"a": text(numbered(1, 9))}, {"a": text(numbered(1, 9, n5="FIVE"))}])
    set_base(tmp_path, {"a": text("p\nq\nr")})
    left = cli("-C", tmp_path, "bootstrap", "--to", "1", "--merge", "WORK", "--json").json["merged"]["left"]
    assert [(x["hunk"], x["line"]) for x in left] == [(1, 2)]
    lines = (tmp_path / "WORK/a").read_text().splitlines()
    assert lines[:3] == ["p", "<<<<<<< the tree", "||||||| what the patch expects"]
    assert lines[-3:] == [">>>>>>> 0001-step.patch", "q", "r"]


def test_markers_that_belong_to_a_file_are_no_conflict(cli: Cli, git: Git, tmp_path: Path) -> None:
    doc = "<<<<<<< ours\n=======\n>>>>>>> theirs\n"
    write_project(tmp_path, git, [{"doc": text(doc)}, {"doc": text(doc + "end\n")}])
    assert cli("-C", tmp_path, "bootstrap", "WORK").code == 0
    resolved(tmp_path / "WORK", "doc", doc + "the end\n")
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK").code == 0


def test_merge_needs_a_patch(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [BEFORE, AFTER])
    assert cli("-C", tmp_path, "bootstrap", "--merge", "WORK").code == 2
