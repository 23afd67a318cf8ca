"""The forms for CI, held to exact values: GitHub annotations, JUnit XML, SARIF."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from opencoti_patches import __version__
from opencoti_patches.core.model import Finding, Level, Report
from opencoti_patches.report import ci
from opencoti_patches.report.render import render


def finding(
    level: Level = "error",
    rule: str = "context-changed",
    message: str = "the lines are not there",
    path: str = "patches/0001-a.patch",
    line: int = 7,
    hint: str = "",
) -> Finding:
    """A finding, all of it given or ordinary."""
    return Finding(level=level, rule=rule, message=message, path=path, line=line, hint=hint)


def report(*findings: Finding, cases: tuple[str, ...] = ("0001-a.patch",), ok: bool = False) -> Report:
    """A check's report with these findings."""
    return Report(command="check", ok=ok, findings=findings, cases=cases)


# -- GitHub -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            finding(hint="opencoti-patches regen 0001"),
            "::error file=patches/0001-a.patch,line=7,title=context-changed::the lines are not there"
            "%0Anext: opencoti-patches regen 0001",
        ),
        (
            finding("warning", "offset", "moved by +3", line=1),
            "::warning file=patches/0001-a.patch,line=1,title=offset::moved by +3",
        ),
        (finding("note", "x", "y", line=0), "::notice file=patches/0001-a.patch,line=1,title=x::y"),
        (finding(path="", message="m"), "::error title=context-changed::m"),
        # data keeps : and , and escapes % and the ends of lines; % first, so that no escape is escaped twice
        (
            finding(message="a: 50%, b%0A\r\nc::d"),
            "::error file=patches/0001-a.patch,line=7,title=context-changed::a: 50%25, b%250A%0D%0Ac::d",
        ),
        # properties escape : and , too
        (
            finding(rule="a,b:c", path="p,1/x:y%\n.patch", message="m"),
            "::error file=p%2C1/x%3Ay%25%0A.patch,line=7,title=a%2Cb%3Ac::m",
        ),
        # a stray byte of a file name
        (
            finding(path="patches/\udce9.patch", message="\udcff!"),
            "::error file=patches/\\xe9.patch,line=7,title=context-changed::\\xff!",
        ),
    ],
)
def test_github_annotation(given: Finding, line: str) -> None:
    assert ci.github(report(given)) == line


def test_github_shows_roots_first() -> None:
    """GitHub cuts a level off after ten, so what must be seen comes first; else the order stays."""
    text = ci.github(
        report(
            finding("warning", "offset", "1"),
            finding("error", "blocked", "2"),
            finding("error", "eol", "3"),
            finding("note", "n", "4"),
            finding("error", "mode", "5"),
            finding("warning", "stale-lock", "6"),
        )
    )
    assert [line.rpartition("::")[2] for line in text.split("\n")] == ["3", "5", "2", "1", "6", "4"]


def test_on_github_all_that_a_blocked_patch_has_waits_behind_the_roots() -> None:
    text = ci.github(
        report(
            finding("error", "context-changed", "1", path="p/1"),
            finding("error", "context-changed", "2", path="p/2"),
            finding("error", "blocked", "3", path="p/2"),
            finding("error", "context-changed", "4", path="p/3"),
        )
    )
    assert [line.rpartition("::")[2] for line in text.split("\n")] == ["1", "4", "2", "3"]


@pytest.mark.parametrize("form", ["github", "junit", "sarif"])
def test_render_finds_each_form(form: str) -> None:
    given = report(finding())
    assert render(given, form) == getattr(ci, form)(given) != ""


def test_nothing_found_says_nothing_on_github() -> None:
    assert ci.github(report(ok=True)) == ""


# -- JUnit ------------------------------------------------------------------------------------

# What the readers' schemas (the xunit plugin's, Ant's) agree on.
ATTRIBUTES: dict[str, set[str]] = {
    "testsuites": {"tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "failure": {"type", "message"},
    "system-out": set(),
}
CHILDREN: dict[str, list[list[str]]] = {
    "testsuites": [["testsuite"]],
    "testcase": [[], ["failure"], ["system-out"], ["failure", "system-out"]],
    "failure": [[]],
    "system-out": [[]],
}


def suite_of(given: Report) -> ET.Element:
    """The one suite of a report, its shape checked."""
    text = ci.junit(given)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ')
    root = ET.fromstring(text.encode())
    for element in root.iter():
        assert element.attrib.keys() == ATTRIBUTES[element.tag]
        tags = [child.tag for child in element]
        assert tags in CHILDREN[element.tag] if element.tag in CHILDREN else set(tags) <= {"testcase"}
    (suite,) = root
    assert {k: root.get(k) for k in ATTRIBUTES["testsuites"]} == {k: suite.get(k) for k in ATTRIBUTES["testsuites"]}
    return suite


def counts(suite: ET.Element) -> tuple[str | None, ...]:
    """tests, failures, errors, skipped."""
    return tuple(suite.get(k) for k in ("tests", "failures", "errors", "skipped"))


def test_junit_has_a_case_a_patch() -> None:
    suite = suite_of(report(cases=("0001-a.patch", "0002-b.patch"), ok=True))
    assert suite.get("name") == "opencoti-patches check"
    assert [c.attrib for c in suite] == [
        {"classname": "opencoti-patches.check", "name": "0001-a.patch", "time": "0"},
        {"classname": "opencoti-patches.check", "name": "0002-b.patch", "time": "0"},
    ]
    assert counts(suite) == ("2", "0", "0", "0")


def test_junit_fails_on_errors_and_prints_the_rest() -> None:
    suite = suite_of(
        report(
            finding(message="first", hint="do this"),
            finding("warning", "offset", "moved", line=1),
            finding(rule="eol", message="second", line=9),
            finding("warning", "ambiguous", "look", "patches/0002-b.patch", 3),
            cases=("0001-a.patch", "0002-b.patch", "0003-c.patch"),
        )
    )
    assert counts(suite) == ("3", "1", "0", "0")
    one, two, three = suite
    failure, out = one
    assert failure.attrib == {"type": "context-changed", "message": "first"}
    assert failure.text == (
        "patches/0001-a.patch:7: context-changed: first\nnext: do this\npatches/0001-a.patch:9: eol: second"
    )
    assert out.text == "warning: patches/0001-a.patch:1: offset: moved"
    assert [(c.tag, c.text) for c in two] == [("system-out", "warning: patches/0002-b.patch:3: ambiguous: look")]
    assert list(three) == []


def test_junit_loses_no_finding_about_another_file() -> None:
    """A lock that ``--locked`` refutes must not leave the suite green."""
    suite = suite_of(report(finding(rule="stale-lock", path="patches/series.lock", line=1)))
    assert counts(suite) == ("2", "1", "0", "0")
    assert [(c.get("name"), [x.tag for x in c]) for c in suite] == [
        ("0001-a.patch", []),
        ("patches/series.lock", ["failure"]),
    ]


@pytest.mark.parametrize("folder", ["", "patches/"])
def test_junit_tells_names_apart_that_end_alike(folder: str) -> None:
    """``sub/a.patch`` and ``a.patch``; and ``aa.patch``, which is no case here, is not ``a.patch``."""
    names = ["a.patch", "sub/a.patch", "aa.patch"]
    suite = suite_of(report(*(finding(path=folder + n, message=n) for n in names), cases=("a.patch", "sub/a.patch")))
    assert [(c.get("name"), c[0].get("message")) for c in suite] == [
        ("a.patch", "a.patch"),
        ("sub/a.patch", "sub/a.patch"),
        (f"{folder}aa.patch", "aa.patch"),
    ]


def test_junit_replaces_what_xml_cannot_hold() -> None:
    bad = "a\x00b\x1b[1m\x0b\ufffe\udcff<&>\"'\t\U0001f600"
    suite = suite_of(report(finding(message=bad, path="patches/\x01.patch"), cases=("\x01.patch",)))
    good = "a\ufffdb\ufffd[1m\ufffd\ufffd\\xff<&>\"'\t\U0001f600"
    assert suite[0].get("name") == "\ufffd.patch"
    assert suite[0][0].get("message") == good
    assert suite[0][0].text == f"patches/\ufffd.patch:7: context-changed: {good}"


# -- SARIF ------------------------------------------------------------------------------------

_TEXT = {
    "type": "object",
    "required": ["text"],
    "additionalProperties": False,
    "properties": {"text": {"type": "string", "minLength": 1}},
}


def _closed(required: list[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": required, "additionalProperties": False, "properties": properties}


# The part of SARIF 2.1.0 that is used here: its required properties, and no property that it does not know.
SARIF = _closed(
    ["version", "runs"],
    **{"$schema": {"type": "string"}},
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": _closed(
            ["tool"],
            tool=_closed(
                ["driver"],
                driver=_closed(
                    ["name"],
                    name={"type": "string"},
                    version={"type": "string"},
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": _closed(
                            ["id"],
                            id={"type": "string"},
                            shortDescription=_TEXT,
                            fullDescription=_TEXT,
                            help=_TEXT,
                        ),
                    },
                ),
            ),
            invocations={
                "type": "array",
                "items": _closed(
                    ["executionSuccessful"],
                    executionSuccessful={"type": "boolean"},
                    exitCode={"type": "integer"},
                ),
            },
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            results={
                "type": "array",
                "items": _closed(
                    ["message"],
                    ruleId={"type": "string"},
                    ruleIndex={"type": "integer", "minimum": 0},
                    level={"enum": ["none", "note", "warning", "error"]},
                    message=_TEXT,
                    locations={
                        "type": "array",
                        "items": _closed(
                            [],
                            physicalLocation=_closed(
                                ["artifactLocation"],
                                artifactLocation=_closed([], uri={"type": "string", "pattern": r"^[!-~]+$"}),
                                region=_closed([], startLine={"type": "integer", "minimum": 1}),
                            ),
                        ),
                    },
                ),
            },
        ),
    },
)


def run_of(given: Report) -> Any:
    """The one run of a report's SARIF, its shape checked."""
    document = json.loads(ci.sarif(given))
    assert [e.message for e in Draft202012Validator(SARIF).iter_errors(document)] == []
    (run,) = document["runs"]
    return run


def test_sarif_result() -> None:
    run = run_of(report(finding(hint="do this"), finding("warning", "offset", "moved", line=0)))
    rules = run["tool"]["driver"]["rules"]
    assert run["tool"]["driver"]["name"] == "opencoti-patches"
    assert run["tool"]["driver"]["version"] == __version__
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]
    first, second = run["results"]
    assert rules[first.pop("ruleIndex")]["id"] == "context-changed"
    assert first == {
        "ruleId": "context-changed",
        "level": "error",
        "message": {"text": "the lines are not there\nnext: do this"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "patches/0001-a.patch"},
                    "region": {"startLine": 7},
                }
            }
        ],
    }
    assert rules[second["ruleIndex"]]["id"] == second["ruleId"] == "offset"
    assert second["level"] == "warning"
    assert second["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}


def test_sarif_describes_every_rule_once() -> None:
    run = run_of(report(ok=True))
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == list(ci.RULES)
    assert (run["results"], run["invocations"][0]["exitCode"]) == ([], 0)
    shorts = [short for short, _ in ci.RULES.values()]
    assert len(set(shorts)) == len(shorts)


def test_sarif_describes_a_rule_that_it_does_not_know() -> None:
    run = run_of(report(finding(rule="bad-header"), finding("warning", "bad-header")))
    assert run["tool"]["driver"]["rules"][len(ci.RULES) :] == [
        {
            "id": "bad-header",
            "shortDescription": {"text": "Bad header"},
            "fullDescription": {"text": "Bad header"},
            "help": {"text": "Bad header"},
        }
    ]
    assert [r["ruleIndex"] for r in run["results"]] == [len(ci.RULES)] * 2


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("patches/0001 a#b?.patch", "patches/0001%20a%23b%3F.patch"),
        ("patches/50%.patch", "patches/50%25.patch"),
        ("c:d.patch", "c%3Ad.patch"),
        ("patches/é.patch", "patches/%C3%A9.patch"),
        ("patches/\udce9.patch", "patches/%E9.patch"),
        ("/elsewhere/a b.patch", "file:///elsewhere/a%20b.patch"),
    ],
)
def test_sarif_uri(path: str, uri: str) -> None:
    (result,) = run_of(report(finding(path=path)))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": uri}


def test_sarif_without_a_file_has_no_location() -> None:
    (result,) = run_of(report(finding(path="")))["results"]
    assert "locations" not in result
