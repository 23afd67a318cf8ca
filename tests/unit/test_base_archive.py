"""Archives: what they hold comes in as it is, what could leave the tree does not come in at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from opencoti_patches.base import archive
from opencoti_patches.base.bootstrap import source_sha256, source_tree
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source
from opencoti_patches.core.errors import CouldNot, OpencotiError, UsageError
from opencoti_patches.core.progress import Silent

Item = tuple[str, bytes | str, int]
"""(name, contents or "kind:target", mode)."""

KINDS = {
    "sym": tarfile.SYMTYPE,
    "hard": tarfile.LNKTYPE,
    "fifo": tarfile.FIFOTYPE,
    "char": tarfile.CHRTYPE,
    "dir": tarfile.DIRTYPE,
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def tar(path: Path, *items: Item, compression: str = "gz") -> Path:
    with tarfile.open(path, f"w:{compression}", format=tarfile.PAX_FORMAT) as t:  # type: ignore[call-overload]
        for name, what, mode in items:
            info = tarfile.TarInfo(name)
            info.mode = mode
            if isinstance(what, bytes):
                info.size = len(what)
                t.addfile(info, io.BytesIO(what))
            else:
                kind, _, info.linkname = what.partition(":")
                info.type = KINDS[kind]
                t.addfile(info)
    return path


def f(name: str, what: bytes | str = b"x\n", mode: int = 0o644) -> Item:
    return name, what, mode


def pinned(path: Path, subdir: str = "") -> Source:
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return Source(kind="archive", path=str(path), sha256=sha256, subdir=subdir)


def listed(store: Store, path: Path, subdir: str = "") -> dict[str, tuple[str, bytes]]:
    """{path: (mode, contents)} of the tree that an archive becomes."""
    tree = source_tree(pinned(path, subdir), store, progress=Silent())
    rows = [row.split(b"\t") for row in store.repo.list_tree(tree).split(b"\0")[:-1]]
    heads = [(name.decode("utf-8", "surrogateescape"), head.decode().split(" ")) for head, name in rows]
    blobs = store.repo.blobs(head[2] for _, head in heads)
    return {name: (head[0], blobs[head[2]]) for name, head in heads}


@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_tars(tmp_path: Path, store: Store, compression: str) -> None:
    big = os.urandom(1_000_000)
    made = tar(
        tmp_path / "t",
        f("p-1/a", b"a\r\n"),
        f("p-1/d/run", b"#!", 0o755),
        f("p-1/d/others", b"", 0o645),
        f("p-1/big", big),
        f("p-1/d/link", "sym:../a"),
        f("p-1/void", "dir:"),
        f("p-1/" + "long/" * 60 + "näme", b"n"),
        compression=compression,
    )
    assert listed(store, made) == {
        "a": ("100644", b"a\r\n"),
        "big": ("100644", big),
        "d/run": ("100755", b"#!"),
        "d/others": ("100644", b""),
        "d/link": ("120000", b"../a"),
        "long/" * 60 + "näme": ("100644", b"n"),
    }


def test_zip(tmp_path: Path, store: Store) -> None:
    with zipfile.ZipFile(tmp_path / "z", "w", zipfile.ZIP_DEFLATED) as z:
        for name, mode, data in (
            ("p/a", stat.S_IFREG | 0o644, b"a" * 300_000),
            ("p/run", stat.S_IFREG | 0o755, b"#!"),
            ("p/link", stat.S_IFLNK | 0o777, "d/ä".encode()),
            ("p/d/ä", 0, b"x"),
            ("p/d/", stat.S_IFDIR | 0o755, b""),
        ):
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr, info.compress_type = 3, mode << 16, zipfile.ZIP_DEFLATED
            z.writestr(info, data)
    assert listed(store, tmp_path / "z") == {
        "a": ("100644", b"a" * 300_000),
        "run": ("100755", b"#!"),
        "link": ("120000", "d/ä".encode()),
        "d/ä": ("100644", b"x"),
    }


def test_zip_names_without_the_utf8_flag_are_plain_bytes(tmp_path: Path, store: Store) -> None:
    with zipfile.ZipFile(tmp_path / "z", "w") as z:
        z.writestr("a-XX", b"x")
    raw = (tmp_path / "z").read_bytes().replace(b"a-XX", b"a-\xc3\xa4")
    (tmp_path / "z").write_bytes(raw)
    assert list(listed(store, tmp_path / "z")) == ["a-ä"]


def test_latin1_names_keep_their_bytes(tmp_path: Path, store: Store) -> None:
    with tarfile.open(tmp_path / "t", "w", format=tarfile.GNU_FORMAT, encoding="latin-1") as t:
        t.addfile(tarfile.TarInfo("é"))
    assert list(listed(store, tmp_path / "t")) == ["\udce9"]


def test_a_top_folder_goes_only_if_all_share_it(tmp_path: Path, store: Store) -> None:
    assert list(listed(store, tar(tmp_path / "1", f("./p/a"), f("p", "dir:"), f("p/b")))) == ["a", "b"]
    assert list(listed(store, tar(tmp_path / "2", f("p/a"), f("q/b")))) == ["p/a", "q/b"]
    assert list(listed(store, tar(tmp_path / "3", f("p/a"), f("b")))) == ["b", "p/a"]
    assert list(listed(store, tar(tmp_path / "4", f("a")))) == ["a"]


def test_subdir(tmp_path: Path, store: Store) -> None:
    made = tar(tmp_path / "t", f("p/v/l/a"), f("p/v/lx"), f("p/b"), f("p/c", "sym:/etc"), f("p/fifo", "fifo:"))
    assert list(listed(store, made, "v/l")) == ["a"]  # what is outside is no concern
    for wrong in ("none", "v/lx", "v/l/a/b"):
        with pytest.raises(UsageError) as e:
            listed(store, made, wrong)
        assert e.value.code == "no-subdir"
    with pytest.raises(UsageError, match="no folder none") as e:
        listed(store, made, "none")
    assert e.value.hint == "at its top: b, c, fifo, v"


def test_no_git_ever(tmp_path: Path, store: Store) -> None:
    made = tar(
        tmp_path / "t",
        f("p/a"),
        f("p/.git/config"),
        f("p/.gIt", b"gitdir: x"),
        f("p/d/.GIT/hooks/x"),
        f("p/e/.git", "sym:../../.."),
        f("p/.gitignore"),
        f("p/.github/x"),
    )
    assert sorted(listed(store, made)) == [".github/x", ".gitignore", "a"]


@pytest.mark.parametrize(
    "name", ["git~1/config", ".git./x", ".git /x", ".git::$INDEX_ALLOCATION/x", ".g\u200cit/x", "GIT~1"]
)
def test_git_in_disguise(tmp_path: Path, store: Store, name: str) -> None:
    refused(tmp_path, store, "disguise", f("a"), f(name))


def refused(tmp_path: Path, store: Store, why: str, *items: Item) -> None:
    with pytest.raises(CouldNot) as e:
        listed(store, tar(tmp_path / "bad", *items))
    assert e.value.code == "unsafe-archive"
    assert why in e.value.message and "\n" not in e.value.message
    assert not any(store.bases.glob("*"))


@pytest.mark.parametrize("name", ["../a", "p/../../a", "/etc/a", "p/..", "//a"])
def test_names_that_leave(tmp_path: Path, store: Store, name: str) -> None:
    refused(tmp_path, store, "leaves the tree", f("p/ok"), f(name))


@pytest.mark.parametrize(
    "links",
    [
        [("l", "/etc/passwd")],
        [("l", "..")],
        [("d/l", "../../x")],
        [("l", "d/../../x")],
        [("l", "./d/./../..")],
        [("d/up", ".."), ("l", "d/up/../x")],  # through another link
        [("d/e/up", "../.."), ("d/l", "e/up/../x")],
        [("a", "b/.."), ("b", "d"), ("l", "a/../x")],
        [("l", "m"), ("m", "d/../..")],
    ],
)
def test_symlinks_that_leave(tmp_path: Path, store: Store, links: list[tuple[str, str]]) -> None:
    refused(tmp_path, store, "leaves the tree", f("d/f"), f("g"), *(f(name, f"sym:{to}") for name, to in links))


@pytest.mark.parametrize(
    "links",
    [
        [("d/l", "../g")],
        [("l", "none")],
        [("l", "l")],
        [("l", "m"), ("m", "l")],
        [("d/e/l", "../../d/../g")],
        [("d/self", "."), ("l", "d/self/self/../g")],
        [("d/l", "..")],
        [("l", "..g/...")],
    ],
)
def test_symlinks_that_stay(tmp_path: Path, store: Store, links: list[tuple[str, str]]) -> None:
    made = tar(tmp_path / "t", f("d/f"), f("g"), *(f(name, f"sym:{to}") for name, to in links))
    tree = listed(store, made)
    assert {name: tree[name] for name, _ in links} == {name: ("120000", to.encode()) for name, to in links}


def test_a_symlink_is_judged_in_the_tree_that_is_taken(tmp_path: Path, store: Store) -> None:
    made = tar(tmp_path / "t", f("p/d/l", "sym:../x"), f("p/x"), f("p/y"))
    assert "d/l" in listed(store, made)
    with pytest.raises(CouldNot, match="leaves the tree"):
        listed(store, made, "d")


def test_hard_links(tmp_path: Path, store: Store) -> None:
    made = tar(
        tmp_path / "t",
        f("p/out/a", b"A", 0o755),
        f("p/in/b", b"B"),
        f("p/in/s", "sym:b"),
        f("p/in/ha", "hard:p/out/a"),
        f("p/in/ha2", "hard:./p/in/ha"),
        f("p/in/hb", "hard:p/in/b"),
        f("p/in/hs", "hard:p/in/s"),
    )
    assert listed(store, made, "in") == {
        "b": ("100644", b"B"),
        "ha": ("100755", b"A"),
        "ha2": ("100755", b"A"),
        "hb": ("100644", b"B"),
        "s": ("120000", b"b"),
        "hs": ("120000", b"b"),
    }


@pytest.mark.parametrize("to", ["none", "../x", "/etc/passwd", "h", "d"])
def test_hard_links_that_are_refused(tmp_path: Path, store: Store, to: str) -> None:
    refused(tmp_path, store, "", f("d", "dir:"), f("d/f"), f("h", f"hard:{to}"))


@pytest.mark.parametrize("kind", ["fifo:", "char:"])
def test_devices(tmp_path: Path, store: Store, kind: str) -> None:
    refused(tmp_path, store, "device", f("a"), f("b", kind))


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([f("a"), f("./a", b"y")], "twice"),
        ([f("a"), f("a", "sym:b")], "twice"),
        ([f("d", "sym:e"), f("d/x"), f("e/y")], "both a folder and a symlink"),
        ([f("d"), f("d/x")], "both a folder and a file"),
        ([f("d/x"), f("d")], "both a folder and a file"),
        ([f("d", "dir:"), f("d"), f("e")], "both a folder and a file"),
        ([f("a"), f("b", "sym:")], "no sane target"),
    ],
)
def test_paths_that_clash(tmp_path: Path, store: Store, items: list[Item], why: str) -> None:
    refused(tmp_path, store, why, *items)


def test_sizes_are_bounded(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBER", 100)
    refused(tmp_path, store, "too large at a", f("a", b"x" * 101))
    monkeypatch.setattr(archive, "MAX_MEMBER", 1000)
    monkeypatch.setattr(archive, "MAX_TOTAL", 150)
    refused(tmp_path, store, "too large at b", f("a", b"x" * 100), f("b", b"x" * 100))
    monkeypatch.setattr(archive, "MAX_TOTAL", 1000)
    monkeypatch.setattr(archive, "MAX_MEMBERS", 2)
    refused(tmp_path, store, "too large at c", f("a"), f("b"), f("c"))


def _cut(path: Path, compression: str) -> None:
    whole = tar(path, f("p/a"), f("p/b", os.urandom(200_000)), compression=compression).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def _flip(path: Path, compression: str) -> None:
    whole = bytearray(tar(path, f("p/a"), f("p/b", os.urandom(200_000)), compression=compression).read_bytes())
    whole[len(whole) // 2] ^= 0x55
    path.write_bytes(whole)


# A flipped bit in a gzip is for the sha256 to find: its own sum stands behind the end of the tar.
@pytest.mark.parametrize(
    ("harm", "compression"), [(_cut, "gz"), (_cut, "bz2"), (_cut, "xz"), (_flip, "bz2"), (_flip, "xz")]
)
def test_damage(tmp_path: Path, store: Store, harm: object, compression: str) -> None:
    assert callable(harm)
    harm(tmp_path / "t", compression)
    with pytest.raises(CouldNot) as e:
        listed(store, tmp_path / "t")
    assert e.value.code == "bad-archive" and "\n" not in e.value.message


def test_a_plain_tar_cut_short(tmp_path: Path, store: Store) -> None:
    _cut(tmp_path / "t", "")
    with pytest.raises(CouldNot) as e:
        listed(store, tmp_path / "t")
    assert e.value.code == "bad-archive"


@pytest.mark.parametrize("data", [b"", b"hello\n" * 200, gzip.compress(b"hello", mtime=0)])
def test_what_is_no_archive(tmp_path: Path, store: Store, data: bytes) -> None:
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(OpencotiError) as e:
        listed(store, tmp_path / "t")
    assert e.value.code in ("bad-archive", "no-subdir") and "\n" not in e.value.message


def test_damage_and_locks_in_zips(tmp_path: Path, store: Store) -> None:
    with zipfile.ZipFile(tmp_path / "z", "w") as z:
        z.writestr("p/a", b"contents")
        z.writestr("p/b", b"contents")
    raw = (tmp_path / "z").read_bytes()
    (tmp_path / "z").write_bytes(raw.replace(b"contents", b"CONTENTS", 1))
    with pytest.raises(CouldNot, match="CRC") as e:
        listed(store, tmp_path / "z")
    assert e.value.code == "bad-archive"
    at = raw.index(b"PK\x01\x02") + 8
    (tmp_path / "z").write_bytes(raw[:at] + b"\x01\x00" + raw[at + 2 :])
    with pytest.raises(CouldNot, match="encrypted"):
        listed(store, tmp_path / "z")


def test_a_missing_sum_is_computed_and_said(tmp_path: Path, store: Store) -> None:
    made = tar(tmp_path / "t", f("p/a"))
    sha256 = pinned(made).sha256
    with pytest.raises(UsageError) as e:
        source_tree(Source(kind="archive", path=str(made)), store, progress=Silent())
    assert (e.value.code, int(e.value.exit), e.value.hint) == ("missing-sha256", 2, f'sha256 = "{sha256}"')
    assert source_sha256(Source(kind="archive", path=str(made)), store, progress=Silent()) == sha256


def test_a_wrong_sum(tmp_path: Path, store: Store) -> None:
    made = tar(tmp_path / "t", f("p/a"))
    with pytest.raises(CouldNot) as e:
        source_tree(Source(kind="archive", path=str(made), sha256="0" * 64), store, progress=Silent())
    assert e.value.code == "wrong-sha256" and "0" * 64 in e.value.message and pinned(made).sha256 in e.value.message


def test_a_url_is_kept_by_its_sum(tmp_path: Path, store: Store) -> None:
    made = tar(tmp_path / "t.tar.gz", f("p/a"))
    with pytest.raises(UsageError):
        source_tree(Source(kind="archive", url=made.as_uri()), store, progress=Silent())
    sha256 = pinned(made).sha256
    made.unlink()
    assert sorted(p.name for p in store.downloads.iterdir()) == [sha256, f"{sha256}.from.json"]
    assert source_tree(Source(kind="archive", url=made.as_uri(), sha256=sha256), store, progress=Silent())
    assert source_tree(Source(kind="archive", url=made.as_uri(), sha256=sha256, subdir=""), store, progress=Silent())


def test_not_there(tmp_path: Path, store: Store) -> None:
    with pytest.raises(UsageError) as e:
        source_tree(Source(kind="archive", path=str(tmp_path / "none"), sha256="0" * 64), store, progress=Silent())
    assert e.value.code == "no-archive"


def test_a_kept_download_counts_for_its_own_url_alone(tmp_path: Path, store: Store) -> None:
    one, two = tar(tmp_path / "1.tar.gz", f("p/a")), tar(tmp_path / "2.tar.gz", f("p/b"))
    sha256 = pinned(one).sha256
    source_tree(Source(kind="archive", url=one.as_uri(), sha256=sha256), store, progress=Silent())
    with pytest.raises(CouldNot) as e:
        source_tree(Source(kind="archive", url=two.as_uri(), sha256=sha256), store, progress=Silent())
    assert e.value.code == "wrong-sha256" and pinned(two).sha256 in e.value.message
    one.unlink()
    again = Source(kind="archive", url=one.as_uri(), sha256=sha256, subdir="a")
    with pytest.raises(UsageError):  # the file is used; it has no such folder
        source_tree(again, store, progress=Silent())
    (store.downloads / sha256).write_bytes(b"damaged")
    with pytest.raises(CouldNot) as e:
        source_tree(again, store, progress=Silent())
    assert e.value.code == "not-found"
