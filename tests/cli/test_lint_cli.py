"""``lint`` from the command line: its exit code and its five forms."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from cli.documents import checked

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox


def _project(project: Project, diff: Diff) -> Sandbox:
    patches = {"0001-good.patch": diff("a", "", "a\n"), "0002-space.patch": diff("b", "", "b\nb \n")}
    return project({}, patches)


def test_text(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    ran = made("lint")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out == (
        "patches/0002-space.patch:11: error: an added line of b ends in white space\n"
        "  (trailing-space)\n"
        "    take it off\n"
        "2 patches: 1 error\n"
    )
    line = (made.root / "patches/0002-space.patch").read_text().splitlines()[10]
    assert line == "+b "
    assert not (made.root / ".opencoti").exists()


def test_how_to_mend_it_is_said_once_below_the_last_of_a_kind(project: Project, diff: Diff) -> None:
    names = ("0003-c.patch", "0001-a.patch", "0002-b.patch")
    made = project({}, {n: diff(n[5], "", "x\n") for n in names})
    *rows, last = made("lint").out.splitlines()
    assert [row.partition(": error: ")[2] for row in rows[:2]] == [
        f"{n} stands behind 0003-c.patch (number-order)" for n in names[1:]
    ]
    assert (rows[2:], last) == (["    move its line, or: opencoti-patches renumber"], "3 patches: 2 errors")
    assert made("renumber").code == 0
    assert made("lint").code == 0


def test_nothing_found(project: Project, diff: Diff) -> None:
    made = project({}, {"0001-good.patch": diff("a", "", "a\n")})
    assert (made("lint").code, made("lint").out) == (0, "1 patch: no findings\n")


def test_a_folder_without_a_series_file_is_said_in_every_form(project: Project, diff: Diff) -> None:
    made = project({"a": "a\n"}, {"0001-good.patch": diff("b", "", "b\n")}, series=None)
    told = "no series file; patches are taken in order of number, then name"
    for command in (("lint",), ("lint", "--strict"), ("check",)):
        assert f"note: {told}" in " ".join(made(*command).out.split())
        assert made(*command).code == 0
        document = made(*command, "--json")
        assert checked(document.raw, 0)["listed"] is False
        assert (
            made(*command, "--format", "github").out == f"::notice file=patches/series,line=1,title=no-series::{told}\n"
        )
        (result,) = made(*command, "--format", "sarif").json["runs"][0]["results"]
        assert (result["level"], result["ruleId"]) == ("note", "no-series")
        assert told in made(*command, "--format", "junit").out
    assert made("lint").out.endswith("\n1 patch: 1 note\n")
    made.write("patches/series", "0001-good.patch\n")
    for one in ("lint", "check"):
        assert checked(made(one, "--json").raw, 0)["listed"] is True
        assert made(one, "--format", "github").out == ""


def test_a_patch_that_is_not_in_the_series_is_said_where_ci_reads(project: Project, diff: Diff) -> None:
    made = project({"a": "a\n"}, {"0001-good.patch": diff("b", "", "b\n")})
    made.write("patches/0002-other.patch", diff("c", "", "c\n"))
    said = made("check", "--format", "github")
    what = "the series does not have this patch"
    assert (said.code, said.out) == (0, f"::notice file=patches/0002-other.patch,line=1,title=not-listed::{what}\n")


def test_a_merge_that_nobody_settled_is_a_warning_of_check(project: Project, diff: Diff) -> None:
    sides = "<<<<<<< HEAD\nAnd why.\n=======\nOr why.\n>>>>>>> theirs\n"
    made = project({}, {"0001-good.patch": diff("a", "", "a\n").replace("And why it does that.\n", sides)})
    ran, document = made("check"), made("check", "--json")
    assert ran.code == 0  # git's word counts
    assert ran.out.startswith(
        "warning: 0001-good.patch, patch line 3: a merge left its conflict markers in the\n  patch file\n"
        "    next: settle the merge, then check again\n"
    )
    assert checked(document.raw, 0)["unmerged"] == [{"name": "0001-good.patch", "patch_line": 3}]
    said = made("check", "--format", "github").out
    assert said.startswith("::warning file=patches/0001-good.patch,line=3,title=conflict-marker::")
    assert [row["line"] for row in made("lint", "--json").json["findings"]] == [3, 5, 7]
    made.write("patches/0001-good.patch", diff("a", "", "a\n").replace("And why", "Title\n=======\nAnd why"))
    assert checked(made("check", "--json").raw, 0)["unmerged"] == []
    assert made("lint").code == 0


def test_a_warning_is_a_no_only_when_asked(project: Project, diff: Diff) -> None:
    made = project({}, {"0001-x.patch": diff("a", "", "a\n") + "-- \n2.39"})
    ran = made("lint", "--json")
    assert (ran.code, ran.json["ok"], ran.json["errors"], ran.json["warnings"]) == (0, True, 0, 1)
    strict = made("lint", "--strict", "--json")
    assert (strict.code, strict.json["ok"]) == (1, False)
    assert (strict.json["errors"], strict.json["warnings"]) == (1, 0)


def test_a_warning_that_is_a_no_is_an_error_in_every_form(project: Project, diff: Diff) -> None:
    made = project({}, {"0001-x.patch": diff("a", "", "a\n") + "-- \n2.39"})

    def form(name: str) -> str:
        ran = made("lint", "--strict", "--format", name)
        assert ran.code == 1
        return ran.out

    assert form("github").startswith("::error file=patches/0001-x.patch,line=12,title=missing-newline::")
    assert ET.fromstring(form("junit")).get("failures") == "1"
    assert [r["level"] for r in json.loads(form("sarif"))["runs"][0]["results"]] == ["error"]
    text = form("text")
    assert text.startswith("patches/0001-x.patch:12: error: ")
    assert text.endswith("\n1 patch: 1 error\n")
    assert made("lint", "--format", "github").out.startswith("::warning ")


def test_paths_are_those_of_the_folder_it_is_started_in(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    (made.root / "patches/series").write_text("0002-space.patch\n0001-good.patch\n")
    file, series = "work/patches/0002-space.patch", "work/patches/series"

    def form(name: str) -> str:
        ran = made("-C", "work", "lint", "--format", name, cwd=made.root.parent)
        assert ran.code == 1
        return ran.out

    assert [line.partition(",")[0] for line in form("github").splitlines()] == [
        f"::error file={file}",
        f"::error file={series}",
    ]
    text = form("text")
    assert [line.partition(":")[0] for line in text.splitlines() if "error:" in line] == [file, series]
    assert "    move its line, or: opencoti-patches -C work renumber\n" in text
    results = json.loads(form("sarif"))["runs"][0]["results"]
    places = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results]
    assert places == [file, series]
    cases = ET.fromstring(form("junit")).iter("testcase")
    assert [c.get("name") for c in cases] == ["0002-space.patch", "0001-good.patch", series]
    # the document is about the project, wherever it is asked for
    assert [f["path"] for f in json.loads(form("json"))["findings"]] == [
        p.removeprefix("work/") for p in (file, series)
    ]
    below = made("lint", "-C", "..", cwd=made.root / "patches").out
    assert below.startswith("0002-space.patch:")


def test_no_line_is_wider_than_a_screen(project: Project, diff: Diff) -> None:
    name = "0002-a-name-that-is-long  enough-with-blanks-in-it-to-be-broken-at-one-of-them.patch"
    patches = {"0001-x.patch": diff("a", "", "a\n") + "-- \n2.39", name: diff("b", "", "b\n")}
    made = project({}, patches, series="0001-x.patch\n0003-gone.patch -x\n")
    rows = made("lint").out.splitlines()
    assert rows[:3] == [
        "patches/0001-x.patch:12: warning: the last line lacks its newline; git takes it,",
        "  other tools may not (missing-newline)",
        "    echo >>patches/0001-x.patch",
    ]
    assert rows[3] == f"patches/{name}:1:"  # editors jump from it: it stays in one piece
    assert [row for row in rows if len(row) > 80] == [rows[3]]


def test_a_case_is_that_of_the_file_itself(project: Project, diff: Diff) -> None:
    made = project({}, {"x.patch": diff("a", "", "a \n"), "patches/x.patch": diff("b", "", "b\n")})
    cases = ET.fromstring(made("lint", "--format", "junit").raw).iter("testcase")
    assert [c.get("name") for c in cases if c.find("failure") is not None] == ["x.patch"]


def test_a_case_of_a_patch_under_another_spelling(project: Project, diff: Diff) -> None:
    made = project({}, {"0001-x.patch": diff("a", "", "a \n")}, series="./0001-x.patch\n")
    (case,) = ET.fromstring(made("lint", "--format", "junit").raw).iter("testcase")
    assert (case.get("name"), case.find("failure") is not None) == ("./0001-x.patch", True)


def test_a_missing_file_does_not_end_it(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made.write("patches/series", "0001-good.patch\n0009-gone.patch\n0002-space.patch\n")
    told = made("lint", "--json")
    assert told.code == 1
    assert [(f["path"], f["line"], f["rule"]) for f in told.json["findings"]] == [
        ("patches/0002-space.patch", 11, "trailing-space"),
        ("patches/series", 2, "missing-file"),
    ]
    assert told.json["patches"] == 2


def test_forms_for_ci(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    github = made("lint", "--format", "github")
    assert github.code == 1
    assert github.out.startswith("::error file=patches/0002-space.patch,line=11,title=trailing-space::")
    suite = ET.fromstring(made("lint", "--format", "junit").raw)
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (result,) = json.loads(made("lint", "--format", "sarif").raw)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], place["artifactLocation"]["uri"]) == ("trailing-space", "patches/0002-space.patch")
    assert place["region"]["startLine"] == 11


def test_configuration_errors_come_first(project: Project) -> None:
    made = project({}, {}, config='schema = 1\nnmae = "x"\n')
    ran = made("lint", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "unknown-key")
    assert ran.json["error"]["hint"] == "did you mean 'name'?"
