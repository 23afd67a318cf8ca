"""A patch to a CRLF file that lost its CRs on the way keeps the file's line ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from e2e.trees import numbered, patch_between, set_base, text, write_project

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Cli, Git

LF, LF_NEW = numbered(1, 20), numbered(1, 20, n9="nine\nand a half")


def crlf(lines: str) -> str:
    """The same with CR LF."""
    return lines.replace("\n", "\r\n")


@pytest.mark.parametrize(("patch_ends", "file_ends"), [(str, crlf), (crlf, str)])
def test_added_lines_take_the_ends_of_the_file(
    cli: Cli, git: Git, tmp_path: Path, patch_ends: object, file_ends: object
) -> None:
    assert callable(patch_ends) and callable(file_ends)
    made, there = patch_ends(LF), file_ends(LF)
    write_project(tmp_path, git, [{"a": text(made)}, {"a": text(patch_ends(LF_NEW))}])
    set_base(tmp_path, {"a": text(there)})
    assert cli("-C", tmp_path, "check", "--json").json["patches"][0]["cause"] == "eol"
    ran = cli("-C", tmp_path, "regen", "--json")
    (row,) = ran.json["patches"]
    assert (ran.code, row["status"]) == (1, "adapted")
    assert "2 added lines with the line ends of the file" in row["reason"]
    assert cli("-C", tmp_path, "regen", "--accept-adapted").code == 0
    assert cli("-C", tmp_path, "apply").code == 0
    assert (tmp_path / "tree/a").read_bytes() == file_ends(LF_NEW).encode()


def test_a_diff_that_was_converted_comes_in_whole(cli: Cli, git: Git, tmp_path: Path) -> None:
    write_project(tmp_path, git, [{"a": text(crlf(LF)), "b": text("b\n")}, {"a": text(crlf(LF)), "b": text("c\n")}])
    diff = patch_between(git, {"a": text(LF)}, {"a": text(LF_NEW)}).replace(b"\n", b"\r\n")
    (tmp_path / "dos.diff").write_bytes(diff)
    assert cli("-C", tmp_path, "import", tmp_path / "dos.diff").code == 0
    assert cli("-C", tmp_path, "regen", "--accept-adapted").code == 0
    assert cli("-C", tmp_path, "apply").code == 0
    assert (tmp_path / "tree/a").read_bytes() == crlf(LF_NEW).encode()
