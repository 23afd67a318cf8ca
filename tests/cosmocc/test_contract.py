"""The stand-in for cosmocc keeps the contract that its README claims. Nothing here is a run of the real one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

BIN = Path(__file__).parent / "bin"
MAIN = '#include <stdlib.h>\nint other(void);\nint main(void) { return other() + (getenv("MORE") ? 1 : 0); }\n'
OTHER = "int other(void) { return 7; }\n"

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")


def call(at: Path, program: str, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run one of the programs in a folder."""
    kept = {k: v for k, v in os.environ.items() if k not in ("TMPDIR", "MODE", "BUILDLOG")}
    return subprocess.run(
        [BIN / program, *args],
        cwd=at,
        env=kept | {"TMPDIR": str(at / "tmp")} | env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def at(tmp_path: Path) -> Path:
    """A folder with two sources."""
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "other.c").write_text(OTHER)
    return tmp_path


def made(at: Path) -> set[str]:
    """The files but the sources."""
    files = {str(p.relative_to(at)) for p in at.rglob("*") if p.is_file()}
    return files - {"main.c", "other.c"}


def test_compile_archive_and_link(at: Path) -> None:
    for name in ("main", "other"):
        assert call(at, "cosmocc", "-c", f"{name}.c").returncode == 0
    assert made(at) == {"main.o", ".aarch64/main.o", "other.o", ".aarch64/other.o"}
    assert call(at, "cosmoar", "rcsD", "lib.a", "other.o").returncode == 0
    assert call(at, "cosmocc", "-o", "toy", "main.o", "lib.a").returncode == 0
    assert {"lib.a", ".aarch64/lib.a", "toy", "toy.com.dbg", "toy.aarch64.elf"} <= made(at)
    assert not list((at / "tmp").iterdir())
    assert (at / "toy").read_bytes().startswith(b"MZqFpD='")
    with pytest.raises(OSError, match="Exec format error"):
        subprocess.run([at / "toy"], check=False)
    assert subprocess.run(["sh", at / "toy"], env={**os.environ, "MORE": "1"}, check=False).returncode == 8
    (at / ".aarch64/lib.a").unlink()
    died = call(at, "cosmocc", "-o", "toy", "main.o", "lib.a")
    assert died.returncode == 1
    assert died.stderr.splitlines()[1:] == ["compilation terminated."]
    assert ".aarch64/lib.a" in died.stderr


def test_it_makes_no_folder_but_the_other_half_s(at: Path) -> None:
    assert call(at, "cosmocc", "-c", "-o", "o/main.o", "main.c").returncode != 0
    (at / "o").mkdir()
    assert call(at, "cosmocc", "-c", "-o", "o/main.o", "main.c").returncode == 0
    assert made(at) == {"o/main.o", "o/.aarch64/main.o"}


def test_where_the_second_compiler_fails_the_first_object_stays(at: Path) -> None:
    (at / "main.c").write_text("#ifdef __aarch64__\n#error not here\n#endif\n" + MAIN)
    failed = call(at, "cosmocc", "-c", "main.c")
    assert failed.returncode == 1
    assert "aarch64 failed" in failed.stderr
    assert made(at) == {"main.o"}


@pytest.mark.parametrize(
    "words",
    [
        ["-shared"],
        ["-r"],
        ["-S"],
        ["-pie"],
        ["-nostdlib"],
        ["-fsanitize=thread"],
        ["-march=native"],
        ["x.s"],
        ["x.so"],
        ["@words"],
        ["-DNAME=a b"],
    ],
)
def test_what_ends_it(at: Path, words: list[str]) -> None:
    for name in ("x.s", "x.so", "words"):
        (at / name).write_text("")
    before = made(at)
    died = call(at, "cosmoc++", "-c", *words, "main.c")
    first, second = died.stderr.splitlines()
    assert (died.returncode, second) == (1, "compilation terminated.")
    assert first.startswith("cosmoc++: fatal error: ")
    assert made(at) == before


def test_a_space_in_tmpdir_ends_it(at: Path) -> None:
    died = call(at, "cosmocc", "-c", "main.c", TMPDIR=str(at / "a b"))
    assert (died.returncode, died.stderr.splitlines()[1]) == (1, "compilation terminated.")


def test_what_it_eats_and_what_goes_to_one_compiler(at: Path) -> None:
    assert call(at, "cosmocc", "-fPIC", "-fpie", "-m64", "-static-libgcc", "-c", "main.c").stderr == ""
    assert call(at, "cosmocc", "-Xx86_64-Dother=something", "-Xaarch64-Dother=nothing", "-c", "other.c").returncode == 0
    assert b"nothing" in (at / ".aarch64/other.o").read_bytes()
    assert b"something" in (at / "other.o").read_bytes()


def test_mode_and_buildlog(at: Path) -> None:
    done = call(at, "cosmocc", "-o", "toy", "main.c", "other.c", MODE="tiny", BUILDLOG=str(at / "log"))
    assert done.returncode == 0
    assert b"runtime tiny" in (at / "toy").read_bytes()[:60]
    log = (at / "log").read_text()
    assert "x86_64-linux-cosmo-gcc" in log
    assert "aarch64-linux-cosmo-gcc" in log
    assert call(at, "cosmocc", "--version").stdout == "cosmocc (stand-in) 4.0.2\n"
