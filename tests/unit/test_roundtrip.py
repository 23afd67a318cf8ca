"""What goes out comes back: a quilt folder to the byte, mails by real ``git am`` to the same tree."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Git, examples
from drawing import Tree, files
from hypothesis import assume, event, given
from hypothesis import strategies as st

from opencoti_patches.base.store import Store
from opencoti_patches.carry import exporting as out
from opencoti_patches.core.model import Series, TreeId
from opencoti_patches.core.progress import Silent
from opencoti_patches.doors import transaction
from opencoti_patches.plan.strict import check
from opencoti_patches.series import exporting, importing
from opencoti_patches.series.mailing import mail
from opencoti_patches.series.order import load
from opencoti_patches.series.repair import repaired

AM = ["-c", "user.name=Committer", "-c", "user.email=c@example.invalid", "am", "-q", "--keep-non-patch"]
NOBODY = "opencoti-patches <patches@opencoti.invalid> 0"


@dataclass(frozen=True)
class Head:
    """A patch's header, and what a commit of it must say; None: not asked."""

    raw: bytes
    subject: str | None = None
    body: str | None = None
    author: str = NOBODY


HEADS = [
    Head(b"", None, ""),
    Head(b"Do a thing\n\nBecause of it.\n\n  - one\n  - two\n\n", "Do a thing", "Because of it.\n\n  - one\n  - two"),
    Head(b"Subject: Do it\n\nwhy\n", "Do it", "why"),
    Head(b"Description: Do it\nAuthor: x\n", "Do it", "Author: x"),
    Head(
        b"Quote\n\nHe wrote\nFrom abc Mon Sep 17 00:00:00 2001\nFrom: x\n.\n=20 signs=\n",
        "Quote",
        "He wrote\nFrom abc Mon Sep 17 00:00:00 2001\nFrom: x\n.\n=20 signs=",
    ),
    Head(b"[kv] tag\n\nwhy\n", "[kv] tag", "why"),
    Head(b"=?UTF-8?q?no?= word\n", "=?UTF-8?q?no?= word", ""),
    Head("é ü – 漢字\n\nwärum\n".encode(), "é ü – 漢字", "wärum"),
    Head(("lang " * 10 + "漢字 é " * 30 + "\n").encode(), ("lang " * 10 + "漢字 é " * 30).strip(), ""),
    Head(b"caf\xe9\n\nth\xe9\n", "café", "thé"),
    # lines where git am takes the message to be over stand one in
    Head(
        b"Tool\n\nabout\ndiff -u is one\n--- is a rule\nIndex: none\nend\n",
        "Tool",
        "about\n diff -u is one\n --- is a rule\n Index: none\nend",
    ),
    Head(b"Dated\n\nDate: never\nmore\n", "Dated", "Date: never\nmore"),
    Head(b"Marked\n\n[PATCH] is a word\n", "Marked", "[PATCH] is a word"),
    Head(b"Theirs\n\nFrom: A B <a@example.invalid>\n\nwhy\n", "Theirs", "why", "A B <a@example.invalid> 0"),
    Head(
        b"From: A B <a@example.invalid>\nDate: Tue, 2 Jan 2024 03:04:05 +0100\nSubject: [PATCH 3/7] Do it\n now\n\n"
        b"Body\n---\n a | 2 +-\n\n",
        "Do it now",
        "Body",
        "A B <a@example.invalid> 1704161045",
    ),
    Head(
        b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A B <a@example.invalid>\n"
        b"Subject: [PATCH] =?UTF-8?q?=C3=A9?=\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n"
        b"Content-Transfer-Encoding: 8bit\n\n\xc3\xa9\nFrom me 1:02:03 2001\n\n",
        "é",
        "é\nFrom me 1:02:03 2001",
        "A B <a@example.invalid> 0",
    ),
    Head(
        b"From: A B\nDate: Wed, 11 Feb 2015\nSubject: Half a date\n\nwhy\n---\n",
        "Half a date",
        "why",
        "A B <patches@opencoti.invalid> 1423612800",
    ),
    Head(
        b"From: a@example.invalid\nDate: last week\nSubject: No date\n\nwhy\n---\n",
        "No date",
        "why",
        "a@example.invalid <a@example.invalid> 0",
    ),
    Head(
        b"Origin: https://example.invalid/x\nFrom 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n"
        b"From: A B <a@example.invalid>\nSubject: Put on top\n\nwhy\n---\n a | 2 +-\n\n",
        "Put on top",
        "why",
        "A B <a@example.invalid> 0",
    ),
]


@dataclass(frozen=True)
class Made:
    """One patch of a series."""

    head: Head
    diff: bytes
    strip: int
    reverse: bool

    @property
    def raw(self) -> bytes:
        return self.head.raw + self.diff


# No name is a folder of another: git am itself stumbles where a link gives way to a folder.
PATHS = [b"p", b"b c", b"q/e", b"q/\xc3\xa9", b"f/g/h", b"l"]


@st.composite
def later(draw: st.DrawFn, before: Tree) -> Tree:
    """A tree one or two changes later."""
    tree = dict(before)
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(PATHS))
        old = tree.pop(path, None)
        what = draw(st.sampled_from(["edit", "edit", "edit", "new", "gone", "move", "mode"]))
        if old is None or what == "new":
            tree[path] = draw(files())
        elif what == "edit":
            lines = old[1].split(b"\n")
            at = draw(st.integers(0, len(lines)))
            lines[at : at + draw(st.integers(0, 2))] = [b"new %d\r" % draw(st.integers(0, 9)), b"From me"]
            tree[path] = (old[0], b"\n".join(lines)) if old[0] != "120000" else ("120000", old[1] + b"2")
        elif what == "move":
            tree[draw(st.sampled_from(PATHS))] = old
        elif what == "mode":
            tree[path] = ("100755" if old[0] == "100644" else "100644", old[1])
    return tree


@st.composite
def patches(draw: st.DrawFn, git: Git, before: Tree, after: Tree) -> Made:
    """The change from one tree to the next, in one of the ways to write it."""
    old, new = git.tree(before), git.tree(after)
    assume(old != new)
    reverse = draw(st.integers(0, 4)) == 0
    strip, prefixes = draw(
        st.sampled_from(
            [
                (1, ["--src-prefix=a/", "--dst-prefix=b/"]),
                (1, ["--src-prefix=a/", "--dst-prefix=b/"]),
                (0, ["--no-prefix"]),
                (2, ["--src-prefix=x/old/", "--dst-prefix=x/new/"]),
            ]
        )
    )
    pair = (new, old) if reverse else (old, new)
    moves = draw(st.sampled_from(["--no-renames", "-M40", "-C40"]))
    diff = git("diff-tree", "-p", "-r", "--binary", "--find-copies-harder", moves, *prefixes, *pair)
    trailer = draw(st.sampled_from([b"", b"", b"-- \n2.39.5\n\n", b"\nFrom here on nothing\n"]))
    return Made(draw(st.sampled_from(HEADS)), diff + trailer, strip, reverse)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Git]:
    """One store for all examples, and a judge whose objects it reads too."""
    folder = tmp_path_factory.mktemp("ground")
    git = Git(folder / "judge.git")
    store = Store(folder / "store").open()
    (store.repo.path / "objects" / "info" / "alternates").write_text(f"{git.path / 'objects'}\n")
    store.listings.mkdir()
    return store, git


def _drawn(data: st.DataObject, git: Git) -> tuple[str, list[Made]]:
    states: list[Tree] = [dict(data.draw(st.dictionaries(st.sampled_from(PATHS), files(), min_size=1, max_size=4)))]
    made: list[Made] = []
    for _ in range(data.draw(st.integers(1, 4))):
        states.append(data.draw(later(states[-1])))
        made.append(data.draw(patches(git, states[-2], states[-1])))
    return git.tree(states[0]), made


def _laid(folder: Path, made: Sequence[Made]) -> Series:
    rows = [f"{i:04}-p.patch -p{m.strip}{' -R' * m.reverse}\n" for i, m in enumerate(made, 1)]
    for i, m in enumerate(made, 1):
        (folder / f"{i:04}-p.patch").write_bytes(m.raw)
    (folder / "series").write_text("".join(rows))
    return load(folder)


def _am(git: Git, base: str, folder: Path, *files: str) -> tuple[str, list[tuple[str, str, str]]]:
    """Real ``git am`` in a repository at the base: the tree at the end, and (author, subject, body) of each
    commit."""

    def run(*args: str) -> str:
        env = {k: v for k, v in git.env.items() if k not in ("GIT_DIR", "GIT_INDEX_FILE")}
        done = subprocess.run(["git", *args], cwd=folder, env=env, capture_output=True, check=False)
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    run("init", "-q", ".")
    (folder / ".git/objects/info/alternates").write_text(f"{git.path / 'objects'}\n")
    (folder / ".git/info/attributes").write_text("* -text\n")
    run("read-tree", base)
    run("checkout-index", "-a")
    commit = run("-c", "user.name=x", "-c", "user.email=x", "commit-tree", "-m", "base", base).strip()
    run("reset", "-q", "--hard", commit)
    run(*AM, *files)
    log = run("log", "--reverse", "--format=%an <%ae> %at%x01%s%x01%b%x02", f"{commit}..HEAD")
    rows = [row.strip("\n").split("\x01") for row in log.split("\x02") if row.strip("\n")]
    return run("rev-parse", "HEAD^{tree}").strip(), [(a, s, b.strip("\n")) for a, s, b in rows]


@examples(40)
@given(data=st.data())
def test_git_am_of_what_is_exported_ends_at_the_tip(ground: tuple[Store, Git], data: st.DataObject) -> None:
    store, git = ground
    base, made = _drawn(data, git)
    as_mbox = data.draw(st.booleans())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "patches").mkdir()
        series = _laid(folder / "patches", made)
        (store.listings / base).write_bytes(git("ls-tree", "-r", "-z", base))
        plan = check(series, TreeId(base), store)
        assume(plan.ok)
        mails, again = out.mails(series, TreeId(base), store, progress=Silent())
        assert again == plan
        assert out.mails(series, TreeId(base), store, progress=Silent())[0] == mails
        names = exporting.mail_names(series)
        files = {"all.mbox": exporting.joined(mails)} if as_mbox else dict(zip(names, mails, strict=True))
        out.put(folder / "out", files)
        (folder / "work").mkdir()
        tree, log = _am(git, base, folder / "work", *(f"../out/{f}" for f in sorted(files)))
        assert tree == plan.tip
        for m, entry, (author, subject, body) in zip(made, series.entries, log, strict=True):
            head = m.head
            event(f"header {HEADS.index(m.head)}")
            assert subject == (entry.name if head.subject is None else head.subject)
            assert author == head.author
            assert head.body is None or body == head.body


# What stands in a series file beside patches, and odd but legal patch files.
COMMENTS = ["", "# a comment", "  # one set in", "#0003-left-out.patch -p2 # for now", "\t"]
NAMES = [
    "0001-a.patch",
    "0002-b.patch",
    "fix.diff",
    "sub/dir/x.patch",
    "no-suffix",
    "0040_z.patch",
    "ü.patch",
    "a+b~1.dpatch",
]
DIFFS = [
    b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
    b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
    b"Index: f\n=====\n--- f.orig\t2001-01-01 00:00:00\n+++ f\t2001-01-01 00:00:00\n@@ -1,2 +1 @@\n a\r\n-\xff\xfe\r\n",
    b"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
]


@st.composite
def quilt_folders(draw: st.DrawFn) -> dict[str, bytes]:
    """A folder that quilt would take, its files to the byte."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, len(NAMES)))]
    lines = []
    files = {}
    for name in names:
        lines += draw(st.lists(st.sampled_from(COMMENTS), max_size=2))
        options = draw(st.sampled_from(["", "", " -p1", " -p0", " -p2 -R", " -R", " -pab", "\t-p0   # why", " # -p0"]))
        lines.append(name + options)
        head = draw(st.sampled_from(HEADS)).raw + draw(st.sampled_from([b"", b"\r\nx\r\n", b"\x00\xff\n", b"\n\n"]))
        end = draw(st.sampled_from([b"", b"", b"\n", b"-- \n2.39.5\n\n", b"trailer \xe9\r\n"]))
        files[name] = head + draw(st.sampled_from(DIFFS)) + end
    lines += draw(st.lists(st.sampled_from(COMMENTS), max_size=2))
    files["series"] = "".join(f"{line}\n" for line in lines).encode()
    return files


def _write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _read(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@examples(150)
@given(files=quilt_folders())
def test_export_then_import_gives_the_same_bytes(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "patches", files)
        series = load(folder / "patches")
        out.put(folder / "out", exporting.quilt(series, series))
        assert _read(folder / "out") == files
        _write(folder / "fresh", {"series": b""})
        delivery = importing.read(folder / "out", "out")
        imported = importing.prepare(delivery, load(folder / "fresh"), None, usual=1)
        transaction.replace_all(imported.placement.changes, folder / "journal")
        assert _read(folder / "fresh") == files
        assert load(folder / "fresh").entries[0].strip == series.entries[0].strip


@examples(60)
@given(files=quilt_folders(), usual=st.integers(0, 2), there=st.sampled_from([0, 2]))
def test_under_another_strip_level_the_lines_say_the_same(files: dict[str, bytes], usual: int, there: int) -> None:
    """From a project whose patches are -pN by default, through quilt, into one with another default."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder / "patches", files)
        series = load(folder / "patches", usual)
        out.put(folder / "out", exporting.quilt(series, series))
        _write(folder / "fresh", {"series": b"# begun\n"})
        delivery = importing.read(folder / "out", "out")
        imported = importing.prepare(delivery, load(folder / "fresh", there), None, usual=there)
        transaction.replace_all(imported.placement.changes, folder / "journal")
        again = load(folder / "fresh", there)
        rows = [(e.name, e.raw, e.strip, e.reverse) for e in series.entries]
        assert [(e.name, e.raw, e.strip, e.reverse) for e in again.entries] == rows


@examples(60)
@given(data=st.data())
def test_mails_of_git_come_back_as_git_wrote_them(data: st.DataObject) -> None:
    """Splitting what was joined, whatever the messages say."""
    heads = data.draw(st.lists(st.sampled_from(HEADS), min_size=1, max_size=5))
    mails = [mail(h.raw, DIFFS[0] + b"-- \n2.39.5\n", f"{i}.patch") for i, h in enumerate(heads)]
    delivery = importing.read_bytes(exporting.joined(mails), "all.mbox", "all.mbox")
    assert len(delivery.patches) == len(mails)
    for incoming, head in zip(delivery.patches, heads, strict=True):
        raw, _ = repaired(incoming.raw)
        assert raw.endswith(DIFFS[0] + b"-- \n2.39.5\n")
        assert raw in mails or b"quoted-printable decoded" in " ".join(incoming.notes).encode()
        if head.body is not None:
            body = head.body or ""
            assert body in raw.decode("utf-8", "surrogateescape") or b"\xe9" in raw
