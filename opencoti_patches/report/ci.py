"""Findings in the forms that CI reads: GitHub annotations, JUnit XML, SARIF."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from posixpath import normpath
from urllib.parse import quote

from opencoti_patches import __version__
from opencoti_patches.core.model import Finding, Report

TOOL = "opencoti-patches"

RULES: dict[str, tuple[str, str]] = {
    # rule: (what it is, what it means and what to do)
    "whitespace": (
        "White space differs",
        "The lines that the hunk expects are there with other white space. 'opencoti-patches regen' follows the base.",
    ),
    "eol": (
        "Line ends differ",
        "File and patch differ in LF and CRLF, or in the newline at the end. Run 'opencoti-patches regen'.",
    ),
    "context-changed": (
        "The expected lines are not there",
        "The base has other lines where the hunk goes. Edit the tree before the patch and regenerate it from there.",
    ),
    "moved": (
        "The lines stand in another file",
        "What the hunk changes was moved to another file. Carry the change there and regenerate the patch.",
    ),
    "already-applied": (
        "The change is in the base already",
        "The result of the hunk stands in the base. If that holds for the whole patch, take it out of the series.",
    ),
    "missing-file": ("The file is not in the tree", "The patch changes a file that the tree before it lacks."),
    "renamed-file": (
        "The file has another name now",
        "The lines stand under another name. Regenerate the patch for the new name.",
    ),
    "exists": ("The file is there already", "The patch creates a file that the tree before it has."),
    "mode": ("Another kind of file", "The patch takes the path for another kind of file than the tree has there."),
    "binary": (
        "A binary change that git cannot make",
        "The contents are not in the patch, or do not fit the file. Make it again with 'git diff --binary'.",
    ),
    "zero-context": (
        "A hunk without context",
        "git takes no hunk without context lines unless told to. 'opencoti-patches regen' gives it some.",
    ),
    "wrong-strip": (
        "Wrong strip level",
        "The paths fit the tree only with another strip level. Give it in the series file: NAME -pN.",
    ),
    "corrupt": ("Not a patch that git can read", "A header or a line count in the patch file is wrong."),
    "missing-newline": (
        "The patch file lacks its last newline",
        "The file was cut at its end, often by a copy from a mail or a web page. Add the newline: 'echo >>FILE' does.",
    ),
    "unsafe-path": (
        "A path that must not be followed",
        "A path leads out of the tree, into .git or beyond a symbolic link. Ask where the patch came from.",
    ),
    "empty": ("No change in the patch", "The file holds nothing that git can apply. Take it out of the series."),
    "blocked": (
        "Stands on a patch that failed",
        "It needs what an earlier, failed patch adds. Mend that one first, then check again.",
    ),
    "offset": (
        "Applies with an offset",
        "Hunks landed away from the line they name. The patch is stale, not broken; 'opencoti-patches regen' renumbers it.",
    ),
    "ambiguous": (
        "The context stands in more than one place",
        "The hunk moved, and its context occurs elsewhere too, so it may have landed in the wrong place.",
    ),
    "function-changed": (
        "Landed in another function",
        "The function around the hunk is not the one in which it was made. See whether it is the right one.",
    ),
    "stale-lock": (
        "series.lock is out of date",
        "The lock does not describe the series and base as they are. Run 'opencoti-patches lock'.",
    ),
    "conflict-marker": (
        "A merge left its conflict markers",
        "A merge that nobody settled is in the patch file, where git passes over it, or in the lines that it adds.",
    ),
    "not-listed": (
        "A patch file that is not in the series",
        "The folder has a patch file that the series does not name, not even in a comment: nothing applies it.",
    ),
    "no-series": (
        "No series file",
        "Nothing says in what order the patches apply: they are taken by number, then by name. A series file says it.",
    ),
}

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_ORDER = {"error": 0, "warning": 1, "note": 2}
_ILLEGAL_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_URI_SAFE = "/!$&'()*+,;=@~"  # what a path segment may hold as it is; ':' not, it could look like a scheme


def github(report: Report) -> str:
    """Workflow commands of GitHub Actions, one a finding. GitHub shows the first ten of a level, so errors
    come first, and roots before what they block."""
    blocked = {f.path for f in report.findings if f.rule == "blocked"}  # its other findings wait with it
    found = sorted(report.findings, key=lambda f: (_ORDER[f.level], f.path in blocked, f.rule == "blocked"))
    return "\n".join(map(_annotation, found))


def junit(report: Report) -> str:
    """JUnit XML: a test case a patch, failed where it has errors; its warnings are the case's output.
    A finding about another file makes a case of its own."""
    by_case: dict[str, list[Finding]] = {name: [] for name in report.cases}
    for f in report.findings:
        by_case.setdefault(_case_of(f.path, report), []).append(f)
    failures = sum(any(f.level == "error" for f in found) for found in by_case.values())
    counts = {"tests": str(len(by_case)), "failures": str(failures), "errors": "0", "time": "0"}
    root = ET.Element("testsuites", counts)
    suite = ET.SubElement(root, "testsuite", {"name": f"{TOOL} {report.command}", **counts, "skipped": "0"})
    for name, found in by_case.items():
        _test_case(suite, name, f"{TOOL}.{report.command}", found)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode")


def sarif(report: Report) -> str:
    """SARIF 2.1.0: one run, every rule described, a result a finding."""
    ids = [*RULES, *sorted({f.rule for f in report.findings} - RULES.keys())]
    index = {rule: i for i, rule in enumerate(ids)}
    run = {
        "tool": {"driver": {"name": TOOL, "version": __version__, "rules": [_rule(r) for r in ids]}},
        "invocations": [{"executionSuccessful": True, "exitCode": 0 if report.ok else 1}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, index[f.rule]) for f in report.findings],
    }
    document = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return json.dumps(document, ensure_ascii=False, indent=1)


def _clean(text: str) -> str:
    """Stray bytes as escapes, so that the text can be written as UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _said(f: Finding) -> str:
    return _clean(f.message + (f"\nnext: {f.hint}" if f.hint else ""))


# -- GitHub -----------------------------------------------------------------------------------


def _annotation(f: Finding) -> str:
    place = {"file": f.path, "line": str(max(f.line, 1))} if f.path else {}
    properties = ",".join(f"{key}={_property(value)}" for key, value in {**place, "title": f.rule}.items())
    return f"::{_COMMANDS[f.level]} {properties}::{_escaped(_said(f))}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(_clean(text)).replace(":", "%3A").replace(",", "%2C")


# -- JUnit ------------------------------------------------------------------------------------


def _case_of(path: str, report: Report) -> str:
    """The case that a file belongs to: by its path in the folder, or the longest name that ends it; else the path itself."""
    plain = {normpath(name): name for name in report.cases}  # a path has no "./", which a series may
    if (inside := path.removeprefix(f"{report.folder}/")) in plain:
        return plain[inside]
    fit = [name for name in plain if f"/{path}".endswith(f"/{name}")]
    return plain[max(fit, key=len)] if fit else path


def _test_case(suite: ET.Element, name: str, group: str, found: Sequence[Finding]) -> None:
    case = ET.SubElement(suite, "testcase", {"classname": group, "name": _xml(name), "time": "0"})
    errors = [f for f in found if f.level == "error"]
    others = [f for f in found if f.level != "error"]
    if errors:  # one element: some readers take no more of them, and show only the first
        first = {"type": _xml(errors[0].rule), "message": _xml(errors[0].message)}
        ET.SubElement(case, "failure", first).text = "\n".join(map(_line, errors))
    if others:
        ET.SubElement(case, "system-out").text = "\n".join(f"{f.level}: {_line(f)}" for f in others)


def _line(f: Finding) -> str:
    return _xml(f"{f.path}:{max(f.line, 1)}: {f.rule}: {_said(f)}")


def _xml(text: str) -> str:
    return _ILLEGAL_XML.sub("\ufffd", _clean(text))


# -- SARIF ------------------------------------------------------------------------------------


def _rule(rule: str) -> dict[str, object]:
    short, more = RULES.get(rule) or (rule.replace("-", " ").capitalize(),) * 2
    return {
        "id": rule,
        "shortDescription": {"text": short},
        "fullDescription": {"text": more},
        "help": {"text": more},
    }


def _result(f: Finding, index: int) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": f.rule,
        "ruleIndex": index,
        "level": f.level,
        "message": {"text": _said(f)},
    }
    if f.path:
        place = {"artifactLocation": {"uri": _uri(f.path)}, "region": {"startLine": max(f.line, 1)}}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(path: str) -> str:
    """A relative reference; ``file://`` for a path outside the project."""
    raw = path.encode("utf-8", "surrogateescape")
    return ("file://" if path.startswith("/") else "") + quote(raw, safe=_URI_SAFE)
