"""What CI and scripts read, and odd input on the way there."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox

OLD = "".join(f"line {n}\n" for n in range(1, 31))


@pytest.fixture
def made(project: Project, diff: Diff) -> Sandbox:
    """A patch that does not apply, on a file whose name is not ASCII."""
    other = OLD.replace("line 14", "line of theirs")
    return project({"\u00e4.c": OLD}, {"0001-x.patch": diff("\u00e4.c", other, other.replace("line 15", "ours"))})


@pytest.mark.parametrize("form", ["json", "junit", "sarif"])
def test_what_machines_read_is_utf_8_in_any_locale(made: Sandbox, form: str) -> None:
    ran = made("check", "--format", form, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    text = ran.raw.decode()
    assert "\u00e4.c" in text
    assert ET.fromstring(text) if form == "junit" else json.loads(text)


def test_junit_tells_files_of_one_name_apart(project: Project, diff: Diff) -> None:
    good, bad = (diff("a.c", x, x.replace("line 15", "ours")) for x in (OLD, OLD.replace("line 16", "theirs")))
    made = project({"a.c": OLD}, {"core/0001-x.patch": good, "0001-x.patch": bad})
    (made.root / "patches").rename(made.root / "core")
    (made.root / "core/series").write_text("core/0001-x.patch\n0001-x.patch\n")
    config = made.root / "opencoti.toml"
    config.write_text(config.read_text() + '\n[series]\ndir = "core"\n')
    root = ET.fromstring(made("check", "--format", "junit").out)
    found = {case.attrib["name"]: case.find("failure") is not None for case in root.iter("testcase")}
    assert found == {"core/0001-x.patch": False, "0001-x.patch": True}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16"])
@pytest.mark.parametrize("command", ["check", "list", "status", "lint", "regen"])
def test_a_series_file_in_another_encoding(made: Sandbox, command: str, encoding: str) -> None:
    made.write("patches/series", "0001-x.patch\n".encode(encoding))
    ran = made(command)
    assert ran.code == (1 if command == "lint" else 2)
    assert "NUL byte" in ran.out + ran.err
    assert "internal" not in ran.err


@pytest.mark.parametrize("name", ["series.lock", "./series", "resolutions.jsonl"])
def test_a_file_of_the_tools_own_is_no_patch(made: Sandbox, name: str) -> None:
    before = made.write("patches/series.lock", "kept\n").read_bytes()
    made.write("patches/series", f"0001-x.patch\n{name}\n")
    for command, code in (("check", 2), ("lock", 2), ("lint", 1)):
        ran = made(command)
        assert (ran.code, f"{name} is no patch" in ran.out + ran.err) == (code, True)
    assert (made.root / "patches/series.lock").read_bytes() == before


def test_a_message_that_quotes_a_file_stays_one_line(made: Sandbox) -> None:
    config = made.root / "opencoti.toml"
    config.write_text('"a\\n::error::x" = 1\n' + config.read_text())
    ran = made("check", "--format", "github")
    assert ran.code == 2
    assert not any(line.startswith("::") for line in ran.err.splitlines())
    message = made("check", "--json").json["error"]["message"]
    assert "\n" not in message and "::error::x" in message


@pytest.mark.parametrize("into", ["patches", "patches/sub", "link", "", " "])
def test_regen_into_the_patches_folder_is_refused(made: Sandbox, into: str) -> None:
    (made.root / "link").symlink_to("patches")
    before = made.files()
    ran = made("regen", "--into", into)
    assert (ran.code, "--into" in ran.err) == (2, True)
    assert made.files() == before
