"""``import``: whatever comes in, its bytes stay, its damage is mended and said, and all of it comes or none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox

LINES = "".join(f"the line number {n}\n" for n in range(1, 31))
FIRST = LINES.replace("number 3\n", "number three\n")
SECOND = FIRST.replace("number 20\n", "number twenty\n")


def git(folder: Path, *args: str, **env: str) -> bytes:
    """Real git in a repository of the test's own."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    own |= {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    own |= {"GIT_AUTHOR_NAME": "A. Ü. Thor", "GIT_AUTHOR_EMAIL": "a@example.invalid"}
    own |= {"GIT_COMMITTER_NAME": "C", "GIT_COMMITTER_EMAIL": "c@example.invalid"}
    done = subprocess.run(["git", *args], cwd=folder, env=own | env, capture_output=True, check=False)
    assert done.returncode == 0, (args, done.stderr)
    return done.stdout


@pytest.fixture
def made(project: Project, diff: Diff) -> Sandbox:
    """A project with one patch and a base in the store."""
    made = project({"f.txt": LINES, "sub/g.c": "one\ntwo\nthree\n"}, {"0033-first.patch": diff("f.txt", LINES, FIRST)})
    assert made("bootstrap").code == 0
    return made


# -- one file ------------------------------------------------------------------------------------


def test_a_patch_without_its_last_newline_is_named_and_mended(project: Project) -> None:
    """A text header with an older note, long dashes and a claim; the diff ends in the middle of a line."""
    made = project({"src/kv.cpp": LINES}, {})
    assert made("bootstrap").code == 0
    header = (
        "fork M7 (0034) — pinned buffer\nfork note (2026-05-31): hunk regenerated via snapshot-diff; Content unchanged.\n"
        "\n\nWhy: it is faster.  \n  - one → two\n\nPatch order: applies after 0033-cpy-tie. CPU only.\n\n"
    ).encode()
    hunk = b"@@ -9,3 +9,4 @@ section\n the line number 4\n+added\n the line number 5\n the line number 6"
    raw = header + b"diff --git a/src/kv.cpp b/src/kv.cpp\n--- a/src/kv.cpp\n+++ b/src/kv.cpp\n" + hunk
    made.write("in/0034-as-given.txt", raw)
    ran = made("import", "in/0034-as-given.txt")
    assert (ran.code, ran.err) == (0, "")
    assert "in/0034-as-given.txt lacks its final newline: added\n" in ran.out
    assert "offset\n    next: opencoti-patches regen 0034\n" in ran.out
    assert (made.root / "patches/0034-as-given.patch").read_bytes() == raw + b"\n"
    assert (made.root / "patches/series").read_text() == "0034-as-given.patch\n"


def test_crlf_damage_is_mended_and_said(made: Sandbox, diff: Diff) -> None:
    text = diff("f.txt", FIRST, SECOND)
    made.write("0034-second.patch", text.replace("\n", "\r\n"))
    ran = made("import", "0034-second.patch", "--json")
    (row,) = ran.json["patches"]
    assert (row["name"], row["repairs"], row["status"]) == (
        "0034-second.patch",
        ["CRLF line ends taken out"],
        "clean",
    )
    assert (made.root / "patches/0034-second.patch").read_text() == text


def test_a_patch_to_crlf_files_is_left_alone(project: Project) -> None:
    made = project({"w.txt": b"a\r\nb\r\n"}, {})
    assert made("bootstrap").code == 0
    raw = b"why\n\nbecause\n\n--- a/w.txt\n+++ b/w.txt\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n"
    made.write("0001-w.patch", raw)
    (row,) = made("import", "0001-w.patch", "--json").json["patches"]
    assert (row["repairs"], row["status"]) == ([], "clean")
    assert (made.root / "patches/0001-w.patch").read_bytes() == raw


def test_one_that_does_not_apply_comes_in_all_the_same(made: Sandbox, diff: Diff) -> None:
    made.write("fix.diff", diff("f.txt", "".join(f"strange {n}\n" for n in range(9)), "strange 0\n"))
    ran = made("import", "fix.diff")
    assert ran.code == 0
    assert "failed: context-changed\n        f.txt, hunk 1" in ran.out
    assert "regen 0034 --from WORK" in " ".join(ran.out.split())
    assert ran.out.endswith("1 of them does not apply\n")
    assert made("check").code == 1


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "no-patch"),
        (b"just words\n--- not a diff\n", "no-patch"),
        (b"@@ -1 +1 @@\n-a\n+b\n", "no-patch"),
        (b"--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n", "unsafe-path"),
        (b"--- /etc/x\n+++ /etc/x\n@@ -1 +1 @@\n-a\n+b\n", "unsafe-path"),
        (b"--- a/.git/config\n+++ b/.git/config\n@@ -1 +1 @@\n-a\n+b\n", "unsafe-path"),
        (b"diff --git a/x b/.GIT/hooks/y\nrename from x\nrename to .GIT/hooks/y\n", "unsafe-path"),
        (b"diff --git a/s/.git. b/s/.git.\nnew file mode 100755\nindex 0000000..e69de29\n", "unsafe-path"),
    ],
)
def test_what_is_no_patch_or_unsafe_keeps_everything_out(made: Sandbox, diff: Diff, raw: bytes, code: str) -> None:
    made.write("good.patch", diff("f.txt", FIRST, SECOND))
    made.write("bad.patch", raw)
    before = made.files()
    ran = made("import", "good.patch", "bad.patch", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, code)
    assert "bad.patch" in ran.json["error"]["message"]
    assert made.files() == before


def test_a_name_that_is_taken_is_refused_by_name(made: Sandbox, diff: Diff) -> None:
    made.write("patches/0034-kept-aside.patch", "mine\n")
    made.write("0034-kept-aside.patch", diff("f.txt", FIRST, SECOND))
    before = made.files()
    ran = made("import", "0034-kept-aside.patch", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "exists")
    assert "0034-kept-aside.patch" in ran.json["error"]["message"]
    assert made.files() == before


def test_a_dry_run_writes_nothing(made: Sandbox, diff: Diff) -> None:
    made.write("x.patch", diff("f.txt", FIRST, SECOND))
    before = made.files()
    document = made("import", "x.patch", "--dry-run", "--json").json
    assert document["patches"][0]["status"] == "clean"
    assert (document["dry_run"], document["written"]) == (True, [])
    assert made.files() == before


def test_it_works_before_there_is_a_base(project: Project, diff: Diff) -> None:
    made = project({"f.txt": LINES}, {})
    made.write("x.patch", diff("f.txt", LINES, FIRST))
    ran = made("import", "x.patch")
    assert ran.code == 0
    assert "not judged" in ran.out
    assert made("import", "x.patch", "--dry-run", "--json").json["base"] is None
    assert made("check").code == 0


# -- names and places ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ("0040-gap.patch", "0040-gap.patch"),
        ("0040-gap.diff", "0040-gap.diff"),
        ("40-narrow.patch", "0040-narrow.patch"),
        ("0034 with space.eml", "0034-with-space.patch"),
        ("0012-too-low.patch", "0034-Say-what-it-does.patch"),
        ("fix.patch", "0034-Say-what-it-does.patch"),
    ],
)
def test_the_name(made: Sandbox, diff: Diff, own: str, name: str) -> None:
    made.write(own, diff("f.txt", FIRST, SECOND))
    (row,) = made("import", own, "--json").json["patches"]
    assert row["name"] == name
    assert (made.root / "patches" / name).exists()


def test_without_words_the_file_gives_the_name(made: Sandbox, diff: Diff) -> None:
    made.write("7-my_fix.diff", diff("f.txt", FIRST, SECOND).partition("\n\n")[2].partition("\n\n")[2])
    assert made("import", "7-my_fix.diff", "--json").json["patches"][0]["name"] == "0034-my_fix.patch"


def test_an_unnumbered_series_stays_so(project: Project, diff: Diff) -> None:
    made = project({"f.txt": LINES}, {"cpu.patch": diff("f.txt", LINES, FIRST), "gpu.patch": diff("n", "", "n\n")})
    made.write("zeta.patch", diff("f.txt", FIRST, SECOND))
    assert made("import", "zeta.patch", "--after", "cpu").code == 0
    assert (made.root / "patches/series").read_text() == "cpu.patch\nzeta.patch\ngpu.patch\n"


def test_behind_a_patch_with_and_without_room(project: Project, diff: Diff) -> None:
    claim = "Third\n\nPatch order: applies after 0034-second.\n\n"
    third = claim + diff("n.txt", "", "n\n")
    patches = {
        "0033-first.patch": diff("f.txt", LINES, FIRST),
        "0034-second.patch": diff("f.txt", FIRST, SECOND),
        "0040-third.patch": third,
    }
    made = project(
        {"f.txt": LINES, "g.txt": "a\n"},
        patches,
        series="# top\n0033-first.patch # one\n\n0034-second.patch\n0040-third.patch\n",
    )
    assert made("bootstrap").code == 0
    made.write("in.patch", diff("g.txt", "a\n", "b\n"))
    assert made("import", "in.patch", "--after", "34").code == 0
    before = made.files()
    refused = made("import", "in.patch", "--after", "33", "--json")
    assert (refused.code, refused.json["error"]["code"]) == (1, "no-number")
    assert "--renumber" in refused.json["error"]["hint"]
    assert made.files() == before
    (made.root / "patches/0035-Say-what-it-does.patch").unlink()
    (made.root / "patches/series").write_text("# top\n0033-first.patch # one\n\n0034-second.patch\n0040-third.patch\n")
    ran = made("import", "in.patch", "--after", "33", "--renumber")
    assert ran.code == 0
    assert "renamed 0034-second.patch to 0035-second.patch\n" in ran.out
    assert (
        "0040-third.patch, line 3 says that it applies after 0034-second, which is 0035-second.patch now"
        in " ".join(ran.out.split())
    )
    assert (made.root / "patches/series").read_text() == (
        "# top\n0033-first.patch # one\n0034-Say-what-it-does.patch\n\n0035-second.patch\n0040-third.patch\n"
    )
    assert (made.root / "patches/0035-second.patch").read_text() == patches["0034-second.patch"]
    assert (made.root / "patches/0040-third.patch").read_text() == third
    assert not (made.root / "patches/0034-second.patch").exists()
    assert made("check").code == 0


def test_later_patches_that_it_breaks_are_named(project: Project, diff: Diff) -> None:
    made = project(
        {"f.txt": "a\n"}, {"0001-b.patch": diff("f.txt", "a\n", "b\n"), "0010-c.patch": diff("f.txt", "b\n", "c\n")}
    )
    assert made("bootstrap").code == 0
    made.write("in.patch", diff("f.txt", "b\n", "x\n"))
    ran = made("import", "in.patch", "--after", "1", "--json")
    assert (ran.code, ran.json["broken"]) == (0, ["0010-c.patch"])


def test_a_folder_without_a_series_file_gets_one_only_when_it_must(project: Project, diff: Diff) -> None:
    made = project({"f.txt": LINES}, {"0001-first.patch": diff("f.txt", LINES, FIRST)}, series=None)
    made.write("0002-second.patch", diff("f.txt", FIRST, SECOND))
    assert made("import", "0002-second.patch").code == 0
    assert not (made.root / "patches/series").exists()
    made.write("0003-third.patch", diff("n", "", "n\n").replace("b/n", "n").replace("a/n", "n"))
    ran = made("import", "-p0", "0003-third.patch")
    assert "patches/series was written" in ran.out
    assert (made.root / "patches/series").read_text() == "0001-first.patch\n0002-second.patch\n0003-third.patch -p0\n"
    assert made("check").code == 0


# -- paths that fit nothing ----------------------------------------------------------------------


def test_paths_that_want_a_folder_or_another_strip_level(made: Sandbox, diff: Diff) -> None:
    inside = diff("g.c", "one\ntwo\nthree\n", "one\n2\nthree\n")
    made.write("0034-inside.patch", inside)
    ran = made("import", "0034-inside.patch", "--dry-run")
    assert "--directory sub" in ran.out
    made.write("0034-deep.patch", inside.replace("g.c", "x/y/sub/g.c"))
    ran = made("import", "0034-deep.patch", "--dry-run")
    assert "its paths fit with -p3" in ran.out
    assert made("import", "0034-inside.patch", "--directory", "sub/", "--json").json["patches"][0]["status"] == "clean"
    stored = (made.root / "patches/0034-inside.patch").read_text()
    assert stored == inside.replace("/g.c", "/sub/g.c")


ROOTED = [
    b"--- a/x y.c\t2001-01-01 00:00:00\n+++ b/x y.c\t2001-01-01 00:00:00\n@@ -1 +1 @@\n-a\n+b\n",
    b"diff --git a/x y.c b/x y.c\n--- a/x y.c\t\n+++ b/x y.c\t\n@@ -1 +1 @@\n--- a/x y.c\n+++ b/x\n",
    b'diff --git "a/\\303\\244" "b/\\303\\244"\nold mode 100644\nnew mode 100755\n',
    b'diff --git "a/\\303\\244" b/new name\nsimilarity index 100%\nrename from "\\303\\244"\nrename to new name\n',
    b"diff --git a/d/x b/e f/x\nsimilarity index 100%\ncopy from d/x\ncopy to e f/x\n",
    b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+--- a/b\n",
    b"diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
]


@pytest.mark.parametrize("raw", ROOTED)
def test_a_directory_is_what_git_apply_takes_it_for(project: Project, raw: bytes) -> None:
    made = project({}, {})
    made.write("0001-x.patch", b"--- a/header line\n\n" + raw)
    assert made("import", "0001-x.patch", "--directory", "deep/er").code == 0
    summary = ["apply", "--numstat", "--summary", "-z"]
    want = git(made.root, *summary, "--directory=deep/er", "0001-x.patch")
    assert want
    assert git(made.root, *summary, "patches/0001-x.patch") == want
    assert (made.root / "patches/0001-x.patch").read_bytes().startswith(b"--- a/header line\n\n")


# -- a quilt folder ------------------------------------------------------------------------------


def test_a_quilt_folder_comes_line_for_line(made: Sandbox, diff: Diff) -> None:
    second = diff("f.txt", FIRST, SECOND)
    made.write("q/series", "# theirs\nfix/second.patch -p1 # keep\n\nundo -R\n#off.patch\nlevel.diff -p0\n# end\n")
    made.write("q/fix/second.patch", second)
    made.write("q/undo", diff("gone", "", "x\n"))
    made.write("q/level.diff", diff("n", "", "n\n").replace("b/n", "n"))
    made.write("patches/series", "# ours\n0033-first.patch\n# last\n")
    ran = made("import", "q/")
    assert ran.code == 0
    series = (made.root / "patches/series").read_text()
    assert series == (
        "# ours\n0033-first.patch\n# last\n# theirs\n0034-Say-what-it-does.patch -p1 # keep\n\n"
        "0035-Say-what-it-does.patch -R\n#off.patch\n0036-Say-what-it-does.patch -p0\n# end\n"
    )
    assert (made.root / "patches/0034-Say-what-it-does.patch").read_text() == second


def test_a_quilt_folder_into_an_empty_series_keeps_its_names(project: Project, diff: Diff) -> None:
    made = project({"f.txt": LINES}, {}, series="# begun\n")
    assert made("bootstrap").code == 0
    made.write("q/patches/series", "b.patch\na.patch -p1\n")
    made.write("q/patches/b.patch", diff("f.txt", LINES, FIRST))
    made.write("q/patches/a.patch", diff("f.txt", FIRST, SECOND))
    assert made("import", "q").code == 0
    assert (made.root / "patches/series").read_text() == "# begun\nb.patch\na.patch -p1\n"
    assert made("check").code == 0
    before = made.files()
    again = made("import", "q", "--json")
    assert (again.code, again.json["error"]["code"]) == (1, "exists")
    assert again.json["error"]["message"] == "b.patch is in the series already, with the same bytes"
    assert made.files() == before
    made.write("q/patches/b.patch", "Another\n\n" + diff("f.txt", LINES, FIRST))
    assert made("import", "q", "--json").json["error"]["message"] == "there is a b.patch in patches/ already"


def test_a_broken_quilt_series_is_a_usage_error(made: Sandbox) -> None:
    made.write("q/series", "gone.patch\n")
    assert made("import", "q", "--json").json["error"]["code"] == "missing-patch"


def test_how_it_is_called(made: Sandbox) -> None:
    assert made("import").code == 2
    assert made("import", "--repo", ".", "x").code == 2
    assert made("import", "nowhere.patch", "--json").json["error"]["code"] == "no-file"
