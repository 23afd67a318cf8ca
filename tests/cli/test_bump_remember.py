"""A conflict resolved once: it is remembered, shared in a file, and serves again, never in silence."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Diff, Ran, Sandbox
from .documents import checked
from .test_bump import CODE, CONFLICT, Carry, carry, edit, git, statuses, stuck

__all__ = ["carry", "stuck"]

FILE = "patches/resolutions.jsonl"
FIFTEEN = edit(CONFLICT, ("x * 5", "x * 15"))
Resolve = Callable[..., Ran]


@pytest.fixture
def resolve() -> Resolve:
    """Bumps to ``new``, makes each of the files in conflict what is given, None for gone, and goes on."""

    def run(project: Sandbox, *args: str, to: str = "new", **files: str | None) -> Ran:
        work = Path(project("bump", to, "--json").json["worktree"])
        for name, text in files.items():
            path = work / name.replace("_", ".")
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        return project("bump", "--continue", "--json", *args)

    return run


def clone(project: Sandbox, name: str = "clone") -> Sandbox:
    """The project as another clone has it: no store."""
    target = project.root.parent / name
    shutil.copytree(project.root, target, ignore=shutil.ignore_patterns(".opencoti", "upstream", "tree"))
    (target / "upstream").symlink_to(project.root / "upstream")
    return Sandbox(target)


def back(project: Sandbox, before: dict[str, bytes]) -> Sandbox:
    """A clone whose patches and configuration are as they were before the bump; the resolutions stay."""
    other = clone(project, f"clone-{len(list(project.root.parent.iterdir()))}")
    for path, content in before.items():
        if not path.startswith("upstream"):
            other.write(path, content)
    return other


def test_another_clone_takes_what_was_resolved_and_asks_first(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    (line,) = (stuck.root / FILE).read_text().splitlines()
    kept = json.loads(line)
    assert (kept["patch"], kept["to"]) == ("0001-three.patch", "new")
    assert kept["edits"] == [
        {
            "path": "a.c",
            "found": [
                "<<<<<<< upstream\n",
                "    int y = x * 5;\n",
                "||||||| before\n",
                "    int y = x * 2;\n",
                "=======\n",
                "    int y = x * 3;\n",
                ">>>>>>> the patch\n",
            ],
            "put": ["    int y = x * 15;\n"],
        }
    ]
    other = back(stuck, before)
    untouched = other.files()
    asked = other("bump", "new", "--json")
    assert asked.code == 1
    assert [row["status"] for row in asked.json["patches"]] == ["adapted", "regenerated", "kept"]
    assert asked.json["patches"][0]["reason"].startswith("resolved before, for new")
    assert (asked.json["needs_acceptance"], asked.json["reused"]) == (["0001-three.patch"], ["0001-three.patch"])
    assert "    int y = x * 15;" in "".join(asked.json["patches"][0]["interdiff"])
    assert other.files() == untouched
    done = other("bump", "new", "--accept-adapted", "--json")
    assert done.code == 0
    assert other("check").code == 0
    for name in ("patches/0001-three.patch", "patches/0002-assert.patch", FILE):
        assert (other.root / name).read_text().splitlines()[2:] == (stuck.root / name).read_text().splitlines()[2:]
    assert "conflict resolved as for new. Content adapted." in (other.root / "patches/0001-three.patch").read_text()


def test_a_later_version_with_the_same_conflict_elsewhere(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    other = back(stuck, before)
    upstream = stuck.root / "upstream"
    later = "// one\n// two\n// three\n" + edit(CONFLICT, ("x - 3", "x - 33"), ("check(y);", "check(y, 2);"))
    (upstream / "a.c").write_text(later)
    git(upstream, "commit", "-q", "-am", "later")
    git(upstream, "tag", "later")
    asked = other("bump", "later", "--json", "--dry-run")
    assert [row["status"] for row in asked.json["patches"]] == ["adapted", "regenerated", "conflict"]
    assert "int y = x * 15;" in "".join(asked.json["patches"][0]["interdiff"])


def test_a_conflict_that_is_another_is_not_resolved(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    other = back(stuck, before)
    upstream = stuck.root / "upstream"
    (upstream / "a.c").write_text(edit(CONFLICT, ("x * 5", "x * 6")))
    git(upstream, "commit", "-q", "-am", "six")
    git(upstream, "tag", "six")
    assert statuses(other, "six", "--dry-run")["0001-three.patch"] == "conflict"


def test_an_abort_leaves_no_trace_but_what_was_resolved_is_not_lost(stuck: Sandbox, diff: Diff) -> None:
    stuck.write("patches/0004-last.patch", diff("b.c", "one\ntwo\nthree\n", "one\nTWO\nthree\n"))
    stuck.write("patches/series", (stuck.root / "patches/series").read_text() + "0004-last.patch\n")
    upstream = stuck.root / "upstream"
    for tag, text in (("new", "one\n2\nthree\n"), ("old", "one\ntwo\nthree\n")):
        git(upstream, "checkout", "-q", tag)
        (upstream / "b.c").write_text(text)
        git(upstream, "add", "-A")
        git(upstream, "commit", "-q", "-m", f"{tag} again")
        git(upstream, "tag", "-f", tag)
    before = stuck.files()
    work = Path(stuck("bump", "new", "--json").json["worktree"])
    (work / "a.c").write_text(FIFTEEN)
    second = stuck("bump", "--continue", "--json")
    assert second.json["waits_for"] == "0004-last.patch"
    gone = stuck("bump", "--abort", "--json")
    assert (gone.code, gone.json["kept"]) == (0, ["0001-three.patch"])
    assert {k: v for k, v in stuck.files().items() if not k.startswith("upstream/.git")} == {
        k: v for k, v in before.items() if not k.startswith("upstream/.git")
    }
    again = stuck("bump", "new", "--json")
    assert [row["status"] for row in again.json["patches"]] == ["adapted", "regenerated", "kept", "conflict"]
    Path(again.json["worktree"], "b.c").write_text("one\nZWEI\nthree\n")
    asked = stuck("bump", "--continue", "--json")
    assert asked.json["needs_acceptance"] == ["0001-three.patch"]
    assert not (stuck.root / FILE).exists()
    assert stuck("bump", "--continue", "--accept-adapted").code == 0
    rows = [json.loads(line) for line in (stuck.root / FILE).read_text().splitlines()]
    assert [row["patch"] for row in rows] == ["0001-three.patch", "0004-last.patch"]
    assert stuck("check").code == 0


def test_what_a_person_changed_beside_the_conflict_comes_along(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    wider = edit(FIFTEEN, ('#include "all.h"\n', '#include "all.h"\n#include "more.h"\n'), ("x + 1", "x + 10"))
    assert resolve(stuck, a_c=wider, more_h="int more;\n").code == 0
    other = back(stuck, before)
    assert other("bump", "new", "--accept-adapted").code == 0
    assert other("apply").code == 0
    assert (other.root / "tree/more.h").read_text() == "int more;\n"
    text = (other.root / "tree/a.c").read_text()
    assert '#include "more.h"\n' in text and "x + 10" in text and "x * 15" in text
    gone = back(stuck, before)  # where upstream has that file, what was resolved does not fit
    upstream = stuck.root / "upstream"
    (upstream / "a.c").write_text(CONFLICT)
    (upstream / "more.h").write_text("theirs\n")
    git(upstream, "add", "-A")
    git(upstream, "commit", "-q", "-m", "more")
    git(upstream, "tag", "more")
    row = gone("bump", "more", "--dry-run", "--json").json["patches"][0]
    assert row["status"] == "conflict"
    assert row["reason"].endswith("it was resolved before, for new, and with it more.h, which is another now")


def test_a_file_that_upstream_deleted_may_stay_deleted(carry: Carry, diff: Diff, resolve: Resolve) -> None:
    old = {"a.c": CODE, "b.c": "int b;\nint c;\nint d;\n"}
    patch = diff("a.c", CODE, edit(CODE, ("x * 2", "x * 3")))
    run = carry(old, {"b.c": old["b.c"]}, {"0001-three.patch": patch})
    before = run.files()
    done = resolve(run, a_c=None, b_c="int b;\nint c = 3;\nint d;\n")
    assert done.code == 0, done.raw
    other = back(run, before)
    assert statuses(other, "new", "--accept-adapted") == {"0001-three.patch": "adapted"}
    assert other("apply").code == 0
    assert not (other.root / "tree/a.c").exists()
    assert "int c = 3;" in (other.root / "tree/b.c").read_text()


def test_a_conflict_without_markers_is_not_remembered_and_that_is_said(
    carry: Carry, diff: Diff, resolve: Resolve
) -> None:
    run = carry(
        {"a.c": CODE, "b.c": "b\n"},
        {"a.c": CODE + "int more;\n", "b.c": "b\n"},
        {"0001-gone.patch": diff("a.c", CODE, "")},
    )
    early = resolve(run)
    assert (early.code, early.json["error"]["code"]) == (1, "untouched")
    (Path(run("bump", "--status", "--json").json["session"]["worktree"]) / "a.c").unlink()
    done = run("bump", "--continue", "--json")
    assert done.code == 0
    (note,) = done.json["notes"]
    assert (
        note == "how 0001-gone.patch was resolved is not remembered: the conflict in a.c has no markers to know it by"
    )
    assert not (run.root / FILE).exists()


def test_it_is_forgotten_on_demand(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    other = back(stuck, before)
    assert other("bump", "--forget", "2").code == 2
    gone = other("bump", "--forget", "1", "--json")
    assert gone.code == 0
    assert (gone.json["forgotten"], gone.json["resolutions"]) == ("0001-three.patch", 1)
    assert (gone.json["written"], gone.json["deleted"]) == ([], [FILE])
    assert not (other.root / FILE).exists()
    assert other("bump", "new", "--json").json["waits_for"] == "0001-three.patch"
    assert other("bump", "--abort").code == 0
    more = (stuck.root / FILE).read_text()
    stuck.write(FILE, more + more.replace("0001-three.patch", "0009-other.patch"))
    assert stuck("bump", "--forget", "2").err.splitlines()[1].endswith("resolved of 0001-three.patch, 0009-other.patch")
    assert stuck("bump", "--forget", "0009-other.patch").out.endswith(f". Written: {FILE}\n")
    assert stuck("bump", "--forget", "0001-three.patch").out.endswith(f". Deleted: {FILE}\n")
    assert not (stuck.root / FILE).exists()


@pytest.mark.parametrize("put_off", [False, True])
def test_it_is_forgotten_by_the_new_name_too(stuck: Sandbox, resolve: Resolve, put_off: bool) -> None:
    """Resolved and bumped, or resolved in a bump that was given up: then the patch is as it was."""
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    run = back(stuck, before) if put_off else stuck
    assert run("rename", "1", "0007-times", "--json").code == 0
    assert run("renumber", "--start", "4").code == 0
    assert "of 0005-assert.patch was resolved" in run("bump", "--forget", "5").err
    gone = run("bump", "--forget", "times", "--json").json
    assert (gone["forgotten"], gone["resolutions"], gone["deleted"]) == ("0001-three.patch", 1, [FILE])
    assert run("undo").code == 0
    run.write("patches/series", (run.root / "patches/series").read_text() + "# 0001-three.patch\n")
    run.write("patches/0001-three.patch", before["patches/0001-three.patch"])
    assert "of 0004-times.patch was resolved" in run("bump", "--forget", "4").err  # it is that one's


def test_two_ways_of_resolving_it_are_no_way(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    other = back(stuck, before)
    line = (other.root / FILE).read_text()
    other.write(FILE, line + line.replace("x * 15", "x * 51"))
    row = other("bump", "new", "--dry-run", "--json").json["patches"][0]
    assert (row["status"], row["reason"].rpartition("; ")[2]) == (
        "conflict",
        "resolutions.jsonl resolves the conflict in a.c in two ways",
    )
    assert resolve(other, a_c=edit(CONFLICT, ("x * 5", "x * 50"))).code == 0  # a new word settles it
    (left,) = (other.root / FILE).read_text().splitlines()
    assert "x * 50" in left


def test_a_resolution_cannot_take_upstreams_lines_unsaid(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    other = back(stuck, before)
    doc = json.loads((other.root / FILE).read_text())
    doc["edits"].append({"path": "a.c", "found": ["    int y = x + 1;\n"], "put": []})
    other.write(FILE, json.dumps(doc) + "\n")
    row = other("bump", "new", "--dry-run", "--json").json["patches"][0]
    assert row["status"] == "adapted"
    assert "the guards find 2 lines that it removes now and did not before: a.c: int y = x + 1;" in row["reason"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("<<<<<<< ours", "line 2 is a conflict marker"),
        ("{", "line 2 is no resolution: it is not JSON"),
        ("[" * 100_000, "line 2 is no resolution: it is not JSON"),
        ('{"patch": "x"}', "line 2 is no resolution: it has other keys"),
        ('{"patch": "x", "to": "y", "edits": []}', "line 2 is no resolution: it resolves no conflict"),
        (
            '{"patch": "x", "to": "y", "edits": [{"path": "../a", "found": ["<<<<<<< upstream\\n"], "put": []}]}',
            "line 2 is no resolution: a path leads out of the tree",
        ),
    ],
)
def test_a_damaged_line_is_named(stuck: Sandbox, resolve: Resolve, line: str, said: str) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    other = back(stuck, before)
    other.write(FILE, (other.root / FILE).read_text() + line + "\n")
    untouched = other.files()
    ran = other("bump", "new", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad-resolutions")
    assert said in ran.json["error"]["message"]
    assert other.files() == untouched


def test_nobody_takes_the_file_for_a_patch(stuck: Sandbox, resolve: Resolve) -> None:
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    names = [row["name"] for row in stuck("list", "--json").json["patches"]]
    assert names == ["0001-three.patch", "0002-assert.patch", "0003-four.patch"]
    assert stuck("check").code == 0
    assert "resolutions" not in stuck("lint").out
    assert stuck("export", "OUT").code == 0
    assert not (stuck.root / "OUT/resolutions.jsonl").exists()
    stuck.write("in/resolutions.jsonl", (stuck.root / FILE).read_bytes())
    stuck.write("in/0009-x.patch", (stuck.root / "patches/0003-four.patch").read_bytes())
    (stuck.root / "patches/series").unlink()
    assert [row["name"] for row in stuck("list", "--json").json["patches"]] == names
    taken = stuck("import", "in", "--dry-run", "--json").json["patches"]
    assert [row["source"].rpartition("/")[2] for row in taken] == ["0009-x.patch"]


def test_undo_of_a_bump_loses_nothing_that_was_resolved(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    after = stuck.files()
    undone = stuck("undo", "--json")
    assert checked(undone.raw, undone.code)["kept"] == ["0001-three.patch"]
    assert stuck.files() == before
    again = stuck("bump", "new", "--json").json
    assert (again["reused"], again["needs_acceptance"]) == (["0001-three.patch"], ["0001-three.patch"])
    assert stuck("bump", "new", "--accept-adapted").code == 0
    assert (stuck.root / FILE).read_bytes() == after[FILE]
    said = " ".join(stuck("undo").out.split())
    assert "how these were resolved is kept for the next bump: 0001-three.patch" in said
    assert stuck("redo", "--json").json["kept"] == []
    assert (stuck.root / FILE).read_bytes() == after[FILE]
    assert stuck("bump", "--forget", "1").code == 0  # in the store, too: nothing waits after a redo
    steps = stuck("undo", "--list", "--json").json["steps"]
    assert [step["command"] for step in steps] == ["bump --forget", "bump"]
    assert (stuck("undo").code, stuck("redo").code) == (0, 0)
    assert stuck("undo", "--json").json["step"]["command"] == "bump --forget"
    assert stuck("redo").code == 0  # what is forgotten again does not wait either
    assert stuck("bump", "--forget", "1").code == 2


def test_undo_puts_a_damaged_file_back_like_any_other(stuck: Sandbox, resolve: Resolve) -> None:
    before = stuck.files()
    assert resolve(stuck, a_c=FIFTEEN).code == 0
    stuck.write(FILE, "damaged\n")
    assert stuck("undo").code == 1
    assert stuck("undo", "--force").code == 0
    assert stuck.files() == before
