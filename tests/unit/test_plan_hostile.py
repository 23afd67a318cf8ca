"""Patch files, records and trees that somebody made to do harm, or that came to it by accident."""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import Files, Git

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.model import Plan, TreeId
from opencoti_patches.plan.chain import keys
from opencoti_patches.plan.strict import check
from opencoti_patches.report.progress import Lines
from opencoti_patches.series import importing, lint, order
from opencoti_patches.series.names import names_of
from opencoti_patches.series.order import entry_of, load

MAKES_Z = b"diff --git a/z b/z\nnew file mode 100644\n--- /dev/null\n+++ b/z\n@@ -0,0 +1 @@\n+z\n"
CRASHES = b"diff --git a/a b/a\ndiff --git a/b b/b\nnew file mode 100644\n"


class Bench:
    """A store whose objects are the judge's, and a patches folder."""

    def __init__(self, root: Path) -> None:
        self.git = Git(root / "judge.git")
        self.store = Store(root / "store").open()
        (self.store.repo.path / "objects" / "info" / "alternates").write_text(f"{self.git.path / 'objects'}\n")
        self.store.listings.mkdir()
        self.patches = root / "patches"
        self.patches.mkdir()

    def base(self, files: Files) -> TreeId:
        """Make a base of the store."""
        tree = self.git.tree(files)
        (self.store.listings / tree).write_bytes(self.git("ls-tree", "-r", "-z", tree))
        return TreeId(tree)

    def check(self, base: TreeId, patches: Mapping[str, bytes], *, fresh: bool = False) -> Plan:
        """Write the patches and check them."""
        for name, raw in patches.items():
            (self.patches / name).write_bytes(raw)
        return check(load(self.patches), base, self.store, fresh=fresh)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty bench."""
    return Bench(tmp_path)


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("kind", ["fifo", "device", "socket"])
def test_only_a_regular_file_is_a_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, listed: bool
) -> None:
    path = tmp_path / "0001-x.patch"
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as sock:
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        else:
            sock.bind(path.name)
        if listed:
            (tmp_path / "series").write_text(f"{path.name}\n")
            assert [f.rule for f in lint.read(tmp_path, 1, Path()).troubles] == ["missing-file"]
        with pytest.raises(UsageError, match="regular file") as e:
            load(tmp_path)
        assert e.value.code == "not-a-file"
        with pytest.raises(UsageError, match="regular file"):
            importing.read(path, path.name)


def test_a_patch_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_LARGEST", len(MAKES_Z))
    (tmp_path / "1-x.patch").write_bytes(MAKES_Z)
    assert load(tmp_path).entries[0].raw == MAKES_Z
    (tmp_path / "1-x.patch").write_bytes(MAKES_Z + b"\n")
    with pytest.raises(UsageError) as e:
        load(tmp_path)
    assert e.value.code == "too-large"


def test_a_header_line_of_many_words_costs_nothing() -> None:
    assert names_of(b"a " * 40000, 1) == (b"", b"", False)
    long = b"x" * 4000
    assert names_of(b"a/" + long + b" b/" + long, 1)[2]


@pytest.mark.parametrize("level", ["1001", "9" * 20, "1" * 5000, "0" * 4999 + "1"])
def test_a_strip_level_that_none_is(tmp_path: Path, level: str) -> None:
    (tmp_path / "x.patch").write_bytes(MAKES_Z)
    (tmp_path / "series").write_text(f"x.patch -p{level}\n")
    with pytest.raises(UsageError) as e:
        load(tmp_path)
    assert e.value.code == "bad-series"
    assert [f.rule for f in lint.read(tmp_path, 1, Path()).troubles] == ["bad-series"]
    for read in (lambda: load(tmp_path, 10**30), lambda: lint.read(tmp_path, 10**30, Path())):
        with pytest.raises(UsageError):
            read()


@pytest.mark.parametrize("name", ["a\nb.patch", "a\x1b[2Jb.patch", "a\x9bb.patch"])
def test_a_name_with_control_characters(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(MAKES_Z)
    with pytest.raises(UsageError) as e:
        load(tmp_path)
    assert e.value.code == "bad-name"
    assert e.value.message.isprintable()


def test_a_patch_on_which_git_dies_is_one_failed_patch(bench: Bench) -> None:
    base = bench.base({b"a": ("100644", b"a\n")})
    after = MAKES_Z.replace(b"/z", b"/y")
    plan = bench.check(base, {"1-z.patch": MAKES_Z, "2-dies.patch": CRASHES, "3-y.patch": after})
    assert [v.status for v in plan.verdicts] == ["clean", "failed", "clean"]
    assert plan.verdicts[1].cause == "corrupt"


def test_a_symlink_that_no_disk_can_hold_is_explained(bench: Bench) -> None:
    base = bench.base({b"link": ("120000", b"to\0where"), b"z": ("100644", b"other\n")})
    patch = b"diff --git a/link b/link\n--- a/link\n+++ b/link\n@@ -1 +1 @@\n-elsewhere\n+there\n"
    patch += b"diff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-one\n+two\n"
    (verdict,) = bench.check(base, {"1-x.patch": patch}).verdicts
    assert verdict.status == "failed"
    assert {p.file for p in verdict.problems} >= {"z"}


def test_keys_tell_apart_what_differs(tmp_path: Path) -> None:
    base = TreeId("1" * 40)
    reversed_ = entry_of(tmp_path, "NAME", b"", reverse=True)
    named_so = entry_of(tmp_path, "-R NAME", b"")
    assert keys(base, [reversed_], tmp_path) != keys(base, [named_so], tmp_path)
    before = keys(base, [reversed_], tmp_path)
    (tmp_path / "opencoti-objects").write_text("another repository")
    assert not set(before) & set(keys(base, [reversed_], tmp_path))


@pytest.mark.parametrize("record", [{"count": 2}, {"count": 2, "from": "0"}, {"count": 2, "from": 0, "verdicts": [3]}])
def test_a_damaged_record_counts_as_none(bench: Bench, record: object) -> None:
    base = bench.base({})
    patches = {"1-z.patch": MAKES_Z, "2-y.patch": MAKES_Z.replace(b"/z", b"/y")}
    first = bench.check(base, patches)
    (saved,) = bench.store.verdicts.rglob("*.json")
    saved.write_text(json.dumps(record))
    assert bench.check(base, patches) == first


def test_a_file_put_in_place_of_one_of_the_same_time_and_size_is_another(tmp_path: Path) -> None:
    path = tmp_path / "1-z.patch"
    path.write_bytes(MAKES_Z)
    (entry,) = load(tmp_path).entries
    other = tmp_path / "other"
    other.write_bytes(MAKES_Z.replace(b"+z", b"+y"))
    os.utime(other, ns=(path.stat().st_mtime_ns, path.stat().st_mtime_ns))
    other.replace(path)
    (again,) = load(tmp_path).entries
    assert again.stamp[:2] == entry.stamp[:2]
    assert again.stamp != entry.stamp


def _binary(git: Git, old: bytes, new: bytes, payload: bytes) -> bytes:
    """A binary patch from old to new by its index line, and to ``payload`` by its contents."""

    def literal(content: bytes) -> bytes:
        packed = zlib.compress(content)
        rows = [packed[i : i + 52] for i in range(0, len(packed), 52)]
        sizes = [chr(len(r) + (64 if len(r) <= 26 else 70)).encode() for r in rows]
        body = b"".join(n + base64.b85encode(r, pad=True) + b"\n" for n, r in zip(sizes, rows, strict=True))
        return b"literal %d\n%s\n" % (len(content), body)

    ids = tuple(git.put("blob", x).encode() for x in (old, new))
    return b"diff --git a/b b/b\nindex %s..%s 100644\nGIT binary patch\n" % ids + literal(payload) + literal(old)


def test_a_binary_patch_is_judged_by_its_payload(bench: Bench) -> None:
    old, new, other = b"\0old", b"\0new", b"\0another"
    base = bench.base({b"b": ("100644", old)})
    good, bad = (_binary(bench.git, old, new, payload) for payload in (new, other))
    after = {"2-z.patch": MAKES_Z}
    assert [v.status for v in bench.check(base, {"1-b.patch": good, **after}).verdicts] == ["clean", "clean"]
    assert bench.store.repo.has(bench.git.put("blob", new))
    plan = bench.check(base, {"1-b.patch": bad, **after}, fresh=True)
    assert [v.status for v in plan.verdicts] == ["failed", "clean"]
    assert plan.verdicts[0].cause == "binary"
    assert plan.verdicts[1].without == ("1-b.patch",)


def test_progress_without_anyone_to_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    lines = Lines()
    monkeypatch.setattr(lines, "_begun", -100.0)
    lines.update("checking patches", 1, 2)
    lines.__del__()
