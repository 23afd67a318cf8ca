"""A project with two finished builds, real ones by make and the C compiler, in a git repository of its own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import Git
from e2e.trees import CONFIG, Files, text, write_project

if TYPE_CHECKING:
    from conftest import Answer, Cli
    from e2e.driver import Driver

DATE = 1_780_000_000
VERSION = f"{DATE}000"
MAKE = """all: toy libtoy.so.1 libgpu.so
toy: src/toy.c libtoy.so.1
\t$(CC) -o $@ $^
libtoy.so.1: src/lib.c
\t$(CC) -shared -fPIC -Wl,-soname,libtoy.so.0 -o $@ $^
libgpu.so: src/gpu.c
\t$(CC) -shared -fPIC -o $@ $^
"""
GPU = '#include <stdio.h>\nint gpu(void) {\n    puts("");\n    return 2;\n}\n'
BASE: Files = {
    "Makefile": text(MAKE),
    "LICENSE": text("Do what you like.\n"),
    "src/toy.c": text("int lib(void);\nint main(void) { return lib(); }\n"),
    "src/lib.c": text("int lib(void) { return 1; }\n"),
    "src/gpu.c": text(GPU),
    "vendor/small/small.h": text("/* Permission is hereby granted, free of charge. */\nint small(void);\n"),
}
FIRST: Files = {**BASE, "src/lib.c": text("int lib(void) { return 0; }\n")}
SECOND: Files = {**FIRST, "src/gpu.c": text(GPU.replace("return 2", "return 3"))}
OWN = """
[build.cpu]
kind = "make"
targets = ["toy", "libtoy.so.1"]
artefacts = ["toy", "libtoy.so.1"]

[build.cuda]
kind = "make"
options = []
targets = ["libgpu.so"]
artefacts = ["libgpu.so"]

[release]
repo = "owner/small"
components = { engine = "cpu", cuda = "cuda" }
"""
ROWS = ("enum kind: int", "record tensor: size 16, align 8")


def commit(root: Path, date: int = DATE) -> str:
    """Commit all of a project; the commit."""
    env = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(root)}
    env |= {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
            (("NAME", "n"), ("EMAIL", "n@n.invalid"), ("DATE", f"@{date} +0000"))}  # fmt: skip

    def run(*args: str) -> str:
        return subprocess.run(["git", *args], cwd=root, env=env, check=True, capture_output=True, text=True).stdout

    if not (root / ".git").exists():
        (root / ".gitignore").write_text("tree/\nout*/\n")
        run("init", "-q", ".")
    run("add", "-A")
    run("commit", "-q", "--allow-empty", "-m", "step")
    return run("rev-parse", "HEAD").strip()


def folder_of(root: Path, profile: str) -> Path:
    """Where a profile's manifest lies."""
    return root / ".opencoti/build" / profile


def state(root: Path, profile: str, *, rows: tuple[str, ...] = ROWS, smoke: bool | None = True, **more: object) -> None:
    """Give a finished build an interface and a smoke result, as those who make them would."""
    folder = folder_of(root, profile)
    doc = json.loads((folder / "manifest.json").read_text())
    doc["abi"] = hashlib.sha256("\n".join(rows).encode()).hexdigest() if rows else None
    (folder / "manifest.json").write_text(json.dumps(doc))
    (folder / "abi.txt").write_text("".join(f"{r}\n" for r in rows))
    (folder / "smoke.json").unlink(missing_ok=True)
    if smoke is not None:
        ran = {"schema": 1, "manifest": doc["digest"], "ok": smoke, "model": {"sha256": "a" * 64}, "answers": ["Paris"]}
        ran |= more
        (folder / "smoke.json").write_text(json.dumps(ran))


@pytest.fixture(scope="session")
def made(driver: Driver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, once for all tests; do not change it."""
    if not all(map(shutil.which, ("make", "cc"))):
        pytest.skip("needs make and a C compiler")
    top = tmp_path_factory.mktemp("shipped")
    root = top / "p"
    write_project(root, Git(top / "judge.git"), [BASE, FIRST, SECOND], config=CONFIG + OWN)
    for args in (["lock"], ["build", "cpu"], ["build", "cuda"]):
        ran = driver(root, *args, env={"HOME": str(top)})
        assert ran.code == 0, ran.err
    for profile in ("cpu", "cuda"):
        state(root, profile)
    commit(root)
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(made, tmp_path / "p", symlinks=True)
    return tmp_path / "p"


Package = Callable[..., "Answer"]


@pytest.fixture
def package(cli: Cli, root: Path) -> Package:
    """Run ``package`` there; the folder is ``out`` where none is given."""

    def run(*args: str | Path, out: str | Path = "out") -> Any:
        return cli("-C", root, "package", "--out", out, *args, "--json")

    return run
