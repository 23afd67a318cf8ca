"""The schema, docs/json.md and the program know the same commands, fields and words."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import opencoti_patches
from cli.documents import DOCS, PAGE, SCHEMA, VALIDATOR
from opencoti_patches.cli import COMMANDS
from opencoti_patches.report.ci import RULES


def _raised() -> dict[str, set[int]]:
    """Every code that the program can end with, and with which exit code."""
    found: dict[str, set[int]] = {"usage": {2}, "interrupted": {130}, "internal": {3}, "disk": {3}}
    exits = {"Refused": 1, "UsageError": 2, "CouldNot": 3}
    for file in Path(opencoti_patches.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in exits:
                code = ast.literal_eval(node.args[0])
                found.setdefault(code, set()).add(exits[node.func.id])
            if isinstance(node, ast.ClassDef):  # a kind of error of its own names its code once
                base = next((b.id for b in node.bases if isinstance(b, ast.Name) and b.id in exits), None)
                calls = (c for c in ast.walk(node) if base and isinstance(c, ast.Call))
                for call in calls:
                    if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
                        found.setdefault(ast.literal_eval(call.args[0]), set()).add(exits[base or ""])
    return found


def test_the_page_and_the_schema_have_every_error_code() -> None:
    section = PAGE.partition("\n## An error\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([0-9, ]+) \|", section, re.M)
    listed = {code: {int(n) for n in exits.split(",")} for code, exits in rows}
    assert len(rows) == len(listed)
    assert listed == _raised()
    assert set(SCHEMA["$defs"]["error"]["properties"]["error"]["properties"]["code"]["enum"]) == set(listed)


GOOD: dict[str, Any] = {
    "schema": 1,
    "command": "check",
    "ok": True,
    "base": {"tree": "a" * 40},
    "tip": {"tree": "b" * 40},
    "patches": [
        {"name": "p", "status": "clean", "files": ["f"], "cause": None},
        {
            "name": "q",
            "status": "offset",
            "files": ["f"],
            "cause": "offset",
            "offsets": [{"file": "f", "hunk": 1, "line": 3, "offset": 2}],
            "next": "regen",
        },
    ],
    "stale": [],
    "unlisted": [],
    "unmerged": [],
    "listed": True,
}


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert VALIDATOR.is_valid(GOOD)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", 2),
        ("command", "smoke"),
        ("news", 1),
        ("base/tree", None),
        ("tip/tree", "abc"),
        ("stale", None),
        ("patches/0/status", "dirty"),
        ("patches/0/news", 1),
        ("patches/0/cause", "offset"),
        ("patches/0/next", "regen"),
        ("patches/1/offsets", []),
        ("patches/1/offsets/0/offset", 0),
        ("patches/1/status", "failed"),
        ("patches/1/cause", "whim"),
        ("patches/1/blocked_by", ["p"]),
        ("error", {"code": "x", "message": "y", "hint": ""}),
    ],
)
def test_the_schema_refuses(path: str, value: object) -> None:
    document = copy.deepcopy(GOOD)
    *inner, last = path.split("/")
    at: Any = document
    for key in inner:
        at = at[int(key)] if isinstance(at, list) else at[key]
    at[last] = value
    assert not VALIDATOR.is_valid(document)


REGEN: dict[str, Any] = {
    "schema": 1,
    "command": "regen",
    "ok": True,
    "patches": [{"name": "p", "status": "adapted", "reason": "r", "hunks": [], "interdiff": ["f"]}],
    "written": ["patches/p"],
    "dry_run": False,
    "needs_acceptance": [],
    "new_files": [],
    "next": [],
}
BUMP: dict[str, Any] = REGEN | {
    "command": "bump",
    "answer": "carried",
    "from": {"tree": "a" * 40, "kind": "git", "source": "x", "rev": "1", "label": "x 1", "upstream": ""},
    "base": {"tree": "b" * 40, "kind": "git", "source": "x", "rev": "2", "label": "x 2", "upstream": "c"},
    "tip": {"tree": "d" * 40},
    "deleted": [],
    "skipped": [],
    "disabled": [],
    "reused": ["p"],
    "notes": [],
}
LOCK: dict[str, Any] = {
    "schema": 1,
    "command": "lock",
    "ok": True,
    "lock": "patches/series.lock",
    "base": {"tree": "a" * 40},
    "tip": {"tree": "b" * 40},
    "patches": 1,
    "state": "written",
}


@pytest.mark.parametrize(
    ("good", "change"),
    [
        (REGEN, {"ok": False}),
        (REGEN, {"needs_acceptance": ["p"]}),
        (REGEN, {"dry_run": True}),
        (REGEN, {"patches": [{"name": "p", "status": "conflict", "reason": "r", "hunks": []}]}),
        (REGEN, {"patches": [REGEN["patches"][0] | {"next": "n"}]}),
        (REGEN, {"patches": [{"name": "p", "status": "upstreamed", "reason": "r", "hunks": []}]}),
        (REGEN, {"patches": [REGEN["patches"][0] | {"status": "renumbered"}]}),
        (BUMP, {"new_files": ["f"]}),
        (BUMP, {"ok": False, "needs_acceptance": ["p"]}),
        (BUMP, {"answer": "session"}),
        (BUMP, {"tip": {"tree": None}}),
        (BUMP, {"base": BUMP["base"] | {"label": ""}}),
        (LOCK, {"ok": False}),
        (LOCK, {"state": "refused"}),
        (LOCK, {"tip": {"tree": None}}),
        (LOCK, {"first_failed": "p"}),
    ],
)
def test_the_schema_knows_what_goes_together(good: dict[str, Any], change: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(good)
    assert not VALIDATOR.is_valid(good | change)


def test_every_command_is_in_the_schema_and_on_the_page() -> None:
    assert _words("commandName") == COMMANDS.keys() <= SCHEMA["$defs"].keys()
    assert COMMANDS.keys() <= set(re.findall(r"^## (.+)$", PAGE, re.M))
    for name in COMMANDS:
        assert not VALIDATOR.is_valid({"schema": 1, "command": name, "ok": True})


def test_every_object_is_closed() -> None:
    def open_ones(node: Any, where: str) -> Iterator[str]:
        if isinstance(node, dict):
            if node.get("type") == "object" and "properties" in node and node.get("additionalProperties") is not False:
                yield where
            for key, value in node.items():
                yield from open_ones(value, f"{where}/{key}")

    assert list(open_ones(SCHEMA["$defs"], "")) == []


def _words(name: str) -> set[str]:
    return set(SCHEMA["$defs"][name]["enum"])


def test_schema_and_rules_know_the_same_causes() -> None:
    assert (
        _words("cause")
        | _words("warning")
        | {"offset", "blocked", "stale-lock", "no-series", "not-listed", "conflict-marker"}
        == RULES.keys()
    )


def test_schema_and_pages_know_the_same_lint_rules() -> None:
    page = (DOCS / "configuration.md").read_text("utf-8").partition("\n## What lint checks\n")[2].partition("\n## ")[0]
    rules = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.M))
    assert _words("rule") - rules <= {"eol"}
    assert rules <= _words("rule")


def _properties(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield from node["properties"]
        for value in node.values():
            yield from _properties(value)
    elif isinstance(node, list):
        for value in node:
            yield from _properties(value)


def _section(command: str) -> set[str]:
    """The words in code style in a command's section of the page."""
    text = re.sub(r"(?m)^    .*$", "", PAGE.partition(f"\n## {command}\n")[2].partition("\n## ")[0])
    return {word for term in re.findall(r"`([^`\n]+)`", text) for word in term.split(".")}


# the rows and objects that a command's document is made of
PARTS = {
    "package": ["releaseFile"],
    "verify": ["releaseCheckName", "releaseCheck", "releaseWrong"],
    "pin": ["pinRow"],
    "check": ["base", "tip", "verdict", "checkedPatch", "offset", "problem", "cause", "warning"],
    "regen": ["regeneratedPatch", "carriedHunk"],
    "bump": [
        "bumpCarried",
        "bumpBase",
        "bumpAlready",
        "bumpSession",
        "bumpAborted",
        "bumpForgotten",
        "bumpedPatch",
        "session",
    ],
    "impact": ["reach"],
    "smoke": ["smokePrompt", "smokeSide", "smokeFailure"],
    "canary": ["canaryRow", "canarySample"],
    "bisect": ["bisectStep"],
    "forecast": ["mark", "outlook", "turn"],
    "new": ["renamed"],
    "move": ["stackChange", "stackedPatch", "blocker"],
    "absorb": ["absorbedEdit"],
    "deps": ["needs", "needed", "neededFile"],
    "annotate": ["ownedLine"],
    "find": ["hit"],
    "upstreamed": ["upstreamedPatch", "upstreamedHunk"],
    "compare": ["comparedSeries", "comparedPatch", "patchSpot"],
    "undo": ["undone", "undoLog", "step"],
    "import": ["importedPatch"],
    "list": ["listedPatch"],
    "show": ["shownPatch", "shownFile"],
    "report": ["seenPatch", "hotFile"],
    "status": ["source"],
    "lint": ["lintFinding"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_field_and_word(command: str) -> None:
    words = set()
    for name in [command, *PARTS.get(command, [])]:
        part = SCHEMA["$defs"][name]
        words |= set(_properties(part)) | set(part.get("enum", []))
        for value in part.get("properties", {}).values():
            words |= {word for word in value.get("enum", []) if isinstance(word, str)}
    if command == "bump":  # what it has in common with regen is said there
        words -= set(_properties(SCHEMA["$defs"]["regen"])) | set(_properties(SCHEMA["$defs"]["regeneratedPatch"]))
    assert words - _section(command) - {"schema", "command", "ok"} == set()
