"""``check --json``, and what every command says of an error."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from cli.documents import (
    AMBIGUOUS,
    CLEAN,
    CONFIG,
    FAILED,
    LINES,
    MOVED,
    STANDS_ON_IT,
    Ask,
    Project,
    checked,
    diff,
    swap,
)
from opencoti_patches.series import order

if TYPE_CHECKING:
    from conftest import Cli
    from e2e.forked import Forked


def test_a_clean_series(ask: Ask, small: Project) -> None:
    small({"0001-twenty.patch": CLEAN})
    document = ask("--json", "check", code=0)
    assert len(document["tip"]["tree"]) == 40
    assert document["tip"] != document["base"]
    assert document["stale"] == []
    assert document["patches"] == [
        {"name": "0001-twenty.patch", "status": "clean", "files": ["f.txt"], "cause": None},
    ]


def test_an_offset_is_a_yes_unless_asked(ask: Ask, small: Project) -> None:
    small({"0001-ten.patch": MOVED})
    document = ask("check", "--json", code=0)
    (row,) = document["patches"]
    assert (row["status"], row["cause"]) == ("offset", "offset")
    assert row["offsets"] == [{"file": "f.txt", "hunk": 1, "line": 7, "offset": -2}]
    assert ask("check", "--format", "json", "--no-offset", code=1)["patches"] == [row]


def test_a_root_and_its_cascade(ask: Ask, small: Project) -> None:
    patches = {"0001-root.patch": FAILED, "0002-after.patch": STANDS_ON_IT, "0003-twenty.patch": CLEAN}
    small(patches)
    document = ask("check", "--json", code=1)
    assert document["tip"] == {"tree": None}
    root, cascade, free = document["patches"]
    assert (root["status"], root["cause"]) == ("failed", "context-changed")
    assert "blocked_by" not in root
    assert (cascade["status"], cascade["blocked_by"]) == ("blocked", ["0001-root.patch"])
    assert "the added line" in cascade["evidence"]
    assert (free["status"], free["without"]) == ("clean", ["0001-root.patch", "0002-after.patch"])


def test_an_empty_patch(ask: Ask, small: Project) -> None:
    small({"0001-nothing.patch": "Subject: nothing\n"})
    (row,) = ask("check", "--json", code=1)["patches"]
    assert (row["status"], row["cause"], row["files"]) == ("empty", "empty", [])


def test_a_warning(ask: Ask, small: Project) -> None:
    small({"0001-more.patch": AMBIGUOUS})
    (row,) = ask("check", "--json", code=0)["patches"]
    assert ("ambiguous", "warning") in {(p["cause"], p["level"]) for p in row["problems"]}


@pytest.mark.parametrize(
    ("patch", "cause"),
    [
        (CLEAN.replace(" the line number 19", " the  line number 19"), "whitespace"),
        (CLEAN.replace("\n", "\r\n"), "eol"),
        (CLEAN.replace("f.txt", "no.txt"), "renamed-file"),
        (diff("no.txt", ["a\n"], ["b\n"]), "missing-file"),
        (diff("f.txt", swap(LINES, 20, "twenty one\n"), LINES), "already-applied"),
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
def test_every_cause_is_in_the_schema(ask: Ask, small: Project, patch: str, cause: str) -> None:
    folder = small({"0001-x.patch": ""})
    (folder / "patches/0001-x.patch").write_bytes(patch.encode())
    (row,) = ask("check", "--json", code=1)["patches"]
    assert row["cause"] == cause


def test_a_stale_lock(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN})
    (folder / "patches/series.lock").write_text(f"base {'0' * 40}\ntip {'0' * 40}\n")
    document = ask("check", "--json", code=0)
    assert len(document["stale"]) == 2
    assert ask("check", "--json", "--locked", code=1)["stale"] == document["stale"]


def test_a_bad_configuration(ask: Ask, small: Project) -> None:
    folder = small({})
    (folder / "opencoti.toml").write_text(CONFIG.replace("base.source", "bse.source"))
    document = ask("check", "--json", code=2)
    assert document["error"]["code"] == "unknown-key"
    assert document["error"]["hint"] == "did you mean 'base'?"


def test_an_unknown_command(ask: Ask) -> None:
    document = ask("--json", "chekc", code=2)
    assert (document["command"], document["error"]["code"]) == ("", "usage")
    assert "check" in document["error"]["message"]


def test_an_unknown_patch(ask: Ask, small: Project) -> None:
    small({"0001-twenty.patch": CLEAN})
    document = ask("check", "--json", "--to", "0009", code=2)
    assert (document["command"], document["error"]["code"]) == ("check", "unknown-patch")


def test_a_refusal(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN})
    document = ask("import", folder / "patches/0001-twenty.patch", "--json", code=1)
    assert (document["command"], document["ok"], document["error"]["code"]) == ("import", False, "exists")


def test_a_tool_that_is_not_there(ask: Ask, small: Project) -> None:
    small({"0001-twenty.patch": CLEAN})
    document = ask("bootstrap", "--json", code=3, PATH="/nonexistent")
    assert (document["command"], document["error"]["code"]) == ("bootstrap", "no-tool")


def test_an_interrupt(forked: Forked, small: Project) -> None:
    small({"0001-twenty.patch": CLEAN})
    ran = forked.driver(forked.root, "--json", "check", at=1, strike=signal.SIGINT)
    assert ran.code == 130
    document = checked(ran.out, ran.code)
    assert (document["command"], document["error"]["code"]) == ("check", "interrupted")


def test_a_defect_of_ours(cli: Cli, small: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small({"0001-twenty.patch": CLEAN})

    def broken(*_: object) -> None:
        raise KeyError("a\nb")

    monkeypatch.setattr(order, "load", broken)
    monkeypatch.delenv("OPENCOTI_TRACE", raising=False)
    ran = cli("-C", folder, "list", "--json")
    assert ran.code == 3
    error = checked(ran.out, ran.code)["error"]
    assert (error["code"], error["message"]) == ("internal", "internal error: KeyError: 'a\\nb'")
