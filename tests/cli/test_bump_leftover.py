"""``bump --continue`` on a conflict that was resolved by half: no marker of it gets into a patch, and no editor's
line ends in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Diff, Sandbox
from .test_bump import Carry, carry

__all__ = ["carry"]

MARKED = "How a conflict looks\n=======\n\n<<<<<<< ours\nthis\n=======\nthat\n>>>>>>> theirs\n\n"  # a document of git's
ROWS = "".join(f"row {n}\n" for n in range(20))


def waiting(carry: Carry, diff: Diff, head: str = "") -> tuple[Sandbox, Path]:
    """A bump that waits, and the file in conflict."""
    old, heading = head + ROWS, "A heading of ours\n=======\n"
    ours = old.replace("row 8\n", f"ours 8\n{heading}").replace("row 17\n", "ours 17\n")
    run = carry(
        {"f.md": old}, {"f.md": old.replace("row 8\n", "theirs 8\n")}, {"0001-a.patch": diff("f.md", old, ours)}
    )
    return run, Path(run("bump", "new", "--json").json["worktree"], "f.md")


@pytest.mark.parametrize("head", ["", MARKED])
@pytest.mark.parametrize("left", ["<<<<<<< upstream", "||||||| before 0001-a.patch", "=======", ">>>>>>> 0001-a.patch"])
def test_a_marker_that_is_left_is_refused(carry: Carry, diff: Diff, head: str, left: str) -> None:
    run, file = waiting(carry, diff, head)
    before = run.files()
    lines = file.read_text().removeprefix(head).splitlines(keepends=True)
    heading = lines.index("A heading of ours\n") + 1
    assert left + "\n" in lines[:heading] + lines[heading + 1 :]
    signs = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
    kept = [x for i, x in enumerate(lines) if i == heading or x.rstrip("\n") == left or not x.startswith(signs)]
    file.write_text(head + "".join(kept))
    ran = run("bump", "--continue", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "markers")
    assert {p: text for p, text in run.files().items() if p.startswith("patches/")} == {
        p: text for p, text in before.items() if p.startswith("patches/")
    }


@pytest.mark.parametrize("head", ["", MARKED])
def test_what_only_looks_like_a_marker_may_stay(carry: Carry, diff: Diff, head: str) -> None:
    run, file = waiting(carry, diff, head)
    begin, end = file.read_text().index("<<<<<<< upstream"), file.read_text().index(">>>>>>> 0001-a.patch\n")
    text = file.read_text()
    file.write_text(text[:begin] + "both 8\nA heading of ours\n=======\n" + text[end + len(">>>>>>> 0001-a.patch\n") :])
    assert run("bump", "--continue").code == 0
    assert "+=======\n" in (run.root / "patches/0001-a.patch").read_text()


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_an_editor_that_changed_all_line_ends_is_told(carry: Carry, diff: Diff, ends: str) -> None:
    run, file = waiting(carry, diff)
    text = file.read_text()
    begin, end = text.index("<<<<<<< upstream"), text.index(">>>>>>> 0001-a.patch\n")
    text = text[:begin] + "both 8\nA heading of ours\n=======\n" + text[end + len(">>>>>>> 0001-a.patch\n") :]
    file.write_bytes(text.replace("\n", ends).encode())
    (row,) = run("bump", "--continue", "--json").json["patches"]
    told = "white space or line ends alone of 18 lines" in row["reason"]
    assert (row["status"], told) == ("adapted", ends != "\n")
