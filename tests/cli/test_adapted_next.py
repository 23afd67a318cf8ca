"""What is adapted: the answer names the command that accepts it, and, once that was run, the one that looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.documents import HALF_DONE, HEAD, OTHER_MOVED, Ask, Project
from cli.stacks import ELEVEN, FIVE, NAMES

if TYPE_CHECKING:
    from e2e.forked import Forked

NAME = "0001-tidy.patch"
CHECK = "next: opencoti-patches check  # or opencoti-patches undo, which takes it back"
APPLY = "then: opencoti-patches apply  # and build it: no compiler has seen what was adapted"


def next_of(out: str) -> str:
    """The step that an answer ends with."""
    last = out.splitlines()[-1]
    assert last.startswith("next: "), out
    return last


@pytest.mark.parametrize("command", ["regen", "enable"])
def test_written_anew(command: str, small: Project, forked: Forked) -> None:
    root = small({NAME: HEAD + HALF_DONE, "0002-last.patch": HEAD + OTHER_MOVED})
    out = "# disabled: " if command == "enable" else ""
    forked.write("patches/series", f"{out}{NAME}\n0002-last.patch\n")
    asked = forked("-C", "../work", command, NAME)
    again = f"-C ../work {command} {NAME} --accept-adapted"
    assert (asked.code, next_of(asked.out)) == (1, f"next: opencoti-patches {again}")
    assert "next: " not in forked(*again.split(), "--dry-run").out
    done = forked(*again.split())
    wanted = [line.replace("patches ", "patches -C ../work ", 1) for line in (CHECK, APPLY)]
    wanted[0] = wanted[0].replace("or opencoti-patches", "or opencoti-patches -C ../work")
    assert (done.code, done.out.splitlines()[-2:]) == (0, wanted)
    says = (root / "patches" / NAME).read_text()
    assert says.startswith("Say what\nsmall note (") and "Content adapted.\n\nAnd why.\n\ndiff " in says
    assert forked("check").code == 0
    assert forked("undo").code == 0
    assert (root / "patches" / NAME).read_text() == HEAD + HALF_DONE


def test_regen_into_a_folder(small: Project, forked: Forked) -> None:
    small({NAME: HEAD + HALF_DONE})
    assert next_of(forked("regen", "--into", "OUT", "--note", "a word").out) == (
        "next: opencoti-patches regen --note 'a word' --accept-adapted"
    )


def test_carried_over_a_refresh(small: Project, forked: Forked, ask: Ask) -> None:
    small(FIVE)
    assert forked("edit", "3", "WORK").code == 0
    forked.write("WORK/f.txt", "".join([*ELEVEN[:19], "inserted\n", *ELEVEN[19:]]))
    refused = ask("refresh", "3", "WORK", "--json", code=1)
    assert refused["needs_acceptance"] == [NAMES[3]]
    assert refused["next"] == ["opencoti-patches refresh 3 WORK --accept-adapted"]
    assert next_of(forked("refresh", "3", "WORK").out) == f"next: {refused['next'][0]}"
    assert forked(*refused["next"][0].split()[1:]).out.splitlines()[-2:] == [CHECK, APPLY]


def test_what_was_written_names_what_looks_at_it(small: Project, forked: Forked, ask: Ask) -> None:
    small({"0001-moved.patch": HEAD + OTHER_MOVED})
    assert "next: " not in forked("regen", "--dry-run").out
    assert ask("regen", "--json", "--dry-run", code=0)["next"] == []
    assert "next: " not in forked("regen", "--into", "OUT").out
    assert next_of(forked("regen").out) == CHECK
    assert ask("regen", "--json", code=0)["next"] == []  # there was nothing to write
    assert forked("undo").code == 0
    assert "next: " not in forked("regen", "-q").out
    assert forked("undo").code == 0
    assert ask("regen", "--json", "-q", code=0)["next"] == [CHECK.removeprefix("next: ")]


def test_what_was_adapted_names_the_build_of_the_project(small: Project, forked: Forked) -> None:
    root = small({NAME: HEAD + HALF_DONE})
    forked.write("opencoti.toml", (root / "opencoti.toml").read_text() + '\n[build.small]\nkind = "make"\n')
    done = forked("regen", "--accept-adapted").out.splitlines()[-2:]
    assert done == [CHECK, "then: opencoti-patches build small  # no compiler has seen what was adapted"]
