"""A project at another place, moved or copied: what its store knows came along."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import Sandbox
from .test_bump import CONFLICT, carry, edit, stuck

__all__ = ["carry", "stuck"]

FIFTEEN = edit(CONFLICT, ("x * 5", "x * 15"))


def elsewhere(project: Sandbox, how: str) -> Sandbox:
    """The project at another path."""
    place = project.root.parent / "another place" / "for it"
    place.parent.mkdir()
    if how == "moved":
        project.root.rename(place)
    else:
        shutil.copytree(project.root, place, symlinks=True)
    return Sandbox(place)


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_a_bump_goes_on(stuck: Sandbox, how: str) -> None:
    assert stuck("apply").code == 0
    begun = stuck("bump", "new", "--json").json
    assert begun["waits_for"] == "0001-three.patch"
    run = elsewhere(stuck, how)
    before = stuck.files() if how == "copied" else {}
    session = run("bump", "--status", "--json").json["session"]
    assert (session["waits_for"], session["changed"]) == ("0001-three.patch", False)
    work = Path(session["worktree"])
    assert work.is_relative_to(run.root)
    assert run("bump", "--continue", "--json").json["error"]["code"] == "markers"
    (work / "a.c").write_text(FIFTEEN)
    done = run("bump", "--continue")
    assert done.code == 0, (done.out, done.err)
    assert run("check", "--no-offset").code == 0
    assert "session  none" in run("status").out
    assert run("undo").out.startswith("undone: bump of ")
    if how == "copied":  # which is as it was, and its bump waits still
        assert stuck.files() == before
        assert stuck("bump", "--status", "--json").json["session"]["waits_for"] == "0001-three.patch"


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_a_folder_is_known(stuck: Sandbox, how: str) -> None:
    assert stuck("edit", "3", "WORK").code == 0
    run = elsewhere(stuck, how)
    assert run("edit", "2", "WORK").code == 0
    file = run.root / "WORK/a.c"
    file.write_text(file.read_text() + "more\n")
    assert run("edit", "3", "WORK", "--json").json["error"]["code"] == "local-edits"
    assert run("refresh", "2", "WORK").code == 0
    again = run("undo").out
    assert again.startswith("undone: refresh of ") and "WORK: its edits are edits again" in again


def test_a_store_elsewhere_says_where_it_looked(stuck: Sandbox) -> None:
    store = str(stuck.root.parent / "a store")
    assert stuck("bump", "new", OPENCOTI_STORE=store).code == 1
    run = elsewhere(stuck, "moved")
    said = run("bump", "--status", OPENCOTI_STORE=store)
    assert " ".join(said.out.split()).startswith("no bump is under way note: the store ")
    assert store in " ".join(said.out.split())
    run.root.rename(stuck.root)
    assert "a bump to new is under way" in stuck("bump", "--status", OPENCOTI_STORE=store).out
    assert stuck("bump", "--status").out == "no bump is under way\n"
