"""The head split of patches/, built on the CPU: a cache that is split gives the same bits as one that is not.

tests/m2 has what is asked; the Makefile's ``m2`` targets ask more. The build lies in ``build/m2``: a first run takes about
four CPU minutes for it, the next one builds what changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENV = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}


def needs() -> str:
    """What this machine lacks for the build, or nothing."""
    beside = f"{os.environ['PATH']}{os.pathsep}{Path(sys.executable).parent}"
    for program in ("cmake", os.environ.get("CXX", "c++")):
        if not shutil.which(program, path=beside):
            return f"no {program} here to build llama.cpp"
    cmd = [sys.executable, "-m", "opencoti_patches", "-C", str(ROOT), "status", "--json"]
    status = subprocess.run(cmd, env=ENV, capture_output=True, text=True, check=False)
    if status.returncode or not json.loads(status.stdout)["base"]["ready"]:
        return "the base is not in the store: make check"
    return ""


def test_a_split_cache_equals_one_that_is_not_split() -> None:
    if lack := needs():
        pytest.skip(lack)
    cmd = ["nice", sys.executable, str(ROOT / "tests/m2/build.py"), "ci"]
    done = subprocess.run(cmd, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    end = "\n".join(done.stdout.splitlines()[-60:])
    count = re.search(r"^(\d+) passed, (\d+) failed\n\Z", done.stdout, re.M)
    assert done.returncode == 0, end
    assert count and int(count[1]) > 700 and int(count[2]) == 0, end
