"""``apply --commits``: the tree as a repository, the same ids everywhere, nobody's work lost."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli.test_apply import SECOND, START, THIRD

from e2e.trees import leftovers, numbered, plain_git, read_folder, text, times, write_project

if TYPE_CHECKING:
    from cli.conftest import Sandbox
    from conftest import Git

    from e2e.forked import Forked


@pytest.fixture
def made(forked: Forked, git: Git) -> Sandbox:
    """A project whose two patches do everything a patch can."""
    write_project(forked.root, git, [START, SECOND, THIRD])
    return forked


@pytest.fixture
def small(forked: Forked, git: Git) -> Sandbox:
    """A project of two small patches."""
    a = {"a": text(numbered(1, 9)), "b": text("b\n")}
    b = {**a, "a": text(numbered(1, 9, n5="five"))}
    write_project(forked.root, git, [a, b, {**b, "b": text("B\n")}])
    return forked


def test_commits(made: Sandbox, tmp_path: Path) -> None:
    first = made("apply", "--commits", "--json", "one")
    env: Any = {"GIT_AUTHOR_NAME": "x", "GIT_COMMITTER_DATE": "@1 +0000", "TZ": "Asia/Tokyo", "GIT_DIR": str(tmp_path)}
    second = made("apply", "--commits", "--json", "two", **env)
    assert (first.code, second.code) == (0, 0)
    tip = first.json["commit"]
    assert tip == second.json["commit"]
    one = made.root / "one"
    assert read_folder(one) == THIRD
    log = plain_git(one, "log", "--format=%H %an %ae %at %ct %s").splitlines()
    assert log[0].split(" ", 1) == [tip, "opencoti-patches patches@opencoti.invalid 0 0 Say what it does"]
    assert len(log) == 3
    assert plain_git(one, "log", "-1", "--format=%b").strip() == "And why it does that."
    assert plain_git(one, "symbolic-ref", "--short", "HEAD") == "opencoti\n"
    assert plain_git(one, "rev-parse", "HEAD^{tree}") == f"{first.json['tree']}\n"
    for p in THIRD:  # git must read every file again, and find what it committed
        os.utime(one / p, follow_symlinks=False)
    assert plain_git(one, "status", "--porcelain") == ""
    assert plain_git(one, "fsck", "--full", "--strict") == ""

    before = times(one)
    assert made("apply", "--commits", "one", "--json").json["commit"] == tip
    assert times(one) == before
    back = made("apply", "--to", "1", "one", "--json")  # it stays a repository without being asked again
    assert back.json["commit"] == plain_git(one, "rev-parse", "opencoti").strip() != tip
    assert plain_git(one, "rev-parse", f"{tip}^") == plain_git(one, "rev-parse", "opencoti")
    assert plain_git(one, "status", "--porcelain") == ""
    assert read_folder(one) == SECOND
    assert leftovers(made.root) == []


def test_commits_in_a_folder_that_was_there_without(small: Sandbox) -> None:
    small("apply")
    before = times(small.root / "tree")
    assert small("apply", "--commits").code == 0
    assert times(small.root / "tree") == before
    assert plain_git(small.root / "tree", "status", "--porcelain") == ""


def test_your_commits_are_kept(small: Sandbox) -> None:
    small("apply", "--commits")
    tree = small.root / "tree"
    (tree / "b").write_text("mine\n")
    plain_git(tree, "commit", "-aqm", "mine")
    mine = plain_git(tree, "rev-parse", "HEAD").strip()
    assert small("apply").code == 1  # what was committed differs from what was written
    assert plain_git(tree, "rev-parse", "opencoti").strip() == mine
    assert small("apply", "--force").code == 0
    assert plain_git(tree, "rev-parse", f"opencoti-before-{mine[:12]}").strip() == mine
    assert plain_git(tree, "show", f"opencoti-before-{mine[:12]}:b") == "mine\n"
    assert (tree / "b").read_text() == "B\n"
    assert plain_git(tree, "status", "--porcelain") == ""


@pytest.mark.parametrize("as_file", [False, True])
def test_a_foreign_repository_is_refused(small: Sandbox, as_file: bool) -> None:
    small("apply")
    tree = small.root / "tree"
    if as_file:
        (tree / ".git").write_text("gitdir: ../somewhere\n")
    else:
        plain_git(tree, "init", "-q")
        plain_git(tree, "commit", "-q", "--allow-empty", "-m", "theirs")
    before = {p: p.read_bytes() for p in [tree / ".git", *(tree / ".git").rglob("*")] if p.is_file()}
    ran = small("apply", "--commits", "--force", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "foreign-repository")
    assert {p: p.read_bytes() for p in before} == before
    assert small("apply", "--to", "1").code == 0  # without --commits it is only a folder
    assert {p: p.read_bytes() for p in before} == before


def test_commits_after_the_store_is_gone(small: Sandbox) -> None:
    tip = small("apply", "--commits", "--json").json["commit"]
    shutil.rmtree(small.root / ".opencoti")
    assert small("apply", "--json").json["commit"] == tip
    assert plain_git(small.root / "tree", "fsck", "--full") == ""
