"""What was written, in one line: of many patches three are named, of other files all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.documents import Project
from cli.stacks import FIVE
from cli.test_bump import CODE, CONFLICT, Carry, carry, edit

if TYPE_CHECKING:
    from e2e.forked import Forked

    from cli.conftest import Diff

__all__ = ["carry"]


def written(out: str) -> list[str]:
    """The names behind ``written``, however they are broken into lines."""
    _, _, names = " ".join(out.split()).lower().rpartition("written: ")
    return names.partition(". ")[0].removesuffix(".").split(", ")


def test_of_the_stack(small: Project, forked: Forked) -> None:
    small(FIVE)
    assert forked("lock").code == 0
    done = written(forked("renumber", "--step", "10", "--start", "10").out)
    assert [n.removeprefix("patches/") for n in done] == [
        "0010-two.patch",
        "0020-ten.patch",
        "0030-eleven.patch",
        "7 more patches",  # two of the new names, five old ones that are gone
        "series",
        "series.lock",
    ]


@pytest.mark.parametrize("more", [0, 1, 2])
def test_of_a_bump(carry: Carry, diff: Diff, more: int) -> None:
    upstream = {f"{n}.c": "a\n" * n for n in range(1, more + 3)}
    patches = {"0001-three.patch": diff("a.c", CODE, edit(CODE, ("x * 2", "x * 3")))} | {
        f"000{n + 1}-more.patch": diff(path, text, f"{text}ours\n")
        for n, (path, text) in enumerate(upstream.items(), 1)
    }
    old = {"a.c": CODE} | upstream
    run = carry(old, {p: f"new\n{t}" for p, t in old.items()} | {"a.c": CONFLICT}, patches)
    assert run("lock").code == 0
    work = Path(run("bump", "new", "--json").json["worktree"])
    (work / "a.c").write_text(edit(CONFLICT, ("x * 5", "x * 15")))
    done = run("bump", "--continue", "--accept-adapted")
    assert done.code == 0, done.out
    first = ["patches/0001-three.patch", "patches/0002-more.patch", "patches/0003-more.patch"]
    others = ["patches/series.lock", "opencoti.toml", "patches/resolutions.jsonl"]
    assert written(done.out) == [*first, *[f"{more} more patch{'es' * (more > 1)}"][: more > 0], *others]
