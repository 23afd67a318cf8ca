"""A small project, and its answers in JSON held to docs/schema/opencoti.schema.json."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import LONG_AGO
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from e2e.forked import Forked

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "json.md").read_text("utf-8")
SCHEMA = json.loads((DOCS / "schema/opencoti.schema.json").read_text("utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
CONFIG = 'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "directory"\npath = "base"\n'
HEAD = "Say what\n\nAnd why.\n\n"
LINES = [f"the line number {n}\n" for n in range(1, 31)]


def diff(path: str, old: list[str], new: list[str]) -> str:
    """A patch of one existing file."""
    return f"diff --git a/{path} b/{path}\n" + "".join(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"))


def swap(lines: list[str], at: int, text: str) -> list[str]:
    """The lines with line ``at``, from 1, replaced."""
    return [*lines[: at - 1], text, *lines[at:]]


CLEAN = diff("f.txt", LINES, swap(LINES, 20, "twenty\n"))
# made where the file had two more lines at its top
MOVED = diff("f.txt", ["x\n", "y\n", *LINES], ["x\n", "y\n", *swap(LINES, 10, "ten\n")])
STRANGE = [f"strange {n}\n" for n in range(1, 31)]
FAILED = diff("f.txt", STRANGE, [*STRANGE[:10], "the added line\n", *STRANGE[10:]])
STANDS_ON_IT = diff(
    "f.txt",
    [*STRANGE[:10], "the added line\n", *STRANGE[10:]],
    [*STRANGE[:10], "the added line\n", "and another\n", *STRANGE[10:]],
)
TWICE = ["void one(void)\n", "{\n", "\tcall();\n", "}\n", "\n", "\n"] * 4
OTHER = [f"another file's line {n}\n" for n in range(1, 31)]
OTHER_MOVED = diff("g.txt", ["x\n", "y\n", *OTHER], ["x\n", "y\n", *swap(OTHER, 10, "ten\n")])
MADE = "diff --git a/more.c b/more.c\nnew file mode 100644\n--- /dev/null\n+++ b/more.c\n@@ -0,0 +1 @@\n+more\n"
# the base has the white space of line 10 right already
_UNTIDY = swap(LINES, 10, "the  line number 10\n")
HALF_DONE = diff("f.txt", _UNTIDY, swap(LINES, 12, "twelve\n"))
AMBIGUOUS = diff("twice.c", ["// head\n", *TWICE], ["// head\n", *TWICE[:8], "\tmore();\n", *TWICE[9:]])

Project = Callable[..., Path]
Ask = Callable[..., Any]


@pytest.fixture
def small(forked: Forked) -> Project:
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
