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
    assert (done.code, next_of(done.out)) == (0, CHECK.replace("patches ", "patches -C ../work "))
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
    assert next_of(forked(*refused["next"][0].split()[1:]).out) == CHECK
