"""``lint``: every rule, what it says of which line, and what it leaves alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Finding
from opencoti_patches.series import order
from opencoti_patches.series.beside import unlisted
from opencoti_patches.series.lint import lint, read
from opencoti_patches.series.unmerged import marker_lines

HEAD = b"Say what it does\n\nAnd why it does that.\n\n"
BODY = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
GOOD = HEAD + BODY
SEED = (
    "opencoti F5 M7-A (0034) — pinned host buffer\n"
    "opencoti note (2026-05-31, bug-250): hunk regenerated via snapshot-diff. Content unchanged.\n\n\n"
    "Switches the allocation.\n\nPatch order: applies after 0033-cpy-tie-blck-align. Cosmocc-only\nedit.\n\n"
).encode()

WHERE = Path("patches")


def _lint(folder: Path, patches: Mapping[str, bytes], series: str | None = "", strip: int = 1) -> list[Finding]:
    for name, raw in patches.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
    if series is not None:
        text = series or "".join(f"{name}\n" for name in patches)
        (folder / "series").write_bytes(text.encode("utf-8", "surrogateescape"))
    return list(lint(read(folder, strip, WHERE), WHERE))


def _short(found: list[Finding]) -> list[tuple[str, int, str, str]]:
    return [(f.path.removeprefix("patches/"), f.line, f.level, f.rule) for f in found]


def _one(folder: Path, raw: bytes, options: str = "") -> list[tuple[int, str, str]]:
    found = _lint(folder, {"x.patch": raw}, f"x.patch {options}\n")
    assert all(f.path == "patches/x.patch" for f in found)
    return [(f.line, f.level, f.rule) for f in found]


# -- nothing to find ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        HEAD,
        SEED.replace(b"Patch order: applies after 0033-cpy-tie-blck-align. ", b""),
        b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\n"
        b"Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH 1/2] Say what\n it does\n\nAnd why.\n\n"
        b"Signed-off-by: A <a@b.c>\n---\n f | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\n\n",
        b"Author: A <a@b.c>\nDescription: What it does\n And why it does that.\nForwarded: no\n\n",
        b"Description: What it does\nOrigin: vendor\n\nBecause it must.\n\n",
        b"What it does\nWhy: it is slow without.\n",
        b"\n\n  \xe9tude \xff\n\nparce que\n\n",
    ],
)
def test_good_headers(tmp_path: Path, header: bytes) -> None:
    assert _one(tmp_path, header + BODY) == []


@pytest.mark.parametrize(
    "body",
    [
        BODY + b"-- \n2.39.5\n\n",
        b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
        b"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n",
        b"diff --git a/f b/f\nnew file mode 100644\nindex 0000000..e69de29\n",
        b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+f\n\\ No newline at end of file\n",
        b"diff --git a/f b/f\nindex 1234567..89abcde 100755\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
        b"--- a/f \n+++ b/f\n@@ -1,3 +1,2 @@\n a  \n-b  \n c\t\n",  # white space only in what is there already
        b"--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n a\r\n+b\r\n",  # a file with CRLF, a patch without
        b"--- a/f\n+++ b/f\n@@ -1 +1,3 @@\n a\n+Title\n+=======\n",
        b"--- a/f\n+++ b/f\n@@ -1 +1,3 @@\n a\n+<<<<<<<<\n+cat <<<<<<<x\n",
        b"--- a/...x/.gitignore\n+++ b/...x/.gitignore\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_good_bodies(tmp_path: Path, body: bytes) -> None:
    assert _one(tmp_path, HEAD + body) == []


# -- the series and its folder --------------------------------------------------------------------


def test_series_and_folder_agree_both_ways(tmp_path: Path) -> None:
    patches = {"0001-a.patch": GOOD, "0002-b.patch": GOOD, "0003-off.patch": GOOD, "sub/4-d.diff": GOOD, "README": b""}
    found = _lint(tmp_path, patches, "0001-a.patch\n# 0003-off.patch: waits for upstream\n0009-gone.patch\n")
    assert _short(found) == [
        ("0002-b.patch", 1, "error", "not-listed"),
        ("series", 3, "error", "missing-file"),
        ("sub/4-d.diff", 1, "error", "not-listed"),
    ]
    assert found[1].message == "there is no file 0009-gone.patch"


@pytest.mark.parametrize("kind", ["dangling", "outside", "fifo", "unknown option"])
def test_a_file_that_the_series_has_and_that_cannot_be_read_is_listed(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "project/patches"
    _lint(folder, {"0001-a.patch": GOOD})
    file = folder / "0002-b.patch"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "unknown option":
        file.write_bytes(GOOD)
    else:
        (tmp_path / "outside").write_bytes(GOOD)
        file.symlink_to("nowhere" if kind == "dangling" else tmp_path / "outside")
    found = _lint(folder, {}, f"0001-a.patch\n./0002-b.patch{' -x' * (kind == 'unknown option')}\n")
    rule = "bad-series" if kind == "unknown option" else "missing-file"
    assert _short(found) == [("series", 2, "error", rule)]
    with pytest.raises(UsageError) as caught:
        order.load(folder)
    assert "did you mean" not in caught.value.hint
    if kind == "dangling":
        assert found[0].message == "./0002-b.patch is a link to a file that is not there"
        assert caught.value.message == f"series line 2: {found[0].message}"


def test_a_folder_where_a_patch_should_be(tmp_path: Path) -> None:
    (tmp_path / "0001-a.patch").mkdir()
    (found,) = _lint(tmp_path, {}, "0001-a.patch\n")
    assert (found.rule, found.message) == ("missing-file", "0001-a.patch is a folder")
    with pytest.raises(UsageError, match=r"0001-a\.patch is a folder") as caught:
        order.load(tmp_path)
    assert "did you mean" not in caught.value.hint


@pytest.mark.parametrize("again", ["./0001-a.patch", ".//0001-a.patch -p1", "sub/./2-b.diff"])
def test_a_patch_under_two_spellings(tmp_path: Path, again: str) -> None:
    found = _lint(tmp_path, {"0001-a.patch": GOOD, "sub/2-b.diff": GOOD}, f"0001-a.patch\nsub/2-b.diff\n{again}\n")
    assert _short(found) == [("series", 3, "error", "twice")]


def test_another_spelling_is_the_same_patch(tmp_path: Path) -> None:
    patches = dict.fromkeys(["0001-a.patch", "1-b.patch", "2-off.patch"], GOOD)
    found = _lint(tmp_path, patches, "./0001-a.patch\n1-b.patch\n# disabled: ./2-off.patch\n")
    assert _short(found) == [("series", 2, "error", "number-twice")]
    assert unlisted(order.load(tmp_path)) == ()


def test_hidden_folders_hold_no_patches_of_the_series(tmp_path: Path) -> None:
    assert _lint(tmp_path, {"a.patch": GOOD, ".pc/a.patch": GOOD, ".git/b.patch": GOOD}, "a.patch\n") == []


def test_a_series_file_with_everything_wrong(tmp_path: Path) -> None:
    text = "a.patch\n<<<<<<< ours\nb.patch -x\n=======\n../c.patch\n>>>>>>> theirs\n/etc/passwd\na.patch -p1\nd\n"
    (tmp_path / "d").mkdir()
    found = _lint(tmp_path, {"a.patch": GOOD, "b.patch": GOOD}, text)
    assert [(f.line, f.rule) for f in found if f.path == "patches/series"] == [
        (2, "conflict-marker"),
        (3, "bad-series"),
        (4, "conflict-marker"),
        (5, "unsafe-name"),
        (6, "conflict-marker"),
        (7, "unsafe-name"),
        (8, "twice"),
        (9, "missing-file"),
    ]
    assert next(f for f in found if f.rule == "bad-series").message == "unknown option '-x' after b.patch"
    assert {f.level for f in found} == {"error"}


def test_numbers_ascend_and_are_unique(tmp_path: Path) -> None:
    names = ["0001-a.patch", "0003-c.patch", "0002-b.patch", "no-number.patch", "3-d.patch", "0004-e.patch"]
    found = _lint(tmp_path, dict.fromkeys(names, GOOD))
    assert [(f.path, f.line, f.level, f.rule, f.message) for f in found] == [
        ("patches/series", 3, "error", "number-order", "0002-b.patch stands behind 0003-c.patch"),
        ("patches/series", 5, "error", "number-twice", "3-d.patch has the number of 0003-c.patch"),
    ]


def test_each_folder_has_numbers_of_its_own(tmp_path: Path) -> None:
    assert _lint(tmp_path, dict.fromkeys(["core/0001-a.patch", "core/0002-b.patch", "extra/0001-c.patch"], GOOD)) == []


def test_a_folder_without_a_series_file(tmp_path: Path) -> None:
    found = _lint(tmp_path, {"0001-a.patch": GOOD, "1-b.patch": GOOD, "2 c.patch": GOOD}, None)
    assert _short(found) == [
        ("1-b.patch", 1, "error", "number-twice"),
        ("2 c.patch", 1, "warning", "bad-name"),
        ("series", 1, "note", "no-series"),
    ]


@pytest.mark.parametrize("name", ["a b.patch", "#a.patch", "a\tb.patch", "a\u2028b.patch"])
def test_names_that_a_series_file_cannot_hold(tmp_path: Path, name: str) -> None:
    assert [(f.level, f.rule) for f in _lint(tmp_path, {name: GOOD}, "# none\n")] == [("error", "bad-name")]


@pytest.mark.parametrize("name", ["it's.patch", 'a"b.patch', "a#b.patch", "caf\udce9.patch", "ä.patch", "a\\b.patch"])
def test_odd_names_that_it_can_hold(tmp_path: Path, name: str) -> None:
    assert _lint(tmp_path, {name: GOOD}) == []


def test_findings_can_be_printed(tmp_path: Path) -> None:
    (found,) = _lint(tmp_path, {"caf\udce9\x1b.patch": b"x\n"})
    assert found.path == "patches/caf\\xe9\\x1b.patch"


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path / "none", 1, WHERE)
    assert caught.value.code == "no-series"


# -- headers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "rule"),
    [
        (b"", "no-subject"),
        (b"\n\n", "no-subject"),
        (b"Author: A <a@b.c>\nLast-Update: 2024-01-01\n", "no-subject"),
        (b"Index: f\n", "no-subject"),
        (b"Only what\n", "no-why"),
        (b"Only what\nopencoti note (2026-05-31): renumbered.\n\n", "no-why"),
        (b"Only what\n\nSigned-off-by: A <a@b.c>\nChange-Id: I01\n\n", "no-why"),
        (b"Only what\n\nPatch order: applies after nothing\n", "no-why"),
        (b"Description: Only what\nForwarded: no\n", "no-why"),
        (b"Only what\n---\n f | 2 +-\n", "no-why"),
        (
            b"From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\n"
            b"Date: Mon, 1 Jan 2024 00:00:00 +0000\nSubject: [PATCH] Only what, in a line that\n goes on\n\n---\n f | 2 +-\n\n",
            "no-why",
        ),
    ],
)
def test_headers_that_do_not_say_enough(tmp_path: Path, header: bytes, rule: str) -> None:
    assert _one(tmp_path, header + BODY) == [(1, "error", rule)]


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ("0033-cpy-tie-blck-align", ""),
        ("0033-cpy-tie-blck-align.patch", ""),
        ("0033", ""),
        ("33", ""),
        ("0033.", ""),
        ("#0033, 0032-kv and 0031.", ""),
        ("0033-other", "but that number is 0033-cpy-tie-blck-align.patch"),
        ("0030", "applies after 0030, which the series does not have"),
        ("0035-later", "but 0035-later.patch comes later"),
        ("0034-self", "but 0034-self.patch comes later"),
        ("0033, 0029", "applies after 0029, which the series does not have"),
    ],
)
def test_a_claim_about_the_order(tmp_path: Path, claim: str, says: str) -> None:
    header = HEAD + f"Patch order: applies after {claim} Cosmocc-only edit.\n\n".encode()
    names = ["0031-a.patch", "0032-kv.patch", "0033-cpy-tie-blck-align.patch", "0034-self.patch", "0035-later.patch"]
    found = _lint(tmp_path, dict.fromkeys(names, GOOD) | {"0034-self.patch": header + BODY})
    assert [(f.path, f.line, f.level, f.rule) for f in found] == (
        [("patches/0034-self.patch", 5, "error", "order-claim")] if says else []
    )
    assert not found or found[0].message.endswith(says)


def test_a_claim_in_a_header_like_the_seed(tmp_path: Path) -> None:
    (found,) = _lint(tmp_path, {"0034-pinned.patch": SEED + BODY})
    assert (found.line, found.rule) == (7, "order-claim")
    assert _lint(tmp_path, {"0033-cpy-tie-blck-align.patch": GOOD, "0034-pinned.patch": SEED + BODY}) == []


# -- bodies ---------------------------------------------------------------------------------------

FIRST = HEAD.count(b"\n")


def _file(*lines: bytes, name: bytes = b"f") -> bytes:
    old, new = (sum(line[:1] in kinds for line in lines) for kinds in (b" -", b" +"))
    return b"--- a/%s\n+++ b/%s\n@@ -1,%d +1,%d @@\n" % (name, name, old, new) + b"".join(
        line + b"\n" for line in lines
    )


def test_white_space_at_the_end_of_added_lines(tmp_path: Path) -> None:
    body = _file(b" a", b"+b ", b"-c ", b"+d\t", b"+e \r", b"+ ", b"+ok", b"+ok\r") + _file(b" x", b"+y ", name=b"g")
    assert _one(tmp_path, HEAD + body) == [(FIRST + n, "error", "trailing-space") for n in (5, 7, 8, 9, 16)]


def test_a_reversed_patch_adds_what_it_removes(tmp_path: Path) -> None:
    assert _one(tmp_path, HEAD + _file(b" a", b"-b ", b"+c "), "-R") == [(FIRST + 5, "error", "trailing-space")]


def test_a_line_after_one_without_a_newline(tmp_path: Path) -> None:
    body = b"--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+b \n+c\n\\ No newline at end of file\n"
    assert _one(tmp_path, HEAD + body) == [(FIRST + 6, "error", "trailing-space")]


def test_conflict_markers(tmp_path: Path) -> None:
    lines = (b"+<<<<<<< ours", b"+a", b"+||||||| base", b"+=======", b"+b", b"+>>>>>>> theirs", b" c")
    assert _one(tmp_path, HEAD + _file(*lines)) == [(FIRST + n, "error", "conflict-marker") for n in (4, 6, 7, 9)]
    removing = _file(*(line.replace(b"+", b"-") for line in lines))
    assert _one(tmp_path, HEAD + removing) == []
    assert _one(tmp_path, HEAD + _file(b" c", b"+>>>>>>> theirs")) == [(FIRST + 5, "error", "conflict-marker")]


def test_a_patch_file_that_is_in_conflict_itself(tmp_path: Path) -> None:
    raw = HEAD + b"<<<<<<< ours\n" + BODY + b"=======\n" + BODY + b">>>>>>> theirs\n"
    middle = FIRST + 1 + BODY.count(b"\n") + 1
    assert [row for row in _one(tmp_path, raw) if row[2] == "conflict-marker"] == [
        (n, "error", "conflict-marker") for n in (FIRST + 1, middle, raw.count(b"\n"))
    ]


@pytest.mark.parametrize(
    ("header", "lines"),
    [
        (b"<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n", [1, 3, 5]),
        (b"What\n\n<<<<<<<\r\none\r\n|||||||\r\n=======\r\ntwo\r\n>>>>>>>\r\n", [3, 5, 6, 8]),
        (b"<<<<<<< a\n=======\n>>>>>>> b\n\n<<<<<<< a\n=======\n>>>>>>> b\n", [1, 2, 3, 5, 6, 7]),
        (b"Title\n=======\n\n>>>>>>> quoted\n", []),
        (b"Title\n=======\n<<<<<<< shown\n", []),
        (b"<<<<<<<< eight\n=======\n>>>>>>>> eight\n", []),
        (b">>>>>>> a\n=======\n<<<<<<< b\n", []),
    ],
)
def test_whole_conflicts_alone_count(header: bytes, lines: list[int]) -> None:
    assert marker_lines(header + BODY) == lines
    assert marker_lines(_file(b"+<<<<<<< a", b"+=======", b"+>>>>>>> b")) == []


@pytest.mark.parametrize(
    "path", [b"../f", b"d/../../f", b".git/config", b"d/.GIT/hooks/x", b"d/.git./x", b"GIT~1/x", b"./f"]
)
def test_paths_that_leave_the_tree(tmp_path: Path, path: bytes) -> None:
    assert _one(tmp_path, HEAD + _file(b"-a", b"+b", name=path)) == [(FIRST + 1, "error", "unsafe-path")]


def test_more_paths_that_leave_the_tree(tmp_path: Path) -> None:
    absolute = _file(b"-a", b"+b").replace(b" a/f", b" /etc/f").replace(b" b/f", b" /etc/f")
    assert _one(tmp_path, HEAD + absolute) == [(FIRST + 1, "error", "unsafe-path")]
    moved = b"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to ../g\n"
    assert ("error", "unsafe-path") in [row[1:] for row in _one(tmp_path, HEAD + moved)]


def test_a_name_without_the_folders_to_strip(tmp_path: Path) -> None:
    body = _file(b"-a", b"+b").replace(b" a/f", b" f").replace(b" b/f", b" f")
    assert _one(tmp_path, HEAD + body) == [(FIRST + 1, "error", "wrong-strip")]
    assert _one(tmp_path, HEAD + body, "-p0") == []


@pytest.mark.parametrize("mode", [b"160000", b"100664", b"040000", b"100777"])
def test_modes(tmp_path: Path, mode: bytes) -> None:
    made = b"diff --git a/f b/f\nnew file mode %s\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n" % mode
    assert _one(tmp_path, HEAD + made) == [(FIRST + 1, "error", "bad-mode")]
    turned = b"diff --git a/f b/f\nold mode 100644\nnew mode %s\n" % mode
    assert _one(tmp_path, HEAD + turned) == [(FIRST + 1, "error", "bad-mode")]


@pytest.mark.parametrize("raw", [b"", b"\n", HEAD, HEAD + b"diff --git a/f b/f\nindex 1234567..1234567 100644\n"])
def test_an_empty_patch(tmp_path: Path, raw: bytes) -> None:
    assert _one(tmp_path, raw) == [(1, "error", "empty")]


def test_a_last_newline_that_is_missing(tmp_path: Path) -> None:
    assert _one(tmp_path, GOOD[:-1]) == [(GOOD.count(b"\n"), "error", "missing-newline")]
    assert _one(tmp_path, GOOD + b"-- \n2.39") == [(GOOD.count(b"\n") + 2, "warning", "missing-newline")]


def test_a_patch_with_crlf(tmp_path: Path) -> None:
    assert _one(tmp_path, GOOD.replace(b"\n", b"\r\n")) == [(FIRST + 1, "error", "crlf")]


def test_damage(tmp_path: Path) -> None:
    assert _one(tmp_path, HEAD + BODY.replace(b"-1,2", b"-1,4")) == [(FIRST + 4, "error", "corrupt")]
    names_only = b"diff --git a/f b/f\nindex 1234567..89abcde 100644\nBinary files a/f and b/f differ\n"
    assert _one(tmp_path, HEAD + names_only) == [(FIRST + 1, "error", "binary")]


def test_findings_are_sorted(tmp_path: Path) -> None:
    found = _lint(
        tmp_path, {"b.patch": BODY, "a.patch": HEAD + _file(b" a", b"+b ", b"+c ") + b"x"}, "b.patch\na.patch\n"
    )
    assert _short(found) == [
        ("a.patch", FIRST + 5, "error", "trailing-space"),
        ("a.patch", FIRST + 6, "error", "trailing-space"),
        ("a.patch", FIRST + 7, "warning", "missing-newline"),
        ("b.patch", 1, "error", "no-subject"),
    ]
