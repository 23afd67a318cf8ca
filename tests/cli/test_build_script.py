"""``build`` with a script of the tree, one that has the ways of llamafile's CUDA script."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import CONFIG, Files, script, text, write_project

if TYPE_CHECKING:
    from conftest import Git
    from e2e.forked import Forked

    from cli.documents import Ask

# objects in a cache under HOME, older ones kept; compilers in the background, their ends not looked at; all is linked
SCRIPT = """#!/bin/sh
set -e
cd "$(dirname "$0")/.."
cache=$HOME/.cache/build
mkdir -p "$cache"
for src in src/*.c; do
    obj=$cache/$(basename "$src" .c).o
    if [ -f "$obj" ] && [ "$obj" -nt "$src" ]; then echo "skipped $src"; continue; fi
    echo "compiling $src"
    gcc -fPIC -c -o "$obj" "$src" &
done
wait
gcc -shared -o "$HOME/lib.so" $(find "$cache" -name '*.o')
"""
FILES: Files = {
    "gpu/build.sh": script(SCRIPT),
    "src/one.c": text('#include "n.h"\nint one(void) { return N; }\n'),
    "src/two.c": text("int two(void) { return 2; }\n"),
    "src/n.h": text("#define N 7\n"),
}
PROFILE = '\n[build.cuda]\nkind = "script"\nscript = "gpu/build.sh"\nartefacts = ["lib.so"]\ntools = ["gcc"]\n'
Toy = Callable[..., Path]

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")


@pytest.fixture
def toy(forked: Forked, git: Git) -> Toy:
    """A project whose one patch leads to the given files; the series begins empty."""

    def make(patched: Files) -> Path:
        write_project(forked.root, git, [FILES, patched], config=CONFIG + PROFILE)
        (forked.root / "patches/series").write_text("")
        return forked.root

    return make


def symbols(root: Path) -> str:
    """What the library exports."""
    lib = root / ".opencoti/build/cuda/home/lib.so"
    return subprocess.run(["nm", "-D", lib], capture_output=True, text=True, check=True).stdout


def test_nothing_of_another_build_is_linked(ask: Ask, toy: Toy, forked: Forked) -> None:
    root = toy({**FILES, "src/n.h": text("#define N 6\n")})
    stray = forked.write(".cache/build/stray.c", "int stray;\n")
    subprocess.run(["gcc", "-c", "-o", stray.with_suffix(".o"), stray], check=True)
    built = ask("build", "cuda", "--json", code=0)
    assert [(a["path"], a["kind"]) for a in built["artefacts"]] == [("lib.so", "elf")]
    assert "one" in symbols(root)
    assert "stray" not in symbols(root)
    assert ask("build", "cuda", "--json", code=0)["up_to_date"]
    (root / "patches/series").write_text("0001-step.patch\n")
    log = Path(ask("build", "cuda", "--json", code=0)["log"]).read_text()
    assert "compiling src/one.c" in log  # the header is new
    assert "skipped src/two.c" in log


@pytest.mark.parametrize("what", ["a source that is gone", "other flags"])
def test_what_the_script_would_not_see_begins_anew(ask: Ask, toy: Toy, what: str) -> None:
    other = {**FILES, "gpu/build.sh": script(SCRIPT.replace("-fPIC", "-fPIC -Dtwo=three"))}
    root = toy(other if what == "other flags" else {p: f for p, f in FILES.items() if p != "src/two.c"})
    ask("build", "cuda", "--json", code=0)
    assert "two" in symbols(root)
    (root / "patches/series").write_text("0001-step.patch\n")
    ask("build", "cuda", "--json", code=0)
    assert "one" in symbols(root)
    assert "two" not in symbols(root)


def test_an_error_that_the_script_overlooks_is_one(ask: Ask, toy: Toy) -> None:
    root = toy({**FILES, "src/two.c": text("int two(void) { return zwei; }\n")})
    ask("build", "cuda", "--json", code=0)
    (root / "patches/series").write_text("0001-step.patch\n")
    failure = ask("build", "cuda", "--json", code=1)["failure"]
    assert (failure["file"], failure["line"], failure["patch"]) == ("src/two.c", 1, "0001-step.patch")
    assert not (root / ".opencoti/build/cuda/home/lib.so").exists()
    (root / "patches/series").write_text("")
    ask("build", "cuda", "--json", code=0)
    assert "two" in symbols(root)


def test_what_it_cannot_be_is_said(ask: Ask, toy: Toy) -> None:
    config = toy({**FILES, "more": text("more\n")}) / "opencoti.toml"
    for table, code in [
        ('kind = "script"\n', "missing-key"),
        ('kind = "script"\nscript = "../x.sh"\n', "unsafe-path"),
        ('kind = "script"\nscript = "x.sh"\ntools = 3\n', "bad-value"),
        ('kind = "shell"\n', "bad-value"),
    ]:
        config.write_text(f"{CONFIG}\n[build.cuda]\n{table}")
        assert ask("build", "cuda", "--json", code=2)["error"]["code"] == code
    config.write_text(CONFIG + PROFILE.replace("build.sh", "none.sh"))
    assert ask("build", "cuda", "--json", code=2)["error"]["code"] == "no-file"
