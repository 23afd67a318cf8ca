"""What ``lint`` says of damaged files, pasted: ``lint`` and ``check`` are clean behind it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from cli.conftest import HEADER

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox

OLD = "".join(f"{n}\n" for n in range(9))
NEW = OLD.replace("4\n", "four\n")
BINARY = f"""{HEADER}diff --git a/f.bin b/f.bin
new file mode 100644
index 0000000000000000000000000000000000000000..f76dd238ade08917e6712764a16a22005a50573d
GIT binary patch
literal 1
IcmZPo000310RR91

literal 0
HcmV?d00001

"""


def _mended(made: Sandbox, rule: str, upstream_has_crlf: bool = False) -> str:
    """Paste the hint of the one finding, or its other command for an upstream that has CRLF; the command."""
    told = made("-C", made.root.name, "lint", "--strict", cwd=made.root.parent).out.splitlines()
    assert told[-1] == "1 patch: 1 error", told
    told = told[next(at for at, row in enumerate(told) if f"({rule})" in row) + 1 : -1]
    command, *other = (row.strip() for row in told)
    if upstream_has_crlf:
        assert other[0] == "or, where upstream's own file has CRLF:"
        command = other[1]
    subprocess.run(["bash", "-c", command], cwd=made.root.parent, check=True)
    assert made("lint", "--strict").out == "1 patch: no findings\n"
    checked = made("check")
    assert checked.code == 0, checked.out
    return command


@pytest.mark.parametrize("name", ["1-x.patch", "it's.patch"])
@pytest.mark.parametrize("end", ["", "-- \n2.39\n"])
def test_a_newline_is_missing(project: Project, diff: Diff, name: str, end: str) -> None:
    whole = diff("f", OLD, NEW) + end
    made = project({"f": OLD}, {name: whole[:-1]})
    assert _mended(made, "missing-newline").startswith("echo >>")
    assert (made.root / "patches" / name).read_text() == whole


@pytest.mark.parametrize("cut", [1, 2])
def test_the_empty_line_behind_binary_data_is_missing(project: Project, cut: int) -> None:
    made = project({}, {"1-x.patch": BINARY[:-cut]})
    _mended(made, "missing-newline")
    assert (made.root / "patches/1-x.patch").read_text() == BINARY


@pytest.mark.parametrize("last", ["", "-- \n2.39\n"])
def test_all_lines_were_converted(project: Project, diff: Diff, last: str) -> None:
    whole = diff("f", OLD, NEW) + last
    made = project({"f": OLD}, {"1-x.patch": whole.replace("\n", "\r\n").encode()})
    assert _mended(made, "crlf") == "sed -i -E 's/\\r$//' work/patches/1-x.patch"
    assert (made.root / "patches/1-x.patch").read_bytes() == whole.encode()


def test_all_lines_were_converted_of_a_patch_for_a_file_that_has_crlf(project: Project, diff: Diff) -> None:
    """git takes the patch as it is; without the CRs of the file's own lines it would take it no more."""
    old, new = (text.replace("\n", "\r\n") for text in (OLD, NEW))
    whole = diff("f", OLD, NEW)
    damaged = whole.replace("\n", "\r\n").encode()
    made = project({"f": old.encode()}, {"1-x.patch": damaged})
    assert made("check").code == 0
    _mended(made, "crlf", upstream_has_crlf=True)
    assert made("apply").code == 0
    assert (made.root / "tree/f").read_bytes() == new.encode()
    assert (made.root / "patches/1-x.patch").read_bytes().startswith(HEADER.encode() + b"diff --git a/f b/f\n")


def test_only_its_own_lines_were_converted(project: Project, diff: Diff) -> None:
    old = OLD.replace("3\n", "3\r\n")
    whole = diff("f", OLD, NEW).replace(" 3\n", " 3\r\n")
    head, at, body = whole.partition("@@ -")
    first, _, rest = body.partition("\n")
    damaged = f"{head}{at}{first}\n".replace("\n", "\r\n") + rest
    made = project({"f": old.encode()}, {"1-x.patch": damaged.encode()})
    _mended(made, "crlf")
    assert (made.root / "patches/1-x.patch").read_bytes() == whole.encode()


def test_a_rename_was_converted(project: Project) -> None:
    whole = f"{HEADER}diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n"
    made = project({"f": OLD}, {"1-x.patch": whole.replace("\n", "\r\n").encode()})
    _mended(made, "crlf")
    assert (made.root / "patches/1-x.patch").read_bytes() == whole.encode()
