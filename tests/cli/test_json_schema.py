"""What ``--json`` prints is what docs/schema/opencoti.schema.json and docs/json.md say."""

from __future__ import annotations

import ast
import copy
import difflib
import json
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import plain_git
from jsonschema import Draft202012Validator

import opencoti_patches
from opencoti_patches.cli import COMMANDS
from opencoti_patches.report.ci import RULES
from opencoti_patches.series import order

if TYPE_CHECKING:
    from conftest import Cli
    from e2e.forked import Forked

pytest_plugins = ["e2e.forked"]

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "json.md").read_text("utf-8")
SCHEMA = json.loads((DOCS / "schema/opencoti.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
CONFIG = 'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "directory"\npath = "base"\n'
LINES = [f"the line number {n}\n" for n in range(1, 31)]


def _diff(path: str, old: list[str], new: list[str]) -> str:
    """A patch of one existing file."""
    return f"diff --git a/{path} b/{path}\n" + "".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"))


def _swap(lines: list[str], at: int, text: str) -> list[str]:
    """The lines with line ``at``, from 1, replaced."""
    return [*lines[: at - 1], text, *lines[at:]]


CLEAN = _diff("f.txt", LINES, _swap(LINES, 20, "twenty\n"))
# made where the file had two more lines at its top
MOVED = _diff("f.txt", ["x\n", "y\n", *LINES], ["x\n", "y\n", *_swap(LINES, 10, "ten\n")])
STRANGE = [f"strange {n}\n" for n in range(1, 31)]
FAILED = _diff("f.txt", STRANGE, [*STRANGE[:10], "the added line\n", *STRANGE[10:]])
STANDS_ON_IT = _diff(
    "f.txt",
    [*STRANGE[:10], "the added line\n", *STRANGE[10:]],
    [*STRANGE[:10], "the added line\n", "and another\n", *STRANGE[10:]],
)
TWICE = ["void one(void)\n", "{\n", "\tcall();\n", "}\n", "\n", "\n"] * 4
AMBIGUOUS = _diff("twice.c", ["// head\n", *TWICE], ["// head\n", *TWICE[:8], "\tmore();\n", *TWICE[9:]])

Project = Callable[..., Path]
Ask = Callable[..., Any]


@pytest.fixture
def project(forked: Forked) -> Project:
    """A project on a folder of two files, with the given patches; on another base if one is given."""

    def make(patches: Mapping[str, str], config: str = CONFIG) -> Path:
        forked.write("base/f.txt", "".join(LINES))
        forked.write("base/twice.c", "".join(TWICE))
        forked.write("opencoti.toml", config)
        forked.write("patches/series", "".join(f"{name}\n" for name in patches))
        for name, text in patches.items():
            forked.write(f"patches/{name}", text)
        return forked.root

    return make


@pytest.fixture
def ask(forked: Forked) -> Ask:
    """Run the program in a process of its own, in the project's folder; its one document, which the schema
    must take."""

    def run(*args: str | Path, code: int, **env: str) -> Any:
        ran = forked(*args, **env)
        assert ran.code == code, (ran.raw, ran.err)
        return checked(ran.raw, code)

    return run


def checked(raw: bytes | str, code: int) -> Any:
    """The one document, held to the schema."""
    document = json.loads(raw)
    assert [e.message for e in VALIDATOR.iter_errors(document)] == []
    assert document["ok"] is (code == 0)
    return document


# -- check -------------------------------------------------------------------------------------


def test_a_clean_series(ask: Ask, project: Project) -> None:
    document = ask(§({"0001-twenty.patch": CLEAN}), "--json", "check", code=0)
    assert len(document["tip"]["tree"]) == 40
    assert document["tip"] != document["base"]
    assert document["stale"] == []
    assert document["patches"] == [
        {"name": "0001-twenty.patch", "status": "clean", "files": ["f.txt"], "cause": None},
    ]


def test_an_offset_is_a_yes_unless_asked(ask: Ask, project: Project) -> None:
    folder = project({"0001-ten.patch": MOVED})
    document = ask("check", "--json", code=0)
    (row,) = document["patches"]
    assert (row["status"], row["cause"]) == ("offset", "offset")
    assert row["offsets"] == [{"file": "f.txt", "hunk": 1, "line": 7, "offset": -2}]
    assert ask("check", "--format", "json", "--no-offset", code=1)["patches"] == [row]


def test_a_root_and_its_cascade(ask: Ask, project: Project) -> None:
    patches = {"0001-root.patch": FAILED, "0002-after.patch": STANDS_ON_IT, "0003-twenty.patch": CLEAN}
    document = ask(§(patches), "check", "--json", code=1)
    assert document["tip"] == {"tree": None}
    root, cascade, free = document["patches"]
    assert (root["status"], root["cause"]) == ("failed", "context-changed")
    assert "blocked_by" not in root
    assert (cascade["status"], cascade["blocked_by"]) == ("blocked", ["0001-root.patch"])
    assert "the added line" in cascade["evidence"]
    assert (free["status"], free["without"]) == ("clean", ["0001-root.patch", "0002-after.patch"])


def test_an_empty_patch(ask: Ask, project: Project) -> None:
    (row,) = ask(§({"0001-nothing.patch": "Subject: nothing\n"}), "check", "--json", code=1)["patches"]
    assert (row["status"], row["cause"], row["files"]) == ("empty", "empty", [])


def test_a_warning(ask: Ask, project: Project) -> None:
    (row,) = ask(§({"0001-more.patch": AMBIGUOUS}), "check", "--json", code=0)["patches"]
    assert ("ambiguous", "warning") in {(p["cause"], p["level"]) for p in row["problems"]}


@pytest.mark.parametrize(
    ("patch", "cause"),
    [
        (CLEAN.replace(" the line number 19", " the  line number 19"), "whitespace"),
        (CLEAN.replace("\n", "\r\n"), "eol"),
        (CLEAN.replace("f.txt", "no.txt"), "renamed-file"),
        (_diff("no.txt", ["a\n"], ["b\n"]), "missing-file"),
        (_diff("f.txt", _swap(LINES, 20, "twenty one\n"), LINES), "already-applied"),
        (
            "diff --git a/f.txt b/f.txt\n--- a/f.txt\n+++ b/f.txt\n@@ -20 +20 @@\n-the line number 20\n+x\n",
            "zero-context",
        ),
        ("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/../n\n@@ -0,0 +1 @@\n+x\n", "unsafe-path"),
        (CLEAN.replace("f.txt", "vendor/f.txt"), "wrong-strip"),
        (CLEAN[:-1], "missing-newline"),
        (CLEAN.replace("@@ -17,7", "@@ -17,9"), "corrupt"),
        (
            "diff --git a/i.png b/i.png\nindex 1111111..2222222 100644\nBinary files a/i.png and b/i.png differ\n",
            "binary",
        ),
        ("diff --git a/f.txt b/f.txt\nnew file mode 100644\n--- /dev/null\n+++ b/f.txt\n@@ -0,0 +1 @@\n+x\n", "exists"),
    ],
)
def test_every_cause_is_in_the_schema(ask: Ask, project: Project, patch: str, cause: str) -> None:
    folder = project({"0001-x.patch": ""})
    (folder / "patches/0001-x.patch").write_bytes(patch.encode())
    (row,) = ask("check", "--json", code=1)["patches"]
    assert row["cause"] == cause


def test_a_stale_lock(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN})
    (folder / "patches/series.lock").write_text(f"base {'0' * 40}\n")
    document = ask("check", "--json", code=0)
    assert len(document["stale"]) == 2
    assert ask("check", "--json", "--locked", code=1)["stale"] == document["stale"]


def test_a_bad_configuration(ask: Ask, project: Project) -> None:
    folder = project({})
    (folder / "opencoti.toml").write_text(CONFIG.replace("base.source", "bse.source"))
    document = ask("check", "--json", code=2)
    assert document["error"]["code"] == "unknown-key"
    assert document["error"]["hint"] == "did you mean 'base'?"


def test_an_unknown_command() -> None:
    document = ask("--json", "chekc", code=2)
    assert (document["command"], document["error"]["code"]) == ("", "usage")
    assert "check" in document["error"]["message"]


def test_an_unknown_patch(ask: Ask, project: Project) -> None:
    document = ask(§({"0001-twenty.patch": CLEAN}), "check", "--json", "--to", "0009", code=2)
    assert (document["command"], document["error"]["code"]) == ("check", "unknown-patch")


def test_apply_fresh_and_again(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN})
    fresh = ask("apply", "--json", code=0)
    assert (fresh["from"], fresh["to"], fresh["written"]) == (None, "0001-twenty.patch", 2)
    (folder / "patches/series").write_text("")
    back = ask("apply", "--json", code=0)
    assert (back["from"], back["to"], back["written"], back["kept"]) == (fresh["tree"], None, ["f.txt"], 1)


def test_regen_of_an_offset(ask: Ask, project: Project) -> None:
    folder = project({"0001-ten.patch": MOVED, "0002-twenty.patch": CLEAN})
    tried = ask("regen", "--json", "--dry-run", code=0)
    assert (tried["dry_run"], tried["written"]) == (True, [])
    done = ask("regen", "--json", code=0)
    assert done["patches"] == tried["patches"]
    assert [(row["name"], row["status"]) for row in done["patches"]] == [
        ("0001-ten.patch", "renumbered"),
        ("0002-twenty.patch", "kept"),
    ]
    assert done["written"] == ["patches/0001-ten.patch"]
    assert ask("check", "--json", "--no-offset", code=0)["ok"] is True


def test_regen_of_a_conflict(ask: Ask, project: Project) -> None:
    document = ask(§({"0001-root.patch": FAILED}), "regen", "--json", code=1)
    assert [(row["name"], row["status"]) for row in document["patches"]] == [("0001-root.patch", "conflict")]
    assert document["written"] == []


# -- the schema itself ------------------------------------------------------------------------

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


def _causes(name: str) -> set[str]:
    return set(SCHEMA["$defs"][name]["enum"])


def test_schema_and_rules_know_the_same_causes() -> None:
    assert _causes("cause") | _causes("warning") | {"offset", "blocked", "stale-lock"} == RULES.keys()


def _properties(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield from node["properties"]
        for value in node.values():
            yield from _properties(value)
    elif isinstance(node, list):
        for value in node:
            yield from _properties(value)


def test_the_page_names_every_field_and_word() -> None:
    page = (DOCS / "json.md").read_text("utf-8")
    named = {word for term in re.findall(r"`([^`\n]+)`", page) for word in term.split(".")}
    words = set(_properties(SCHEMA)) | _causes("cause") | _causes("warning")
    for row in ("checkedPatch", "regeneratedPatch"):
        words |= set(SCHEMA["$defs"][row]["properties"]["status"]["enum"])
    assert words - named == set()
