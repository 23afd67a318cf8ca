"""``import`` of mails and commits: whatever way they took, the patch is what its author made."""

from __future__ import annotations

import base64
import quopri
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.test_import import FIRST, LINES, SECOND, git

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox


@pytest.fixture
def made(project: Project, diff: Diff) -> Sandbox:
    """A project with one patch and a base in the store."""
    made = project({"f.txt": LINES, "sub/g.c": "one\ntwo\nthree\n"}, {"0033-first.patch": diff("f.txt", LINES, FIRST)})
    assert made("bootstrap").code == 0
    return made


@pytest.fixture
def history(sandbox: Sandbox) -> Path:
    """A repository with the base and three commits on it, the second one's file in CRLF."""
    folder = sandbox.root / "history"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", ".")
    (folder / "f.txt").write_text(FIRST)
    (folder / "w.txt").write_bytes(b"a\r\nb\r\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "tag", "begin")
    (folder / "f.txt").write_text(SECOND)
    git(folder, "commit", "-q", "-a", "-m", "ggml: fix [the] x…\n\nBecause ü.\nFrom here on it is right.")
    (folder / "w.txt").write_bytes(b"a\r\nB \xff\r\n")
    git(folder, "commit", "-q", "-a", "-m", "crlf stays")
    (folder / "bin").write_bytes(bytes(range(256)))
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "a binary one\n\n---\nnot a diffstat")
    return folder


# -- mails ---------------------------------------------------------------------------------------


def test_an_mbox_of_git_gives_gits_own_files(made: Sandbox, history: Path) -> None:
    mbox = git(history, "format-patch", "--stdout", "--cover-letter", "begin..main")
    git(history, "format-patch", "-q", "--start-number=34", "-o", "single", "begin..main")
    made.write("all.mbox", mbox)
    ran = made("import", "all.mbox", "--json")
    assert ran.code == 0
    document = ran.json
    names = [row["name"] for row in document["patches"]]
    assert names == ["0034-ggml-fix-the-x.patch", "0035-crlf-stays.patch", "0036-a-binary-one.patch"]
    assert len(document["skipped"]) == 1
    assert "SUBJECT HERE" in document["skipped"][0]
    for name in names:
        single = (history / "single" / name).read_bytes()
        ours = (made.root / "patches" / name).read_bytes()
        # with a cover letter, git counts the mails otherwise
        assert re.sub(rb"PATCH [^]]*", b"PATCH", ours) == re.sub(rb"PATCH [^]]*", b"PATCH", single)
    assert [row["status"] for row in document["patches"]] == ["clean", "failed", "clean"]  # w.txt is not in the base


def test_single_mails_come_to_the_byte(made: Sandbox, history: Path) -> None:
    git(history, "format-patch", "-q", "--cover-letter", "--start-number=33", "-o", "single", "begin..main")
    folder = history / "single"
    assert sorted(p.name for p in folder.iterdir())[0] == "0000-cover-letter.patch"
    ran = made("import", folder, "--json")
    assert [row["name"][:4] for row in ran.json["patches"]] == ["0034", "0035", "0036"]
    assert [made.files()[f"patches/{row['name']}"] for row in ran.json["patches"]] == [
        p.read_bytes() for p in sorted(folder.iterdir())[1:]
    ]
    assert "cover-letter" in ran.json["skipped"][0]


def _wrapped(raw: bytes, encoding: str, crlf: bool) -> bytes:
    """A mail as a program saves it: encoded, perhaps with the line ends of the wire and no first line of an
    mbox."""
    head, _, body = raw.partition(b"\n\n")
    head = head.replace(b"\nContent-Transfer-Encoding: 8bit", b"") + f"\nContent-Transfer-Encoding: {encoding}".encode()
    if encoding == "base64":
        coded = base64.encodebytes(body)
    else:  # Python takes a CRLF for an end of line; here the CR belongs to the line
        coded = quopri.encodestring(body.replace(b"\r\n", b"<CR>\n")).replace(b"<CR>\n", b"=0D\n")
    whole = head + b"\n\n" + coded
    return whole.partition(b"\n")[2].replace(b"\n", b"\r\n") if crlf else whole


@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("encoding", ["base64", "quoted-printable"])
@pytest.mark.parametrize("which", [1, 2, 3])
def test_encoded_mails_are_decoded(project: Project, history: Path, encoding: str, crlf: bool, which: int) -> None:
    base = {"f.txt": FIRST, "w.txt": b"a\r\nb\r\n"}
    made = project(base, {})
    assert made("bootstrap").code == 0
    commit = git(history, "rev-list", "--reverse", "begin..main").decode().split()[which - 1]
    plain = git(history, "format-patch", "-1", "--stdout", commit)
    made.write("mail.eml", _wrapped(plain, encoding, crlf))
    (row,) = made("import", "mail.eml", "--json").json["patches"]
    assert row["status"] == "clean"
    assert row["repairs"] == [f"{encoding} decoded"]
    stored = (made.root / "patches" / row["name"]).read_bytes()
    assert stored.split(b"\n\n", 1)[1] == plain.split(b"\n\n", 1)[1]
    for field in (b"From:", b"Date:", b"Subject:"):
        assert [x for x in stored.split(b"\n") if x.startswith(field)] == [
            x for x in plain.split(b"\n") if x.startswith(field)
        ]


def test_a_patch_as_an_attachment(made: Sandbox, diff: Diff) -> None:
    text = diff("f.txt", FIRST, SECOND).partition("diff --git")
    patch = text[1] + text[2]
    mail = (
        "From: A <a@example.invalid>\nSubject: Second\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="xx"\n\nno MIME?\n--xx\n'
        "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nWhy, =E9.\n--xx\n"
        "Content-Type: text/html\n\n<p>Why</p>\n--xx\n"
        'Content-Type: text/x-patch; name="s.patch"\nContent-Disposition: attachment; filename="s.patch"\n'
        f"Content-Transfer-Encoding: base64\n\n{base64.encodebytes(patch.encode()).decode()}\n--xx--\n"
    )
    made.write("mail.eml", mail)
    (row,) = made("import", "mail.eml", "--json").json["patches"]
    assert (row["name"], row["status"]) == ("0034-Second.patch", "clean")
    assert row["repairs"] == ["2 parts of a mail put together"]
    stored = (made.root / "patches/0034-Second.patch").read_bytes()
    assert stored.endswith(b"\n\nWhy, \xe9.\n" + patch.encode())
    assert b"charset=iso-8859-1\n" in stored


def test_an_mbox_of_other_programs(made: Sandbox, diff: Diff) -> None:
    third = SECOND.replace("number 9\n", "number nine\n")
    bodies = [diff("f.txt", FIRST, SECOND), "Looks good.\n>From me\n\n", diff("f.txt", SECOND, third)]
    mails = [
        f"From a@example.invalid Thu Jan  4 12:{n}0:00 2024\nReceived: by x\nFrom: A <a@example.invalid>\n"
        f"Subject: [PATCH {n}/3] part {n}\n\n{body}\n"
        for n, body in enumerate(bodies, 1)
    ]
    made.write("thread", "".join(mails))
    document = made("import", "thread", "--json").json
    assert [(r["name"], r["status"]) for r in document["patches"]] == [
        ("0034-part-1.patch", "clean"),
        ("0035-part-3.patch", "clean"),
    ]
    assert document["skipped"] == ["thread, mail 2 has no patch in it: part 2"]
    assert (made.root / "patches/0034-part-1.patch").read_text() + "\n" == mails[0].partition("\n")[2]


# -- commits -------------------------------------------------------------------------------------


def test_a_range_of_commits(project: Project, history: Path) -> None:
    made = project({"f.txt": FIRST, "w.txt": b"a\r\nb\r\n"}, {})
    assert made("bootstrap").code == 0
    git(history, "config", "format.signOff", "true")
    git(history, "config", "diff.noprefix", "true")
    git(history, "config", "format.subjectPrefix", "ODD")
    (history / ".gitattributes").write_text("* -diff\n")
    ran = made("import", "--range", "begin..main", "--repo", "history", "--json", GIT_DIR="/nowhere")
    assert ran.code == 0, ran.out
    assert [(r["name"], r["status"]) for r in ran.json["patches"]] == [
        ("0001-ggml-fix-the-x.patch", "clean"),
        ("0002-crlf-stays.patch", "clean"),
        ("0003-a-binary-one.patch", "clean"),
    ]
    first = (made.root / "patches/0001-ggml-fix-the-x.patch").read_text()
    oid = git(history, "rev-parse", "main~2").decode().strip()
    assert first.startswith(f"From {oid} Mon Sep 17 00:00:00 2001\nFrom: =?UTF-8?q?A=2E=20=C3=9C=2E=20Thor?=")
    assert "\n\nBecause ü.\nFrom here on it is right.\n\ndiff --git a/f.txt b/f.txt\n" in first
    assert "Signed-off-by" not in first
    tree = git(history, "rev-parse", "main^{tree}").decode().strip()
    assert made("check", "--json").json["tip"]["tree"] == tree


def test_a_merge_is_refused_by_name(made: Sandbox, history: Path) -> None:
    git(history, "checkout", "-q", "-b", "side", "begin")
    (history / "n").write_text("n\n")
    git(history, "add", "n")
    git(history, "commit", "-q", "-m", "side")
    git(history, "merge", "-q", "-m", "join the side", "main")
    before = made.files()
    ran = made("import", "--range", "begin..side", "--repo", "history", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (1, "merge")
    assert git(history, "rev-parse", "side").decode()[:12] in ran.json["error"]["message"]
    assert "join the side" in ran.json["error"]["message"]
    assert {k: v for k, v in made.files().items() if "history" not in k} == {
        k: v for k, v in before.items() if "history" not in k
    }


@pytest.mark.parametrize(
    ("wanted", "code", "word"),
    [
        ("main", 2, "bad-range"),
        ("--all..main", 2, "bad-range"),
        ("begin...main", 2, "bad-range"),
        ("begin..nowhere", 3, "no-rev"),
        ("main..begin", 1, "no-commits"),
    ],
)
def test_ranges_that_are_none(made: Sandbox, history: Path, wanted: str, code: int, word: str) -> None:
    ran = made("import", f"--range={wanted}", "--repo", "history", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (code, word)
