"""``smoke --with``: a host and a backend library that was built apart from it."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import Files, text

from cli.documents import VALIDATOR
from cli.served import CMAKE, SMOKE, served, state

if TYPE_CHECKING:
    from conftest import Cli

pytest.importorskip("clang.cindex")
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "c++"))), reason="needs cmake and a C++ compiler's headers"
)
HEADER = "struct ggml_a {{ int x{more}; }};\nint ggml_f(int {name});\n"
LIBRARY = """
add_custom_target(ggml-toy COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/notes bin/libggml-toy.so)
"""
CONFIG = (
    SMOKE
    + """
[build.toy]
targets = ["ggml-toy"]
artefacts = ["bin/libggml-*"]
"""
)


def made(root: Path, cli: Cli, **header: str) -> Path:
    """A project with a host and a library, both built; the header of ggml as given."""
    ggml: Files = {"ggml/include/ggml.h": text(HEADER.format(**{"more": "", "name": "n", **header}))}
    states: list[Files] = [{**state(n, CMAKE + LIBRARY), **ggml} for n in (0, 1)]
    project = served(root, states, CONFIG)
    for profile in ("cpu", "toy"):
        ran = cli("-C", project, "build", profile)
        assert ran.code == 0, ran.err
    return project


def test_a_library_is_loaded_where_both_were_built_from_the_same_interface(cli: Cli, tmp_path: Path) -> None:
    project = made(tmp_path / "p", cli)
    made(tmp_path / "other", cli, name="number")  # another header to the byte, the same interface
    brought = shutil.copytree(tmp_path / "other/.opencoti/build/toy", tmp_path / "brought")
    for wanted, folder in (("toy", project / ".opencoti/build/toy"), (str(brought), brought)):
        ran = cli("-C", project, "smoke", "cpu", "--with", wanted, "--model", project / "toy.gguf", "--json")
        VALIDATOR.validate(ran.json)
        assert (ran.code, ran.json["failure"]) == (0, None)
        assert f"library {folder}/bin/libggml-toy.so\n" in Path(ran.json["log"]).read_text()
        raw = (folder / "manifest.json").read_bytes()
        manifest = json.loads(raw)
        record = json.loads((folder / "smoke.json").read_text())
        assert (record["ok"], record["manifest"]) == (True, hashlib.sha256(raw).hexdigest())
        assert record["with"]["sha256"] == manifest["artefacts"][0]["sha256"]


def test_a_pair_of_two_interfaces_is_not_started(cli: Cli, tmp_path: Path) -> None:
    project = made(tmp_path / "p", cli)
    other = made(tmp_path / "other", cli, more=", y") / ".opencoti/build/toy"
    args = ("-C", project, "smoke", "cpu", "--with", other, "--model", project / "toy.gguf")
    ran = cli(*args, "--json")
    VALIDATOR.validate(ran.json)
    assert ran.code == 1
    failure = ran.json["failure"]
    assert (failure["step"], failure["cause"]) == ("pair", "abi")
    assert failure["lines"] == [
        f"field ggml_a.y: not there in cpu, at bit 32, int in {other}",
        f"record ggml_a: size 4, align 4 in cpu, size 8, align 4 in {other}",
    ]
    assert not Path(ran.json["log"]).exists()
    assert json.loads((other / "smoke.json").read_text())["ok"] is False
    assert "| record ggml_a: " in cli(*args).out


def test_what_cannot_be_compared_is_refused(cli: Cli, tmp_path: Path) -> None:
    project = made(tmp_path / "p", cli)
    folder = project / ".opencoti/build/toy"

    def code(wanted: str | Path) -> str:
        args = ("-C", project, "smoke", "cpu", "--with", wanted, "--model", project / "toy.gguf", "--json")
        return str(cli(*args).json["error"]["code"])

    assert code("cpu") == "no-library"
    copy = shutil.copytree(folder, tmp_path / "brought")
    (copy / "bin/libggml-toy.so").write_text("another one\n")
    assert code(copy) == "not-built"
    known = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(known | {"abi": None}))
    assert code("toy") == "no-abi"
