"""What an answer names to run next can be pasted: whatever a patch is called, in every form, from where it was asked."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.documents import FAILED, HEAD, LINES, MOVED, OTHER, Ask, Project, diff, swap

if TYPE_CHECKING:
    from e2e.forked import Forked

DONE = diff("f.txt", swap(LINES, 9, "nine\n"), LINES)  # as the base has it
DAMAGED = MOVED.replace("@@ -9,7 +9,7 @@", "@@ -9,9 +9,9 @@")
THERE = "opencoti-patches -C ../work "


def pasted(line: str, folder: Path) -> int:
    """The exit code of a line in a shell."""
    shell = f'opencoti-patches() {{ {sys.executable} -m opencoti_patches "$@"; }}\n{line}\n'
    return subprocess.run(["bash", "-c", shell], cwd=folder, capture_output=True, check=False).returncode


def steps_of(out: str) -> list[str]:
    """The steps that a text names."""
    return re.findall(r"^ +(?:next|then): (.*)$", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("0001-plain.patch", "0001"),
        ("plain.patch", "plain.patch"),
        ("$(touch${IFS}pwn).patch", "'$(touch${IFS}pwn).patch'"),
        ("a;b.patch", "'a;b.patch'"),
        ("q'uote.patch", "'q'\"'\"'uote.patch'"),
        ("-rf.patch", "./-rf.patch"),
        ("back\\slash.patch", "'back\\slash.patch'"),
        ("stray\udcff.patch", "$'stray\\xff.patch'"),
    ],
)
def test_a_name_is_one_word(name: str, word: str, small: Project, forked: Forked) -> None:
    root = small({"0000-first.patch": HEAD + diff("g.txt", OTHER, swap(OTHER, 3, "three\n"))})
    (root / "patches" / name).write_text(HEAD + MOVED)
    (root / "patches/series").write_bytes(f"0000-first.patch\n{name}\n".encode("utf-8", "surrogateescape"))
    (step,) = steps_of(forked("check").out)
    assert step == f"opencoti-patches regen {word}"
    assert forked("check", "--json").json["patches"][1]["next"] == step
    assert pasted(step, root) == 0
    assert forked("check", "--no-offset").code == 0
    assert not (root / "pwn").exists()


def test_errors_and_steps_of_others_too(small: Project, forked: Forked) -> None:
    small({"a;b.patch": HEAD + MOVED})
    assert forked("regen").code == 0
    assert "refresh 'a;b.patch' 'W K'  # once it is edited" in forked("edit", "a;b", "W K").out
    assert "hint: edit it first, or name the one that was: opencoti-patches refresh 'a;b.patch' DIR" in " ".join(
        forked("refresh", "a;b", "W K").err.split()
    )
    forked.write("patches/series", "#a;b.patch\n")
    assert "hint: opencoti-patches enable 'a;b.patch'" in forked("regen", "a;b").err


def test_a_number_that_two_patches_have(small: Project, forked: Forked) -> None:
    root = small({"0003-c.patch": HEAD + MOVED})
    forked.write("patches/core/0003-x.patch", HEAD + diff("g.txt", OTHER, swap(OTHER, 3, "three\n")))
    forked.write("patches/series", "0003-c.patch\ncore/0003-x.patch\n")
    (step,) = steps_of(forked("check").out)
    assert step == "opencoti-patches regen 0003-c.patch"
    assert pasted(step, root) == 0


@pytest.mark.parametrize(
    ("patch", "steps"),
    [
        (DAMAGED, ["bootstrap WORK", "regen 0001 --from WORK  # once its change is in WORK"]),
        (DONE, ["show 0001", "drop 0001  # if the tree before it has all of it"]),
    ],
)
def test_regen_says_what_check_says(patch: str, steps: list[str], small: Project, forked: Forked, ask: Ask) -> None:
    root = small({"0001-it.patch": HEAD + patch})
    wanted = [f"opencoti-patches {s}" for s in steps]
    assert steps_of(forked("check").out) == steps_of(forked("regen").out) == wanted
    (row,) = ask("regen", "--json", code=1)["patches"]
    assert [row["next"], row["then"]] == wanted
    assert pasted(wanted[0], root) == 0


def test_regen_that_was_asked_for_another_names_the_first(small: Project, forked: Forked) -> None:
    lost = diff("g.txt", ["no\n", *OTHER[:2]], ["yes\n", *OTHER[:2]]).replace(" another", " some other")
    small({"0001-it.patch": HEAD + DAMAGED, "0002-lost.patch": HEAD + lost})
    assert steps_of(forked("regen", "2").out) == ["opencoti-patches regen 0001"]


def test_each_step_has_a_line_in_what_ci_reads(small: Project, forked: Forked) -> None:
    small({"0001-it.patch": HEAD + DONE})
    lines = ["show 0001", "drop 0001  # if the tree before it has all of it"]
    for given, head in (((), "opencoti-patches "), (("-C", "../work"), THERE)):
        said = f"next: {head}{lines[0]}\nthen: {head}{lines[1]}"
        assert said.replace("\n", "%0A") in forked("check", *given, "--format", "github").out
        assert said in "".join(ET.fromstring(forked(*given, "check", "--format", "junit").out).itertext())
        (result,) = forked("check", "--format", "sarif", *given).json["runs"][0]["results"]
        assert result["message"]["text"].endswith(said)


def test_documents_errors_and_status_name_the_folder(small: Project, forked: Forked) -> None:
    small({"0001-it.patch": HEAD + FAILED})
    row = forked("-C", "../work", "check", "--json").json["patches"][0]
    assert [row["next"][: len(THERE)], row["then"][: len(THERE)]] == [THERE, THERE]
    assert forked("check", "--json").json["patches"][0]["next"] == row["next"].replace(" -C ../work", "")
    text = forked("status", "-C", "../work").out
    for command in ("check", "lock", "apply"):
        assert f"{THERE}{command}" in text
    assert "opencoti-patches check" not in text
    for given in (("-C", "../work"), ("-C../work",), ("-C", "elsewhere", "-C", "../work")):
        error = forked(*given, "show", "nothing", "--json").json["error"]
        assert error["hint"] == f"see '{THERE}list'"
        assert f"see '{THERE}list'" in forked(*given, "show", "nothing").err


def test_markdown_names_the_folder(small: Project, forked: Forked, ask: Ask) -> None:
    root = small({"0001-it.patch": HEAD + FAILED})
    there, row = ("-C", "../work"), ask("-C", "../work", "check", "--json", code=1)["patches"][0]
    for form in (("--markdown",), ("--html", "-")):
        page = forked("report", *there, *form).out
        assert row["next"] in page
        assert row["then"] in page
        assert "opencoti-patches bootstrap" not in page
        assert "opencoti-patches bootstrap" in forked("report", *form).out
    for n in range(1, 12):
        (root / f"patches/x{n}.patch").write_text(HEAD + FAILED)
    (root / "patches/series").write_text("".join(f"x{n}.patch\n" for n in range(1, 12)))
    assert f"<code>{THERE}check</code> tells of all." in forked("report", *there, "--markdown").out


def test_what_an_answer_quotes_stays_as_it_is(small: Project, forked: Forked) -> None:
    small({"0001-it.patch": HEAD + MOVED})
    name = '"opencoti-patches check"'
    forked.write("opencoti.toml", (forked.root / "opencoti.toml").read_text().replace('"small"', f"'{name}'"))
    assert forked("-C", "../work", "status").out.splitlines()[0] == f"project  {name}"


def test_a_command_in_a_sentence_is_in_quotes_that_it_has_not(small: Project, forked: Forked) -> None:
    root = small({"0001-it.patch": HEAD + FAILED})
    (root.parent / "a b").symlink_to(root)
    given, there = ("-C", "../a b"), "opencoti-patches -C '../a b'"
    assert forked(*given, "show", "nothing").err.endswith(f'hint: see "{there} list"\n')
    assert forked(*given, "show", "nothing", "--json").json["error"]["hint"] == f'see "{there} list"'
    assert forked("check").code == 1
    said = " ".join(forked(*given, "status").out.split())
    assert f'; run "{there} check"' in said
    assert f"({there} apply)" in said
    for line in re.findall(r'"(opencoti.*?)"', said):
        assert pasted(line, root) in (0, 1)


def test_a_long_command_moves_to_a_row_of_its_own(small: Project, forked: Forked) -> None:
    root = small({"0001-it.patch": HEAD + FAILED})
    long = root.parent / ("l" * 50)
    long.symlink_to(root)
    rows = forked("-C", f"../{long.name}", "status").out.splitlines()
    assert f"         'opencoti-patches -C ../{long.name} lock'" in rows
