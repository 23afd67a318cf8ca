"""``bump`` where upstream puts a near copy of what a patch stands on, and edits the original: git takes the patch on the
copy, and nothing of its context says that this is another place."""

from __future__ import annotations

import pytest

from .conftest import Diff
from .test_bump import Carry, carry, edit
from .test_bump_places import SURE, one

__all__ = ["carry"]


def job(name: str, more: str = "") -> str:
    steps = ["uses: checkout", "run: ./configure --all", "run: make everything", "run: make install", "run: ship it"]
    return f"  {name}:\n    runs-on: large\n    steps:\n" + "".join(f"      - {x}\n" for x in steps) + more + "\n"


def method(name: str) -> str:
    lines = [
        "size = self.measure(x)",
        "self.prepare(size)",
        "result = self.run(x)",
        "self.log(result)",
        "return result",
    ]
    return f"    def {name}(self, x):\n" + "".join(f"        {line}\n" for line in lines) + "\n"


def target(name: str) -> str:
    files = "".join(f"    src/part_{i}.cpp\n" for i in range(8))
    return f"add_library({name}\n{files})\n\n"


CASES = [
    ("ci.yml", job("linux"), ("install", "install DESTDIR=x"), job("windows"), ("./configure --all", "./configure")),
    ("m.py", "class A:\n" + method("one"), ("run(x)", "run(x, 1)"), method("two"), ("prepare(size)", "prepare(size, 2)")),
    ("CMakeLists.txt", target("one"), ("part_5.cpp\n", "part_5.cpp\n    src/ours.cpp\n"), target("two"), ("    src/part_4.cpp\n", "")),
]  # fmt: skip


def with_copy(old: str, copy: str) -> str:
    """The old text with a copy before its first block."""
    head = "class A:\n" if old.startswith("class") else ""
    return head + copy + old.removeprefix(head)


@pytest.mark.parametrize(("path", "old", "change", "copy", "edited"), CASES)
@pytest.mark.parametrize("also", [False, True])
def test_a_copy_of_the_place_is_a_doubt(
    carry: Carry,
    diff: Diff,
    path: str,
    old: str,
    change: tuple[str, str],
    copy: str,
    edited: tuple[str, str],
    also: bool,
) -> None:
    """``also``: git refuses another hunk, so the patch is carried."""
    far = "".join(f"# line {i} of the end\n" for i in range(20))
    ours, new = edit(old + far, change), with_copy(edit(old, edited), copy) + far
    if also:
        ours, new = edit(ours, ("line 12 of the end", "line 12, ours")), edit(new, ("line 13 of the end", "line 13"))
    run = carry({path: old + far}, {path: new}, {"0001-ours.patch": diff(path, old + far, ours)})
    assert one(run) not in SURE


def test_the_hunk_beside_a_copy_is_shown(carry: Carry, diff: Diff) -> None:
    """git took the patch, and nothing of it changed: the place is what is to be looked at."""
    path, old, change, copy, edited = CASES[0]
    run = carry(
        {path: old}, {path: with_copy(edit(old, edited), copy)}, {"0001-ours.patch": diff(path, old, edit(old, change))}
    )
    said = run("bump", "new").out
    assert "upstream put lines like those around it at line" in " ".join(said.split())
    assert "      +      - run: make install DESTDIR=x\n" in said


@pytest.mark.parametrize(("path", "old", "change", "copy", "edited"), CASES)
def test_a_copy_is_none_where_what_is_around_says_which_is_ours(
    carry: Carry, diff: Diff, path: str, old: str, change: tuple[str, str], copy: str, edited: tuple[str, str]
) -> None:
    patch = diff(path, old, edit(old, change))
    run = carry({path: old}, {path: with_copy(old, edit(copy, edited))}, {"0001-ours.patch": patch})
    assert one(run) == "renumbered"


@pytest.mark.parametrize("edited", [False, True])
def test_nor_where_lines_that_no_copy_has_lie_on_both_sides(carry: Carry, diff: Diff, edited: bool) -> None:
    """At the left margin nothing is inside of anything. ``edited``: git refuses the patch."""
    block = "".join(
        f"{line}\n" for line in ("run_it <<EOF", "(exit :code 2)", "EOF", "status=$?", "leave_unless $status")
    )
    old = f"# the first of all\nprepare_for first\n{block}clean_up_after first\n# and what follows\n"
    new = f"# the first of all\nprepare_for zeroth\n{block}clean_up_after zeroth\n" + old.partition("\n")[2]
    if edited:
        new = edit(new, ("clean_up_after first", "clean_up_after first  # now"))
    ours = edit(old, ("status=$?", "status=$((0 + $?))"))
    run = carry({"t.sh": old}, {"t.sh": new}, {"0001-ours.patch": diff("t.sh", old, ours)})
    assert one(run) in SURE
    assert run("apply").code == 0
    assert (run.root / "tree/t.sh").read_text().partition("prepare_for first")[2].count("status=$((0") == 1


OPTIONS = "".join(f'    "package-{c}": "^1.{i}.0",\n' for i, c in enumerate("abcdefghij"))


def test_lines_that_upstream_moved_are_not_removed(carry: Carry, diff: Diff) -> None:
    taken = '    "package-d": "^1.3.0",\n'
    patch = diff("package.json", OPTIONS, edit(OPTIONS, (taken, "")))
    moved = edit(edit(OPTIONS, (taken, "")), ('    "package-i', taken + '    "package-i'))
    assert one(carry({"package.json": OPTIONS}, {"package.json": moved}, {"0001-no-d.patch": patch})) not in SURE


def test_lines_that_upstream_removed_are(carry: Carry, diff: Diff) -> None:
    gone = edit(OPTIONS, ('    "package-d": "^1.3.0",\n', ""))
    patch = diff("package.json", OPTIONS, gone)
    more = edit(gone, ('    "package-i', '    "package-x": "^2.0.0",\n    "package-i'))
    assert one(carry({"package.json": OPTIONS}, {"package.json": more}, {"0001-no-d.patch": patch})) == "upstreamed"
