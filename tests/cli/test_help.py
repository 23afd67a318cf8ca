"""Help that teaches: an example everywhere, 80 columns, completion in three shells, the man page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from cli.documents import CONFIG, Project
from cli.stacks import FIVE, NAMES
from opencoti_patches.cli import COMMANDS, cli

if TYPE_CHECKING:
    from e2e.forked import Forked

ROOT = Path(__file__).parents[2]
PROFILES = '\n[build.small]\nkind = "make"\nartefacts = ["x"]\n'


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command and what is typed for it, those inside of others too."""
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield from commands(inner, (*path, name))


ALL = dict(commands(cli))


def test_nobody_is_missed() -> None:
    assert {path[0] for path in ALL if path} == COMMANDS.keys()


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_has_an_example_and_fits_the_screen(path: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*path, "--help"], prog_name="opencoti-patches", terminal_width=80)
    assert shown.exit_code == 0
    lines = shown.output.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    examples = lines[lines.index("Examples:" if "Examples:" in lines else "  Examples:") + 1 :]
    assert any(" ".join(path) in line.partition("opencoti-patches")[2] for line in examples)


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_whatever_is_a_patch_or_a_profile_is_completed(path: tuple[str, ...]) -> None:
    for param in ALL[path].params:
        said = (param.metavar or "").strip("[].")
        if said.startswith(("PATCH", "PROFILE")):
            assert param._custom_shell_complete is not None, param.name


@pytest.fixture
def project(small: Project, forked: Forked) -> Path:
    root = small(FIVE, CONFIG + PROFILES)
    series = root / "patches/series"
    series.write_text(series.read_text().replace(NAMES[3], f"# disabled: {NAMES[3]}"))
    return root


def completed(shell: str, root: Path, *words: str) -> list[str]:
    """What the shell would offer for the last word."""
    env = {
        **os.environ,
        "_OPENCOTI_PATCHES_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(["opencoti-patches", *words]),
        "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
    }
    args = [sys.executable, "-c", "from opencoti_patches.cli import main; main()"]
    done = subprocess.run(args, cwd=root, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    rows = [row for row in done.stdout.splitlines() if row or shell == "zsh"]
    if shell == "zsh":
        return rows[1::3]
    return [row.split(",", 1)[1].split("\t")[0] for row in rows]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(project: Path, tmp_path: Path, shell: str) -> None:
    assert completed(shell, project, "annot") == ["annotate"]
    assert completed(shell, project, "deps", "00") == [n for n in NAMES if n != NAMES[3]]
    assert completed(shell, project, "move", "1", "--after", "last") == [NAMES[4]]
    assert completed(shell, project, "enable", "00") == [NAMES[3]]
    assert completed(shell, project, "build", "sma") == ["small"]
    assert completed(shell, tmp_path, "-C", str(project), "show", "0005") == [NAMES[4]]
    (project / "opencoti.toml").write_text("[[[")
    assert completed(shell, project, "show", "0") == completed(shell, project, "build", "sma") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shells_take_the_script(project: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} here")
    bin_ = str(Path(sys.executable).parent)
    env = {**os.environ, "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    script = subprocess.run(
        ["opencoti-patches"],
        env={**env, "_OPENCOTI_PATCHES_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    if shell == "bash":
        script += (
            "\nCOMP_WORDS=(opencoti-patches show 0005); COMP_CWORD=2; _opencoti_patches_completion opencoti-patches"
        )
        script += '\nprintf "%s" "${COMPREPLY[*]}"'
    done = subprocess.run([shell, "-c", script], cwd=project, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == (NAMES[4] if shell == "bash" else "")


def test_the_man_page_is_what_the_commands_say(tmp_path: Path) -> None:
    made = tmp_path / "page.1"
    subprocess.run([sys.executable, "docs/man.py", made], cwd=ROOT, check=True)
    assert made.read_text("utf-8") == (ROOT / "man/opencoti-patches.1").read_text("utf-8"), "run 'make man'"
    text = made.read_text("utf-8")
    for name in COMMANDS:
        assert f'\n.SS "{name}' in text
    for tool in (["mandoc", "-Tlint", "-Wwarning"], ["groff", "-man", "-Tutf8", "-ww", "-z"]):
        if shutil.which(tool[0]):
            done = subprocess.run([*tool, made], capture_output=True, text=True, check=True)
            assert done.stdout + done.stderr == ""
