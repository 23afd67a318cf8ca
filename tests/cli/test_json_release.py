"""The documents of ``package``, ``verify`` and ``pin``, held to the schema."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.documents import checked
from cli.shipped import VERSION
from opencoti_patches.release import index

if TYPE_CHECKING:
    from conftest import Cli


def test_each_document_is_of_the_schema(cli: Cli, root: Path) -> None:
    made = checked(cli("-C", root, "package", "--out", "out", "--json").out, 0)
    assert {"payload", "licences", "build-info", "pin-engine", "pin-cuda", "index", "sbom", "provenance", "sums"} <= {
        f["kind"] for f in made["files"]
    }
    checked(cli("-C", root, "package", "--out", "out", "--json").out, 0)
    assert checked(cli("-C", root, "verify", "out", "--json").out, 0)["name"] == "small"
    pin = f"out/small-{VERSION}-cuda.pin"
    rows = checked(cli("-C", root, "pin", "show", pin, "--json").out, 0)["rows"]
    assert {"key": "component", "value": "cuda"} in rows
    assert checked(cli("-C", root, "pin", "show", "out", "--json").out, 0)["kind"] == "index"
    assert checked(cli("-C", root, "pin", "diff", pin, pin, "--json").out, 0)["added"] == []
    other = checked(cli("-C", root, "pin", "diff", pin, f"out/small-{VERSION}-engine.pin", "--json").out, 1)
    assert {"key": "component", "value": "engine"} in other["added"]
    (root / "out/RELEASE_NOTES.md").unlink()
    wrong = checked(cli("-C", root, "verify", "out", "--json").out, 1)["wrong"]
    assert [(w["check"], w["file"]) for w in wrong] == [("sums", "RELEASE_NOTES.md")]
    index.find(root / "out").unlink()
    assert checked(cli("-C", root, "verify", "out", "--json").out, 1)["name"] is None


def test_each_no_is_a_document_too(cli: Cli, root: Path, tmp_path: Path) -> None:
    for args, code, exit_code in (
        (["package", "--out", "out", "--component", "toaster"], "unknown-component", 2),
        (["package", "--out", "out", "--version", "1.0"], "bad-value", 2),
        (["package", "--out", "out", "--rev", "0" * 40], "no-commit", 2),
        (["package", "--out", "base"], "not-empty", 1),
        (["package", "--out", "out", "--key", "none"], "no-file", 2),
        (["verify", "base"], "no-file", 2),
        (["verify", "nowhere"], "no-folder", 2),
        (["pin", "show", "opencoti.toml"], "bad-pin", 2),
        (["pin", "show", "nowhere"], "no-folder", 2),
    ):
        ran = cli("-C", root, *args, "--json")
        assert checked(ran.out, exit_code)["error"]["code"] == code, args
    shutil.rmtree(root / ".git")
    assert checked(cli("-C", root, "package", "--out", "out", "--json").out, 2)["error"]["code"] == "no-commit"


def test_without_a_repository_commit_and_date_are_said(cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(root / ".git")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    made = cli("-C", root, "package", "--out", "out", "--rev", "c" * 40, "--repo", "other/place", "--json").json
    assert made.get("error") is None
    assert (made["rev"], made["version"], made["repo"]) == ("c" * 40, "1700000000000", "other/place")
