"""Patches in and out, and what looks at them, in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cli.documents import CLEAN, FAILED, HEAD, LINES, MADE, MOVED, Ask, Project, diff, swap

if TYPE_CHECKING:
    from e2e.forked import Forked


def test_new(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN, "0002-ten.patch": MOVED})
    ask("bootstrap", "--json", "--to", "1", "WORK", code=0)
    (folder / "WORK/f.txt").write_text("".join(["top\n", *swap(LINES, 20, "twenty\n")]))
    (folder / "WORK/new.c").write_text("new\n")
    args = ("new", "mine", "--json", "--from", "WORK", "--after", "1", "--renumber", "-m", "Say what\n\nAnd why.")
    document = ask(*args, code=0)
    assert (document["name"], document["after"]) == ("0002-mine.patch", "0001-twenty.patch")
    assert (document["path"], document["subject"]) == ("patches/0002-mine.patch", "Say what")
    assert (document["files"], document["new_files"]) == (["f.txt", "new.c"], ["new.c"])
    assert (document["added"], document["removed"], document["claims"]) == (2, 0, [])
    assert document["renamed"] == [{"from": "0002-ten.patch", "to": "0003-ten.patch"}]


def test_new_as_the_first(ask: Ask, small: Project) -> None:
    folder = small({})
    ask("apply", "--json", code=0)
    assert ask("new", "mine", "--json", code=1)["error"]["code"] == "no-change"
    (folder / "tree/f.txt").write_text("".join(swap(LINES, 3, "three\n")))
    document = ask("new", "mine", "--json", code=0)
    assert (document["after"], document["renamed"], document["offset"]) == (None, [], [])
    assert document["name"] == "0001-mine.patch"


def test_import(ask: Ask, small: Project, forked: Forked) -> None:
    small({"0001-twenty.patch": CLEAN, "0002-more.patch": MADE})
    forked.write("in.diff", MOVED[:-1])
    forked.write("bad.diff", FAILED)
    blind = ask("import", "in.diff", "--json", "--dry-run", code=0)
    assert (blind["base"], blind["tip"], blind["written"]) == (None, None, [])
    assert (blind["patches"][0]["status"], blind["patches"][0]["cause"]) == (None, None)
    base = ask("bootstrap", "--json", code=0)["base"]["tree"]
    document = ask("import", "in.diff", "bad.diff", "--json", "--after", "1", "--renumber", code=0)
    assert (document["base"], document["tip"]) == ({"tree": base}, {"tree": None})
    ours, bad = document["patches"]
    assert (ours["name"], ours["source"], ours["after"]) == ("0002-in.patch", "in.diff", "0001-twenty.patch")
    assert (ours["status"], ours["repairs"]) == ("offset", ["final newline added"])
    assert (bad["status"], bad["cause"], bad["strip"]) == ("failed", "context-changed", 1)
    assert document["renamed"] == [{"from": "0002-more.patch", "to": "0004-more.patch"}]
    assert "patches/0003-bad.patch" in document["written"]


def test_import_of_mails_that_break_what_follows(ask: Ask, small: Project, forked: Forked) -> None:
    small({"0001-ten.patch": MOVED, "0002-twenty.patch": CLEAN})
    ask("bootstrap", "--json", code=0)
    mail = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.com>\n"
    other = diff("f.txt", swap(LINES, 10, "ten\n"), swap(swap(LINES, 10, "ten\n"), 20, "another\n"))
    forked.write("in.mbox", f"{mail}Subject: no patch\n\nhello\n\n{mail}Subject: Twenty\n\nWhy.\n\n{other}\n")
    document = ask("import", "in.mbox", "--json", "--dry-run", "--after", "1", "--renumber", code=0)
    assert [row["status"] for row in document["patches"]] == ["clean"]
    assert document["broken"] == ["0003-twenty.patch"]
    assert document["skipped"] == ["in.mbox, mail 1 has no patch in it: no patch"]


@pytest.mark.parametrize(
    ("form", "files"),
    [("quilt", ["0001-twenty.patch", "series"]), ("git", ["0001-twenty.patch"]), ("mbox", ["small.mbox"])],
)
def test_export(ask: Ask, small: Project, form: str, files: list[str]) -> None:
    folder = small({"0001-twenty.patch": HEAD + CLEAN})
    document = ask("export", "OUT", "--json", "--format", form, code=0)
    assert (document["dir"], document["format"], document["patches"]) == (str(folder / "OUT"), form, 1)
    assert document["files"] == files
    assert document["keep_brackets"] is False
    tip = None if form == "quilt" else ask("check", "--json", code=0)["tip"]["tree"]
    assert document["tip"] == {"tree": tip}


def test_list(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN, "0002-more.patch": MADE})
    (folder / "patches/series").write_text("0001-twenty.patch\n0002-more.patch -p2 -R\n")
    document = ask("list", "--json", code=0)
    assert document["listed"] is True
    first, second = document["patches"]
    assert (first["files"], first["added"], first["removed"], first["binary"]) == (["f.txt"], 1, 1, 0)
    assert (second["strip"], second["reverse"], len(second["sha256"])) == (2, True, 64)
    (folder / "patches/series").unlink()
    assert ask("list", "--json", code=0)["listed"] is False


def test_show(ask: Ask, small: Project) -> None:
    moves = (
        "diff --git a/f.txt b/e.txt\nold mode 100644\nnew mode 100755\nsimilarity index 100%\n"
        "rename from f.txt\nrename to e.txt\n"
        "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/twice.c b/twice.c\ndeleted file mode 100644\n--- a/twice.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/i.png b/i.png\nindex 1111111..2222222 100644\nBinary files a/i.png and b/i.png differ\n"
    )
    small({"0001-moves.patch": HEAD + moves})
    patch = ask("show", "1", "--json", code=0)["patch"]
    assert (patch["path"], patch["header"], patch["diff"]) == ("patches/0001-moves.patch", HEAD, moves)
    rename, create, delete, binary = patch["files"]
    assert (rename["operation"], rename["from"], rename["path"]) == ("rename", "f.txt", "e.txt")
    assert (rename["old_mode"], rename["mode"]) == ("100644", "100755")
    assert (create["operation"], create["mode"], create["added"], create["hunks"]) == ("create", "100755", 1, 1)
    assert (delete["operation"], delete["removed"]) == ("delete", 1)
    assert (binary["operation"], binary["binary"]) == ("modify", True)


def test_status(ask: Ask, small: Project) -> None:
    folder = small({"0001-ten.patch": MOVED, "0002-root.patch": FAILED})
    unready = ask("status", "--json", code=0)
    assert (unready["base"]["ready"], unready["series"]["applies"]) == (False, None)
    assert unready["lock"] == {"state": "none", "differences": []}
    tree = ask("bootstrap", "--json", code=0)["base"]["tree"]
    document = ask("status", "--json", code=0)
    source = {"kind": "directory", "label": str(folder / "base"), "upstream": "", "into": ""}
    assert document["base"] == {"ready": True, "tree": tree, "sources": [source]}
    assert document["series"] == {
        "dir": "patches",
        "listed": True,
        "patches": 2,
        "disabled": [],
        "applies": False,
        "statuses": {"offset": 1, "failed": 1},
        "first_failed": "0002-root.patch",
    }
    assert document["tree"]["dir"] == "tree"


def test_status_of_the_lock(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN})
    ask("lock", "--json", code=0)
    document = ask("status", "--json", code=0)
    assert (document["lock"]["state"], document["series"]["applies"]) == ("in step", True)
    (folder / "patches/0001-twenty.patch").write_text(HEAD + CLEAN)
    assert ask("status", "--json", code=0)["lock"] == {
        "state": "stale",
        "differences": ["0001-twenty.patch is not what was locked"],
    }
    (folder / "patches/series.lock").write_text("<<<<<<< ours\n")
    assert ask("status", "--json", code=0)["lock"]["state"] == "damaged"


def test_lock(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN})
    document = ask("lock", "--json", code=0)
    assert (document["lock"], document["state"], document["patches"]) == ("patches/series.lock", "written", 1)
    assert document["tip"] == ask("check", "--json", "--locked", code=0)["tip"]
    assert ask("lock", "--json", code=0) == document | {"state": "unchanged"}
    (folder / "patches/0001-twenty.patch").write_text(FAILED)
    refused = ask("lock", "--json", code=1)
    assert (refused["state"], refused["first_failed"]) == ("refused", "0001-twenty.patch")
    assert refused["tip"] == {"tree": None}


def test_lint(ask: Ask, small: Project, forked: Forked) -> None:
    small({"0002-b.patch": HEAD + CLEAN, "0001-a.patch": CLEAN, "0003-c.patch": HEAD + CLEAN + "x"})
    forked.write("patches/0004-d.patch", CLEAN)
    document = ask("lint", "--json", code=1)
    assert [(f["path"], f["line"], f["rule"], f["level"]) for f in document["findings"]] == [
        ("patches/0001-a.patch", 1, "no-subject", "error"),
        ("patches/0003-c.patch", (HEAD + CLEAN).count("\n") + 1, "missing-newline", "warning"),
        ("patches/0004-d.patch", 1, "not-listed", "error"),
        ("patches/series", 2, "number-order", "error"),
    ]
    assert (document["patches"], document["errors"], document["warnings"]) == (3, 3, 1)


def test_lint_of_a_warning(ask: Ask, small: Project) -> None:
    small({"0001-a.patch": HEAD + CLEAN})
    assert ask("lint", "--json", code=0)["findings"] == []
    small({"0001-a.patch": HEAD + CLEAN + "x"})
    assert ask("lint", "--format", "json", code=0)["warnings"] == 1
    strict = ask("lint", "--json", "--strict", code=1)
    assert (strict["errors"], strict["warnings"], strict["findings"][0]["level"]) == (1, 0, "error")
