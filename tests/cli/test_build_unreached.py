"""``build`` after a change of the series: it compiles ninja's own minimum, and nothing where nothing is reached."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import CONFIG, Files, text, write_project

from cli.documents import VALIDATOR

if TYPE_CHECKING:
    from conftest import Cli, Git

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "make", "ninja", "cc"))), reason="needs cmake, make, ninja and a C compiler"
)

CMAKE = """cmake_minimum_required(VERSION 3.14)
project(toy C)
file(GLOB ONE one/*.c)
add_library(one SHARED ${ONE})
add_library(two SHARED two/two.c two/more.c)
"""
MAKE = """all: one.so
one.so: one.o
\t$(CC) -shared -o $@ $^
%.o: one/%.c
\t$(CC) -fPIC -c -o $@ $<
"""
START: Files = {
    "CMakeLists.txt": text(CMAKE),
    "Makefile": text(MAKE),
    "README.md": text("read\n"),
    "notes.txt": text("notes\n"),
    "shared.h": text("int shared;\n"),
    "one/one.c": text('#include "one.h"\nint one(void) { return ONE; }\n'),
    "one/one.h": text('#include "deep.h"\n'),
    "one/deep.h": text("#define ONE 1\n"),
    "one/free.h": text("int nobody_includes_it;\n"),
    "two/two.c": text('#include "../shared.h"\nint two(void) { return 2; }\n'),
    "two/more.c": text("int more(void) { return 3; }\n"),
}
PROFILES = """
[build.one]
targets = ["one"]
artefacts = ["libone.so"]
[build.two]
generator = "Ninja"
targets = ["two"]
artefacts = ["libtwo.so"]
[build.made]
kind = "make"
artefacts = ["one.so"]
"""


def changes(tmp_path: Path, git: Git, *states: Files) -> Path:
    """A project whose series is empty at first."""
    write_project(tmp_path, git, [START, *({**START, **s} for s in states)], config=CONFIG + PROFILES)
    (tmp_path / "patches/series").write_text("")
    return tmp_path


def use(root: Path, number: int) -> None:
    """Have this patch of the project and no other."""
    (root / "patches/series").write_text(f"{number:04}-step.patch\n" if number else "")


def built(cli: Cli, root: Path, profile: str, code: int = 0) -> Any:
    ran = cli("-C", root, "build", profile, "--json")
    assert ran.code == code, (ran.out, ran.err)
    VALIDATOR.validate(ran.json)
    return ran.json


def manifest(root: Path, profile: str) -> Any:
    return json.loads((root / ".opencoti/build" / profile / "manifest.json").read_text())


def compiled(out: str) -> list[str]:
    return sorted(re.findall(r"Building C object (\S+)", out))


def test_a_build_compiles_what_ninja_would_and_the_other_library_nothing(cli: Cli, git: Git, tmp_path: Path) -> None:
    root = changes(tmp_path, git, {"one/deep.h": text("#define ONE 7\n")})
    first = {name: built(cli, root, name) for name in ("one", "two", "made")}
    use(root, 1)
    assert cli("-C", root, "apply").code == 0
    folder = root / ".opencoti/build/one"
    asked = subprocess.run(["ninja", "-C", folder, "-n", "one"], capture_output=True, text=True, check=True)
    one = built(cli, root, "one")
    assert compiled(asked.stdout) == compiled(Path(one["log"]).read_text()) == ["CMakeFiles/one.dir/one/one.c.o"]
    assert not one["up_to_date"]
    assert one["artefacts"] != first["one"]["artefacts"]
    assert built(cli, root, "made")["artefacts"] != first["made"]["artefacts"]
    log = Path(first["two"]["log"]).read_bytes()
    two = built(cli, root, "two")
    assert (two["up_to_date"], two["steps"], two["since"]) == (True, 0, first["two"]["tree"])
    assert two["artefacts"] == first["two"]["artefacts"]
    assert Path(two["log"]).read_bytes() == log  # nothing ran
    known = manifest(root, "two")
    assert known["inputs"]["tree"] == one["tree"]
    assert known["inputs"]["patches"] == manifest(root, "one")["inputs"]["patches"]
    assert known["note"] == f"nothing that two is made of changed since tree {first['two']['tree']}"
    assert "since" not in built(cli, root, "two")  # it is of this tree as far as anyone can tell
    use(root, 0)
    was = manifest(root, "two")["since"]
    assert "since" not in built(cli, root, "two")
    assert manifest(root, "two")["inputs"]["tree"] == was
    assert "since" not in manifest(root, "two")


@pytest.mark.parametrize("profile", ["one", "made"])
def test_what_reaches_nothing_is_said(cli: Cli, git: Git, tmp_path: Path, profile: str) -> None:
    """Of three trees the second differs in files that no object is made of; its manifest still knows the first."""
    apart: Files = {path: text("int other;\n") for path in ("README.md", "notes.txt", "one/free.h", "shared.h")}
    root = changes(tmp_path, git, apart, {**apart, "README.md": text("again\n")})
    first = built(cli, root, profile)
    (root / "patches/series").write_text("0001-step.patch\n")
    said = cli("-C", root, "build", profile).out
    assert said.startswith(f"{profile}: nothing to do, 1 artefact in ")
    assert f"    nothing that {profile} is made of changed since tree {first['tree'][:12]}\n" in said
    (root / "patches/series").write_text("0001-step.patch\n0002-step.patch\n")
    assert built(cli, root, profile)["since"] == first["tree"]


@pytest.mark.parametrize("profile", ["one", "made"])
def test_in_doubt_it_is_built(cli: Cli, git: Git, tmp_path: Path, profile: str) -> None:
    root = changes(tmp_path, git, {"README.md": text("again\n")})
    artefact = Path(built(cli, root, profile)["dir"]) / ("libone.so" if profile == "one" else "one.so")
    whole = artefact.read_bytes()
    with artefact.open("ab") as f:  # somebody was here
        f.write(b"x")
    use(root, 1)
    assert "since" not in built(cli, root, profile)
    assert artefact.read_bytes() == whole
    config = (root / "opencoti.toml").read_text()
    (root / "opencoti.toml").write_text(
        config.replace(f"[build.{profile}]\n", f'[build.{profile}]\nenv = {{ A = "1" }}\n')
    )
    use(root, 0)
    assert "since" not in built(cli, root, profile)


def test_a_source_that_comes_or_goes_is_found(cli: Cli, git: Git, tmp_path: Path) -> None:
    """CMake looks for sources when it configures: ninja alone would not see them."""
    more: Files = {"one/more.c": text("int more_of_one(void) { return 1; }\n")}
    root = changes(tmp_path, git, more)
    library = root / ".opencoti/build/one/libone.so"
    built(cli, root, "one")
    assert b"more_of_one" not in library.read_bytes()
    use(root, 1)
    built(cli, root, "one")
    assert b"more_of_one" in library.read_bytes()
    use(root, 0)
    built(cli, root, "one")
    assert b"more_of_one" not in library.read_bytes()


def test_a_header_that_goes_takes_its_objects_along(cli: Cli, git: Git, tmp_path: Path) -> None:
    """The makefile knows no headers. Without the nearer one, the include means the other."""
    files: Files = {
        "one/one.c": text('#include "deep.h"\nint one(void) { return ONE; }\n'),
        "deep.h": text("#define ONE 9\n"),
    }
    states: list[Files] = [{**START, **files}, {k: v for k, v in {**START, **files}.items() if k != "one/deep.h"}]
    write_project(tmp_path, git, states, config=CONFIG + PROFILES + 'options = ["CC=cc -I."]\n')
    use(tmp_path, 0)
    first = built(cli, tmp_path, "made")["artefacts"]
    use(tmp_path, 1)
    assert built(cli, tmp_path, "made")["artefacts"] != first
