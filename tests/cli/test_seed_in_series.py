"""The patch that 0034 goes back to, as it was handed over: it applies after our 0033, and its code is ours.

It lies beside the repository where there is one, not in it; without it, or without the base in the store, nothing is
asked here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GIVEN = ROOT.parent / "shared/seed/0034-as-given.txt"
OURS = ROOT / "patches/0034-pinned-host-kv.patch"
COMMENT_OR_TEXT = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.S)
ENV = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}


def code(text: str) -> list[str]:
    """The words of a C++ source, without comments and white space."""
    return COMMENT_OR_TEXT.sub(lambda m: m[1] or " ", text).split()


def tool(*args: str | Path) -> str:
    """Run the program on this repository; it must say yes. Another one at work on the store is waited for."""
    cmd = [sys.executable, "-m", "opencoti_patches", "-C", str(ROOT), *map(str, args)]
    for _ in range(300):
        done = subprocess.run(cmd, env=ENV, check=False, capture_output=True, text=True)
        if done.returncode != 3 or "is at work on this store" not in done.stderr:
            break
        time.sleep(1)
    assert done.returncode == 0, done.stderr
    return done.stdout


def git_apply(folder: Path, patch: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Let git apply a patch in a folder that is no repository."""
    env = ENV | {"GIT_CEILING_DIRECTORIES": str(folder.parent), "LC_ALL": "C"}
    return subprocess.run(
        ["git", "apply", *options, str(patch)], cwd=folder, env=env, check=False, capture_output=True, text=True
    )


def paths(folder: Path, patch: Path) -> set[str]:
    """What a patch touches, as git reads it."""
    return {row.split("\t")[2] for row in git_apply(folder, patch, "--numstat").stdout.splitlines()}


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The patch with the newline at its end that it lacks."""
    if not GIVEN.exists():
        pytest.skip("no seed beside the repository")
    patch = tmp_path_factory.mktemp("seed") / "0034.patch"
    patch.write_bytes(GIVEN.read_bytes() + b"\n")
    return patch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For one tree: it is large."""
    return tmp_path_factory.mktemp("tree")


@pytest.fixture
def tree(given: Path, folder: Path) -> Path:
    """The tree after our 0033."""
    if not json.loads(tool("status", "--json"))["base"]["ready"]:
        pytest.skip("the base is not in the store: make check")
    tool("apply", "--to", "0033", folder)
    return folder


def test_the_seed_applies_after_0033_and_is_our_0034(given: Path, tree: Path) -> None:
    done = git_apply(tree, given, "--check")
    assert (done.returncode, done.stderr) == (0, "")
    touched = paths(tree, given)
    assert touched == paths(tree, OURS) != set()
    before = {p: code((tree / p).read_text()) for p in touched}

    assert git_apply(tree, given).returncode == 0
    theirs = {p: code((tree / p).read_text()) for p in touched}
    assert git_apply(tree, given, "--reverse").returncode == 0
    tool("apply", tree)
    ours = {p: code((tree / p).read_text()) for p in touched}
    assert ours == theirs
    assert all(before[p] != ours[p] for p in touched)


def test_the_check_can_fail(given: Path, tree: Path) -> None:
    (path,) = paths(tree, given)
    source = (tree / path).read_text()
    for line in ("ggml_backend_cpu_buffer_type(), s)", "auto * dev = model.dev_layer(il);"):
        assert line in source
        (tree / path).write_text(source.replace(line, line + " "))
        assert git_apply(tree, given, "--check").returncode == 1
    (tree / path).write_text(source)


def test_code_is_what_a_comment_cannot_change() -> None:
    assert code('a = 1; // one\n/* two\n */ b = "//";') == code('a = 1;\nb = "//";')
    assert code("if (pinned) buft = pinned;") != code("if (pinned) buft = cpu; // pinned")
    assert code('a = "x // y";') != code('a = "x // z";')
