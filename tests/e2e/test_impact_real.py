"""``impact`` on the real llama.cpp: what the includes say of patches/ is what the compiler read.

The build is the one that the tests of the head split make (build/m2), or that of a project that ``OPENCOTI_BUILT`` names,
which is only read. Without either there is nothing to hold the includes to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opencoti_patches.build.depfiles import objects
from opencoti_patches.build.includes import READ, Graph, includes_of
from opencoti_patches.series import order
from opencoti_patches.series.parse import parse

ROOT = Path(__file__).parents[2]


def places() -> tuple[Path, Path, Path]:
    """(build folder, tree, patches) of a real build."""
    named = os.environ.get("OPENCOTI_BUILT")
    if named:
        return Path(named, ".opencoti/build/cpu"), Path(named, "tree"), Path(named, "patches")
    tip = ROOT / "build/m2/tip"
    return tip / "build", tip / "tree", ROOT / "patches"


def test_the_includes_say_what_the_compiler_read() -> None:
    build, tree, patches = places()
    made = objects(build, build, tree) if build.is_dir() else []
    if not made:
        pytest.skip("no build of llama.cpp here: make m2, or OPENCOTI_BUILT")
    files = [str(p.relative_to(tree)) for p in tree.rglob("*") if p.is_file()]
    graph = Graph({p: includes_of((tree / p).read_bytes()) for p in files if p.endswith(READ)}, files, near=True)
    assert len(made) > 100
    closures = [(m, graph.closure([m.source]).keys()) for m in made]
    for entry in order.load(patches).entries:
        paths = {f.path for f in parse(entry.raw).files}
        by_includes = {(p, m.source) for m, closure in closures for p in paths & closure}
        by_compiler = {(p, m.source) for m in made for p in paths & m.files}
        assert by_includes == by_compiler, entry.name
        assert by_compiler, entry.name
    # and of nothing in the tree too little
    assert [(m.source, m.files - closure) for m, closure in closures if not m.files <= closure] == []


def test_the_series_is_host_only() -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    command = [sys.executable, "-m", "opencoti_patches", "-C", str(ROOT)]
    status = subprocess.run([*command, "status", "--json"], env=env, capture_output=True, text=True, check=False)
    if status.returncode or not json.loads(status.stdout)["base"]["ready"]:
        pytest.skip("the base is not in the store: make check")
    done = subprocess.run([*command, "impact", "--json"], env=env, capture_output=True, text=True, check=True)
    found = [(p["name"][:4], p["reaches"]) for p in json.loads(done.stdout)["patches"]]
    assert found == [(number, ["host"]) for number in ("0030", "0031", "0032", "0033", "0034")]
