"""``launcher``: compiling outgrows one machine by configuration alone. The real ccache, sccache and distcc, each with a
folder or a daemon of its own; a test is skipped where the program is not there."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import CONFIG, Files, text, write_project

if TYPE_CHECKING:
    from conftest import Git
    from e2e.forked import Forked

    from cli.documents import Ask

CMAKE = """cmake_minimum_required(VERSION 3.14)
project(toy C)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
configure_file(src/made.h.in made.h COPYONLY)
include_directories(${CMAKE_BINARY_DIR} src/inner)
add_executable(toy src/main.c src/other.c)
"""
FILES: Files = {
    "CMakeLists.txt": text(CMAKE),
    "Makefile": text("toy: main.o other.o\n\t$(CC) -o $@ $^\n%.o: src/%.c\n\t$(CC) -Isrc/inner -I. -c -o $@ $<\n"),
    "made.h": text("/* make's */ static inline const char *made(void) { return __FILE__; }\n"),
    "src/made.h.in": text("static inline const char *made(void) { return __FILE__; }\n"),
    "src/inner/n.h": text("static inline const char *where(void) { return __FILE__; }\n"),
    "src/main.c": text(
        '#include <stdio.h>\n#include "made.h"\n#include "n.h"\nint other(void);\n'
        "int main(void) { puts(__FILE__); puts(made()); puts(where()); return other(); }\n"
    ),
    "src/other.c": text("int other(void) { return 0; }\n"),
}
MADE = '\n[build.made]\nkind = "make"\nartefacts = ["toy"]\n'

pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("cmake", "cc"))), reason="needs cmake and a C compiler")


@pytest.fixture
def folders(forked: Forked, git: Git) -> tuple[Path, Path]:
    """The same project in two folders of different depths."""
    one, two = forked.root / "one", forked.root / "deeper/down/two"
    write_project(one, git, [FILES, {**FILES, "more": text("more\n")}])
    shutil.copytree(one, two)
    return one, two


def configure(folders: tuple[Path, ...], launcher: str, env: str = "", options: str = "") -> None:
    """Put a launcher before the compilers of both profiles."""
    table = f'launcher = "{launcher}"\noptions = [{options}]\n' + (f"env = {{ {env} }}\n" if env else "")
    for folder in folders:
        (folder / "opencoti.toml").write_text(f"{CONFIG}\n[build.cpu]\n{table}{MADE}{table}")


def needs(program: str) -> str:
    """The program, or a reason to skip."""
    found = shutil.which(program)
    if not found:
        pytest.skip(f"needs {program}: docs/build.md says how to get it")
    return found


def test_ccache_knows_a_file_of_another_folder_again(ask: Ask, folders: tuple[Path, Path], tmp_path: Path) -> None:
    needs("ccache")
    configure(folders[:1], "")
    plain = ask("-C", folders[0], "build", "cpu", "--clean", "--json", code=0)["artefacts"]
    configure(folders, "ccache", f'CCACHE_DIR = "{tmp_path / "cache"}"')
    shutil.rmtree(folders[0] / ".opencoti/build")
    for folder, hits in zip(folders, (0, 2), strict=True):
        # the launcher changes no byte, nor does the folder, nor where the object comes from
        assert ask("-C", folder, "build", "cpu", "--json", code=0)["artefacts"] == plain
        assert counted(tmp_path / "cache") == (hits, 2)
    for folder, hits in zip(folders, (2, 4), strict=True):
        assert ask("-C", folder, "build", "made", "--json", code=0)["artefacts"]
        assert counted(tmp_path / "cache") == (hits, 4)


def counted(cache: Path) -> tuple[int, int]:
    """Hits and misses, by ccache's own statistics."""
    env = {**os.environ, "CCACHE_DIR": str(cache)}
    said = subprocess.run(["ccache", "--print-stats"], env=env, capture_output=True, text=True, check=True).stdout
    stats = dict(line.split("\t") for line in said.splitlines())
    hits = int(stats["direct_cache_hit"]) + int(stats["preprocessed_cache_hit"])
    return hits, int(stats["cache_miss"])


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[tuple[int, Path]]:
    """A distcc daemon on a loopback port, and its log."""
    program = needs("distccd")
    needs("distcc")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    log = tmp_path / "distccd.log"
    words = ["--no-detach", "--daemon", "--listen", "127.0.0.1", "--allow", "127.0.0.1", "--port", str(port)]
    words += ["--jobs", "2", "--log-level", "info", "--log-stderr", "--enable-tcp-insecure"]
    with open(log, "wb") as file:
        started = subprocess.Popen([program, *words], stderr=file)
    try:
        for _ in range(1000):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.01)
        yield port, log
    finally:
        started.terminate()
        started.wait(10)


def test_distcc_has_a_daemon_compile(
    ask: Ask, folders: tuple[Path, Path], daemon: tuple[int, Path], tmp_path: Path
) -> None:
    port, log = daemon
    (tmp_path / "distcc").mkdir()
    release = '"-DCMAKE_BUILD_TYPE=Release"'  # debug information says that the source came preprocessed
    configure(folders[:1], "", options=release)
    plain = ask("-C", folders[0], "build", "cpu", "--json", code=0)["artefacts"]
    # no falling back to this machine's own compiler: what is built was built there
    env = f'DISTCC_HOSTS = "127.0.0.1:{port}", DISTCC_FALLBACK = "0", DISTCC_DIR = "{tmp_path / "distcc"}"'
    configure(folders, "distcc", env, release)
    built = ask("-C", folders[1], "build", "cpu", "--json", code=0)
    assert built["artefacts"] == plain
    compiled = re.findall(r"COMPILE_OK.* (\S+\.c)$", log.read_text(), re.M)
    assert sorted(Path(p).name for p in compiled if "/tree/src/" in p) == ["main.c", "other.c"]
    configure(folders, "distcc", env)
    ask("-C", folders[1], "build", "made", "--json", code=0)
    assert len(re.findall("COMPILE_OK", log.read_text())) >= len(compiled) + 2


def test_without_its_daemon_distcc_fails_the_build(ask: Ask, folders: tuple[Path, Path], tmp_path: Path) -> None:
    needs("distcc")
    (tmp_path / "distcc").mkdir()
    env = f'DISTCC_HOSTS = "127.0.0.1:9", DISTCC_FALLBACK = "0", DISTCC_DIR = "{tmp_path / "distcc"}"'
    configure(folders, "distcc", env)
    assert ask("-C", folders[0], "build", "made", "--json", code=1)["failure"]["message"].startswith("distcc[")


def test_sccache_knows_a_file_again(ask: Ask, folders: tuple[Path, Path], tmp_path: Path) -> None:
    program = needs("sccache")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = {"SCCACHE_DIR": str(tmp_path / "cache"), "SCCACHE_SERVER_PORT": str(port), "SCCACHE_IDLE_TIMEOUT": "60"}
    plain = ask("-C", folders[0], "build", "cpu", "--json", code=0)["artefacts"]
    configure(folders, "sccache", ", ".join(f'{k} = "{v}"' for k, v in env.items()))
    try:
        for _ in range(2):
            shutil.rmtree(folders[0] / ".opencoti/build")
            assert ask("-C", folders[0], "build", "cpu", "--json", code=0)["artefacts"] == plain
        words = [program, "--show-stats", "--stats-format", "json"]
        said = subprocess.run(words, env=os.environ | env, capture_output=True, check=True).stdout
        assert json.loads(said)["stats"]["cache_hits"]["counts"]["C/C++"] == 2
    finally:
        subprocess.run([program, "--stop-server"], env=os.environ | env, capture_output=True, check=False)
