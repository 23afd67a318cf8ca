"""``list`` and ``show``: what a patch does, counted as git counts."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opencoti_patches.series.counts import counts
from opencoti_patches.series.order import entry_of

if TYPE_CHECKING:
    from cli.conftest import Diff, Project

ODD: dict[str, bytes] = {
    "plain": b"--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n one\n+two\n+three\n-four\n",
    "a removed line like a file header": b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,2 @@\n a\n--- b/f\n c\n",
    "an added line like one": b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,4 @@\n a\n+++ x\n+@@ -1 +1 @@\n c\n",
    "a lone CR": b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n a\rb\n+c\r\rd\n",
    "other line ends": b"--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n a\x0b\x0c\x1c\x85b\n+c\x0cd\xe2\x80\xa8e\n",
    "CRLF": b"diff --git a/f b/f\r\n--- a/f\r\n+++ b/f\r\n@@ -1 +1,2 @@\r\n a\r\n+b\r\n",
    "quoted": b'diff --git "a/\\303\\244 b" "b/\\303\\244 b"\n--- "a/\\303\\244 b"\n+++ "b/\\303\\244 b"\n@@ -1 +1 @@\n-x\n+y\n',
    "latin-1": b"diff --git a/\xe9 b/\xe9\n--- a/\xe9\n+++ b/\xe9\n@@ -1 +1,2 @@\n \xe9\n+\xff\xfe\n",
    "a space in the name": b"diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-x\n+y\n",
    "rename": b"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
    "rename and edit": b"diff --git a/f b/g\nsimilarity index 90%\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n",
    "copy": b"diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n",
    "mode": b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
    "an empty file": b"diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n",
    "create": b"diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n+a\n+b\n",
    "delete": b"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n",
    "no newline": b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
    "a signature": b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n-- \n2.39.5\n",
    "an eaten space": b"--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n\n+b\n c\n",
    "two files": b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n--- a/g\n+++ b/g\n@@ -1 +1,2 @@\n a\n+b\n",
    "binary": b"diff --git a/f b/f\nnew file mode 100644\nindex 0000000000000000000000000000000000000000"
    b"..f76dd238ade08917e6712764a16a22005a50573d\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\nliteral 0\n"
    b"HcmV?d00001\n\n",
    "text in front": b"Subject: x\n\n--- not a file\n@@ nor a hunk\n---\n f | 2 +-\n\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ODD)
def test_counts_are_gits(name: str, reverse: bool, tmp_path: Path) -> None:
    file = tmp_path / "x.patch"
    file.write_bytes(ODD[name])
    args = ["git", "apply", "--numstat", "-z", *(["-R"] if reverse else []), str(file)]
    told = subprocess.run(args, cwd=tmp_path, capture_output=True, check=True).stdout
    rows = [row.split(b"\t")[:2] for row in told.split(b"\0") if row.count(b"\t") == 2]
    want = [(0, 0) if a == b"-" else (int(a), int(r)) for a, r in rows]
    assert rows
    have = [(c.added, c.removed) for c in counts(entry_of(tmp_path, "x.patch", ODD[name], reverse=reverse))]
    assert sorted(have) == sorted(want)  # with -R git begins with the last file


def test_list(project: Project, diff: Diff) -> None:
    edit = (
        diff("src/a.c", "a\nb\nc\n", "a\nB\nB2\nc\n") + "diff --git a/x.sh b/x.sh\nold mode 100644\nnew mode 100755\n"
    )
    made = project(
        {},
        {"0001-edit.patch": edit, "0002-undo.patch": diff("n", "", "n\n" * 12), "0003.diff": ODD["binary"]},
        series="# first\n0001-edit.patch\n\n0002-undo.patch -p0 -R # why\n0003.diff -p1\n",
    )
    ran = made("list")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "2 files  +2  -1  0001-edit.patch\n"
        " 1 file  +0 -12  0002-undo.patch -p0 -R\n"
        " 1 file  +0  -0  0003.diff (1 binary)\n"
        "3 patches, 4 files touched, +2 -13 lines\n"
    )
    files = ("src/a.c", "x.sh"), ("b/n",), ("f",)
    below = ["".join(f"    {path}\n" for path in paths) for paths in files]
    rows = ran.out.splitlines(keepends=True)
    assert made("list", "-v").out == "".join(f"{row}{more}" for row, more in zip(rows, [*below, ""], strict=True))
    assert made("list", "-q").out == "0001-edit.patch\n0002-undo.patch\n0003.diff\n"
    first, second, third = made("list", "--json").json["patches"]
    assert first["files"] == ["src/a.c", "x.sh"]
    assert (first["added"], first["removed"], first["strip"], first["reverse"]) == (2, 1, 1, False)
    assert second["files"] == ["b/n"]
    assert (second["added"], second["removed"], second["strip"], second["reverse"]) == (0, 12, 0, True)
    assert third["binary"] == 1


def test_list_without_a_series_file(project: Project, diff: Diff) -> None:
    made = project({}, {f"{n}-x.patch": diff("x", "", f"{n}\n") for n in (10, 9)}, series=None)
    assert made("list", "-q").out == "9-x.patch\n10-x.patch\n"
    assert made("list").out.endswith("note: no series file; patches are taken in order of number, then name\n")
    assert made("list", "--json").json["listed"] is False


def test_list_of_nothing(project: Project) -> None:
    assert project({}, {})("list").out == "the series is empty\n"


def test_list_takes_the_options_before_and_after(project: Project, diff: Diff, tmp_path: Path) -> None:
    made = project({}, {"0001-x.patch": diff("x", "", "x\n")})
    before = made("-C", made.root, "--json", "list", cwd=tmp_path)
    after = made("list", "-C", made.root, "--json", cwd=tmp_path)
    assert before.code == 0
    assert before.raw == after.raw


def test_a_missing_patch_ends_it(project: Project) -> None:
    made = project({}, {}, series="0001-x.patch\n")
    ran = made("list", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "missing-patch")


def test_show(project: Project, diff: Diff) -> None:
    text = diff("src/a.c", "a\nb\nc\n", "a\nB\nc\n") + ODD["rename"].decode() + ODD["mode"].decode()
    made = project({}, {"0001-edit.patch": text})
    ran = made("show", "1")
    assert (ran.code, ran.err) == (0, "")
    top, body = ran.out.split("diff --git", 1)
    assert top == (
        "0001-edit.patch\n\n"
        "Say what it does\n\nAnd why it does that.\n\n"
        "modify  +1 -1  src/a.c (1 hunk)\n"
        "rename  +0 -0  f => g\n"
        "modify  +0 -0  f (mode 100644 => 100755)\n\n"
    )
    assert "diff --git" + body == text[text.index("diff --git") :]
    shown = made("show", "edit", "--json").json["patch"]
    assert (shown["name"], shown["path"], shown["added"]) == ("0001-edit.patch", "patches/0001-edit.patch", 1)
    assert shown["header"] + shown["diff"] == text
    assert [f["operation"] for f in shown["files"]] == ["modify", "rename", "modify"]
    assert shown["files"][1]["from"] == "f"
    assert (shown["files"][2]["old_mode"], shown["files"][2]["mode"]) == ("100644", "100755")


def test_show_of_a_reversed_patch_says_what_it_does(project: Project, diff: Diff) -> None:
    made = project({}, {"x.patch": diff("x", "", "x\n")}, series="x.patch -R\n")
    out = made("show", "x").out
    assert out.startswith("x.patch -R\n")
    assert "applied in reverse, it does:\ndelete  +0 -1  x (1 hunk)\n" in out
    assert "\n+x\n" in out


def test_show_sends_no_commands_to_a_terminal_and_raw_is_exact(project: Project) -> None:
    raw = b"\x1b]0;owned\x07 title\n\n" + ODD["latin-1"] + b"trailer \xff\r\n\n"
    made = project({}, {"x.patch": raw})
    shown = made("show", "x")
    assert shown.code == 0
    assert not set(shown.raw) & (set(range(32)) - {9, 10})
    assert b"\\x1b]0;owned\\x07 title\n" in shown.raw
    assert b"+\\xff\\xfe\n" in shown.raw
    assert made("show", "x", "--raw").raw == raw
    assert made("show", "x", "--json").code == 0


def test_show_raw_and_json_do_not_go_together(project: Project) -> None:
    made = project({}, {"x.patch": ODD["plain"]})
    assert (made("show", "x", "--raw", "--json").code, made("show").code) == (2, 2)


@pytest.mark.parametrize(
    "wanted", ["0034", "34", "0034-pinned.patch", "patches/0034-pinned.patch", "pinned", "PINNED", "0034-pin"]
)
def test_a_patch_by_any_of_its_names(project: Project, diff: Diff, wanted: str) -> None:
    names = ("0033-cpy.patch", "0034-pinned.patch", "0340-last.patch")
    made = project({}, {n: diff("x", "", f"{n}\n") for n in names})
    assert made("show", wanted, "--json").json["patch"]["name"] == "0034-pinned.patch"


@pytest.mark.parametrize(
    ("wanted", "code", "says"),
    [
        ("00", "ambiguous-patch", "0033-cpy.patch, 0034-pinned.patch"),
        (".patch", "ambiguous-patch", "part of 2 patches"),
        ("35", "unknown-patch", "no patch '35' in the series"),
        ("0034-pined.patch", "unknown-patch", "did you mean 0034-pinned.patch?"),
    ],
)
def test_a_name_that_is_not_one_patch(project: Project, diff: Diff, wanted: str, code: str, says: str) -> None:
    made = project({}, {n: diff("x", "", f"{n}\n") for n in ("0033-cpy.patch", "0034-pinned.patch")})
    asked = made("show", wanted, "--json")
    assert (asked.code, asked.json["error"]["code"]) == (2, code)
    assert says in made("show", wanted).err


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("off", ["", "# disabled: "])
def test_a_link_may_not_lead_out_of_the_project(project: Project, diff: Diff, inside: bool, off: str) -> None:
    made = project(
        {}, {"0001-own.patch": diff("x", "", "x\n")}, series=f"{off}0001-own.patch\n{off}sub/0002-own.patch\n"
    )
    there = made.root / "shared" if inside else made.root.parent / "elsewhere"
    there.mkdir()
    (made.root / "patches/0001-own.patch").rename(there / "one.patch")
    (made.root / "patches/0001-own.patch").symlink_to(there / "one.patch")
    (there / "0002-own.patch").write_text(diff("y", "", "y\n"))
    (made.root / "patches/sub").symlink_to(there)
    for name, rule in (("0001-own.patch", "+x"), ("sub/0002-own.patch", "+y")):
        shown = made("show", name)
        assert (shown.code, rule in shown.out) == ((0, True) if inside else (2, False))
    assert ("out of the project" in made("list").err) == (not inside)
