"""``compare``: which patch of one series is which of the other, and what became of it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.documents import HEAD, LINES, Ask, Project, checked, diff, swap
from cli.shipped import commit
from cli.stacks import NAMES, STACK, files_of

if TYPE_CHECKING:
    from conftest import Cli
    from e2e.forked import Forked

FOUND = tuple[str, str | None, str | None, bool]


def folder(forked: Forked, name: str, patches: Mapping[str, str | bytes]) -> str:
    """A folder of patches in this order."""
    for patch, text in patches.items():
        forked.write(f"{name}/{patch}", text)
    forked.write(f"{name}/series", "".join(f"{patch}\n" for patch in patches))
    return name


def rows(document: Any) -> list[FOUND]:
    return [
        (r["status"], r["a"] and r["a"]["name"][:4], r["b"] and r["b"]["name"][:4], r["moved"])
        for r in document["patches"]
    ]


def test_each_fate(ask: Ask, forked: Forked) -> None:
    a = folder(forked, "a", STACK)
    two, ten, eleven, longer, last, _ = STACK.values()
    b = folder(
        forked,
        "b",
        {
            "0001-deux.patch": two,  # another name
            "0003-eleven.patch": eleven,
            "0002-ten.patch": ten.replace("+ten\n", "+ten and more\n"),
            "0004-longer.patch": longer.replace("And why.", "For another reason."),
            "0005-last.patch": last.replace("@@ -25", "@@ -26").replace("the line number 25", "line number 25"),
            "0007-new.patch": HEAD + diff("g.txt", LINES, swap(LINES, 4, "four\n")),
        },
    )
    found = ask("compare", a, b, "--json", code=1)
    assert rows(found) == [
        ("moved", "0001", "0001", False),
        ("same", "0003", "0003", False),
        ("changed", "0002", "0002", True),
        ("header", "0004", "0004", False),
        ("context", "0005", "0005", False),
        ("new", None, "0007", False),
        ("gone", "0006", None, False),
    ]
    assert found["patches"][2]["interdiff"] == ["f.txt", "   -the line number 10", "  -+ten", "  ++ten and more"]
    assert all("interdiff" not in r for r in found["patches"] if r["status"] != "changed")
    same = ask("compare", a, a, "--json", code=0)
    assert {r["status"] for r in same["patches"]} == {"same"}
    back = [r["status"] for r in ask("compare", b, a, "--json", code=1)["patches"]]
    assert {"new", "gone", "changed", "header", "context", "moved"} == {*back} - {"same"}
    forked.write("b/series", "0003-eleven.patch\n0001-deux.patch\n")
    forked.write("a/series", f"{NAMES[0]}\n{NAMES[2]}\n")
    assert [r["moved"] for r in ask("compare", a, b, "--json", code=1)["patches"]].count(True) == 1


def test_what_is_shown(forked: Forked) -> None:
    text = STACK[NAMES[4]]
    a = folder(forked, "a", {"0001-x.patch": text, "0002-y.patch": HEAD + "no patch at all\n"})
    b = folder(forked, "b", {"0001-x.patch": text.replace("@@ -25", "@@ -26"), "0002-y.patch": HEAD + "nor this\n"})
    short = forked("compare", a, b, cwd=None)
    assert (short.code, short.out.splitlines()) == (
        1,
        [
            "0001-x.patch: only line numbers or context changed",
            "0002-y.patch: content changed",
            "a (2 patches) and b (2 patches): 1 context only, 1 changed.",
        ],
    )
    long = forked("compare", a, b, "-v", cwd=None).out
    assert "    f.txt\n      line numbers: +1\n" in long
    assert "      -no patch at all\n      +nor this\n" in long


def test_content_goes_before_the_name_and_likeness_comes_last(ask: Ask, forked: Forked) -> None:
    big = [f"word {n}\n" for n in range(10)]
    made = HEAD + diff("g.txt", LINES, [*LINES[:9], *big, *LINES[9:]])
    first, second = STACK[NAMES[0]], STACK[NAMES[4]]
    a = folder(forked, "a", {"0001-a.patch": first, "0002-b.patch": second, "0003-c.patch": made})
    other = made.replace("+word 3\n", "+another\n").replace("Say what", "Say it otherwise")
    b = folder(forked, "b", {"0001-b.patch": second, "0002-a.patch": first, "0009-z.patch": other})
    pairs = {(r["a"]["name"], r["b"]["name"]): r["status"] for r in ask("compare", a, b, "--json", code=1)["patches"]}
    assert pairs == {
        ("0001-a.patch", "0002-a.patch"): "moved",
        ("0002-b.patch", "0001-b.patch"): "moved",
        ("0003-c.patch", "0009-z.patch"): "changed",
    }


def test_the_same_change_written_otherwise(ask: Ask, forked: Forked) -> None:
    """Only what a patch does counts: not the way its file names are written, nor how much context it has."""
    git = STACK[NAMES[0]]
    plain = git.replace("diff --git a/f.txt b/f.txt\n", "")
    deep = plain.replace("a/f.txt", "x/a/f.txt").replace("b/f.txt", "x/b/f.txt")
    back = HEAD + diff("f.txt", swap(LINES, 2, "two\n"), LINES)
    a = folder(forked, "a", {"0001-x.patch": git})
    for name, text, line in (("b", plain, ""), ("c", deep, " -p2"), ("d", back, " -R")):
        folder(forked, name, {"0001-x.patch": text})  # written in another way, it is the same change
        forked.write(f"{name}/series", f"0001-x.patch{line}\n")
        assert rows(ask("compare", a, name, "--json", code=1)) == [("context", "0001", "0001", False)], name
    folder(forked, "e", {"0001-x.patch": git.replace("f.txt", "other.txt")})
    assert rows(ask("compare", a, "e", "--json", code=1)) == [("changed", "0001", "0001", False)]


def test_revisions(ask: Ask, small: Project, forked: Forked) -> None:
    """In a repository whose project is a folder of it, with the patches in another place before."""
    root = small(dict(list(STACK.items())[:2]))
    where = root / "sub/fork"
    where.mkdir(parents=True)
    for name in ("opencoti.toml", "base"):
        shutil.move(root / name, where / name)
    shutil.move(root / "patches", root / "sub/old")
    config = where / "opencoti.toml"
    config.write_text(config.read_text() + '\n[series]\ndir = "../old"\n')
    first = commit(root)
    shutil.move(root / "sub/old", where / "patches")
    config.write_text(config.read_text().partition("\n[series]")[0])
    (where / "patches" / NAMES[0]).unlink()
    (where / "patches/series").write_text(f"{NAMES[1]}\n")
    second = commit(root)
    before = files_of(where)

    def statuses(*args: str, code: int = 1) -> list[str]:
        return [r["status"] for r in ask("-C", where, "compare", *args, "--json", code=code)["patches"]]

    assert statuses(f"{first}:") == ["gone", "same"]
    assert statuses(f"{second}:", f"{first}:") == ["new", "same"]
    assert statuses(f"{first}:", f"{first}:../old", code=0) == ["same", "same"]
    assert statuses("HEAD:", "patches", code=0) == ["same"]
    assert statuses("HEAD:", ".", code=0) == ["same"]
    assert files_of(where) == before
    for wanted, code, exit_code in (
        ("nope:", "no-rev", 3),
        ("--all:", "no-rev", 3),
        ("HEAD:nowhere", "no-series", 2),
        ("HEAD", "no-folder", 2),
    ):
        assert ask("-C", where, "compare", "--json", "--", wanted, code=exit_code)["error"]["code"] == code
    shutil.rmtree(root / ".git")
    assert ask("-C", where, "compare", "HEAD:", "--json", code=2)["error"]["code"] == "no-repository"


def test_releases(cli: Cli, root: Path) -> None:
    assert cli("-C", root, "package", "--out", "out").code == 0
    index = next((root / "out").glob("*.index"))
    assert checked(cli("-C", root, "compare", "out", "patches", "--json").out, 0)["a"]["patches"] == 2
    patch = sorted((root / "patches").glob("*.patch"))[0]
    patch.write_text("Another header\n" + patch.read_text())
    found = checked(cli("-C", root, "compare", index, "--json").out, 1)
    assert [r["status"] for r in found["patches"]] == ["header", "same"]
    tar = next((root / "out").glob("*-patches.tar.xz"))
    tar.write_bytes(tar.read_bytes() + b"more")
    assert checked(cli("-C", root, "compare", "out", "--json").out, 3)["error"]["code"] == "wrong-sha256"
    tar.unlink()
    assert checked(cli("-C", root, "compare", "out", "--json").out, 2)["error"]["code"] == "no-file"
