"""docs/configuration.md: its examples run, its tables are whole."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from opencoti_patches.core.config import from_table
from opencoti_patches.series import lint

TEXT = (Path(__file__).parents[2] / "docs/configuration.md").read_text("utf-8")
TOML = re.findall(r"^```toml\n(.*?)^```", TEXT, re.M | re.S)
SHELL = re.findall(r"^```sh\n(.*?)^```", TEXT, re.M | re.S)


@pytest.mark.parametrize("text", TOML)
def test_each_example_is_a_configuration(text: str) -> None:
    assert from_table(tomllib.loads(text), Path("/p")).sources


def test_every_kind_has_an_example() -> None:
    kinds = [s.kind for text in TOML for s in from_table(tomllib.loads(text), Path("/p")).sources]
    assert set(kinds) == {"pypi-sdist", "git", "archive", "directory"}


def test_the_project_in_a_minute(tmp_path: Path) -> None:
    (script,) = SHELL
    command = tmp_path / "bin/opencoti-patches"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m opencoti_patches "$@"\n')
    command.chmod(0o755)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENCOTI_", "GIT_"))}
    env["PATH"] = f"{command.parent}:{env['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 patch: no findings\n" in done.stdout
    assert "The series applies strictly." in done.stdout.replace("\n  ", " ")
    assert done.stdout.endswith("one\nTWO\nthree\n")
    assert (tmp_path / "demo/patches/series.lock").exists()


def test_every_rule_of_lint_is_in_the_table() -> None:
    documented = set(re.findall(r"^\| `([a-z-]+)` \| (?:error|warning|note) \|", TEXT, re.M))
    source = Path(lint.__file__).read_text("utf-8")
    used = {word for word in re.findall(r'"([a-z]+(?:-[a-z]+)*)"', source) if word in documented}
    assert used == documented
    assert set(re.findall(r'_finding\(\s*[^,]+,\s*[^,]+,\s*"([a-z-]+)"', source)) <= documented
