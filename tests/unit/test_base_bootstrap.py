"""Several sources make one base; records answer when nothing changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from opencoti_patches.base.bootstrap import base_if_ready, ensure_base
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Config, Source
from opencoti_patches.core.errors import UsageError
from opencoti_patches.core.progress import Silent


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def source(tmp_path: Path, name: str, into: str = "", **files: str) -> Source:
    """A folder of files; ``__`` in a name is a slash."""
    root = tmp_path / name
    root.mkdir()
    for file, text in files.items():
        path = root / file.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - 60,) * 2)
    return Source(kind="directory", path=str(root), into=into)


def config(*sources: Source) -> Config:
    here = Path("/nonexistent")
    return Config(root=here, name="t", sources=sources, patches=here, tree=here)


def names(store: Store, project: Config) -> list[str]:
    tree = ensure_base(project, store, progress=Silent())
    assert base_if_ready(project, store) == tree
    listing = (store.listings / tree).read_bytes()
    assert listing == store.repo.list_tree(tree)
    return [row.split(b"\t")[1].decode() for row in listing.split(b"\0")[:-1]]


def test_into(tmp_path: Path, store: Store) -> None:
    assert names(store, config(source(tmp_path, "a", "x/y", f="1"))) == ["x/y/f"]


def test_the_same_source_elsewhere_is_not_read_again(tmp_path: Path, store: Store) -> None:
    a = source(tmp_path, "a", f="1")
    names(store, config(a))
    (tmp_path / "a" / "f").chmod(0o644)  # ctime moves
    moved = Source(kind="directory", path=a.path, into="x", upstream="label")
    assert names(store, config(moved)) == ["x/f"]


def test_sources_side_by_side(tmp_path: Path, store: Store) -> None:
    a = source(tmp_path, "a", "", f="1", d__g="2")
    b = source(tmp_path, "b", "d", h="3", e__i="4")
    c = source(tmp_path, "c", "", z="5")
    assert names(store, config(a, b, c)) == ["d/e/i", "d/g", "d/h", "f", "z"]
    assert names(store, config(c, b, a)) == ["d/e/i", "d/g", "d/h", "f", "z"]


def test_an_empty_source(tmp_path: Path, store: Store) -> None:
    a, b = source(tmp_path, "a", "x"), source(tmp_path, "b", f="1")
    assert names(store, config(a)) == []
    assert names(store, config(a, b)) == ["f"]


@pytest.mark.parametrize(
    ("into", "files", "named"),
    [
        ("", {"f": "1"}, "f"),  # one file twice
        ("d", {"g": "1"}, "d/g"),
        ("", {"d": "1"}, "d"),  # a file where the other has a folder
        ("f", {"x": "1"}, "f/x"),  # a folder where the other has a file
    ],
)
def test_overlap(tmp_path: Path, store: Store, into: str, files: dict[str, str], named: str) -> None:
    a, b = source(tmp_path, "a", f="1", d__g="2"), source(tmp_path, "b", into, **files)
    for order in ((a, b), (b, a)):
        with pytest.raises(UsageError) as e:
            ensure_base(config(*order), store, progress=Silent())
        assert e.value.code == "overlap"
        assert f"hold {named}:" in e.value.message or order[0] is b
        assert a.path in e.value.message and b.path in e.value.message


@pytest.mark.parametrize("lost", ["bases", "listings", "objects.git"])
def test_a_store_that_lost_something_is_mended(tmp_path: Path, store: Store, lost: str) -> None:
    import shutil

    project = config(source(tmp_path, "a", "x", f="1"))
    names(store, project)
    shutil.rmtree(store.root / lost)
    assert base_if_ready(project, store) is None
    store.open()
    assert base_if_ready(project, store) is None
    assert names(store, project) == ["x/f"]


def test_a_damaged_record_is_as_none(tmp_path: Path, store: Store) -> None:
    project = config(source(tmp_path, "a", f="1"))
    names(store, project)
    for record in store.bases.iterdir():
        record.write_text('{"tree": ')
    assert base_if_ready(project, store) is None
    assert names(store, project) == ["f"]


@pytest.mark.parametrize("harm", ["empty", "cut", "flipped"])
def test_a_damaged_listing_is_written_anew(tmp_path: Path, store: Store, harm: str) -> None:
    project = config(source(tmp_path, "a", f="1", g="2"))
    names(store, project)
    (listing,) = store.listings.iterdir()
    whole = listing.read_bytes()
    listing.write_bytes({"empty": b"", "cut": whole[:20], "flipped": whole.replace(b"\tf", b"\tF")}[harm])
    assert base_if_ready(project, store) is None
    assert names(store, project) == ["f", "g"]
    assert listing.read_bytes() == whole


@pytest.mark.parametrize("lost", ["objects", "HEAD", "objects/*"])
def test_a_repository_that_lost_its_objects_is_made_anew(tmp_path: Path, store: Store, lost: str) -> None:
    import shutil

    project = config(source(tmp_path, "a", "x", f="1"), source(tmp_path, "b", g="2"))
    names(store, project)
    for path in list(store.objects.glob(lost)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert base_if_ready(project, store) is None
    assert names(store, project) == ["g", "x/f"]


def test_a_recorded_tree_that_is_gone_is_made_again(tmp_path: Path, store: Store) -> None:
    project = config(source(tmp_path, "a", f="1"))
    tree = ensure_base(project, store, progress=Silent())
    for pack in (store.objects / "objects" / "pack").iterdir():
        pack.unlink()
    (store.objects / "objects" / tree[:2] / tree[2:]).unlink(missing_ok=True)
    store.repo.hash_blobs([b"of a check"])
    assert not store.repo.has(tree)
    assert names(store, project) == ["f"] and store.repo.has(tree)


def test_packs_of_killed_imports_are_swept(store: Store) -> None:
    store.open()
    packs = store.objects / "objects" / "pack"
    packs.mkdir(exist_ok=True)
    for name, age in (("tmp_pack_old", 70), ("tmp_pack_young", 5), ("pack-x.pack", 5000)):
        (packs / name).write_bytes(b"x")
        os.utime(packs / name, (time.time() - age,) * 2)
    with store.writing("bootstrap"):
        assert sorted(p.name for p in packs.iterdir()) == ["pack-x.pack", "tmp_pack_young"]


def test_a_store_in_the_home_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENCOTI_STORE", "~nosuch/x")
    with pytest.raises(UsageError, match="no such user"):
        Store.of(tmp_path)


def test_warm_is_fast(tmp_path: Path, store: Store) -> None:
    files = {f"d{i % 40}__f{i}": "x" for i in range(3000)}
    project = config(source(tmp_path, "a", **files))
    ensure_base(project, store, progress=Silent())
    best = 9.0
    for _ in range(5):
        begun = time.perf_counter()
        assert base_if_ready(project, store)
        best = min(best, time.perf_counter() - begun)
    assert best < 0.15  # 25 ms on a quiet machine; a walk that read the files would take seconds
