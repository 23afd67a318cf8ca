"""A store that came with the project is not believed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import numbered, plain_git, text, write_project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Git

    from cli.conftest import Sandbox

STATES = [{"a": text(numbered(1, 9))}, {"a": text(numbered(1, 9, n5="FIVE"))}]


@pytest.fixture
def committed(cli: Cli, git: Git, tmp_path: Path) -> Path:
    """A repository whose project is in a folder of it, its store committed."""
    root = tmp_path / "repo/sub"
    write_project(root, git, STATES)
    assert cli("-C", root, "check").code == 0
    plain_git(tmp_path / "repo", "init", "-q")
    plain_git(tmp_path / "repo", "add", "-f", ".")
    plain_git(tmp_path / "repo", "commit", "-qm", "all of it")
    return root


@pytest.mark.parametrize("command", ["check", "status", "bootstrap", "apply", "lint"])
def test_a_committed_store_is_refused_by_name(cli: Cli, committed: Path, command: str) -> None:
    ran = cli("-C", committed, command, "--json")
    if command == "lint":  # it reads no store
        assert ran.code == 0
        return
    assert (ran.code, ran.json["error"]["code"]) == (2, "tracked-store")
    plain_git(committed, "rm", "-rq", "--cached", ".opencoti")
    shutil.rmtree(committed / ".opencoti")
    assert cli("-C", committed, "check").code == 0


def test_also_in_another_worktree(cli: Cli, committed: Path, tmp_path: Path) -> None:
    plain_git(committed.parent, "worktree", "add", "-q", str(tmp_path / "other"))
    assert cli("-C", tmp_path / "other/sub", "check").code == 2


def test_a_name_alike_is_none_of_ours(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [{"docs/opencoti/a": text("x\n")}, {"docs/opencoti/a": text("y\n")}])
    plain_git(tmp_path, "init", "-q")
    plain_git(tmp_path, "add", ".")
    assert cli("-C", tmp_path, "check").code == 0
    assert cli("-C", tmp_path, "check").code == 0


def test_the_settings_of_its_repository_are_put_back(git: Git, sandbox: Sandbox) -> None:
    write_project(sandbox.root / "p", git, STATES)
    assert sandbox("-C", "p", "lock").code == 0
    objects = sandbox.root / "p/.opencoti/objects.git"
    good = {n: (objects / n).read_bytes() for n in ("config", "info/attributes")}
    ran = sandbox.root / "ran"
    (objects / "config").write_text(f"[core]\n\tsshCommand = touch {ran}\n[alias]\n\tapply = !touch {ran}\n")
    (objects / "info/attributes").write_text("* text eol=crlf\n")
    (objects / "commondir").write_text(str(sandbox.root))
    assert sandbox("-C", "p", "check", "--locked").code == 0
    assert {n: (objects / n).read_bytes() for n in good} == good
    assert not ran.exists()


@pytest.mark.parametrize("how", ["link", "submodule"])
def test_a_committed_link_or_submodule_is_one_too(cli: Cli, committed: Path, how: str) -> None:
    repo = committed.parent
    plain_git(repo, "rm", "-rq", "--cached", "sub/.opencoti")
    (committed / ".opencoti").rename(committed / "cache")
    if how == "link":
        (committed / ".opencoti").symlink_to("cache")
        plain_git(repo, "add", "-f", "sub/.opencoti")
    else:
        (committed / "cache").rename(committed / ".opencoti")
        plain_git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub/.opencoti")
    ran = cli("-C", committed, "check", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "tracked-store")


def test_no_tree_is_written_into_a_repository_of_git(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, STATES)
    plain_git(tmp_path, "init", "-q")
    for folder in (".git", ".git/hooks", ".GIT/x"):
        ran = cli("-C", tmp_path, "apply", folder, "--json")
        assert (ran.code, ran.json["error"]["code"]) == (2, "bad-folder")


def test_an_answer_that_nobody_can_take_is_no_no(git: Git, sandbox: Sandbox) -> None:
    write_project(sandbox.root / "p", git, STATES)
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    with full.open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "opencoti_patches", "-C", str(sandbox.root / "p"), "check", "--json"],
            stdout=out,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr.decode().splitlines() == ["error: No space left on device"]
