"""``export``: the same bytes for quilt, and mails of which real ``git am`` makes what ``check`` reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.conftest import CONFIG
from cli.test_import import git

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox

LINES = "".join(f"the line number {n}\n" for n in range(1, 31))
FIRST = LINES.replace("number 3\n", "number three\n")
SECOND = FIRST.replace("number 20\n", "number twenty\n")
MAIL = (
    "From: A B <a@example.invalid>\nDate: Tue, 2 Jan 2024 03:04:05 +0100\nSubject: [PATCH 1/2] First\n\n"
    "Because.\n---\n f.txt | 2 +-\n\n"
)
SERIES = "# top\n0001-first.patch # one\n\n0002-undo.patch -R\n0003-level.patch -p0\n# end\n"


@pytest.fixture
def made(project: Project, diff: Diff) -> Sandbox:
    """A mail, one in reverse, one of another strip level."""

    def body(path: str, old: str, new: str) -> str:
        text = diff(path, old, new)
        return text[text.index("diff --git") :]

    patches = {
        "0001-first.patch": MAIL + body("f.txt", LINES, FIRST) + "-- \n2.39.5\n\n",
        "0002-undo.patch": "[kv] Undo it\n\nFrom here on\nFrom me Mon Sep 17 00:00:00 2001\n\n"
        + body("f.txt", SECOND, FIRST),
        "0003-level.patch": body("w.txt", "a\r\nb\r\n", "a\r\nB\r\n").replace("a/w", "w").replace("b/w", "w"),
    }
    made = project({"f.txt": LINES, "w.txt": "a\r\nb\r\n"}, patches, series=SERIES)
    assert made("check").code == 0
    return made


def am(made: Sandbox, *args: str | Path) -> Path:
    """``git am`` in a repository of the base."""
    folder = made.root / "repo"
    folder.mkdir()
    git(folder, "init", "-q", ".")
    git(folder, "config", "core.autocrlf", "false")
    for name in ("f.txt", "w.txt"):
        (folder / name).write_bytes((made.root / "base" / name).read_bytes())
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "am", "-q", *map(str, args))
    return folder


def test_quilt_is_the_same_bytes(made: Sandbox) -> None:
    ran = made("export", "out")
    assert (ran.code, ran.out, ran.err) == (0, "wrote 3 patches to out (quilt)\n", "")
    files = made.files()
    ours = {k.removeprefix("patches/"): v for k, v in files.items() if k.startswith("patches/")}
    assert {k.removeprefix("out/"): v for k, v in files.items() if k.startswith("out/")} == ours


def test_quilt_up_to_a_patch(made: Sandbox) -> None:
    assert made("export", "out", "--to", "2").code == 0
    assert (made.root / "out/series").read_text() == "# top\n0001-first.patch # one\n\n0002-undo.patch -R\n"
    assert not (made.root / "out/0003-level.patch").exists()


def test_quilt_of_a_project_whose_level_is_another(project: Project, diff: Diff) -> None:
    config = CONFIG + "\n[series]\nstrip = 0\n"
    made = project(
        {},
        {"a.patch": diff("x", "", "x\n"), "b.patch": diff("y", "", "y\n")},
        series="a.patch\nb.patch -p1\n",
        config=config,
    )
    assert made("export", "out").code == 0
    assert (made.root / "out/series").read_text() == "a.patch -p0\nb.patch -p1\n"


def test_quilt_needs_neither_base_nor_a_series_that_applies(project: Project, diff: Diff) -> None:
    made = project({}, {"0001-x.patch": diff("gone", "a\n", "b\n")}, series=None)
    assert made("export", "out").code == 0
    assert (made.root / "out/series").read_text() == "0001-x.patch\n"
    assert not (made.root / ".opencoti").exists()


@pytest.mark.parametrize("form", ["git", "mbox"])
def test_git_am_ends_at_the_tip(made: Sandbox, form: str) -> None:
    tip = made("check", "--json").json["tip"]["tree"]
    ran = made("export", "out", "--format", form, "--json")
    assert ran.code == 0
    document = ran.json
    names = ["0001-first.patch", "0002-undo.patch", "0003-level.patch"] if form == "git" else ["small.mbox"]
    assert (document["files"], document["tip"]["tree"], document["keep_brackets"]) == (names, tip, True)
    repo = am(made, "--keep-non-patch", *(made.root / "out" / n for n in names))
    assert git(repo, "rev-parse", "HEAD^{tree}").decode().strip() == tip
    assert (repo / "w.txt").read_bytes() == b"a\r\nB\r\n"
    log = git(repo, "log", "--reverse", "--format=%an <%ae> %ai|%s|%b", "HEAD~3..").decode()
    assert log == (
        "A B <a@example.invalid> 2024-01-02 03:04:05 +0100|First|Because.\n\n"
        "opencoti-patches <patches@opencoti.invalid> 1970-01-01 00:00:00 +0000|[kv] Undo it|"
        "From here on\nFrom me Mon Sep 17 00:00:00 2001\n\n"
        "opencoti-patches <patches@opencoti.invalid> 1970-01-01 00:00:00 +0000|0003-level.patch|\n"
    )
    first = (made.root / "out" / names[0]).read_bytes()
    assert (made.root / "patches/0001-first.patch").read_bytes() in first


def test_the_same_series_gives_the_same_bytes_anywhere(made: Sandbox) -> None:
    made.write(".gitconfig", "[diff]\n\tnoprefix = true\n\tcontext = 9\n[core]\n\tabbrev = 5\n[user]\n\tname = Me\n")
    for form in ("git", "mbox"):
        assert made("export", f"one-{form}", "--format", form).code == 0
        store = str(made.root / "other")
        again = made("export", f"two-{form}", "--format", form, OPENCOTI_STORE=store, GIT_AUTHOR_NAME="Me", LC_ALL="C")
        assert again.code == 0
        one, two = ({p.name: p.read_bytes() for p in (made.root / f"{n}-{form}").iterdir()} for n in ("one", "two"))
        assert one == two


def test_mails_come_back_through_import(made: Sandbox, sandbox: Sandbox) -> None:
    tip = made("check", "--json").json["tip"]["tree"]
    assert made("export", "out", "--format", "mbox").code == 0
    made.write("again/opencoti.toml", CONFIG.replace('"base"', '"../base"'))
    made.write("again/patches/series", "")
    assert made("-C", "again", "bootstrap").code == 0
    ran = made("-C", "again", "import", "../out/small.mbox", "--json")
    assert [r["status"] for r in ran.json["patches"]] == ["clean"] * 3
    assert ran.json["tip"]["tree"] == tip
    assert [r["name"] for r in ran.json["patches"]] == [
        "0001-First.patch",
        "0002-kv-Undo-it.patch",
        "0003-level.patch",
    ]


def test_names_that_do_not_sort_are_numbered(project: Project, diff: Diff) -> None:
    patches = {
        "z.patch": diff("z", "", "z\n"),
        "sub/a.patch": diff("a", "", "a\n"),
        "0007-b.patch": diff("b", "", "b\n"),
    }
    made = project({}, patches)
    assert made("export", "out", "--format", "git").code == 0
    assert sorted(p.name for p in (made.root / "out").iterdir()) == [
        "0001-Say-what-it-does.patch",
        "0002-Say-what-it-does.patch",
        "0003-Say-what-it-does.patch",
    ]


def test_mails_of_a_series_that_does_not_apply_are_refused(project: Project, diff: Diff) -> None:
    made = project({}, {"0001-x.patch": diff("gone", "a\n", "b\n")})
    ran = made("export", "out", "--format", "mbox", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "does-not-apply")
    assert not (made.root / "out").exists()


def test_where_it_may_write(made: Sandbox) -> None:
    made.write("full/x", "mine\n")
    (made.root / "empty").mkdir()
    (made.root / "link").symlink_to("empty")
    before = made.files()
    for target, code, word in (
        ("full", 1, "not-empty"),
        (".", 1, "not-empty"),
        ("full/x", 2, "bad-folder"),
        ("patches/out", 2, "bad-folder"),
        (".opencoti/out", 2, "bad-folder"),
    ):
        ran = made("export", target, "--json")
        assert (ran.code, ran.json["error"]["code"]) == (code, word)
    assert made.files() == before
    assert made("export", "link").code == 0
    assert (made.root / "link").is_symlink()
    assert (made.root / "empty/series").read_text() == SERIES
    assert made("export", "deep/er/out").code == 0
    assert [p.name for p in (made.root / "deep/er").iterdir()] == ["out"]


def test_whose_mails_are_that_name_nobody(made: Sandbox) -> None:
    ran = made("export", "out", "--format", "git")
    said = " ".join(ran.out.split())
    assert "note: no author is named in 2 patches; the sender is opencoti-patches <patches@opencoti.invalid>" in said
    document = made("export", "again", "--format", "mbox", "--author", "Ä B <b@example.invalid>", "--json").json
    assert document["no_author"] == []
    repo = am(made, "--keep-non-patch", made.root / "again/small.mbox")
    log = git(repo, "log", "--reverse", "--format=%an <%ae>", "HEAD~3..").decode().splitlines()
    assert log == ["A B <a@example.invalid>", "Ä B <b@example.invalid>", "Ä B <b@example.invalid>"]
    assert made("export", "more", "--format", "git", "--json").json["no_author"] == [
        "0002-undo.patch",
        "0003-level.patch",
    ]
    for args in (["--author", "nobody", "--format", "git"], ["--author", "A <a@b>"]):
        assert made("export", "none", *args).code == 2
    assert not (made.root / "none").exists()
