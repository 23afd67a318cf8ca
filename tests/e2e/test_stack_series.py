"""The project's own series on the real llama.cpp, rearranged: the tree at the tip is the lock's, and undo is exact."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "OPENCOTI_"))}


def tool(project: Path, *args: str) -> str:
    """Run the program on a copy of the project, with the store of the checkout; it must say yes. Another one at work
    on the store is waited for."""
    cmd = [sys.executable, "-m", "opencoti_patches", "-C", str(project), *args]
    for _ in range(300):
        env = ENV | {"OPENCOTI_STORE": str(ROOT / ".opencoti")}
        done = subprocess.run(cmd, env=env, check=False, capture_output=True, text=True)
        if done.returncode != 3 or "is at work on this store" not in done.stderr:
            break
        time.sleep(1)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_series_moved_split_and_squashed(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "patches", tmp_path / "patches")
    shutil.copy(ROOT / "opencoti.toml", tmp_path)
    if not json.loads(tool(tmp_path, "status", "--json"))["base"]["ready"]:
        pytest.skip("the base is not in the store: make check")
    before = {p.name: p.read_bytes() for p in (tmp_path / "patches").iterdir()}
    (wanted,) = re.findall(r"^tip (.*)$", before["series.lock"].decode(), re.M)
    steps = [
        ("move", "0034", "--after", "0031"),
        ("renumber",),
        ("split", "0031", "--files", "llama-kv-cache*", "--name", "kv-part", "--renumber"),
        ("squash", "0031", "0032"),
        ("squash", "0031", "pinned"),
    ]
    for step in steps:
        tip = json.loads(tool(tmp_path, *step, "--json"))["tip"]
        assert tip["before"] == tip["after"] == wanted
    assert f"tip {wanted}" in (tmp_path / "patches/series.lock").read_text()
    tool(tmp_path, "check", "--locked", "--no-offset")
    for _ in steps:
        tool(tmp_path, "undo")
    assert {p.name: p.read_bytes() for p in (tmp_path / "patches").iterdir()} == before
