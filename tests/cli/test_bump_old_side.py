"""``bump`` of patches that git refuses on the old base: what memory makes of them is no answer."""

from __future__ import annotations

import hashlib
import shutil
import subprocess

import pytest

from .conftest import Diff
from .test_bump import Carry, carry, statuses

__all__ = ["carry"]

OLD = "".join(f"line {n}\n" for n in range(1, 31))
NEW = "on top\n" + OLD.replace("line 5\n", "changed\n")
NAMES = "diff --git a/f.c b/f.c\n--- a/f.c\n+++ b/f.c\n"
HUNK = "@@ -3,5 +3,6 @@\n line 3\n line 4\n+added\n line 5\n line 6\n line 7\n"


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param("", id="an empty file"),
        pytest.param("Say what\n\nAnd no diff.\n", id="words alone"),
        pytest.param(NAMES + HUNK.replace("+3,6", "+3,5"), id="a line counted too few"),
        pytest.param(NAMES + HUNK + "@@ -5,3 +6,4 @@\n line 5\n line 6\n+more\n line 7\n", id="hunks over one another"),
        pytest.param(NAMES.replace("\n", "\nindex 1234567..2345678 120000\n", 1) + HUNK, id="a link that is none"),
        pytest.param(
            f"diff --git a/f.c b/k.c\nrename from f.c\nrename to k.c\n--- a/f.c\n+++ b/k.c\n{HUNK}", id="onto another"
        ),
    ],
)
def test_what_did_not_apply_on_the_old_base_is_said_to_and_stays(carry: Carry, patch: str) -> None:
    run = carry({"f.c": OLD, "k.c": "k\n"}, {"f.c": NEW, "k.c": "k\n"}, {"0001-bad.patch": patch})
    ran = run("bump", "new", "--accept-adapted", "--json")
    assert ran.code == 1
    (row,) = ran.json["patches"]
    assert row["status"] == "conflict" and "did not apply on the old base either" in row["reason"]
    assert (run.root / "patches/0001-bad.patch").read_text() == patch
    assert (run.root / "patches/series").read_text() == "# the series\n0001-bad.patch\n"


def test_what_regen_mends_on_the_old_base_is_sent_there(carry: Carry, diff: Diff) -> None:
    """The reason and the next command are of one mind, and the command is one that helps."""
    was = OLD.replace("line 19\n", "it was\n")
    patch = diff("f.c", was, was.replace("line 20\n", "ours\n"))
    run = carry({"f.c": OLD}, {"f.c": NEW}, {"0001-f.patch": patch})
    (row,) = run("bump", "new", "--dry-run", "--json").json["patches"]
    assert row["reason"].endswith("; regenerate it there first")
    assert row["next"] == "opencoti-patches regen 0001"
    assert run(*row["next"].split()[1:], "--accept-adapted").code == 0
    assert run("bump", "new").code == 0


def test_a_patch_of_several_files_follows_one_that_upstream_renamed(carry: Carry, diff: Diff) -> None:
    ours = OLD.replace("line 20\n", "ours\n")
    patch = diff("f.c", OLD, ours) + diff("k.c", OLD, ours)
    run = carry({"f.c": OLD, "k.c": OLD + "k\n"}, {"g.c": OLD, "k.c": OLD + "k\n"}, {"0001-two.patch": patch})
    (row,) = run("bump", "new", "--accept-adapted", "--json").json["patches"]
    assert row["status"] == "adapted" and "f.c is g.c now" in row["reason"]
    assert "+++ b/g.c" in (run.root / "patches/0001-two.patch").read_text()


def test_a_hunk_stands_where_its_new_number_says(carry: Carry, diff: Diff) -> None:
    """git never looks at the old number; going by that, the line would land in another function."""
    functions = [f"int f{i}(int x) {{\n    int y = x * {i};\n    log_it(y);\n    return y;\n}}\n\n" for i in range(6)]
    text = "".join(functions)
    ours = functions[4].replace("log_it(y);\n", "log_it(y);\n    mine(y);\n")
    patch = diff("f.c", text, text.replace(functions[4], ours))
    assert "@@ -25,6 +25,7 @@" in patch
    new = text.replace("x * 4", "x * 44")
    run = carry({"f.c": text}, {"f.c": new}, {"1-a.patch": patch.replace("@@ -25,6", "@@ -13,6")})
    assert statuses(run, "new") == {"1-a.patch": "regenerated"}
    assert run("apply").code == 0
    assert (run.root / "tree/f.c").read_text() == new.replace(
        functions[4].replace("4;", "44;"), ours.replace("4;", "44;")
    )


def test_a_lost_object_is_had_again_by_what_the_hint_says(carry: Carry, diff: Diff) -> None:
    run = carry({"f.c": OLD}, {"f.c": NEW}, {"1-a.patch": diff("f.c", OLD, OLD + "ours\n")})
    assert run("check").code == 0
    objects = run.root / ".opencoti/objects.git"
    for pack in (objects / "objects/pack").glob("*.pack"):
        pack.rename(run.root / "pack")
        with (run.root / "pack").open("rb") as f:
            subprocess.run(["git", "--git-dir", objects, "unpack-objects", "-q"], stdin=f, check=True)
    for blob in (b"blob %d\0" % len(x) + x for x in (OLD.encode(),)):
        oid = hashlib.sha1(blob).hexdigest()
        (objects / "objects" / oid[:2] / oid[2:]).unlink()
    for command in (["bump", "new"], ["bootstrap", "WORK"]):
        lost = run(*command, "--json")
        assert (lost.code, "delete the folder objects.git" in lost.json["error"]["hint"]) == (3, True), lost.json
    shutil.rmtree(objects)
    assert run("bootstrap", "WORK").code == 0
    assert statuses(run, "new", "--dry-run") == {"1-a.patch": "renumbered"}
