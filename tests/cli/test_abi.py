"""``abi``: digests of the trees of a series, and what differs between two of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import Files, text, write_project
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
