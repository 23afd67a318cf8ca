"""``build`` on toy projects, with the real CMake, make and compiler."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import CONFIG, Files, plain_git, text, write_project
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from conftest import Cli, Git

CMAKE = """cmake_minimum_required(VERSION 3.14)
project(toy C)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
add_executable(toy src/main.c src/other.c)
"""
MAKE = """toy: main.o other.o
\t$(CC) -o $@ $^
main.o other.o: %.o: src/%.c src/other.h
\t$(CC) -c -o $@ $<
clean:
\trm -f toy *.o
"""
MAIN = '#include "other.h"\n\nint main(void) {\n    return other(1);\n}\n'
OTHER = '#include "other.h"\n\nint other(int x) {\n    return x - 1;\n}\n'
FIRST: Files = {
    "CMakeLists.txt": text(CMAKE),
    "Makefile": text(MAKE),
    "src/main.c": text(MAIN),
    "src/other.h": text("int other(int);\n"),
    "src/other.c": text(OTHER),
}
SECOND: Files = {**FIRST, "src/other.c": text(OTHER.replace("- 1", "- 1 + 0"))}
THIRD: Files = {**SECOND, "src/main.c": text(MAIN.replace("other(1)", "other(1) + 0"))}
MADE = '\n[build.made]\nkind = "make"\nartefacts = ["toy"]\n'

needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("cmake", "make", "cc"))), reason="needs cmake, make and a C compiler"
)
pytestmark = needs_tools


@pytest.fixture
def root(git: Git, tmp_path: Path) -> Path:
    """A project with two patches on a program of two files."""
    write_project(tmp_path / "p", git, [FIRST, SECOND, THIRD], config=CONFIG + MADE)
    return tmp_path / "p"


SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).parents[2] / "docs/schema/opencoti.schema.json").read_text("utf-8"))
)


def edited(root: Path, name: str, old: str, new: str) -> None:
    """Another content of a patch."""
    path = root / "patches" / name
    path.write_text(path.read_text().replace(old, new))


def manifest(root: Path, profile: str) -> dict[str, Any]:
    """What the build says of itself."""
    found: dict[str, Any] = json.loads((root / ".opencoti/build" / profile / "manifest.json").read_text())
    return found


@pytest.mark.parametrize(("profile", "program"), [("cpu", ".opencoti/build/cpu/bin/toy"), ("made", "tree/toy")])
def test_it_builds_once_and_then_what_changed(cli: Cli, root: Path, profile: str, program: str) -> None:
    first = cli("-C", root, "build", profile, "--json")
    SCHEMA.validate(first.json)
    assert (first.code, first.json["up_to_date"], first.json["failure"]) == (0, False, None)
    assert subprocess.run([root / program], check=False).returncode == 0
    (artefact,) = first.json["artefacts"]
    again = cli("-C", root, "build", profile, "--json").json
    assert again["up_to_date"]
    assert again["artefacts"] == [artefact]
    edited(root, "0002-step.patch", "+ 0;", "+ 7;")
    changed = cli("-C", root, "build", profile, "--json").json
    assert not changed["up_to_date"]
    assert subprocess.run([root / program], check=False).returncode == 7
    log = Path(changed["log"]).read_text()
    assert "main.c" in log
    assert "other.c" not in log  # nothing of it changed


def test_an_artefact_that_somebody_changed_is_made_again(cli: Cli, root: Path) -> None:
    made = cli("-C", root, "build", "cpu", "--json").json["artefacts"]
    (root / ".opencoti/build/cpu/bin/toy").unlink()
    again = cli("-C", root, "build", "cpu", "--json").json
    assert not again["up_to_date"]
    assert again["artefacts"] == made


def test_the_first_error_names_the_patch_that_wrote_the_line(cli: Cli, root: Path) -> None:
    assert cli("-C", root, "build", "cpu").code == 0
    edited(root, "0001-step.patch", "+ 0;", "+ zero;")
    ran = cli("-C", root, "build", "cpu", "--json")
    assert ran.code == 1
    SCHEMA.validate(ran.json)
    failure = ran.json["failure"]
    assert (failure["step"], failure["file"], failure["line"]) == ("build", "src/other.c", 4)
    assert failure["patch"] == "0001-step.patch"
    assert "zero" in failure["message"]
    assert not (root / ".opencoti/build/cpu/bin/toy").exists()
    assert not (root / ".opencoti/build/cpu/manifest.json").exists()
    said = cli("-C", root, "build", "cpu").out
    assert "src/other.c, line 4: " in said
    assert "the line is from 0001-step.patch" in said


def test_a_line_of_the_base_is_called_one(cli: Cli, git: Git, tmp_path: Path) -> None:
    broken: Files = {**FIRST, "src/other.c": text("int other(int x) { return y; }\n")}
    write_project(tmp_path, git, [broken, {**broken, "src/main.c": text(MAIN + "\n")}])
    ran = cli("-C", tmp_path, "build", "cpu", "--json")
    assert (ran.json["failure"]["file"], ran.json["failure"]["patch"]) == ("src/other.c", None)


def test_the_same_inputs_give_the_same_manifest_anywhere(cli: Cli, root: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere/q"
    shutil.copytree(root, other)
    for folder in (root, other):
        assert cli("-C", folder, "build", "cpu").code == 0
    assert manifest(root, "cpu") == manifest(other, "cpu")
    assert str(tmp_path) not in json.dumps(manifest(root, "cpu"))
    edited(other, "0002-step.patch", "+ 0;", "+ 1;")
    assert cli("-C", other, "build", "cpu").code == 0
    assert manifest(root, "cpu")["digest"] != manifest(other, "cpu")["digest"]


def test_clean_begins_from_nothing(cli: Cli, root: Path) -> None:
    for profile in ("cpu", "made"):
        assert cli("-C", root, "build", profile).code == 0
        log = Path(cli("-C", root, "build", profile, "--clean", "--json").json["log"]).read_text()
        assert "other.c" in log


def test_no_step_reaches_for_the_network_or_a_repository_around_it(cli: Cli, git: Git, tmp_path: Path) -> None:
    asks = "all:\n\t@echo proxy=$$https_proxy index=$$PIP_NO_INDEX\n\t@git rev-parse HEAD || echo no repository\n"
    config = CONFIG + '\n[build.asks]\nkind = "make"\nenv = { WORD = "own" }\n'
    write_project(
        tmp_path, git, [{"Makefile": text(asks)}, {"Makefile": text(asks + "\t@echo $$WORD\n")}], config=config
    )
    plain_git(tmp_path, "init", "-q")
    plain_git(tmp_path, "commit", "-q", "--allow-empty", "-m", "around it")
    log = Path(cli("-C", tmp_path, "build", "asks", "--json").json["log"]).read_text()
    assert "proxy=http://127.0.0.1:9 index=1\n" in log
    assert "no repository\n" in log
    assert "\nown\n" in log


def test_what_cannot_be_built_is_said_in_one_line(cli: Cli, root: Path) -> None:
    unknown = cli("-C", root, "build", "gpu", "--json")
    assert (unknown.code, unknown.json["error"]["code"]) == (2, "unknown-profile")
    config = root / "opencoti.toml"
    whole = config.read_text()
    for table, code in [
        ('[build.x]\nkind = "scons"\n', "bad-value"),
        ("[build.x]\ntargets = 3\n", "bad-value"),
        ("[build.x]\njobs = -1\n", "bad-value"),
        ("[build.x]\nenv = { A = 1 }\n", "bad-value"),
        ('[build.x]\nartefacts = ["../x"]\n', "unsafe-path"),
        ('[build.x]\nartifacts = ["x"]\n', "unknown-key"),
        ("[build]\nx = 1\n", "bad-value"),
        ('[build."a b"]\n', "bad-name"),
    ]:
        config.write_text(whole.replace(MADE, "\n" + table))
        ran = cli("-C", root, "check", "--json")
        assert (ran.code, ran.json["error"]["code"]) == (2, code), table
    config.write_text(whole + '\n[build.x]\nsource = "nowhere"\n')
    assert cli("-C", root, "build", "x", "--json").json["error"]["code"] == "no-folder"
    config.write_text(whole + '\n[build.x]\nlauncher = "no-such-launcher"\n')
    ran = cli("-C", root, "build", "x", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "no-tool")


def test_edits_in_the_tree_are_not_built_over(cli: Cli, root: Path) -> None:
    assert cli("-C", root, "build", "cpu").code == 0
    (root / "tree/src/main.c").write_text("int main(void) { return 9; }\n")
    ran = cli("-C", root, "build", "cpu", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "local-edits")


STALE = """toy: main.o other.o
\t$(CC) -o $@ $^
%.o: src/%.c
\t$(CC) -c -o $@ $<
"""


def test_a_makefile_that_knows_no_headers_leaves_nothing_stale(cli: Cli, git: Git, tmp_path: Path) -> None:
    """The header is included by another header; the change reaches a source in the second step."""
    files: Files = {
        "Makefile": text(STALE),
        "src/main.c": text('#include "other.h"\n\nint main(void) {\n    return other() - NUMBER;\n}\n'),
        "src/other.c": text("int other(void) {\n    return 7;\n}\n"),
        "src/other.h": text('# include "../src/inner/number.h"\nint other(void);\n'),
        "src/inner/number.h": text("#define NUMBER 7\n"),
    }
    patched = {**files, "src/inner/number.h": text("#define NUMBER 6\n")}
    write_project(tmp_path, git, [files, patched], config=CONFIG + MADE)
    (tmp_path / "patches/series").write_text("")
    toy = tmp_path / "tree/toy"
    assert cli("-C", tmp_path, "build", "made").code == 0
    assert subprocess.run([toy], check=False).returncode == 0
    (tmp_path / "patches/series").write_text("0001-step.patch\n")
    ran = cli("-C", tmp_path, "build", "made", "--json")
    assert ran.code == 0
    assert subprocess.run([toy], check=False).returncode == 1
    log = Path(ran.json["log"]).read_text()
    assert "main.c" in log
    assert "other.c" not in log


def test_what_a_failed_build_compiled_is_not_taken_for_new(cli: Cli, git: Git, tmp_path: Path) -> None:
    files: Files = {
        "Makefile": text(STALE),
        "src/main.c": text('#include "n.h"\n\nint other(void);\n\nint main(void) {\n    return other() - N;\n}\n'),
        "src/other.c": text("int other(void) {\n    return 7;\n}\n"),
        "src/n.h": text("#define N 7\n"),
    }
    six = {**files, "src/n.h": text("#define N 6\n")}
    broken = {**six, "src/other.c": text("int other(void) {\n    return seven;\n}\n")}
    names = write_project(tmp_path, git, [files, six, broken], config=CONFIG + MADE)
    (tmp_path / "patches/series").write_text("")
    assert cli("-C", tmp_path, "build", "made").code == 0
    (tmp_path / "patches/series").write_text("".join(f"{n}\n" for n in names))
    assert cli("-C", tmp_path, "build", "made").code == 1  # main.o is of N = 6 by now, or gone
    (tmp_path / "patches/series").write_text("")
    assert cli("-C", tmp_path, "build", "made").code == 0
    assert subprocess.run([tmp_path / "tree/toy"], check=False).returncode == 0


def test_doctor_says_what_is_missing_and_what_brings_it(cli: Cli, root: Path) -> None:
    whole = cli("-C", root, "doctor", "cpu", "--json")
    SCHEMA.validate(whole.json)
    assert whole.code == 0
    tools = {row["tool"]: row["version"] for row in whole.json["tools"]}
    assert tools["git"].startswith("git version")
    assert tools["cmake"].startswith("cmake version")
    with (root / "opencoti.toml").open("a") as f:
        f.write('[build.cpu]\nlauncher = "no-such-launcher"\nenv = { CC = "no-such-compiler" }\n')
    ran = cli("-C", root, "doctor", "--json")
    SCHEMA.validate(ran.json)
    assert ran.code == 1
    missing = [(row["profile"], row["tool"]) for row in ran.json["tools"] if "mend" in row]
    assert missing == [("cpu", "no-such-compiler"), ("cpu", "no-such-launcher")]
    said = cli("-C", root, "doctor").out
    assert "no-such-launcher: not there; " in said
    assert said.endswith("Something is missing.\n")
    assert cli("-C", root, "doctor", "gpu").code == 2


def test_doctor_says_what_a_cuda_library_would_need(
    cli: Cli, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nccl/include").mkdir(parents=True)
    (tmp_path / "nccl/include/nccl.h").touch()
    monkeypatch.setenv("NCCL_ROOT", str(tmp_path / "nccl"))

    def said(profile: str) -> list[str]:
        ran = cli("-C", root, "doctor", profile, "--json")
        SCHEMA.validate(ran.json)
        return [row["version"] for row in ran.json["tools"] if row["tool"] == "nccl" and "mend" not in row]

    (row,) = said("cuda")
    assert row.startswith(str(tmp_path / "nccl/include/nccl.h"))
    assert "-DGGML_CUDA_NCCL=OFF" in row
    with (root / "opencoti.toml").open("a") as f:
        f.write('[build.cuda]\noptions = ["-DGGML_CUDA=ON", "-DGGML_CUDA_NCCL=OFF"]\n')
    assert said("cuda") == said("cpu") == []


def test_cmake_keeps_no_option_variable_or_compiler_of_the_build_before(cli: Cli, git: Git, tmp_path: Path) -> None:
    main = "#include <stdio.h>\n" + "".join(
        f"#ifndef {name}\n#define {name} 0\n#endif\n" for name in ("OPTION", "FLAG", "COMPILER")
    )
    main += 'int main(void) {\n    return printf("%d %d %d", OPTION, FLAG, COMPILER) < 0;\n}\n'
    option = "if(OPTION)\n  target_compile_definitions(toy PRIVATE OPTION=1)\nendif()\n"
    cmake = CMAKE.replace(" src/other.c", "") + option
    write_project(tmp_path / "p", git, [{"CMakeLists.txt": text(cmake), "src/main.c": text(main)}])
    compiler = tmp_path / "my-cc"

    def says(profile: str, version: int = 0) -> str:
        compiler.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo my-cc {version}.0 || cc -DCOMPILER={version} "$@"\n'
        )
        compiler.chmod(0o755)
        (tmp_path / "p/opencoti.toml").write_text(f"{CONFIG}[build.cpu]\n{profile}\n")
        assert cli("-C", tmp_path / "p", "build", "cpu").code == 0
        program = tmp_path / "p/.opencoti/build/cpu/bin/toy"
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout

    assert says('options = ["-DOPTION=ON"]') == "1 0 0"
    assert says("") == "0 0 0"
    assert says('env = { CFLAGS = "-DFLAG=7" }') == "0 7 0"
    assert says(f'env = {{ CC = "{compiler}" }}', 3) == "0 0 3"
    assert says(f'env = {{ CC = "{compiler}" }}', 4) == "0 0 4"


def test_nothing_is_removed_or_taken_through_a_link_that_leads_out(cli: Cli, git: Git, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("mine\n")
    make = f"all:\n\tln -sfn {tmp_path / 'kept'} out\n\t$(END)\n"
    made = '\n[build.made]\nkind = "make"\nartefacts = ["out/*"]\noptions = ["END={}"]\n'
    write_project(tmp_path / "p", git, [{"Makefile": text(make)}])
    for end, code in (("false", 1), ("true", 0)):
        (tmp_path / "p/opencoti.toml").write_text(CONFIG + made.format(end))
        assert cli("-C", tmp_path / "p", "build", "made").code == code
        assert (tmp_path / "kept/file").exists()
    assert json.loads((tmp_path / "p/.opencoti/build/made/manifest.json").read_bytes())["artefacts"] == []


@pytest.mark.parametrize("damaged", [{}, {"inputs": []}, {"artefacts": [{}]}, {"digest": 1}])
def test_a_damaged_manifest_is_none(cli: Cli, root: Path, damaged: dict[str, object]) -> None:
    assert cli("-C", root, "build", "cpu").code == 0
    file = root / ".opencoti/build/cpu/manifest.json"
    whole = file.read_bytes()
    file.write_text(json.dumps({"schema": 1} | ({**json.loads(whole), **damaged} if damaged else {})))
    assert cli("-C", root, "build", "cpu").code == 0
    assert file.read_bytes() == whole


def test_the_users_variables_are_an_input(cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for profile in ("cpu", "made"):
        assert cli("-C", root, "build", profile).code == 0
        first = manifest(root, profile)
        monkeypatch.setenv("CFLAGS", "-O3 -DMORE")
        assert not cli("-C", root, "build", profile, "--json").json["up_to_date"]
        second = manifest(root, profile)
        assert second["digest"] != first["digest"]
        assert second["inputs"] == {**first["inputs"], "variables": {"CFLAGS": "-O3 -DMORE"}}
        monkeypatch.delenv("CFLAGS")


@pytest.mark.parametrize("glob", ["*", "src/*.c", "**/*"])
def test_no_file_of_the_tree_is_an_artefact(cli: Cli, root: Path, glob: str) -> None:
    toml = root / "opencoti.toml"
    toml.write_text(toml.read_text().replace('["toy"]', f'["{glob}"]'))
    edited(root, "0001-step.patch", "+ 0;", "+ zero;")  # it would fail, and what it made go
    ran = cli("-C", root, "build", "made", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad-value")
    assert "is a file of the tree" in ran.json["error"]["message"]
    assert (root / "tree/Makefile").exists()
    assert (root / "tree/src/main.c").exists()


@pytest.mark.parametrize(
    "line",
    [
        'artefacts = [""]',
        'artefacts = ["a**b"]',
        'options = ["a\\u0000b"]',
        'env = { "A=B" = "x" }',
        'env = { A = "\\u0000" }',
    ],
)
def test_what_no_program_can_be_given_is_refused(cli: Cli, root: Path, line: str) -> None:
    toml = root / "opencoti.toml"
    toml.write_text(toml.read_text() + f"[build.odd]\n{line}\n")
    ran = cli("-C", root, "build", "odd", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad-value")


TWO = "add_executable(more src/main.c src/other.c)\n"


def test_what_a_build_does_not_make_any_more_is_no_result_of_it(cli: Cli, git: Git, tmp_path: Path) -> None:
    both: Files = {**FIRST, "CMakeLists.txt": text(CMAKE + TWO)}
    changed: Files = {**both, "src/other.c": text(OTHER.replace("- 1", "- 1 + 7"))}
    write_project(tmp_path, git, [both, changed, {**changed, "CMakeLists.txt": text(CMAKE)}])
    series = tmp_path / "patches/series"

    def made(patches: str, *args: str) -> list[str]:
        series.write_text(patches)
        ran = cli("-C", tmp_path, "build", "cpu", *args, "--json")
        assert ran.code == 0, ran.out
        return [a["path"] for a in ran.json["artefacts"]]

    assert made("") == ["bin/more", "bin/toy"]
    assert made("0001-step.patch\n", "--target", "toy") == ["bin/toy"]  # the other is of the tree before
    assert made("0001-step.patch\n") == ["bin/more", "bin/toy"]
    assert subprocess.run([tmp_path / ".opencoti/build/cpu/bin/more"], check=False).returncode == 7
    assert made("0001-step.patch\n0002-step.patch\n") == ["bin/toy"]  # its target is gone
