"""``build`` with cosmocc, on a toy whose makefile is made as llamafile's are. The toolchain is the stand-in of
tests/cosmocc: what is proven is the driver, not the real compiler."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import CONFIG, Files, text, write_project

if TYPE_CHECKING:
    from conftest import Git
    from e2e.forked import Forked

    from cli.documents import Ask

STAND_IN = Path(__file__).parents[1] / "cosmocc"
# as llamafile's: no header dependencies, outputs under o/MODE; without its .DELETE_ON_ERROR, which our part must not need
MAKEFILE = """COSMOCC = .cosmocc/4.0.2
o/$(MODE)/toy: o/$(MODE)/src/main.o o/$(MODE)/lib.a
\t$(COSMOCC)/bin/cosmocc -o $@ $^
o/$(MODE)/lib.a: o/$(MODE)/src/other.o
\t$(COSMOCC)/bin/cosmoar rcsD $@ $^
o/$(MODE)/%.o: %.c $(COSMOCC)
\t@mkdir -p $(@D)
\t$(COSMOCC)/bin/cosmocc $(CFLAGS) $(CPPFLAGS) -c -o $@ $<
.PHONY: clean
clean:; rm -rf o
"""
MAIN = '#include "n.h"\n\nint other(void);\n\nint main(void) {\n    return other() - N;\n}\n'
FILES: Files = {
    "Makefile": text(MAKEFILE),
    "src/main.c": text(MAIN),
    "src/other.c": text("int other(void) {\n    return 7;\n}\n"),
    "src/n.h": text("#define N 7\n"),
}
PROFILE = '\n[build.cosmocc]\nartefacts = ["toy"]\n'
Toy = Callable[..., Path]

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("gcc", "make", "ar"))), reason="needs gcc, make and ar under the stand-in"
)


@pytest.fixture
def toy(forked: Forked, git: Git) -> Toy:
    """A project on the toy with patches that lead from state to state, and the stand-in beside it."""

    def make(*states: Files, config: str = PROFILE) -> Path:
        write_project(
            forked.root, git, [FILES, *(states or ({**FILES, "README": text("more\n")},))], config=CONFIG + config
        )
        install(forked.root / ".cosmocc/4.0.2")
        return forked.root

    return make


def install(at: Path) -> Path:
    """Put the stand-in somewhere."""
    shutil.copytree(STAND_IN / "bin", at / "bin", symlinks=True)
    return at


def run(program: Path) -> int:
    """How the toy ends."""
    return subprocess.run(["sh", program], check=False).returncode


def halves(root: Path, name: str, mode: str = "") -> tuple[Path, Path]:
    """The two objects of a source."""
    at = root / "tree/o" / mode
    return at / name, at.joinpath(name).parent / ".aarch64" / Path(name).name


def series(root: Path, *names: str) -> None:
    """Another series."""
    (root / "patches/series").write_text("".join(f"{n}\n" for n in names))


def test_it_builds_an_ape_and_knows_it(ask: Ask, toy: Toy) -> None:
    root = toy()
    first = ask("build", "cosmocc", "--json", code=0)
    (artefact,) = first["artefacts"]
    assert (artefact["path"], artefact["kind"], first["dir"]) == ("toy", "ape", str(root / "tree/o"))
    assert run(root / "tree/o/toy") == 0
    assert all(p.exists() for p in (*halves(root, "src/main.o"), *halves(root, "lib.a")))
    assert ask("build", "cosmocc", "--json", code=0)["up_to_date"]
    log = Path(ask("build", "cosmocc", "--clean", "--json", code=0)["log"]).read_text()
    assert "rm -rf o" in log
    assert "src/other.c" in log


def test_mode_is_the_profile_s_alone(ask: Ask, toy: Toy) -> None:
    root = toy(config='\n[build.cosmocc]\nartefacts = ["toy"]\noptions = ["MODE=dbg"]\n')
    assert ask("build", "cosmocc", "--json", code=0, MODE="tiny")["dir"] == str(root / "tree/o/dbg")
    assert b"runtime dbg" in (root / "tree/o/dbg/toy").read_bytes()[:60]
    (root / "opencoti.toml").write_text(CONFIG + PROFILE)
    assert ask("build", "cosmocc", "--json", code=0, MODE="tiny", m="tiny")["dir"] == str(root / "tree/o")
    assert b"runtime default" in (root / "tree/o/toy").read_bytes()[:60]


def test_a_changed_header_reaches_both_halves(ask: Ask, toy: Toy) -> None:
    root = toy({**FILES, "src/n.h": text("#define N 6\n")})
    series(root)
    ask("build", "cosmocc", "--json", code=0)
    before = [p.read_bytes() for p in halves(root, "src/main.o")]
    other = halves(root, "src/other.o")[0].stat().st_mtime_ns
    series(root, "0001-step.patch")
    ask("build", "cosmocc", "--json", code=0)
    assert run(root / "tree/o/toy") == 1
    assert all(a != p.read_bytes() for a, p in zip(before, halves(root, "src/main.o"), strict=True))
    assert halves(root, "src/other.o")[0].stat().st_mtime_ns == other


@pytest.mark.parametrize("how", ["options", "makefile", "profile"])
@pytest.mark.parametrize("kind", ["cosmocc", "make"])
def test_other_flags_reach_every_object(ask: Ask, toy: Toy, kind: str, how: str) -> None:
    flags = {
        **FILES,
        "Makefile": text(MAKEFILE + "CPPFLAGS += -DN=6\n"),
        "src/n.h": text("#ifndef N\n#define N 7\n#endif\n"),
    }
    root = toy({**flags, "Makefile": text(MAKEFILE)}, flags)
    series(root, "0001-step.patch")
    profile = f'\n[build.{kind}]\nkind = "{kind}"\nartefacts = ["toy", "o/toy"]\n'
    where = f"COSMOCC={root}/.cosmocc/4.0.2"
    (root / "opencoti.toml").write_text(f'{CONFIG}{profile}options = ["{where}"]\n')
    ask("build", kind, "--json", code=0)
    assert run(root / "tree/o/toy") == 0
    if how == "makefile":
        series(root, "0001-step.patch", "0002-step.patch")
    elif how == "profile":  # which builds in the same folder
        with (root / "opencoti.toml").open("a") as f:
            f.write(f'[build.six]\nkind = "{kind}"\nartefacts = ["toy"]\noptions = ["{where}", "CFLAGS=-DN=6"]\n')
        ask("build", "six", "--json", code=0)
        assert run(root / "tree/o/toy") == 1
        ask("build", kind, "--json", code=0)
        assert run(root / "tree/o/toy") == 0
        return
    else:
        (root / "opencoti.toml").write_text(f'{CONFIG}{profile}options = ["{where}", "CFLAGS=-DN=6"]\n')
    ask("build", kind, "--json", code=0)
    assert run(root / "tree/o/toy") == 1


def test_a_member_whose_source_left_the_archive_is_gone(ask: Ask, toy: Toy) -> None:
    more = MAKEFILE.replace("lib.a: o/$(MODE)/src/other.o", "lib.a: o/$(MODE)/src/other.o o/$(MODE)/src/more.o")
    root = toy({**FILES, "Makefile": text(more), "src/more.c": text("int more;\n")})
    ask("build", "cosmocc", "--json", code=0)
    assert b"more.o" in subprocess.run(["ar", "t", halves(root, "lib.a")[1]], capture_output=True, check=True).stdout
    series(root)
    ask("build", "cosmocc", "--json", code=0)
    for archive in halves(root, "lib.a"):
        assert subprocess.run(["ar", "t", archive], capture_output=True, check=True).stdout == b"other.o\n"


@pytest.mark.parametrize("before", [False, True])
def test_a_failing_second_half_takes_the_first_with_it(ask: Ask, toy: Toy, before: bool) -> None:
    broken = MAIN.replace("int other(void);\n", "int other(void);\n#ifdef __aarch64__\nint x = y;\n#endif\n")
    root = toy({**FILES, "src/main.c": text(broken)})
    if before:
        series(root)
        ask("build", "cosmocc", "--json", code=0)
        series(root, "0001-step.patch")
    failure = ask("build", "cosmocc", "--json", code=1)["failure"]
    assert (failure["file"], failure["line"], failure["patch"]) == ("src/main.c", 5, "0001-step.patch")
    assert not any(p.exists() for p in (*halves(root, "src/main.o"), root / "tree/o/toy"))
    series(root)
    ask("build", "cosmocc", "--json", code=0)
    assert run(root / "tree/o/toy") == 0


def test_a_missing_half_is_said_in_cosmocc_s_words(ask: Ask, toy: Toy) -> None:
    lost = (
        MAKEFILE.replace("o/$(MODE)/toy: ", "o/$(MODE)/toy: lose ")
        + "lose: o/$(MODE)/src/main.o\n\trm $(<D)/.aarch64/main.o\n"
    )
    toy({**FILES, "Makefile": text(lost.replace("-o $@ $^", "-o $@ $(filter o/%,$^)"))})
    message = ask("build", "cosmocc", "--json", code=1)["failure"]["message"]
    assert message.startswith("cosmocc: fatal error: ")
    assert ".aarch64/main.o" in message


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_half_of_an_interrupted_build_is_used(ask: Ask, toy: Toy, how: signal.Signals, tmp_path: Path) -> None:
    """The second compiler waits for a pipe that nobody writes to; the first has made its object by then."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = MAIN.replace("#include", f'#ifdef __aarch64__\n#include "{pipe}"\n#endif\n#include', 1).replace(
        "- N", "- N + 2"
    )
    root = toy({**FILES, "src/main.c": text(held)})
    series(root)
    ask("build", "cosmocc", "--json", code=0)
    first, second = halves(root, "src/main.o")
    old = first.stat().st_mtime_ns
    series(root, "0001-step.patch")
    build = subprocess.Popen(
        [sys.executable, "-m", "opencoti_patches", "-C", str(root), "build", "cosmocc"], stderr=subprocess.DEVNULL
    )
    for _ in range(3000):
        if first.exists() and first.stat().st_mtime_ns != old and first.read_bytes()[:4] == b"\x7fELF":
            break
        time.sleep(0.01)
    time.sleep(0.2)  # for the first compiler to close its file
    (make,) = Path(f"/proc/{build.pid}/task/{build.pid}/children").read_text().split()
    build.send_signal(how)
    build.wait(60)
    if how == signal.SIGKILL:
        os.killpg(int(make), signal.SIGKILL)  # what a power cut ends too
        assert first.exists()  # or nothing is shown here
        assert second.exists()
    else:
        assert not first.exists()
        assert not second.exists()
    with open(root / "tree/src/main.c") as f:
        assert str(pipe) in f.read()
    pipe.unlink()
    pipe.write_text("\n")
    ask("build", "cosmocc", "--json", code=0)
    assert run(root / "tree/o/toy.aarch64.elf") != 0
    assert subprocess.run([root / "tree/o/toy.aarch64.elf"], check=False).returncode == 2


@pytest.mark.parametrize(
    "flag", ["-shared", "-r", "-S", "-pie", "-nostdlib", "-fsanitize=thread", "-march=native", "x.so", "@f"]
)
def test_what_would_end_cosmocc_is_refused_by_name(ask: Ask, toy: Toy, flag: str) -> None:
    root = toy(config=f'{PROFILE}options = ["CFLAGS=-O2 {flag}"]\n')
    error = ask("build", "cosmocc", "--json", code=2)["error"]
    assert error["code"] == "bad-value"
    assert f"takes no {flag} (in options: CFLAGS=-O2 {flag})" in error["message"]
    assert not (root / "tree/src").exists()
    (root / "opencoti.toml").write_text(f'{CONFIG}{PROFILE}env = {{ CXXFLAGS = "{flag}" }}\n')
    assert f"CXXFLAGS={flag}" in ask("build", "cosmocc", "--json", code=2)["error"]["message"]
    (root / "opencoti.toml").write_text(CONFIG + PROFILE)
    assert f"LDFLAGS={flag}" in ask("build", "cosmocc", "--json", code=2, LDFLAGS=flag)["error"]["message"]
    assert [r["tool"] for r in ask("doctor", "cosmocc", "--json", code=1, LDFLAGS=flag)["tools"] if "mend" in r] == [
        "settings"
    ]


def test_words_of_make_are_not_taken_for_flags(ask: Ask, toy: Toy) -> None:
    toy(config=PROFILE + 'options = ["-r", "-S", "CFLAGS=-fPIC -m64"]\n')
    ask("build", "cosmocc", "--json", code=0)


def test_no_space_anywhere(ask: Ask, toy: Toy, forked: Forked, tmp_path: Path) -> None:
    root = toy(config=PROFILE + f'env = {{ TMPDIR = "{tmp_path}/a b" }}\n')
    assert ask("build", "cosmocc", "--json", code=2)["error"]["code"] == "bad-folder"
    (root / "opencoti.toml").write_text(CONFIG + "\n[tree]\ndir = 'the tree'\n" + PROFILE)
    refused = ask("build", "cosmocc", "--json", code=2)["error"]
    assert (refused["code"], refused["hint"]) == ("bad-folder", "put the project elsewhere")
    assert not (root / "the tree").exists()
    (root / "opencoti.toml").write_text(CONFIG + PROFILE)
    assert (
        ask("build", "cosmocc", "--json", code=2, OPENCOTI_STORE=str(root / "a store"))["error"]["code"] == "bad-folder"
    )
    assert ask("build", "cosmocc", "--json", code=2, COSMOCC=str(root / "a b"))["error"]["code"] == "bad-folder"
    (root / "opencoti.toml").write_text(CONFIG + PROFILE + 'launcher = "ccache"\n')
    assert "two objects" in ask("build", "cosmocc", "--json", code=2)["error"]["message"]


def test_home_and_tmpdir_are_the_build_s_own(ask: Ask, toy: Toy) -> None:
    root = toy({**FILES, "Makefile": text(MAKEFILE + "$(info home=$(HOME) tmp=$(TMPDIR))\n")})
    log = Path(ask("build", "cosmocc", "--json", code=0, TMPDIR="/nowhere at all")["log"]).read_text()
    build = root / ".opencoti/build/cosmocc"
    assert f"home={build}/home tmp={build}/tmp\n" in log
    assert not list((build / "tmp").iterdir())


def test_the_same_program_wherever_it_is_built(ask: Ask, toy: Toy, tmp_path: Path) -> None:
    root = toy({**FILES, "src/other.c": text("const char *where = __FILE__;\nint other(void) { return 7; }\n")})
    here = ask("build", "cosmocc", "--json", code=0)
    manifest = (root / ".opencoti/build/cosmocc/manifest.json").read_text()
    root.rename(tmp_path / "moved")
    root.mkdir()
    shutil.copytree(tmp_path / "moved", root / "deeper")
    shutil.rmtree(root / "deeper/.opencoti")
    shutil.rmtree(root / "deeper/tree")
    there = ask("-C", "deeper", "build", "cosmocc", "--json", code=0, COSMOCC=str(install(tmp_path / "tools")))
    assert there["artefacts"] == here["artefacts"]
    assert (root / "deeper/.opencoti/build/cosmocc/manifest.json").read_text() == manifest


@pytest.mark.parametrize("how", ["key", "variable", "tree", "beside"])
def test_where_the_toolchain_is_found(ask: Ask, toy: Toy, how: str) -> None:
    root = toy(config=PROFILE + ('toolchain = "tools/cosmo"\n' if how == "key" else ""))
    ask("apply", "--json", code=0)
    places = {"tree": "tree/.cosmocc/4.0.2", "beside": ".cosmocc/4.0.2"}
    folder = root / places.get(how, "tools/cosmo")
    if how != "beside":
        install(folder)
    env = {"COSMOCC": str(folder)} if how == "variable" else {}
    # its make is an APE: it comes before the machine's own, and only a shell can start it
    (folder / "bin/make").write_text('MZqFpD=\'\n\'\necho "made by its own"\nPATH=${PATH#*:}\nexec make "$@"\n')
    (folder / "bin/make").chmod(0o755)
    built = ask("build", "cosmocc", "--json", code=0, **env)
    log = Path(built["log"]).read_text()
    assert "made by its own\n" in log
    assert (f"COSMOCC={folder}" in log) == (how != "tree")
    tools = {r["tool"]: r["version"] for r in ask("doctor", "cosmocc", "--json", code=0, **env)["tools"]}
    assert tools["cosmoc++"] == "cosmoc++ (stand-in) 4.0.2"
    assert tools["make"].startswith("GNU Make")


def test_without_a_toolchain_doctor_says_how_to_get_it(ask: Ask, toy: Toy, forked: Forked) -> None:
    root = toy()
    shutil.rmtree(root / ".cosmocc")
    error = ask("build", "cosmocc", "--json", code=3)["error"]
    assert (error["code"], error["hint"]) == ("no-tool", "'opencoti-patches doctor cosmocc' says how to get it")
    (row,) = [r for r in ask("doctor", "cosmocc", "--json", code=1)["tools"] if "mend" in r]
    assert row["tool"] == "cosmocc 4.0.2"
    fetch, check, unpack = row["commands"]
    assert fetch.startswith("curl -fLO https://")
    assert "85b8c37a406d862e656ad4ec14be9f6ce474c1b436b9615e91a55208aced3f44" in check
    assert all(f"        {c}\n" in forked("doctor", "cosmocc").out for c in row["commands"])
    shutil.make_archive(str(root / "cosmocc-4.0.2"), "zip", STAND_IN, "bin")
    refused = subprocess.run(["sh", "-c", check], cwd=root, capture_output=True, check=False)
    assert refused.returncode != 0
    zips = ask("doctor", "--zip", "cosmocc-4.0.2.zip", "--json", code=1)["tools"][1]
    assert "download it anew" in zips["mend"]
    if shutil.which("unzip"):
        subprocess.run(["sh", "-c", unpack], cwd=root, check=True)
        ask("doctor", "cosmocc", "--json", code=0)
        ask("build", "cosmocc", "--json", code=0)
