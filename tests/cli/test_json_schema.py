"""What ``--json`` prints is what docs/schema/opencoti.schema.json and docs/json.md say."""

from __future__ import annotations

import ast
import copy
import difflib
import json
import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import LONG_AGO, plain_git
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
OTHER = [f"another file's line {n}\n" for n in range(1, 31)]
OTHER_MOVED = _diff("g.txt", ["x\n", "y\n", *OTHER], ["x\n", "y\n", *_swap(OTHER, 10, "ten\n")])
MADE = "diff --git a/more.c b/more.c\nnew file mode 100644\n--- /dev/null\n+++ b/more.c\n@@ -0,0 +1 @@\n+more\n"
# the base has the white space of line 10 right already
_UNTIDY = _swap(LINES, 10, "the  line number 10\n")
HALF_DONE = _diff("f.txt", _UNTIDY, _swap(LINES, 12, "twelve\n"))
AMBIGUOUS = _diff("twice.c", ["// head\n", *TWICE], ["// head\n", *TWICE[:8], "\tmore();\n", *TWICE[9:]])

Project = Callable[..., Path]
Ask = Callable[..., Any]


@pytest.fixture
def project(forked: Forked) -> Project:
    """A project on a folder of three files, with the given patches; on another base if one is given."""

    def make(patches: Mapping[str, str], config: str = CONFIG) -> Path:
        for name, lines in (("f.txt", LINES), ("g.txt", OTHER), ("twice.c", TWICE)):
            os.utime(forked.write(f"base/{name}", "".join(lines)), (LONG_AGO, LONG_AGO))
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
        ran = forked(*args, cwd=None, **env)
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
    project({"0001-twenty.patch": CLEAN})
    document = ask("--json", "check", code=0)
    assert len(document["tip"]["tree"]) == 40
    assert document["tip"] != document["base"]
    assert document["stale"] == []
    assert document["patches"] == [
        {"name": "0001-twenty.patch", "status": "clean", "files": ["f.txt"], "cause": None},
    ]


def test_an_offset_is_a_yes_unless_asked(ask: Ask, project: Project) -> None:
    project({"0001-ten.patch": MOVED})
    document = ask("check", "--json", code=0)
    (row,) = document["patches"]
    assert (row["status"], row["cause"]) == ("offset", "offset")
    assert row["offsets"] == [{"file": "f.txt", "hunk": 1, "line": 7, "offset": -2}]
    assert ask("check", "--format", "json", "--no-offset", code=1)["patches"] == [row]


def test_a_root_and_its_cascade(ask: Ask, project: Project) -> None:
    patches = {"0001-root.patch": FAILED, "0002-after.patch": STANDS_ON_IT, "0003-twenty.patch": CLEAN}
    project(patches)
    document = ask("check", "--json", code=1)
    assert document["tip"] == {"tree": None}
    root, cascade, free = document["patches"]
    assert (root["status"], root["cause"]) == ("failed", "context-changed")
    assert "blocked_by" not in root
    assert (cascade["status"], cascade["blocked_by"]) == ("blocked", ["0001-root.patch"])
    assert "the added line" in cascade["evidence"]
    assert (free["status"], free["without"]) == ("clean", ["0001-root.patch", "0002-after.patch"])


def test_an_empty_patch(ask: Ask, project: Project) -> None:
    project({"0001-nothing.patch": "Subject: nothing\n"})
    (row,) = ask("check", "--json", code=1)["patches"]
    assert (row["status"], row["cause"], row["files"]) == ("empty", "empty", [])


def test_a_warning(ask: Ask, project: Project) -> None:
    project({"0001-more.patch": AMBIGUOUS})
    (row,) = ask("check", "--json", code=0)["patches"]
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


# -- errors ------------------------------------------------------------------------------------


def test_a_bad_configuration(ask: Ask, project: Project) -> None:
    folder = project({})
    (folder / "opencoti.toml").write_text(CONFIG.replace("base.source", "bse.source"))
    document = ask("check", "--json", code=2)
    assert document["error"]["code"] == "unknown-key"
    assert document["error"]["hint"] == "did you mean 'base'?"


def test_an_unknown_command(ask: Ask) -> None:
    document = ask("--json", "chekc", code=2)
    assert (document["command"], document["error"]["code"]) == ("", "usage")
    assert "check" in document["error"]["message"]


def test_an_unknown_patch(ask: Ask, project: Project) -> None:
    project({"0001-twenty.patch": CLEAN})
    document = ask("check", "--json", "--to", "0009", code=2)
    assert (document["command"], document["error"]["code"]) == ("check", "unknown-patch")


def test_a_refusal(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN})
    (folder / "patches/series.lock").write_text("<<<<<<< ours\n")
    document = ask("check", "--json", code=1)
    assert document["error"]["code"] == "bad-lock"
    assert document["error"]["hint"] == "run 'opencoti-patches lock'"


def test_a_tool_that_is_not_there(ask: Ask, project: Project) -> None:
    project({"0001-twenty.patch": CLEAN})
    document = ask("bootstrap", "--json", code=3, PATH="/nonexistent")
    assert (document["command"], document["error"]["code"]) == ("bootstrap", "no-tool")


def test_an_interrupt(forked: Forked, project: Project) -> None:
    project({"0001-twenty.patch": CLEAN})
    ran = forked.driver(forked.root, "--json", "check", at=1, strike=signal.SIGINT)
    assert ran.code == 130
    document = checked(ran.out, ran.code)
    assert (document["command"], document["error"]["code"]) == ("check", "interrupted")


def test_a_defect_of_ours(cli: Cli, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project({"0001-twenty.patch": CLEAN})

    def broken(*_: object) -> None:
        raise KeyError("a\nb")

    monkeypatch.setattr(order, "load", broken)
    monkeypatch.delenv("OPENCOTI_TRACE", raising=False)
    ran = cli("-C", folder, "list", "--json")
    assert ran.code == 3
    error = checked(ran.out, ran.code)["error"]
    assert (error["code"], error["message"]) == ("internal", "internal error: KeyError: 'a\\nb'")


def _raised() -> dict[str, set[int]]:
    """Every code that the program can end with, and with which exit code."""
    found: dict[str, set[int]] = {"usage": {2}, "interrupted": {130}, "internal": {3}, "disk": {3}}
    exits = {"Refused": 1, "UsageError": 2, "CouldNot": 3}
    for file in Path(opencoti_patches.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in exits:
                code = ast.literal_eval(node.args[0])
                found.setdefault(code, set()).add(exits[node.func.id])
    return found


def test_the_page_and_the_schema_have_every_error_code() -> None:
    section = PAGE.partition("\n## An error\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([0-9, ]+) \|", section, re.M)
    listed = {code: {int(n) for n in exits.split(",")} for code, exits in rows}
    assert len(rows) == len(listed)
    assert listed == _raised()
    assert set(SCHEMA["$defs"]["error"]["properties"]["error"]["properties"]["code"]["enum"]) == set(listed)


# -- a folder to work in -----------------------------------------------------------------------


def test_init(ask: Ask, forked: Forked) -> None:
    document = ask("init", "--json", "fork", code=0)
    assert document["project"] == str(forked.root / "fork")
    assert document["written"] == ["opencoti.toml", "patches/series", ".gitignore"]
    assert (document["kept"], document["listed"], document["patches"]) == ([], True, 0)


def test_init_around_patches(ask: Ask, forked: Forked) -> None:
    forked.write("patches/0001-twenty.patch", CLEAN)
    forked.write(".gitignore", "/tree/\n/.opencoti/\n")
    document = ask("init", "--json", code=0)
    assert (document["written"], document["kept"]) == (["opencoti.toml"], [".gitignore"])
    assert (document["listed"], document["patches"]) == (False, 1)
    assert ask("init", "--json", code=2)["error"]["code"] == "exists"


def test_bootstrap(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN})
    document = ask("bootstrap", "--json", code=0)
    assert document["base"]["sources"] == [str(folder / "base")]
    assert document.keys() == {"schema", "command", "ok", "base"}
    bare = ask("bootstrap", "--json", "WORK", code=0)
    assert (bare["dir"], bare["to"], bare["tree"]) == (str(folder / "WORK"), None, bare["base"]["tree"])
    (folder / "WORK/f.txt").write_text("mine\n")
    after = ask("bootstrap", "--json", "--force", "--to", "1", "WORK", code=0)
    assert after["to"] == "0001-twenty.patch"
    assert after["tree"] == ask("check", "--json", code=0)["tip"]["tree"]
    (saved,) = after["saved"]
    assert "+mine" in Path(saved).read_text()


def test_apply_fresh_and_again(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN})
    fresh = ask("apply", "--json", code=0)
    assert (fresh["from"], fresh["to"], fresh["patches"]) == (None, "0001-twenty.patch", 1)
    assert (fresh["written"], fresh["commit"]) == (["f.txt", "g.txt", "twice.c"], None)
    (folder / "patches/series").write_text("")
    back = ask("apply", "--json", code=0)
    assert (back["from"], back["to"], back["written"], back["kept"]) == (fresh["tree"], None, ["f.txt"], 2)


def test_apply_deletes_saves_and_commits(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN, "0002-more.patch": MADE})
    there = ask("apply", "--json", "--commits", code=0)
    assert there["written"] == ["f.txt", "g.txt", "more.c", "twice.c"]
    (folder / "tree/twice.c").write_text("mine\n")
    assert ask("apply", "--json", "--to", "1", code=1)["error"]["code"] == "local-edits"
    back = ask("apply", "--json", "--to", "1", "--force", code=0)
    assert (back["from"], back["to"]) == (there["tree"], "0001-twenty.patch")
    assert (back["written"], back["deleted"], back["kept"]) == (["twice.c"], ["more.c"], 2)
    assert "+mine" in Path(back["saved"][0]).read_text()
    assert plain_git(folder / "tree", "rev-parse", "opencoti").strip() == back["commit"]


# -- regen -------------------------------------------------------------------------------------


def test_regen_of_an_offset(ask: Ask, project: Project) -> None:
    project({"0001-ten.patch": MOVED, "0002-twenty.patch": CLEAN})
    tried = ask("regen", "--json", "--dry-run", code=0)
    assert (tried["dry_run"], tried["written"]) == (True, [])
    done = ask("regen", "--json", code=0)
    assert done["patches"] == tried["patches"]
    assert [(row["name"], row["status"]) for row in done["patches"]] == [
        ("0001-ten.patch", "renumbered"),
        ("0002-twenty.patch", "kept"),
    ]
    assert done["patches"][0]["hunks"] == [{"file": "f.txt", "hunk": 1, "how": "moved by -2 lines"}]
    assert done["written"] == ["patches/0001-ten.patch"]
    assert ask("check", "--json", "--no-offset", code=0)["ok"] is True


def test_regen_of_a_conflict(ask: Ask, project: Project) -> None:
    project({"0001-root.patch": FAILED, "0002-after.patch": STANDS_ON_IT, "0003-ten.patch": OTHER_MOVED})
    document = ask("regen", "--json", code=1)
    assert [row["status"] for row in document["patches"]] == ["conflict", "blocked", "renumbered"]
    assert document["written"] == ["patches/0003-ten.patch"]
    assert document["needs_acceptance"] == []


def test_regen_of_what_has_to_be_accepted(ask: Ask, project: Project, forked: Forked) -> None:
    project({"0001-tidy.patch": HALF_DONE})
    asked = ask("regen", "--json", code=1)
    (row,) = asked["patches"]
    assert row["status"] == "adapted"
    assert row["interdiff"][0] == "f.txt"
    assert any(line.split() == ["-+the", "line", "number", "10"] for line in row["interdiff"])
    assert (asked["needs_acceptance"], asked["written"]) == (["0001-tidy.patch"], [])
    aside = ask("regen", "--json", "--into", "OUT", code=1)
    assert (aside["needs_acceptance"], aside["written"]) == (["0001-tidy.patch"], ["OUT/0001-tidy.patch"])
    assert ask("regen", "--json", "--into", "OUT", "--dry-run", code=1)["written"] == []
    done = ask("regen", "--json", "--accept-adapted", code=0)
    assert (done["patches"], done["needs_acceptance"]) == ([row], [])
    assert done["written"] == ["patches/0001-tidy.patch"]


def test_regen_from_a_folder(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN})
    ask("bootstrap", "--json", "--to", "1", "WORK", code=0)
    (folder / "WORK/f.txt").write_text("".join(_swap(LINES, 20, "TWENTY\n")))
    (folder / "WORK/new.c").write_text("new\n")
    document = ask("regen", "--json", "1", "--from", "WORK", code=0)
    (row,) = document["patches"]
    assert (row["status"], row["hunks"]) == ("adapted", [])
    assert "  ++TWENTY" in row["interdiff"]
    assert (document["needs_acceptance"], document["new_files"]) == ([], ["new.c"])


# -- bump --------------------------------------------------------------------------------------

GIT = 'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "git"\nurl = "up"\nrev = "v1"\n'
HEAD = "Say what\n\nAnd why.\n\n"


@pytest.fixture
def upstream(forked: Forked) -> Path:
    """A repository with two tags. The second has two lines more at the top of f.txt, another fifth line in
    g.txt, and other lines around the tenth of h.txt."""
    up = forked.root / "up"
    for tag, f, g, h in (
        ("v1", LINES, LINES, LINES),
        ("v2", ["x\n", "y\n", *LINES], _swap(LINES, 5, "five\n"), _swap(_swap(LINES, 8, "eight\n"), 12, "twelve\n")),
    ):
        for name, lines in (("f.txt", f), ("g.txt", g), ("h.txt", h)):
            forked.write(f"up/{name}", "".join(lines))
        if tag == "v1":
            plain_git(up, "init", "-q", "-b", "main", ".")
        plain_git(up, "add", ".")
        plain_git(up, "commit", "-q", "-m", tag)
        plain_git(up, "tag", tag)
    return up


def _line(path: str, at: int, text: str) -> str:
    return HEAD + _diff(path, LINES, _swap(LINES, at, text))


def test_bump(ask: Ask, project: Project, upstream: Path) -> None:
    patches = {
        "0001-f.patch": _line("f.txt", 20, "twenty\n"),
        "0002-g.patch": _line("g.txt", 5, "five\n"),
        "0003-h.patch": _line("h.txt", 10, "ten\n"),
        "0004-g.patch": HEAD + _diff("g.txt", _swap(LINES, 5, "five\n"), [*_swap(LINES, 5, "five\n")[:-1], "last\n"]),
    }
    folder = project(patches, GIT)
    tried = ask("bump", "v2", "--json", "--dry-run", code=0)
    assert (tried["dry_run"], tried["written"]) == (True, [])
    done = ask("bump", "v2", "--json", code=0)
    assert done["patches"] == tried["patches"]
    assert [(row["name"], row["status"]) for row in done["patches"]] == [
        ("0001-f.patch", "renumbered"),
        ("0002-g.patch", "upstreamed"),
        ("0003-h.patch", "regenerated"),
        ("0004-g.patch", "kept"),
    ]
    assert done["patches"][1]["reason"] == "upstream has all of it"
    assert done["patches"][1]["hunks"] == [{"file": "g.txt", "hunk": 1, "how": "upstream has it already"}]
    # a patch that left is among what was written
    assert set(done["written"]) == {
        "patches/0001-f.patch",
        "patches/0002-g.patch",
        "patches/0003-h.patch",
        "patches/series",
        "opencoti.toml",
    }
    assert not (folder / "patches/0002-g.patch").exists()
    rev = plain_git(upstream, "rev-parse", "v2").strip()
    assert rev in (folder / "opencoti.toml").read_text()
    now = ask("check", "--json", "--locked", code=0)
    assert (done["base"]["tree"], done["tip"]) == (now["base"]["tree"], now["tip"])
    assert (done["from"]["upstream"], done["base"]["upstream"]) == ("", f"{rev} (v2)")
    assert ask("bump", rev, "--json", code=0) == {
        "schema": 1,
        "command": "bump",
        "ok": True,
        "answer": "already",
        "value": rev,
        "label": done["base"]["label"],
        "upstream": f"{rev} (v2)",
    }


def test_bump_where_a_conflict_was_resolved_before(ask: Ask, stuck: Path) -> None:
    worktree = ask("bump", "v2", "--json", code=1)["worktree"]
    (Path(worktree) / "g.txt").write_text("".join(_swap(LINES, 5, "another five\n")))
    before = {path: path.read_bytes() for path in [*(stuck / "patches").iterdir(), stuck / "opencoti.toml"]}
    done = ask("bump", "--json", "--continue", code=0)
    assert (done["reused"], done["written"].count("patches/resolutions.jsonl")) == ([], 1)
    for path, content in before.items():
        path.write_bytes(content)
    asked = ask("bump", "v2", "--json", code=1)
    assert (asked["reused"], asked["needs_acceptance"]) == (["0001-g.patch"], ["0001-g.patch"])
    gone = ask("bump", "--forget", "1", "--json", code=0)
    assert (gone["answer"], gone["forgotten"], gone["resolutions"]) == ("forgotten", "0001-g.patch", 1)
    assert gone["written"] == ["patches/resolutions.jsonl"]
    assert ask("bump", "--forget", "1", "--json", code=2)["error"]["code"] == "no-resolution"
    (stuck / "patches/resolutions.jsonl").write_text("{}\n")
    assert ask("bump", "v2", "--json", code=2)["error"]["code"] == "bad-resolutions"


def test_bump_of_what_has_to_be_accepted(ask: Ask, project: Project, upstream: Path) -> None:
    both = _swap(_swap(LINES, 5, "five\n"), 20, "twenty\n")
    project({"0001-g.patch": HEAD + _diff("g.txt", LINES, both)}, GIT)
    asked = ask("bump", "v2", "--json", code=1)
    (row,) = asked["patches"]
    assert (row["status"], asked["needs_acceptance"], asked["written"]) == ("adapted", ["0001-g.patch"], [])
    assert "  -+five" in row["interdiff"]
    done = ask("bump", "v2", "--json", "--accept-adapted", code=0)
    assert (done["patches"], done["needs_acceptance"]) == ([row], [])
    assert "patches/0001-g.patch" in done["written"]


@pytest.fixture
def stuck(project: Project, upstream: Path) -> Path:
    """A project whose first patch finds no place upstream, whose second stands on it, and a third."""
    ours = _swap(LINES, 5, "another five\n")
    after = HEAD + _diff("g.txt", ours, [*ours[:5], "and more\n", *ours[5:]])
    third = _line("f.txt", 20, "twenty\n")
    first = _line("g.txt", 5, "another five\n")
    return project({"0001-g.patch": first, "0002-g.patch": after, "0003-f.patch": third}, GIT)


def test_bump_of_a_conflict(ask: Ask, stuck: Path) -> None:
    tried = ask("bump", "v2", "--json", "--dry-run", code=1)
    assert "waits_for" not in tried
    document = ask("bump", "v2", "--json", code=1)
    assert tried["patches"][0].pop("next") == "opencoti-patches bump v2"
    assert document["patches"][0].pop("next") == "opencoti-patches bump --continue"
    assert document["patches"] == tried["patches"]
    assert (document["answer"], document["tip"], document["skipped"]) == ("carried", {"tree": None}, [])
    first, second, third = document["patches"]
    assert [row["status"] for row in (first, second, third)] == ["conflict", "blocked", "renumbered"]
    assert first["hunks"][0]["file"] == "g.txt"
    assert second["reason"].startswith("stands on 0001-g.patch: ")
    assert (document["written"], document["waits_for"], document["files"]) == ([], "0001-g.patch", ["g.txt"])
    assert "<<<<<<<" in (Path(document["worktree"]) / "g.txt").read_text()


def test_a_bump_that_is_resolved(ask: Ask, stuck: Path) -> None:
    worktree = ask("bump", "v2", "--json", code=1)["worktree"]
    assert ask("bump", "v2", "--json", code=1)["error"]["code"] == "session-open"
    assert ask("bump", "--json", "--continue", code=1)["error"]["code"] == "markers"
    (Path(worktree) / "g.txt").write_text("".join(_swap(LINES, 5, "another five\n")))
    done = ask("bump", "--json", "--continue", code=0)
    assert (done["patches"][0]["status"], done["patches"][0]["reason"]) == ("adapted", "resolved by hand")
    assert "  -+five" not in done["patches"][0]["interdiff"]
    assert "opencoti.toml" in done["written"]
    assert ask("bump", "--json", "--status", code=2)["error"]["code"] == "no-session"


def test_a_bump_without_a_patch(ask: Ask, project: Project, upstream: Path) -> None:
    both = _swap(_swap(LINES, 5, "five\n"), 20, "twenty\n")
    patches = {"0001-h.patch": _line("h.txt", 8, "another\n"), "0002-g.patch": HEAD + _diff("g.txt", LINES, both)}
    project(patches, GIT)
    document = ask("bump", "v2", "--json", code=1)
    where = ask("bump", "--json", "--status", code=0)
    session = where["session"]
    assert where["answer"] == "session"
    assert session == {
        "value": "v2",
        "waits_for": "0001-h.patch",
        "worktree": document["worktree"],
        "files": ["h.txt"],
        "resolved": [],
        "skipped": [],
    }
    left = ask("bump", "--json", "--skip", "1", code=1)
    assert [row["status"] for row in left["patches"]] == ["conflict", "adapted"]
    assert (left["needs_acceptance"], left["skipped"]) == (["0002-g.patch"], ["0001-h.patch"])
    assert "waits_for" not in left
    session = ask("bump", "--json", "--status", code=0)["session"]
    assert (session["waits_for"], session["worktree"], session["skipped"]) == (None, None, ["0001-h.patch"])
    done = ask("bump", "--json", "--continue", "--accept-adapted", code=0)
    assert done["patches"] == left["patches"]
    assert set(done["written"]) == {"patches/0002-g.patch", "patches/series", "opencoti.toml"}


def test_a_bump_that_is_given_up(ask: Ask, stuck: Path) -> None:
    ask("bump", "v2", "--json", code=1)
    document = ask("bump", "--json", "--abort", code=0)
    assert document == {"schema": 1, "command": "bump", "ok": True, "answer": "aborted", "aborted": "v2", "kept": []}


def test_bump_of_a_folder(ask: Ask, project: Project) -> None:
    project({"0001-twenty.patch": CLEAN})
    document = ask("bump", "v2", "--json", code=2)
    assert (document["command"], document["error"]["code"]) == ("bump", "which-source")


def test_forecast(ask: Ask, project: Project, upstream: Path) -> None:
    project({"0001-f.patch": _line("f.txt", 20, "twenty\n"), "0002-g.patch": _line("g.txt", 5, "another five\n")}, GIT)
    document = ask("forecast", "v2", "--json", code=1)
    assert (document["rev"], document["commits"], document["looked_at"]) == ("v2", 1, 1)
    moved, broken = document["patches"]
    assert (moved["not_clean"]["status"], moved["not_applying"], moved["at_last"]) == ("offset", None, "offset")
    assert (broken["not_applying"]["commit"], broken["at_last"]) == (document["last"]["commit"], "failed")
    assert document["all_clean"] == document["all_apply"] == document["pinned"]
    assert ask("forecast", "v1", "--json", code=0)["commits"] == 0
    bare = ask("forecast", "v2", "--json", "--source", "2", code=2)
    assert (bare["command"], bare["error"]["code"]) == ("forecast", "which-source")


# -- patches in and out ------------------------------------------------------------------------


def test_new(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN, "0002-ten.patch": MOVED})
    ask("bootstrap", "--json", "--to", "1", "WORK", code=0)
    (folder / "WORK/f.txt").write_text("".join(["top\n", *_swap(LINES, 20, "twenty\n")]))
    (folder / "WORK/new.c").write_text("new\n")
    args = ("new", "mine", "--json", "--from", "WORK", "--after", "1", "--renumber", "-m", "Say what\n\nAnd why.")
    document = ask(*args, code=0)
    assert (document["name"], document["after"]) == ("0002-mine.patch", "0001-twenty.patch")
    assert (document["path"], document["subject"]) == ("patches/0002-mine.patch", "Say what")
    assert (document["files"], document["new_files"]) == (["f.txt", "new.c"], ["new.c"])
    assert (document["added"], document["removed"], document["claims"]) == (2, 0, [])
    assert document["renamed"] == [{"from": "0002-ten.patch", "to": "0003-ten.patch"}]


def test_new_as_the_first(ask: Ask, project: Project) -> None:
    folder = project({})
    ask("apply", "--json", code=0)
    assert ask("new", "mine", "--json", code=1)["error"]["code"] == "no-change"
    (folder / "tree/f.txt").write_text("".join(_swap(LINES, 3, "three\n")))
    document = ask("new", "mine", "--json", code=0)
    assert (document["after"], document["renamed"], document["offset"]) == (None, [], [])
    assert document["name"] == "0001-mine.patch"


def test_import(ask: Ask, project: Project, forked: Forked) -> None:
    project({"0001-twenty.patch": CLEAN, "0002-more.patch": MADE})
    forked.write("in.diff", MOVED[:-1])
    forked.write("bad.diff", FAILED)
    blind = ask("import", "in.diff", "--json", "--dry-run", code=0)
    assert (blind["base"], blind["tip"], blind["written"]) == (None, None, [])
    assert (blind["patches"][0]["status"], blind["patches"][0]["cause"]) == (None, None)
    base = ask("bootstrap", "--json", code=0)["base"]["tree"]
    document = ask("import", "in.diff", "bad.diff", "--json", "--after", "1", "--renumber", code=0)
    assert (document["base"], document["tip"]) == ({"tree": base}, {"tree": None})
    ours, bad = document["patches"]
    assert (ours["name"], ours["source"], ours["after"]) == ("0002-in.patch", "in.diff", "0001-twenty.patch")
    assert (ours["status"], ours["repairs"]) == ("offset", ["final newline added"])
    assert (bad["status"], bad["cause"], bad["strip"]) == ("failed", "context-changed", 1)
    assert document["renamed"] == [{"from": "0002-more.patch", "to": "0004-more.patch"}]
    assert "patches/0003-bad.patch" in document["written"]


def test_import_of_mails_that_break_what_follows(ask: Ask, project: Project, forked: Forked) -> None:
    project({"0001-ten.patch": MOVED, "0002-twenty.patch": CLEAN})
    ask("bootstrap", "--json", code=0)
    mail = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.com>\n"
    other = _diff("f.txt", _swap(LINES, 10, "ten\n"), _swap(_swap(LINES, 10, "ten\n"), 20, "another\n"))
    forked.write("in.mbox", f"{mail}Subject: no patch\n\nhello\n\n{mail}Subject: Twenty\n\nWhy.\n\n{other}\n")
    document = ask("import", "in.mbox", "--json", "--dry-run", "--after", "1", "--renumber", code=0)
    assert [row["status"] for row in document["patches"]] == ["clean"]
    assert document["broken"] == ["0003-twenty.patch"]
    assert document["skipped"] == ["in.mbox, mail 1 has no patch in it: no patch"]


@pytest.mark.parametrize(
    ("form", "files"),
    [("quilt", ["0001-twenty.patch", "series"]), ("git", ["0001-twenty.patch"]), ("mbox", ["small.mbox"])],
)
def test_export(ask: Ask, project: Project, form: str, files: list[str]) -> None:
    folder = project({"0001-twenty.patch": HEAD + CLEAN})
    document = ask("export", "OUT", "--json", "--format", form, code=0)
    assert (document["dir"], document["format"], document["patches"]) == (str(folder / "OUT"), form, 1)
    assert document["files"] == files
    assert document["keep_brackets"] is False
    tip = None if form == "quilt" else ask("check", "--json", code=0)["tip"]["tree"]
    assert document["tip"] == {"tree": tip}


# -- looking -----------------------------------------------------------------------------------


def test_list(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN, "0002-more.patch": MADE})
    (folder / "patches/series").write_text("0001-twenty.patch\n0002-more.patch -p2 -R\n")
    document = ask("list", "--json", code=0)
    assert document["listed"] is True
    first, second = document["patches"]
    assert (first["files"], first["added"], first["removed"], first["binary"]) == (["f.txt"], 1, 1, 0)
    assert (second["strip"], second["reverse"], len(second["sha256"])) == (2, True, 64)
    (folder / "patches/series").unlink()
    assert ask("list", "--json", code=0)["listed"] is False


def test_show(ask: Ask, project: Project) -> None:
    moves = (
        "diff --git a/f.txt b/e.txt\nold mode 100644\nnew mode 100755\nsimilarity index 100%\n"
        "rename from f.txt\nrename to e.txt\n"
        "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/twice.c b/twice.c\ndeleted file mode 100644\n--- a/twice.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/i.png b/i.png\nindex 1111111..2222222 100644\nBinary files a/i.png and b/i.png differ\n"
    )
    project({"0001-moves.patch": HEAD + moves})
    patch = ask("show", "1", "--json", code=0)["patch"]
    assert (patch["path"], patch["header"], patch["diff"]) == ("patches/0001-moves.patch", HEAD, moves)
    rename, create, delete, binary = patch["files"]
    assert (rename["operation"], rename["from"], rename["path"]) == ("rename", "f.txt", "e.txt")
    assert (rename["old_mode"], rename["mode"]) == ("100644", "100755")
    assert (create["operation"], create["mode"], create["added"], create["hunks"]) == ("create", "100755", 1, 1)
    assert (delete["operation"], delete["removed"]) == ("delete", 1)
    assert (binary["operation"], binary["binary"]) == ("modify", True)


def test_status(ask: Ask, project: Project) -> None:
    folder = project({"0001-ten.patch": MOVED, "0002-root.patch": FAILED})
    unready = ask("status", "--json", code=0)
    assert (unready["base"]["ready"], unready["series"]["applies"]) == (False, None)
    assert unready["lock"] == {"state": "none", "differences": []}
    tree = ask("bootstrap", "--json", code=0)["base"]["tree"]
    document = ask("status", "--json", code=0)
    source = {"kind": "directory", "label": str(folder / "base"), "upstream": "", "into": ""}
    assert document["base"] == {"ready": True, "tree": tree, "sources": [source]}
    assert document["series"] == {
        "dir": "patches",
        "listed": True,
        "patches": 2,
        "applies": False,
        "statuses": {"offset": 1, "failed": 1},
        "first_failed": "0002-root.patch",
    }
    assert document["tree"]["dir"] == "tree"


def test_status_of_the_lock(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN})
    ask("lock", "--json", code=0)
    document = ask("status", "--json", code=0)
    assert (document["lock"]["state"], document["series"]["applies"]) == ("in step", True)
    (folder / "patches/0001-twenty.patch").write_text(HEAD + CLEAN)
    assert ask("status", "--json", code=0)["lock"] == {
        "state": "stale",
        "differences": ["0001-twenty.patch is not what was locked"],
    }
    (folder / "patches/series.lock").write_text("<<<<<<< ours\n")
    assert ask("status", "--json", code=0)["lock"]["state"] == "damaged"


def test_lock(ask: Ask, project: Project) -> None:
    folder = project({"0001-twenty.patch": CLEAN})
    document = ask("lock", "--json", code=0)
    assert (document["lock"], document["state"], document["patches"]) == ("patches/series.lock", "written", 1)
    assert document["tip"] == ask("check", "--json", "--locked", code=0)["tip"]
    assert ask("lock", "--json", code=0) == document | {"state": "unchanged"}
    (folder / "patches/0001-twenty.patch").write_text(FAILED)
    refused = ask("lock", "--json", code=1)
    assert (refused["state"], refused["first_failed"]) == ("refused", "0001-twenty.patch")
    assert refused["tip"] == {"tree": None}


def test_lint(ask: Ask, project: Project, forked: Forked) -> None:
    project({"0002-b.patch": HEAD + CLEAN, "0001-a.patch": CLEAN, "0003-c.patch": HEAD + CLEAN + "x"})
    forked.write("patches/0004-d.patch", CLEAN)
    document = ask("lint", "--json", code=1)
    assert [(f["path"], f["line"], f["rule"], f["level"]) for f in document["findings"]] == [
        ("patches/0001-a.patch", 1, "no-subject", "error"),
        ("patches/0003-c.patch", (HEAD + CLEAN).count("\n") + 1, "missing-newline", "warning"),
        ("patches/0004-d.patch", 1, "not-listed", "error"),
        ("patches/series", 2, "number-order", "error"),
    ]
    assert (document["patches"], document["errors"], document["warnings"]) == (3, 3, 1)


def test_lint_of_a_warning(ask: Ask, project: Project) -> None:
    project({"0001-a.patch": HEAD + CLEAN})
    assert ask("lint", "--json", code=0)["findings"] == []
    project({"0001-a.patch": HEAD + CLEAN + "x"})
    assert ask("lint", "--format", "json", code=0)["warnings"] == 1
    assert ask("lint", "--json", "--strict", code=1)["errors"] == 0


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
    "unlisted": [],
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
}
BUMP: dict[str, Any] = REGEN | {
    "command": "bump",
    "answer": "carried",
    "from": {"tree": "a" * 40, "label": "x 1", "upstream": ""},
    "base": {"tree": "b" * 40, "label": "x 2", "upstream": "c"},
    "tip": {"tree": "d" * 40},
    "skipped": [],
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
        (BUMP, {"base": {"tree": "a" * 40, "label": "", "upstream": ""}}),
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
    assert _words("cause") | _words("warning") | {"offset", "blocked", "stale-lock"} == RULES.keys()


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
    "forecast": ["mark", "outlook", "turn"],
    "new": ["renamed"],
    "import": ["importedPatch"],
    "list": ["listedPatch"],
    "show": ["shownPatch", "shownFile"],
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
