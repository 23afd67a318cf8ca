"""What a profile names and is not there, or cannot be started: the key, the program, and what to do."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import CONFIG, Files, link, script, set_base, text, write_project

if TYPE_CHECKING:
    from conftest import Git
    from e2e.forked import Forked

    from cli.documents import Ask

FILES: Files = {
    "CMakeLists.txt": text("cmake_minimum_required(VERSION 3.14)\nproject(toy C)\nadd_executable(toy toy.c)\n"),
    "Makefile": text("toy: toy.c\n\t$(CC) -o $@ $<\n"),
    "toy.c": text("int main(void) { return 0; }\n"),
    "plain.sh": text("#!/bin/sh\n"),
    "stray.sh": script("#!/no/such/sh\n"),
    "away.sh": link("/bin/true"),
    "deep/toy.sh": script("#!/bin/sh\ntouch $HOME/toy\n"),
}
MISSING = [
    ('kind = "cmake"\nlauncher = "nocache"', 3, "no-tool", "build.x.launcher: nocache is not there"),
    ('kind = "make"\nlauncher = "/opt/no/ccache"', 3, "no-tool", "build.x.launcher: /opt/no/ccache is not there"),
    ('kind = "cmake"\nenv = { CC = "nocc -m64" }', 3, "no-tool", "build.x.env.CC: nocc is not there"),
    ('kind = "make"\ntools = ["cc", "nold"]', 3, "no-tool", "build.x.tools: nold is not there"),
    ('kind = "make"\nenv = { PATH = "/nowhere" }', 3, "no-tool", 'build.x, which is of kind "make": make is not'),
    ('kind = "cosmocc"\ntoolchain = "no"', 3, "no-tool", "build.x.toolchain: no cosmocc in "),
    ('kind = "script"\nscript = "none.sh"', 2, "no-file", "build.x.script: none.sh is not a file of the tree"),
    ('kind = "script"\nscript = "deep"', 2, "no-file", "build.x.script: deep is a folder"),
    ('kind = "script"\nscript = "plain.sh"', 2, "bad-value", "build.x.script: plain.sh is not executable"),
    ('kind = "script"\nscript = "away.sh"', 2, "unsafe-path", "build.x.script: away.sh leads out of the tree"),
    ('kind = "script"\nscript = "../x.sh"', 2, "unsafe-path", "build.x.script: ../x.sh leads out of the build"),
    ('kind = "script"\nscript = "stray.sh"', 3, "no-tool", "stray.sh: the program of its first line is not there"),
    ('kind = "script"\nscript = "deep/toy.sh"\nlauncher = "ccache"', 2, "bad-value", "no launcher goes before the"),
]

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("cmake", "make", "cc"))), reason="needs cmake, make and cc")


@pytest.fixture
def root(forked: Forked, git: Git) -> Path:
    """A project that cmake, make and a script can build."""
    write_project(forked.root, git, [FILES, {**FILES, "more": text("more\n")}])
    return forked.root


def configure(root: Path, table: str) -> None:
    """One profile, ``x``."""
    (root / "opencoti.toml").write_text(f'{CONFIG}\n[build.x]\n{table}\nartefacts = ["toy"]\n')


def test_what_is_not_there_is_named_with_its_key(ask: Ask, root: Path) -> None:
    for table, exit_code, code, message in MISSING:
        configure(root, table)
        error = ask("build", "x", "--json", code=exit_code)["error"]
        assert error["code"] == code, (table, error)
        assert message in error["message"]
        assert error["hint"], table


def test_what_is_there_is_no_matter_how_it_is_named(ask: Ask, root: Path) -> None:
    for table in (
        'kind = "make"\nenv = { CC = "cc -O1" }',
        f'kind = "make"\nlauncher = "{shutil.which("env")}"\ntools = ["{shutil.which("cc")}"]',
        'kind = "cmake"\nlauncher = "env;TOY=1"',
        'kind = "script"\nscript = "deep/toy.sh"',
    ):
        configure(root, table)
        assert [a["path"] for a in ask("build", "x", "--json", code=0)["artefacts"]] == ["toy"]


def test_a_program_that_only_the_build_files_name_is_told(ask: Ask, root: Path) -> None:
    generated = "add_custom_target(gen ALL COMMAND nogen)\n"
    cmake = text(FILES["CMakeLists.txt"][1].decode() + generated)
    for rule in ("nogen toy.c", "nogen toy.c && true"):
        set_base(root, {**FILES, "CMakeLists.txt": cmake, "Makefile": text(f"toy: toy.c\n\t@{rule}\n")})
        for kind in ("cmake", "make"):
            configure(root, f'kind = "{kind}"')
            message = ask("build", "x", "--json", code=1)["failure"]["message"]
            assert re.search(r"nogen: not found|^make(\[\d\])?: nogen: No such file or directory$", message)


def test_a_title_of_cmake_comes_with_its_words(ask: Ask, root: Path) -> None:
    configure(root, 'kind = "cmake"')
    failure = ask("build", "x", "--json", code=1, CC="nocc")["failure"]["message"]
    assert failure.startswith("CMake Error at ")
    assert "nocc" in failure
