"""A small project whose patches stand on one another, for the commands that work on the stack."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from e2e.forked import Forked

from cli.documents import HEAD, LINES, diff, swap

Lines = list[str]


def chain(*states: Lines, path: str = "f.txt") -> list[str]:
    """A patch from each state of a file to the next."""
    return [HEAD + diff(path, a, b) for a, b in pairwise(states)]


TWO = swap(LINES, 2, "two\n")
TEN = swap(TWO, 10, "ten\n")
ELEVEN = swap(TEN, 11, "eleven\n")  # its context holds what TEN adds
LONGER = [*ELEVEN[:19], "a line more\n", *ELEVEN[19:]]
LAST = swap(LONGER, 28, "near the end\n")
TEN_AGAIN = swap(LAST, 10, "ten once more\n")  # it changes what TEN adds
NAMES = ["0001-two.patch", "0002-ten.patch", "0003-eleven.patch", "0004-longer.patch", "0005-last.patch"]
STACK = dict(zip([*NAMES, "0006-again.patch"], chain(LINES, TWO, TEN, ELEVEN, LONGER, LAST, TEN_AGAIN), strict=True))
FIVE = {name: STACK[name] for name in NAMES}


def files_of(root: Path) -> dict[str, bytes]:
    """Everything in the patches folder."""
    return {p.name: p.read_bytes() for p in sorted((root / "patches").iterdir())}


def series_of(root: Path) -> list[str]:
    """The lines of the series file."""
    return (root / "patches/series").read_text().splitlines()


def tip(run: Forked) -> str:
    """The tree after the last patch, by a strict check that moves no hunk."""
    ran = run("check", "--json", "--no-offset", cwd=None)
    assert ran.code == 0, ran.raw
    return str(ran.json["tip"]["tree"])


def text_at(run: Forked, patch: str, path: str = "f.txt") -> Lines:
    """A file after a patch."""
    folder = run.root.parent / f"look-{patch}"
    assert run("bootstrap", "--force", "--to", patch, folder).code == 0
    return (folder / path).read_text().splitlines(keepends=True)


def number(names: Iterable[str]) -> list[str]:
    """The numbers of patches."""
    return [name.split("-")[0] for name in names]
