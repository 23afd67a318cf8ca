"""Paths that git or the disk could never write are refused in one line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from test_base_archive import f, listed, refused, tar

from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import CouldNot


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.mark.parametrize(
    ("name", "why"), [("d/" * 3000 + "x", "more than 200 folders deep"), (("d" * 250 + "/") * 17 + "x", "4096 bytes")]
)
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_paths_that_are_too_deep_or_long(tmp_path: Path, store: Store, name: str, why: str, kind: str) -> None:
    if kind == "tar":
        made = tar(tmp_path / "bad", f("a"), f(name))
    else:
        made = tmp_path / "bad"
        with zipfile.ZipFile(made, "w") as z:
            z.writestr("a", "a")
            z.writestr(name, "x")
    with pytest.raises(CouldNot) as e:
        listed(store, made)
    assert e.value.code == "unsafe-archive" and why in e.value.message
    assert "\n" not in e.value.message and len(e.value.message) < 200
    assert not any(store.root.glob(".opencoti-tmp-*"))


def test_a_path_that_is_just_not_too_deep(tmp_path: Path, store: Store) -> None:
    assert list(listed(store, tar(tmp_path / "t", f("d/" * 198 + "x"), f("b")))) == ["b", "d/" * 198 + "x"]


@pytest.mark.parametrize("name", [".gitmodules", ".GitModules", "d/.gitmodules", "gitmod~1", ".gitmodules. "])
def test_a_symlink_named_gitmodules(tmp_path: Path, store: Store, name: str) -> None:
    refused(tmp_path, store, "is a symbolic link, which git never writes", f("x"), f("d/y"), f(name, "sym:x"))
    assert listed(store, tar(tmp_path / "t", f("x"), f(".gitmodules", b"m")))[".gitmodules"] == ("100644", b"m")
