"""Toy projects whose artefact is a server: ``toy_server.py``, copied into place by a real CMake."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Git
from e2e.trees import CONFIG, Files, script, text, write_project

SOURCE = (Path(__file__).parent / "toy_server.py").read_text("utf-8")
CMAKE = """cmake_minimum_required(VERSION 3.14)
project(toy NONE)
foreach(name llama-server ape)
  add_custom_command(OUTPUT bin/${name} DEPENDS ${CMAKE_SOURCE_DIR}/${name}
    COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/${name} bin/${name})
endforeach()
add_custom_target(all_of_it ALL DEPENDS bin/llama-server bin/ape)
"""
# no kernel takes this for a program; a shell does
APE = 'MZqFpD=\'\n\'\nexec "${0%/*}/llama-server" "$@"\n'
SMOKE = """
[smoke]
timeout = 30
env = { TOY = "own" }

[[smoke.prompt]]
text = "The capital of France is"
contains = "Paris"

[[smoke.prompt]]
text = "Once"
max_tokens = 4
"""

Served = Callable[..., Path]


def state(n: int = 0, cmake: str = CMAKE, **changed: str) -> Files:
    """A tree with the server in it; ``changed``: constants of the server; ``n`` makes it another tree."""
    source = f"#!{sys.executable}\n{SOURCE}"
    for name, value in changed.items():
        old = next(line for line in source.splitlines() if line.startswith(f"{name} = "))
        source = source.replace(old, f"{name} = {value}")
    return {
        "CMakeLists.txt": text(cmake),
        "llama-server": script(source),
        "ape": script(APE),
        "notes": text(f"number {n}\n"),
    }


def served(root: Path, states: list[Files], config: str = SMOKE) -> Path:
    """A project with such trees, and a model beside it."""
    git = Git(root.parent / f"{root.name}-judge.git")
    write_project(root, git, states, config=CONFIG + config)
    (root / "toy.gguf").write_bytes(b"GGUF and no more")
    return root


@pytest.fixture
def project(tmp_path: Path) -> Served:
    """Makes a project of these states."""
    return lambda *states, config=SMOKE: served(tmp_path / "p", list(states), config)
