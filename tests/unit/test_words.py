"""Counts in what people read: one file is never "1 files"."""

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
