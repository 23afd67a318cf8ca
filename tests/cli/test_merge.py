"""``bootstrap --merge``: a patch that does not apply, laid into a folder for a person to finish."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from e2e.trees import (
    CONFIG,
    Files,
    link,
    numbered,
    patch_between,
    script,
    set_base,
    text,
    write_folder,
    write_project,
)

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
    assert said["next"] == f"opencoti-patches -C {tmp_path} regen 0001"
    (row,) = cli("-C", tmp_path, "regen", "--json").json["patches"]
    assert (row["status"], row["next"]) == (
        "conflict",
        f"opencoti-patches -C {tmp_path} bootstrap --to 0001 --merge WORK",
    )

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


def test_a_file_that_upstream_renamed_takes_the_change(cli: Cli, git: Git, tmp_path: Path) -> None:
    old = numbered(1, 30).replace("line", "telling words of line")
    write_project(tmp_path, git, [{"src/kv.c": text(old)}, {"src/kv.c": text(old.replace("line 9\n", "line NINE\n"))}])
    set_base(tmp_path, {"src/cache.c": text(old)})
    assert cli("-C", tmp_path, "check", "--json").json["patches"][0]["problems"][0]["other"] == "src/cache.c"
    ran = cli("-C", tmp_path, "bootstrap", "--to", "1", "--merge", "WORK", "--json")
    assert [(x["file"], x["hunk"]) for x in ran.json["merged"]["left"]] == [("src/cache.c", 0)]
    assert (tmp_path / "WORK/src/cache.c").read_text() == old.replace("line 9\n", "line NINE\n")
    (tmp_path / "WORK/0001-step.patch.rej").unlink()
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK").code == 0
    assert cli("-C", tmp_path, "check").code == 0


def test_a_second_patch_that_fails_keeps_its_own_reason(cli: Cli, git: Git, tmp_path: Path) -> None:
    first = {**BEFORE, "a": text(numbered(1, 60, n30="THIRTY"))}
    write_project(tmp_path, git, [BEFORE, first, {**first, "gone": text("X\n")}])
    set_base(tmp_path, {**UPSTREAM, "gone": text("theirs\n")})
    assert cli("-C", tmp_path, "bootstrap", "--to", "1", "--merge", "WORK").code == 1
    resolved(tmp_path / "WORK", "a", numbered(1, 60, n30="THIRTY"))
    ran = cli("-C", tmp_path, "regen", "1", "--from", "WORK", "--json", "-v")
    assert ran.code == 0
    assert [r["name"] for r in cli("-C", tmp_path, "check", "--json").json["patches"] if r["status"] == "failed"] == [
        "0002-step.patch"
    ]


def test_markers_that_belong_to_a_file_are_no_conflict(cli: Cli, git: Git, tmp_path: Path) -> None:
    doc = "<<<<<<< ours\n=======\n>>>>>>> theirs\n"
    write_project(tmp_path, git, [{"doc": text(doc)}, {"doc": text(doc + "end\n")}])
    assert cli("-C", tmp_path, "bootstrap", "--to", "1", "WORK").code == 0
    resolved(tmp_path / "WORK", "doc", doc + "the end\n")
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK").code == 0


def test_merge_needs_a_patch(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [BEFORE, AFTER])
    assert cli("-C", tmp_path, "bootstrap", "--merge", "WORK").code == 2


def left_of(cli: Cli, root: Path) -> list[tuple[str, int, int]]:
    """What a merge of the first patch leaves."""
    ran = cli("-C", root, "bootstrap", "--to", "1", "--merge", "WORK", "--json")
    return [(x["file"], x["hunk"], x["line"]) for x in ran.json["merged"]["left"]]


def raw_project(root: Path, base: Files, patch: str) -> None:
    """A project with one patch as it is."""
    write_folder(root / "base", base)
    (root / "opencoti.toml").write_text(CONFIG)
    (root / "patches").mkdir()
    (root / "patches/0001-step.patch").write_text(patch)
    (root / "patches/series").write_text("0001-step.patch\n")


DAMAGED = [
    "@@ -3,3 +3,5 @@\n 3\n+one\ngarbage\n+two\n 4\n 5\n",
    "@@ -3,3 +3,4 @@\n 3\n+one\n 4\n 5\n@@ -15,x +16,4 @@\n 15\n+two\n 16\n",
    "@@ -3,9 +3,9 @@\n 3\n+one\n 4\n",
]


@pytest.mark.parametrize("hunks", DAMAGED)
def test_a_damaged_patch_is_not_merged(cli: Cli, tmp_path: Path, hunks: str) -> None:
    raw_project(tmp_path, {"a": text(numbered(1, 40).replace("line ", ""))}, f"--- a/a\n+++ b/a\n{hunks}")
    ran = cli("-C", tmp_path, "bootstrap", "--to", "1", "--merge", "WORK", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "does-not-apply")
    assert "0001-step.patch is damaged at line" in ran.json["error"]["message"]
    said = cli("-C", tmp_path, "check", "--json").json["patches"][0]
    assert said["next"] == f"opencoti-patches -C {tmp_path} bootstrap WORK"
    assert cli("-C", tmp_path, "bootstrap", "WORK").code == 0
    whole = numbered(1, 40, n3="3\none").replace("line ", "")
    resolved(tmp_path / "WORK", "a", whole)
    redone = cli("-C", tmp_path, "regen", "1", "--from", "WORK", "--json")
    assert (redone.code, redone.json["patches"][0]["status"]) == (0, "adapted")
    assert cli("-C", tmp_path, "check", "--no-offset").code == 0
    assert "garbage" not in (tmp_path / "patches/0001-step.patch").read_text()


def test_a_hunk_in_conflict_moves_no_other_from_its_place(cli: Cli, git: Git, tmp_path: Path) -> None:
    """The first hunk's lines stand late in the file; the second has a twin behind that."""
    body = "int beta(int x)\n{\n    return two(x);\n}\n"
    alpha = "int alpha(int x)\n{\n    start(x);\n    more(x);\n    last(x);\n}\n"
    old = f"{alpha}\n{numbered(1, 20)}{body}\n{numbered(30, 50)}"
    new = old.replace("    more(x);\n", "    more(x + 1);\n").replace("return two", "return 2 * two")
    write_project(tmp_path, git, [{"a.c": text(old)}, {"a.c": text(new)}])
    late = alpha.replace("alpha", "delta").replace("more(x)", "less(x)")
    twin = body.replace("beta", "beta2")
    there = old.replace(alpha, "int alpha(int x);\n") + late + twin
    set_base(tmp_path, {"a.c": text(there)})
    assert [(file, hunk) for file, hunk, _ in left_of(cli, tmp_path)] == [("a.c", 1)]
    merged = (tmp_path / "WORK/a.c").read_text()
    assert "int beta(int x)\n{\n    return 2 * two(x);\n" in merged
    assert twin in merged


def test_a_block_of_markers_shifts_nothing_behind_it(cli: Cli, git: Git, tmp_path: Path) -> None:
    round_ = "a\nb\nc\nd\ne\nf\ng\nh\ni\n"
    old = numbered(1, 9) + round_ * 6
    lines = old.splitlines(keepends=True)
    lines[4] = "FIVE\n"
    lines[9 + 9 * 3 + 4] = "E\n"
    write_project(tmp_path, git, [{"a": text(old)}, {"a": text("".join(lines))}])
    set_base(tmp_path, {"a": text(old.replace("line 5\n", "five of theirs\n"))})
    assert [(file, hunk) for file, hunk, _ in left_of(cli, tmp_path)] == [("a", 1)]
    assert (tmp_path / "WORK/a").read_text().endswith(round_ * 3 + round_.replace("e", "E") + round_ * 2)


def test_a_place_in_another_function_is_said(cli: Cli, git: Git, tmp_path: Path) -> None:
    inner = "{\n    open(x);\n    work(x);\n    close(x);\n}\n"
    old = "\n" * 3 + "int alpha(int x)\n" + "    pad();\n" * 6 + inner + numbered(1, 9)
    new = old.replace("    work(x);\n", "    guard(x);\n    work(x);\n").replace("line 5\n", "FIVE\n")
    write_project(tmp_path, git, [{"a.c": text(old)}, {"a.c": text(new)}])
    there = old.replace("alpha", "beta").replace("line 5\n", "five\n")
    set_base(tmp_path, {"a.c": text(there)})
    assert ("a.c", 1, 0) in left_of(cli, tmp_path)
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK").code == 1
    said = (tmp_path / "WORK/0001-step.patch.rej").read_text()
    assert "a.c, hunk 1: it is in at line 10 of the tree's file, in another function than it was made in\n" in said


def test_a_copy_is_of_what_the_file_was(cli: Cli, git: Git, tmp_path: Path) -> None:
    before: Files = {"a": text(numbered(1, 20)), "c": text("c\n")}
    patch = patch_between(git, before, {"a": text(numbered(1, 20, n9="NINE")), "c": text("C\n")}).decode()
    copy = "diff --git a/a b/b\nsimilarity index 100%\ncopy from a\ncopy to b\n"
    raw_project(tmp_path, {**before, "c": text("theirs\n")}, patch.replace("diff --git a/c", copy + "diff --git a/c"))
    assert left_of(cli, tmp_path) == [("c", 1, 1)]
    assert (tmp_path / "WORK/b").read_text() == numbered(1, 20)
    assert (tmp_path / "WORK/a").read_text() == numbered(1, 20, n9="NINE")


def test_a_file_that_the_tree_ignores_is_not_lost(cli: Cli, git: Git, tmp_path: Path) -> None:
    before: Files = {".gitignore": text("out/\n"), "a": text("a\n")}
    write_project(tmp_path, git, [before, {**before, "a": text("A\n"), "out/gen.c": text("made\n")}])
    set_base(tmp_path, {**before, "a": text("theirs\n")})
    assert left_of(cli, tmp_path) == [("a", 1, 1)]
    resolved(tmp_path / "WORK", "a", "A\n")
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK").code == 0
    assert "out/gen.c" in cli("-C", tmp_path, "check", "--json").json["patches"][0]["files"]


def test_what_has_no_markers_is_not_dropped_unseen(cli: Cli, git: Git, tmp_path: Path) -> None:
    before: Files = {"a": text("a\n"), "gone": text(numbered(1, 9))}
    write_project(tmp_path, git, [before, {"a": text("A\n"), "gone": text(numbered(1, 9, n5="FIVE"))}])
    set_base(tmp_path, {"a": text("a\n")})
    assert left_of(cli, tmp_path) == [("gone", 0, 0)]
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK", "--json").json["error"]["code"] == "markers"
    rejects = tmp_path / "WORK/0001-step.patch.rej"
    assert "gone: there is no file gone\n" in rejects.read_text()
    assert "+FIVE\n" in rejects.read_text()
    rejects.unlink()
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK").code == 0
    assert cli("-C", tmp_path, "check", "--json").json["patches"][0]["files"] == ["a"]


def test_new_markers_beside_old_ones_are_found(cli: Cli, git: Git, tmp_path: Path) -> None:
    doc = "<<<<<<< sample\n" + numbered(1, 20)
    write_project(tmp_path, git, [{"a": text(doc)}, {"a": text(doc.replace("line 9\n", "NINE\n"))}])
    set_base(tmp_path, {"a": text(doc.replace("line 9\n", "nine of theirs\n"))})
    assert left_of(cli, tmp_path) == [("a", 1, 10)]
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK", "--json").json["error"]["code"] == "markers"


@pytest.mark.parametrize("title", ["", "Title\n=======\n"])
@pytest.mark.parametrize("ours", ["THIRTY\n", "THIRTY\n=======\n"])
def test_a_line_between_the_sides_that_is_left_is_found(
    cli: Cli, git: Git, tmp_path: Path, title: str, ours: str
) -> None:
    """A heading of the file or of the patch looks the same, and is none."""
    files = [{"a": text(title + numbered(1, 60))}, {"a": text(title + numbered(1, 60, n30=ours.rstrip()))}]
    write_project(tmp_path, git, files)
    set_base(tmp_path, {"a": text(title + numbered(1, 60, n29="theirs", n30="theirs, too"))})
    assert len(left_of(cli, tmp_path)) == 1
    good = title + numbered(1, 60, n29="theirs", n30=ours.rstrip())
    lines = good.replace("line 31\n", "=======\nline 31\n").splitlines(keepends=True)
    resolved(tmp_path / "WORK", "a", "".join(lines))
    for command in (("regen", "1", "--from", "WORK"), ("new", "another", "--first", "--from", "WORK")):
        ran = cli("-C", tmp_path, *command, "--json")
        assert (ran.code, ran.json["error"]["code"]) == (1, "markers")
        assert ran.json["error"]["message"] == f"a line {lines.index('line 31' + chr(10))} still has a conflict marker"
    resolved(tmp_path / "WORK", "a", good)
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK").code == 0
    assert cli("-C", tmp_path, "undo").code == 0  # the folder's edits are edits again, and as strictly looked at
    resolved(tmp_path / "WORK", "a", "".join(lines))
    assert cli("-C", tmp_path, "regen", "1", "--from", "WORK", "--json").json["error"]["code"] == "markers"


def test_links_are_left_to_a_person(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [{"b": text("b\n")}, {"b": text("b\n"), "l": text("made\n")}])
    set_base(tmp_path, {"b": text("b\n"), "l": link("b")})
    assert left_of(cli, tmp_path) == [("l", 0, 0)]
    assert (tmp_path / "WORK/l").is_symlink()


def test_a_damaged_copy_of_a_patch_is_mended_before_it_is_merged(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [BEFORE, {**BEFORE, "a": text(numbered(1, 60, n10="TEN", n50="FIFTY"))}])
    patch = tmp_path / "patches/0001-step.patch"
    patch.write_bytes(patch.read_bytes().replace(b"\n", b"\r\n"))
    set_base(tmp_path, {**BEFORE, "a": text(numbered(1, 60, n50="fifty of theirs"))})
    assert left_of(cli, tmp_path) == [("a", 2, 50)]
    assert "\r" not in (tmp_path / "WORK/a").read_bytes().decode()


def test_the_block_stands_around_the_lines_that_are_there(cli: Cli, git: Git, tmp_path: Path) -> None:
    """All of a hunk's lines but one stand at its line, and none of them tells much."""
    old = "int f(int x)\n{\n    {\n    }\n}\n\n    return scale(x);\n}\n"
    write_project(tmp_path, git, [{"a.c": text(old)}, {"a.c": text(old.replace("\n\n", "\n\n    log();\n"))}])
    set_base(tmp_path, {"a.c": text(old.replace("scale(x)", "rescale(x, 2)"))})
    assert [(f, h) for f, h, _ in left_of(cli, tmp_path)] == [("a.c", 1)]
    merged = (tmp_path / "WORK/a.c").read_text()
    ours = merged.partition("<<<<<<< the tree\n")[2].partition("|||||||")[0]
    assert ours == "    return rescale(x, 2);\n"
    assert merged.count("}\n") == merged.replace("    log();\n", "").count("}\n") == 3


def test_markers_stand_where_the_lines_went_if_the_contents_before_are_known(
    cli: Cli, git: Git, tmp_path: Path
) -> None:
    """Another function has more of the hunk's lines than its own has left."""
    body = "{\n    one();\n    two();\n    three();\n    four();\n}\n"
    old = "int first(void)\n" + body + "\nint second(void)\n" + body.replace("two", "deux")
    ours = old.replace("    deux();\n", "    deux(1);\n")
    theirs = ("int first(void)\n" + body + "\nint second(void)\n" + body.replace("two", "zwei")).replace(
        "    one();\n    zwei();\n    three();\n", "    eins();\n    zwei();\n    drei();\n"
    )
    write_project(tmp_path, git, [{"a.c": text(old)}, {"a.c": text(ours)}])
    assert cli("-C", tmp_path, "check").code == 0  # the store has the old contents
    set_base(tmp_path, {"a.c": text("int new(void);\n" * 9 + theirs)})
    assert cli("-C", tmp_path, "bootstrap", "--to", "0001", "--merge", "WORK").code == 1
    rows = (tmp_path / "WORK/a.c").read_text().splitlines()
    begin, end = rows.index("<<<<<<< the tree"), rows.index("||||||| what the patch expects")
    assert rows[begin + 1 : end] == ["    eins();", "    zwei();", "    drei();"]
    assert rows[end + 1 : rows.index(">>>>>>> 0001-step.patch")] == [
        *["    one();", "    deux();", "    three();"],
        *["=======", "    one();", "    deux(1);", "    three();"],
    ]
