"""``bump`` where upstream has something else in a patch's place: one conflict, told as such, and the rest is carried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import HEADER, Diff, Sandbox
from .test_bump import Carry, carry, edit, git, statuses

__all__ = ["carry"]

TEXT = "".join(f"line {i}\n" for i in range(1, 31))
OTHER = {"g.c": TEXT}
BINARY = "a\0b\n"
NEXT = edit(TEXT, ("line 9\n", "line 9\nours\n"))


def makes(path: str, mode: str = "100644") -> str:
    return f"{HEADER}diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+ours\n"


def moves(to: str) -> str:
    return f"{HEADER}diff --git a/f.c b/{to}\nsimilarity index 100%\nrename from f.c\nrename to {to}\n"


CASES = {
    "a binary file": ({}, {"n": BINARY}, makes("n"), "n"),
    "a folder": ({}, {"n/x": "theirs\n"}, makes("n"), "n"),
    "a file for a folder": ({}, {"n": "theirs\n"}, makes("n/x"), "n/x"),
    "text became binary": ({"f.c": TEXT}, {"f.c": BINARY}, "edit", "f.c"),
    "a file became a folder": ({"f.c": TEXT}, {"f.c/x": "theirs\n"}, "edit", "f.c"),
    "a name is taken": ({"f.c": TEXT}, {"f.c": TEXT, "k.c": "theirs\n"}, moves("k.c"), "k.c"),
    "a name is taken by a folder": ({"f.c": TEXT}, {"f.c": TEXT, "k.c/x": "theirs\n"}, moves("k.c"), "k.c"),
    "a link for a file": ({}, {"n": "theirs\n"}, makes("n", "120000").replace("+ours", "+g.c"), "n"),
}


@pytest.fixture(params=CASES)
def taken(request: pytest.FixtureRequest, carry: Carry, diff: Diff) -> tuple[Sandbox, str]:
    """A project whose first patch finds something else in its place, and where that is; the second is carried."""
    old, new, patch, path = CASES[request.param]
    if patch == "edit":
        patch = diff("f.c", TEXT, edit(TEXT, ("line 30\n", "line 30\nours\n")))
    new = {**new, "g.c": edit(TEXT, ("line 10\n", "line 10, theirs\n"))}
    return carry(old | OTHER, new, {"1-a.patch": patch, "2-b.patch": diff("g.c", TEXT, NEXT)}), path


def test_it_is_that_patchs_conflict_and_can_be_skipped(taken: tuple[Sandbox, str]) -> None:
    run, _ = taken
    before = run.files()
    assert statuses(run, "new", "--accept-adapted") == {"1-a.patch": "conflict", "2-b.patch": "regenerated"}
    assert run.files() == before
    assert run("upstreamed", "--rev", "new", "--json").code == 0
    assert run("bump", "--skip", "1", "--json").code == 0
    assert run("check", "--no-offset").code == 0
    run.write("patches/series", "1-a.patch\n2-b.patch\n")
    regen = run("regen", "--accept-adapted", "--json").json["patches"]
    assert [row["status"] for row in regen] == ["conflict", "kept"]
    assert run("upstreamed", "--json").code == 0


def test_it_can_be_given_up_and_resolved_by_hand(taken: tuple[Sandbox, str]) -> None:
    run, path = taken
    before = run.files()
    answer = run("bump", "new", "--json").json
    assert answer["files"] == [path]
    refused = run("bump", "--continue", "--json")
    assert (refused.code, refused.json["error"]["code"]) in [(1, "untouched"), (1, "markers")]
    assert (run("bump", "--abort").code, run.files()) == (0, before)
    work = Path(run("bump", "new", "--json").json["worktree"])
    for p in (work / path, *(work / path).parents):
        if p.is_dir() and p == work / path:
            (p / "x").unlink()
            p.rmdir()
        elif p.is_file() and p != work:
            p.unlink()
    (work / path).parent.mkdir(exist_ok=True)
    (work / path).write_text("ours\n")
    done = run("bump", "--continue", "--json")
    assert (done.code, done.json["ok"]) == (0, True), done.err
    assert run("check", "--no-offset").code == 0
    assert run("apply").code == 0
    assert (run.root / "tree" / path).read_text() == "ours\n"


def test_what_a_patch_makes_may_end_elsewhere(carry: Carry) -> None:
    run = carry(OTHER, OTHER | {"n/x": "theirs\n"}, {"1-a.patch": makes("n")})
    work = Path(run("bump", "new", "--json").json["worktree"])
    (work / "n.c").write_text("ours\n")
    assert run("bump", "--continue", "--json").code == 0
    assert "+++ b/n.c\n" in (run.root / "patches/1-a.patch").read_text()


def test_a_link_of_upstreams_is_not_replaced(carry: Carry) -> None:
    run = carry(OTHER, OTHER, {"1-a.patch": makes("n")})
    upstream = run.root / "upstream"
    (upstream / "n").symlink_to("g.c")
    git(upstream, "add", "n")
    git(upstream, "commit", "-qm", "link")
    git(upstream, "tag", "-f", "new")
    answer = run("bump", "new", "--json").json
    assert answer["patches"][0]["reason"] == "n is a symbolic link there, where the patch makes a file"
    assert (Path(answer["worktree"]) / "n").readlink() == Path("g.c")


def test_text_is_not_laid_out_as_a_link(carry: Carry) -> None:
    """The index line says that the file is a link: git refuses that."""
    text = "../" * 2000 + "etc\n"
    hunk = f"@@ -1 +1,2 @@\n {text}+ours\n"
    patch = f"{HEADER}diff --git a/f.c b/f.c\nindex 1234567..2345678 120000\n--- a/f.c\n+++ b/f.c\n{hunk}"
    run = carry({"f.c": text}, {"f.c": text}, {"1-a.patch": patch})
    answer = run("bump", "new", "--json").json
    assert answer["patches"][0]["status"] == "conflict"
    assert not (Path(answer["worktree"]) / "f.c").is_symlink()
    assert run("bump", "--abort").code == 0
    for modes in ("index 1234567..2345678 120000\n", "old mode 100644\nnew mode 120000\n"):
        run.write("patches/1-a.patch", re.sub("index .*\n", modes, patch))
        assert run("regen", "--accept-adapted", "--json").json["patches"][0]["status"] == "conflict"


@pytest.mark.parametrize("target", ["", "x" * 5000, "a\0b"])
def test_a_link_that_no_disk_takes_is_not_laid_out(carry: Carry, target: str) -> None:
    patch = makes("ln", "120000").replace("+ours\n", f"+{target}\n\\ No newline at end of file\n" if target else "")
    patch = patch if target else patch.split("--- ")[0]
    run = carry({"f.c": TEXT}, {"f.c": TEXT, "n/x": "theirs\n"}, {"1-a.patch": patch + makes("n").removeprefix(HEADER)})
    answer = run("bump", "new", "--json").json
    assert (answer["patches"][0]["status"], sorted(answer["files"])) == ("conflict", ["ln", "n"])


@pytest.mark.parametrize("path", [".git/x", "d/../../x"])
def test_a_path_that_git_refuses_is_not_laid_out(carry: Carry, path: str) -> None:
    run = carry({"f.c": TEXT}, {"f.c": TEXT}, {"1-a.patch": makes(path)})
    assert statuses(run, "new") == {"1-a.patch": "conflict"}
    assert run("bump", "--continue", "--json").json["error"]["code"] == "untouched"
    assert run("bump", "--skip", "1").code == 0


def test_names_that_a_strip_level_takes_away(carry: Carry) -> None:
    patch = HEADER + "diff --git a/b/f.c b/b/k.c\nsimilarity index 100%\ncopy from f.c\ncopy to k.c\n"
    run = carry({"f.c": TEXT}, {"f.c": TEXT}, {"1-a.patch": patch})
    run.write("patches/series", "1-a.patch -p2\n")
    assert statuses(run, "new") == {"1-a.patch": "conflict"}
    assert run("bump", "--continue", "--json").json["error"]["code"] == "untouched"
    assert run("bump", "--skip", "1").code == 0


def test_two_parts_on_one_file_follow_one_another(carry: Carry, diff: Diff) -> None:
    first = edit(TEXT, ("line 4\n", "line 4\nfirst\n"))
    second = edit(first, ("line 20\n", "line 20\nsecond\n"))
    patch = diff("f.c", TEXT, first) + diff("f.c", first, second).removeprefix(HEADER)
    new = "top\n" + edit(TEXT, ("line 5\n", "line five\n"), ("line 21\n", "line twenty-one\n"))
    run = carry({"f.c": TEXT}, {"f.c": new}, {"1-a.patch": patch})
    assert set(statuses(run, "new", "--accept-adapted").values()) <= {"regenerated", "adapted"}
    assert run("check", "--no-offset").code == 0
    assert run("apply").code == 0
    wanted = edit(new, ("line 4\n", "line 4\nfirst\n"), ("line 20\n", "line 20\nsecond\n"))
    assert (run.root / "tree/f.c").read_text() == wanted


def linked(run: Sandbox, old: str, new: str) -> Sandbox:
    """The upstream with a link ``ln`` to these; empty for none."""
    upstream = run.root / "upstream"
    for tag, to in (("old", old), ("new", new)):
        git(upstream, "checkout", "-q", "--detach", tag)
        if to:
            (upstream / "ln").symlink_to(to)
            git(upstream, "add", "ln")
        git(upstream, "commit", "-q", "--allow-empty", "-m", "link")
        git(upstream, "tag", "-f", tag)
    return run


def link(old: str, new: str) -> str:
    """A patch that makes the link one to ``new``, or takes it away."""
    end = "\\ No newline at end of file\n"
    head = "index 1234567..2345678 120000\n" if old and new else f"{'new' if new else 'deleted'} file mode 120000\n"
    names = f"--- {'a/ln' if old else '/dev/null'}\n+++ {'b/ln' if new else '/dev/null'}\n"
    lines = (f"-{old}\n{end}" if old else "") + (f"+{new}\n{end}" if new else "")
    return f"diff --git a/ln b/ln\n{head}{names}@@ -{int(bool(old))}{'' if old else ',0'} +{int(bool(new))}{'' if new else ',0'} @@\n{lines}"


@pytest.mark.parametrize(
    ("ours", "theirs", "alone", "beside"),
    [
        (("g.c", ""), "g.c", "kept", "regenerated"),
        (("g.c", ""), "", "upstreamed", "adapted"),
        (("g.c", ""), "h.c", "conflict", "conflict"),
        (("g.c", "h.c"), "g.c", "kept", "regenerated"),
        (("g.c", "h.c"), "h.c", "upstreamed", "adapted"),
        (("g.c", "h.c"), "", "conflict", "conflict"),
        (("", "h.c"), "", "kept", "regenerated"),
        (("", "h.c"), "h.c", "upstreamed", "adapted"),
    ],
)
def test_a_link_fits_what_it_was_made_on(
    carry: Carry, diff: Diff, ours: tuple[str, str], theirs: str, alone: str, beside: str
) -> None:
    """As a patch of its own, and in one whose text has to be carried; the text is there, so git takes neither."""
    patches = {"1-alone.patch": HEADER + link(*ours)}
    run = linked(
        carry({"g.c": TEXT}, {"g.c": edit(TEXT, ("line 10\n", "line 10, theirs\n"))}, patches), ours[0], theirs
    )
    found = run("bump", "new", "--dry-run", "--accept-adapted", "--json").json["patches"]
    assert [row["status"] for row in found] == [alone]
    run.write("patches/1-alone.patch", diff("g.c", TEXT, NEXT) + link(*ours))
    assert statuses(run, "new", "--accept-adapted") == {"1-alone.patch": beside}
    if beside != "conflict":
        assert run("apply").code == 0
        at = run.root / "tree/ln"
        assert (str(at.readlink()) if at.is_symlink() else "") == ours[1]
        assert (run.root / "tree/g.c").read_text() == edit(NEXT, ("line 10\n", "line 10, theirs\n"))


def test_a_merge_that_git_finds_clean_is_taken_and_nothing_is_remembered_of_it(carry: Carry, diff: Diff) -> None:
    new = edit(TEXT, ("line 12\n", "line 12, theirs\n"))
    run = carry({"g.c": TEXT}, {"g.c": new}, {"1-a.patch": diff("g.c", NEXT, TEXT)})
    run.write("patches/series", "1-a.patch -R\n")
    assert statuses(run, "new") == {"1-a.patch": "conflict"}
    done = run("bump", "--continue", "--json")
    assert (done.code, done.json["ok"]) == (0, True), done.err
    assert run("apply").code == 0
    assert (run.root / "tree/g.c").read_text() == edit(NEXT, ("line 12\n", "line 12, theirs\n"))
    assert not (run.root / "patches/resolutions.jsonl").exists()
