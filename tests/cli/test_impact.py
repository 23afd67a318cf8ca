"""``impact`` on small trees with the layout of llama.cpp, and on builds by real compilers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import CONFIG, Files, patch_between, text, write_project

from cli.documents import VALIDATOR

if TYPE_CHECKING:
    from conftest import Cli, Git

LAYOUT: Files = {
    "CMakeLists.txt": text("project(x)\n"),
    "cmake/flags.cmake": text("# flags\n"),
    "README.md": text("read\n"),
    "include/llama.h": text('#include "ggml.h"\n'),
    "src/llama.cpp": text('#include "llama.h"\n#include "private.h"\n'),
    "src/private.h": text("int p;\n"),
    "src/README.md": text("read\n"),
    "common/common.h": text("int c;\n"),
    "common/arg.cpp": text('#include "common.h"\n#include "made-by-a-build.h"\n'),
    "tools/server/tests/server.cpp": text("int t;\n"),
    "ggml/include/ggml.h": text('#include "ggml-types.h"\n'),
    "ggml/include/ggml-types.h": text('#include "ggml-deep.h"\n'),
    "ggml/include/ggml-deep.h": text("typedef int deep;\n"),
    "ggml/src/ggml.c": text('#include "ggml-impl.h"\n'),
    "ggml/src/ggml-impl.h": text('#include "ggml.h"\n'),
    "ggml/src/ggml-backend-reg.cpp": text("int r;\n"),
    "ggml/src/ggml-cpu/common.h": text("int common;\n"),
    "ggml/src/ggml-cpu/CMakeLists.txt": text("# cpu\n"),
    "ggml/src/ggml-cpu/sub/ops.cpp": text('#include "common.h"\n'),
    "ggml/src/ggml-cuda/common.cuh": text('#include "ggml-types.h"\n#include HEADER\n'),
    "ggml/src/ggml-cuda/only.h": text("int only;\n"),
    "ggml/src/ggml-cuda/add.cu": text('#include "common.cuh"\n#ifdef NEVER\n#include "only.h"\n#endif\n'),
    "ggml/src/ggml-hip/hip.txt": text("hip\n"),
    "ggml/src/ggml-vulkan/ggml-vulkan.cpp": text("int v;\n"),
    "ggml/src/ggml-vulkan/vulkan-shaders/add.comp": text('#include "types.glsl"\n'),
    "ggml/src/ggml-vulkan/vulkan-shaders/types.glsl": text("// types\n"),
}


def patched(root: Path, git: Git, files: Files, *changed: str, config: str = CONFIG) -> list[str]:
    """A project with a patch for each of these files, in order; one of a new file where it is not there."""
    states = [dict(files)]
    for path in changed:
        before = states[-1].get(path, text(""))[1]
        states.append({**states[-1], path: text(before + b"// changed\n")})
    return write_project(root, git, states, config=config)


def reaches(cli: Cli, root: Path, *args: str, code: int = 0) -> list[str]:
    """Which artefacts each patch reaches, as one word."""
    return [" ".join(p["reaches"]) for p in asked(cli, root, *args, code=code)["patches"]]


def asked(cli: Cli, root: Path, *args: str, code: int = 0) -> Any:
    ran = cli("-C", root, "impact", "--json", *args)
    assert ran.code == code, (ran.out, ran.err)
    VALIDATOR.validate(ran.json)
    return ran.json


def headed(root: Path, name: str, header: str) -> None:
    """Another header of a patch."""
    path = root / "patches" / name
    path.write_text(header + "\n" + path.read_text()[path.read_text().index("diff --git") :])


def test_each_file_reaches_what_includes_it(cli: Cli, git: Git, tmp_path: Path) -> None:
    wanted = {
        "src/llama.cpp": "host",
        "src/private.h": "host",
        "src/README.md": "",
        "README.md": "",
        "common/common.h": "host",
        "tools/server/tests/server.cpp": "",
        "ggml/include/ggml-deep.h": "host base cuda hip",  # through two others
        "ggml/include/ggml.h": "host base",
        "ggml/src/ggml.c": "base",
        "ggml/src/ggml-impl.h": "base",
        "ggml/src/ggml-backend-reg.cpp": "host",
        "ggml/src/ggml-cpu/common.h": "cpu",
        "ggml/src/ggml-cuda/only.h": "cuda hip",
        "ggml/src/ggml-cuda/new.cu": "cuda hip",
        "ggml/src/ggml-vulkan/vulkan-shaders/types.glsl": "vulkan",
        "ggml/src/ggml-cpu/CMakeLists.txt": "cpu",
        "cmake/flags.cmake": "host base cpu cuda vulkan hip",
        "CMakeLists.txt": "host base cpu cuda vulkan hip",
    }
    patched(tmp_path, git, LAYOUT, *wanted)
    assert dict(zip(wanted, reaches(cli, tmp_path), strict=True)) == wanted
    document = asked(cli, tmp_path, "7")
    assert {r["artefact"]: r["via"] for r in document["patches"][0]["rows"]} == {
        "host": [
            "ggml/include/ggml-deep.h",
            "ggml/include/ggml-types.h",
            "ggml/include/ggml.h",
            "include/llama.h",
            "src/llama.cpp",
        ],
        "base": [
            "ggml/include/ggml-deep.h",
            "ggml/include/ggml-types.h",
            "ggml/include/ggml.h",
            "ggml/src/ggml-impl.h",
            "ggml/src/ggml.c",
        ],
        "cuda": [
            "ggml/include/ggml-deep.h",
            "ggml/include/ggml-types.h",
            "ggml/src/ggml-cuda/common.cuh",
            "ggml/src/ggml-cuda/add.cu",
        ],
        "hip": [
            "ggml/include/ggml-deep.h",
            "ggml/include/ggml-types.h",
            "ggml/src/ggml-cuda/common.cuh",
            "ggml/src/ggml-cuda/add.cu",
        ],
    }
    assert [(u["file"], u["include"], u["macro"]) for u in document["unread"]] == [
        ("common/arg.cpp", "made-by-a-build.h", False),
        ("ggml/src/ggml-cuda/common.cuh", "HEADER", True),
    ]
    said = cli("-C", tmp_path, "impact").out
    assert "0001-step.patch: host only\n" in said
    assert "0003-step.patch: none\n" in said
    assert max(len(row) for row in said.splitlines() if str(tmp_path) not in row) <= 80  # a command stays whole


def test_an_include_that_a_patch_adds_or_removes_counts(cli: Cli, git: Git, tmp_path: Path) -> None:
    """The first patch changes a header that only the second makes cuda include; the fourth renames it."""
    there = {**LAYOUT, "src/private.h": text("int q;\n")}
    included = {
        **there,
        "ggml/src/ggml-cuda/add.cu": text('#include "common.cuh"\n#include "../../../src/private.h"\n'),
    }
    without = {**included, "ggml/src/ggml-cuda/add.cu": text("int add;\n")}
    moved = {k: v for k, v in without.items() if k != "src/private.h"} | {"src/own.h": text("int q;\n")}
    write_project(tmp_path, git, [LAYOUT, there, included, without, moved])
    assert reaches(cli, tmp_path) == ["host cuda hip", "cuda hip", "cuda hip", "host cuda hip"]


def test_a_renamed_file_keeps_its_includes(cli: Cli, git: Git, tmp_path: Path) -> None:
    files = {**LAYOUT, "src/private.h": text('#include "x.h"\n// and more\n'), "src/x.h": text("int x;\n")}
    moved = {k: v for k, v in files.items() if k != "src/private.h"}
    moved |= {
        "ggml/src/ggml-cuda/moved.h": files["src/private.h"],
        "ggml/src/ggml-cuda/add.cu": text('#include "moved.h"\n'),
    }
    one, _ = write_project(tmp_path, git, [files, moved, {**moved, "src/x.h": text("int y;\n")}])
    (tmp_path / "patches" / one).write_bytes(patch_between(git, files, moved, "-M"))
    assert "rename to ggml/src/ggml-cuda/moved.h" in (tmp_path / "patches" / one).read_text()
    assert reaches(cli, tmp_path) == ["host cuda hip", "host cuda hip"]


def test_in_llamafile_the_core_is_in_each_library(cli: Cli, git: Git, tmp_path: Path) -> None:
    files: Files = {f"llama.cpp/{path}": entry for path, entry in LAYOUT.items()} | {
        "llamafile/BUILD.mk": text("x: y\n"),
        "llamafile/cuda.sh": text("nvcc\n"),
        "llamafile/llamafile.c": text("int l;\n"),
        "llamafile/tinyblas.cu": text('#include "tinyblas.h"\n'),
        "llamafile/tinyblas.h": text("int b;\n"),
    }
    wanted = {
        "llama.cpp/ggml/src/ggml.c": "host cuda vulkan hip",
        "llama.cpp/ggml/src/ggml-impl.h": "host cuda vulkan hip",
        "llama.cpp/src/llama.cpp": "host",
        "llama.cpp/common/common.h": "host",
        "llama.cpp/ggml/src/ggml-cpu/common.h": "host",
        "llamafile/llamafile.c": "host",
        "llamafile/tinyblas.h": "cuda",
        "llamafile/cuda.sh": "cuda",
    }
    patched(tmp_path, git, files, *wanted)
    assert dict(zip(wanted, reaches(cli, tmp_path), strict=True)) == wanted


def test_a_false_claim_is_a_no(cli: Cli, git: Git, tmp_path: Path) -> None:
    one, two, three = patched(tmp_path, git, LAYOUT, "ggml/include/ggml-deep.h", "src/llama.cpp", "src/README.md")
    headed(tmp_path, two, "Say\n\nWhy. Cosmocc-only edit;\nCUDA DSO unchanged.\n\nReach: host\n")
    headed(tmp_path, three, "Say\n\nWhy.\n\nReach: none\n")
    assert [c["holds"] for p in asked(cli, tmp_path)["patches"] for c in p["claims"]] == [True] * 4
    for header, line, wrong in [
        ("Say\n\nCUDA DSO byte-identical.\n", 3, ["cuda"]),
        ("Say\n\nWhy; host only.\n", 3, ["base", "cuda", "hip"]),
        ("Say\n\nWhy.\n\nReach: host, base, cuda\n", 5, ["hip"]),
        ("Say\n\nWhy.\n\nReach: none\n", 5, ["host", "base", "cuda", "hip"]),
    ]:
        headed(tmp_path, one, header)
        (claim,) = asked(cli, tmp_path, code=1)["patches"][0]["claims"]
        assert (claim["line"], claim["holds"]) == (line, False)
        assert [
            name for name in ("host", "base", "cuda", "vulkan", "hip") if f"reaches {name}:" in claim["why"]
        ] == wrong
        said = cli("-C", tmp_path, "impact").out
        assert f"patches/{one}:{line}: it says " in said
        assert said.endswith("1 claim is false.\n")
        assert cli("-C", tmp_path, "impact", "2").code == 0  # of another patch
    headed(tmp_path, one, "Say\n\nWhy.\n\nReach: hots\n")
    (claim,) = asked(cli, tmp_path, code=1)["patches"][0]["claims"]
    assert claim["why"] == "no artefact is called hots; there are host, base, cpu, cuda, vulkan, hip"


def test_the_configuration_has_the_last_word(cli: Cli, git: Git, tmp_path: Path) -> None:
    own = '\n[artefact.cuda]\nsources = ["**/*.cu", "!**/old/**"]\n[artefact.hip]\nsources = []\n[artefact.docs]\nsources = ["doc?.txt"]\n'
    patched(tmp_path, git, LAYOUT, "src/new.cu", "src/old/x.cu", "doc1.txt", "docs/doc1.txt", config=CONFIG + own)
    assert reaches(cli, tmp_path) == ["host cuda", "host", "docs", ""]
    config = tmp_path / "opencoti.toml"
    for table, code in [
        ('[artefact.x]\nsources = "src/**"\n', "bad-value"),
        ("[artefact.x]\n", "bad-value"),
        ("[artefact]\nx = 1\n", "bad-value"),
        ('[artefact.x]\nsource = ["x"]\n', "unknown-key"),
        ('[artefact."X Y"]\nsources = ["x"]\n', "bad-name"),
        ('[artefact.none]\nsources = ["x"]\n', "bad-name"),
    ]:
        config.write_text(CONFIG + "\n" + table)
        ran = cli("-C", tmp_path, "impact", "--json")
        assert (ran.code, ran.json["error"]["code"]) == (2, code), table


def test_a_tree_that_nobody_knows_is_said(cli: Cli, git: Git, tmp_path: Path) -> None:
    patched(tmp_path, git, {"a.c": text("a\n")}, "a.c")
    ran = cli("-C", tmp_path, "impact", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "no-artefact")


def test_a_series_that_does_not_apply_has_a_reach(cli: Cli, git: Git, tmp_path: Path) -> None:
    one, _ = patched(tmp_path, git, LAYOUT, "src/llama.cpp", "ggml/src/ggml-cuda/only.h")
    path = tmp_path / "patches" / one
    path.write_text(path.read_text().replace('#include "llama.h"', '#include "lama.h"'))
    assert reaches(cli, tmp_path) == ["host", "cuda hip"]


CMAKE = """cmake_minimum_required(VERSION 3.14)
project(toy C)
add_library(one SHARED one/one.c)
add_library(two SHARED two/two.c)
target_include_directories(one PRIVATE inc)
target_include_directories(two PRIVATE inc)
target_compile_definitions(two PRIVATE HEADER="macro.h")
"""
TWO_LIBRARIES: Files = {
    "CMakeLists.txt": text(CMAKE),
    "one/one.c": text('#include "both.h"\n#ifdef NEVER\n#include "never.h"\n#endif\nint one(void) { return deep; }\n'),
    "two/two.c": text('#include "both.h"\n#include HEADER\nint two(void) { return deep; }\n'),
    "two/unbuilt.c": text('#include "unbuilt.h"\n'),
    "inc/both.h": text('#include "deep.h"\n'),
    "inc/deep.h": text("static const int deep = 1;\n"),
    "inc/never.h": text("\n"),
    "inc/macro.h": text("\n"),
    "inc/unbuilt.h": text("\n"),
}
TABLE = (
    '\n[artefact.one]\nsources = ["one/**"]\n[artefact.two]\nsources = ["two/**"]\n[build.cpu]\nartefacts = ["*.so"]\n'
)


@pytest.mark.skipif(not all(map(shutil.which, ("cmake", "cc"))), reason="needs cmake and a C compiler")
@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_depfiles_confirm_and_disagree(cli: Cli, git: Git, tmp_path: Path, generator: str) -> None:
    if not shutil.which("ninja" if generator == "Ninja" else "make"):
        pytest.skip(f"needs {generator}")
    changed = ("inc/deep.h", "inc/never.h", "inc/macro.h", "inc/unbuilt.h", "one/one.c")
    patched(tmp_path, git, TWO_LIBRARIES, *changed, config=f'{CONFIG}{TABLE}generator = "{generator}"\n')
    assert {r["depfiles"] for p in asked(cli, tmp_path)["patches"] for r in p["rows"]} == {None}
    assert cli("-C", tmp_path, "build", "cpu").code == 0
    document = asked(cli, tmp_path)
    assert document["builds"] == [{"profile": "cpu", "objects": 2}]
    known = {
        path: {r["artefact"]: (r["closure"], r["depfiles"]) for r in p["rows"]}
        for path, p in zip(changed, document["patches"], strict=True)
    }
    assert known == {
        "inc/deep.h": {"one": (True, True), "two": (True, True)},
        "inc/never.h": {"one": (True, False), "two": (False, False)},
        "inc/macro.h": {"one": (False, False), "two": (False, True)},
        "inc/unbuilt.h": {"one": (False, False), "two": (True, None)},
        "one/one.c": {"one": (True, True), "two": (False, False)},
    }
    assert [p["reaches"] for p in document["patches"]] == [["one", "two"], ["one"], ["two"], ["two"], ["one"]]
    said = cli("-C", tmp_path, "impact").out.splitlines()
    assert [line.split("  0")[0].split() for line in said[1:6]] == [
        ["X", "X"],
        ["?", "-"],
        ["-", "?"],
        ["-", "x"],
        ["X", "-"],
    ]
    # of another series the build says nothing
    (tmp_path / "patches/series").write_text("0001-step.patch\n")
    assert asked(cli, tmp_path)["builds"] == []


@pytest.mark.skipif(not all(map(shutil.which, ("make", "cc"))), reason="needs make and a C compiler")
def test_a_build_without_depfiles_is_not_called_none(cli: Cli, git: Git, tmp_path: Path) -> None:
    rule = text("one.o: one/one.c\n\t$(CC) $(FLAGS) -Iinc -c -o $@ $<\n")
    config = CONFIG + TABLE.replace("[build.cpu]", '[build.cpu]\nkind = "make"\noptions = ["FLAGS=-O0"]')
    patched(tmp_path, git, {**TWO_LIBRARIES, "Makefile": rule}, "inc/deep.h", config=config)
    assert "no build of this very series confirms it" in cli("-C", tmp_path, "impact").out
    assert cli("-C", tmp_path, "build", "cpu").code == 0
    assert asked(cli, tmp_path)["builds"] == [{"profile": "cpu", "objects": 0}]
    said = " ".join(cli("-C", tmp_path, "impact").out.split())
    assert "no build of this very series" not in said
    assert "the build of cpu confirms nothing: no depfile tells" in said
    (tmp_path / "opencoti.toml").write_text(config.replace("-O0", "-MMD"))
    assert cli("-C", tmp_path, "build", "cpu").code == 0
    assert asked(cli, tmp_path)["builds"] == [{"profile": "cpu", "objects": 1}]
