"""The docs as a site: every page is in it, every link and anchor leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_every_page_is_in_the_site() -> None:
    nav = set(re.findall(r"(?m)^ +- .*: ([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8")))
    assert nav == {p.name for p in (ROOT / "docs").glob("*.md")}


def test_the_readme_links_to_pages_that_are_there() -> None:
    links = re.findall(r"\]\((docs/[^)#]+)", (ROOT / "README.md").read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).is_file()] == []
    assert len(links) > 10


def test_the_site_builds_strictly(tmp_path: Path) -> None:
    if find_spec("mkdocs") is None:
        pytest.skip("mkdocs is not installed: pip install --group docs")
    args = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(args, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
