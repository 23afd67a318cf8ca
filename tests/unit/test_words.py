"""What people read: one file is never "1 files", and a command that they are to run is a whole one."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

import opencoti_patches
from opencoti_patches.core.words import plural

PACKAGE = Path(opencoti_patches.__file__).parent
COUNTED = r"(?:files?|patch(?:es)?|lines?|hunks?|edits?|commits?|steps?|answers?|texts?|index(?:es)?)"


@pytest.mark.parametrize(
    ("count", "word", "said"),
    [(0, "file", "0 files"), (1, "patch", "1 patch"), (2, "index", "2 indexes"), (3, "dependency", "3 dependencies")],
)
def test_plural(count: int, word: str, said: str) -> None:
    assert plural(count, word) == said


@pytest.mark.parametrize("package", ["commands", "report", "release", "stack", "tree"])
def test_no_count_stands_before_a_word_that_does_not_follow_it(package: str) -> None:
    found = []
    for file in (PACKAGE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if not isinstance(node, ast.JoinedStr):
                continue
            for value, text in pairwise(node.values):
                if not (isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant)):
                    continue
                count = isinstance(value.value, ast.Call | ast.BinOp) and ast.unparse(value.value).startswith("len(")
                if count and re.match(rf" (?:more )?{COUNTED}\b", str(text.value)):
                    found.append(f"{file.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    assert found == []


def test_a_command_to_run_has_the_name_of_the_program() -> None:
    """In all that is said while it runs; its own help speaks of its commands as such."""
    names = "|".join(p.stem.rstrip("_") for p in (PACKAGE / "commands").glob("*.py"))
    half = re.compile(rf"(?<!\w)'(?:{names})[ ']")
    found = []
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_bytes())
        blocks = [n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef)]
        told = {id(n.body[0].value) for n in blocks if n.body and isinstance(n.body[0], ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in told else ""
            if (
                isinstance(text, str) and half.search(text) and "# A patch series" not in text
            ):  # a comment of a new project
                found.append(f"{file.relative_to(PACKAGE)}:{getattr(node, 'lineno', 0)}: {text}")
    assert found == []


def test_no_error_leaves_open_what_to_do() -> None:
    """Each says it in its hint, where it is raised or, for a kind of error of its own, in its class."""
    found = []
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("CouldNot", "Refused", "UsageError"):
                hint = [*node.args[2:], *(k.value for k in node.keywords if k.arg == "hint")]
                if not hint or ast.unparse(hint[0]) in ("''", '""'):
                    found.append(f"{file.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}")
    assert found == []
