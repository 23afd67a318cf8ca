"""``abi``: digests of the trees of a series, and what differs between two of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import CONFIG, Files, text, write_project
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from conftest import Cli, Git

pytest.importorskip("clang.cindex")
pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler's headers")

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs/schema/opencoti.schema.json").read_text("utf-8"))
)
BASE: Files = {"x/ggml/include/ggml.h": text("struct ggml_a { int x; };\nint ggml_f(int n);\n")}
INSIDE: Files = {"x/ggml/include/ggml.h": text("struct ggml_a { int x; };\n// f\nint ggml_f(int number);\n")}
BROKEN: Files = {"x/ggml/include/ggml.h": text("struct ggml_a { int x, y; };\n// f\nint ggml_f(int number);\n")}


def test_two_trees_are_compared_row_by_row(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [BASE, INSIDE, BROKEN])
    same = cli("-C", tmp_path, "abi", "diff", "base", "1", "--json")
    SCHEMA.validate(same.json)
    assert (same.code, same.json["differences"]) == (0, [])
    ran = cli("-C", tmp_path, "abi", "diff", "0001", "--json")
    SCHEMA.validate(ran.json)
    assert ran.code == 1
    assert ran.json["of"] == ["0001-step.patch", "0002-step.patch"]
    assert [(d["row"], d["old"], d["new"]) for d in ran.json["differences"]] == [
        ("field ggml_a.y", None, "at bit 32, int"),
        ("record ggml_a", "size 4, align 4", "size 8, align 4"),
    ]
    assert (
        "record ggml_a\n  - size 4, align 4\n  + size 8, align 4\n" in cli("-C", tmp_path, "abi", "diff", "1", "2").out
    )
    shown = cli("-C", tmp_path, "abi", "show", "--json")
    SCHEMA.validate(shown.json)
    assert shown.json["digest"] == ran.json["digests"][1]
    assert "function ggml_f: int (int) [C]" in shown.json["rows"]


def test_a_tree_without_ggml_is_said(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [{"a": text("a\n")}, {"a": text("b\n")}])
    ran = cli("-C", tmp_path, "abi", "show", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "no-folder")


def test_a_manifest_has_the_digest_of_its_tree(cli: Cli, git: Git, tmp_path: Path) -> None:
    made: Files = {"Makefile": text("all:\n\ttouch made\n")}
    config = f'{CONFIG}\n[build.made]\nkind = "make"\nartefacts = ["made"]\n'
    write_project(tmp_path, git, [{**made, **BASE}, {**made, **INSIDE}, {**made, **BROKEN}], config=config)
    folder = tmp_path / ".opencoti/build/made"
    digests = []
    for patch in ("2", "1"):
        assert cli("-C", tmp_path, "build", "made").code == 0
        shown = cli("-C", tmp_path, "abi", "show", patch, "--json").json
        digests.append(json.loads((folder / "manifest.json").read_text())["abi"])
        assert digests[-1] == shown["digest"]
        assert (folder / "abi.txt").read_text().splitlines() == shown["rows"]
        (tmp_path / "patches/0002-step.patch").unlink(missing_ok=True)
        (tmp_path / "patches/series").write_text("0001-step.patch\n")
    assert len(set(digests)) == 2
