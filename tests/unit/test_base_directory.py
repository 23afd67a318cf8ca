"""``kind = "directory"``: bytes and modes as they are, and knowing when nothing changed."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from opencoti_patches.base import directory
from opencoti_patches.base.bootstrap import base_if_ready, ensure_base, source_tree
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Config, Source
from opencoti_patches.core.errors import CouldNot, UsageError
from opencoti_patches.core.model import EMPTY_TREE, TreeId
from opencoti_patches.core.progress import Silent


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    (made / "d" / "e").mkdir(parents=True)
    (made / "a").write_bytes(b"a\r\n")
    (made / "d" / "run").write_bytes(b"#!/bin/sh\n")
    (made / "d" / "run").chmod(0o755)
    return made


def config(*sources: Source) -> Config:
    here = Path("/nonexistent")
    return Config(root=here, name="t", sources=sources, patches=here, tree=here)


def of(folder: Path, subdir: str = "", into: str = "") -> Source:
    return Source(kind="directory", path=str(folder), subdir=subdir, into=into)


def taken(store: Store, folder: Path, subdir: str = "") -> TreeId:
    return source_tree(of(folder, subdir), store, progress=Silent())


def age(folder: Path, seconds: int = 60) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - seconds,) * 2, follow_symlinks=False)


def gits(folder: Path, tmp_path: Path) -> str:
    """What git itself makes of a folder's bytes and modes."""
    env = {**os.environ, "GIT_DIR": str(tmp_path / "g"), "GIT_WORK_TREE": str(folder), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "init", "-q"], env=env, check=True)
    (tmp_path / "g" / "info").mkdir(exist_ok=True)
    (tmp_path / "g" / "info" / "attributes").write_text("* -text -ident -filter -working-tree-encoding\n")
    subprocess.run(["git", "add", "-Af", "."], env=env, check=True, cwd=folder)
    return subprocess.run(["git", "write-tree"], env=env, check=True, capture_output=True, text=True).stdout.strip()


def test_as_git_has_it(tmp_path: Path, folder: Path, store: Store) -> None:
    (folder / "link").symlink_to("../out of/the\ttree")
    (folder / "dirlink").symlink_to("d")
    (folder / "empty").touch()
    (folder / "big").write_bytes(os.urandom(3_000_000))
    (folder / 'q"uo\\te\n\tä').write_text("x")
    os.close(os.open(os.path.join(os.fsencode(folder), b"latin\xe9"), os.O_CREAT | os.O_WRONLY))
    (folder / ".gitattributes").write_text("* text eol=crlf ident\n")
    (folder / ".gitignore").write_text("*\n")
    (folder / "only-others-run").touch(0o645)
    (folder / "only-others-run").chmod(0o645)
    assert taken(store, folder) == gits(folder, tmp_path)


def test_every_git_entry_is_left_out(folder: Path, store: Store) -> None:
    tree = taken(store, folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").touch()
    (folder / "d" / ".git").write_text("gitdir: elsewhere\n")
    (folder / "d" / "e" / ".GIT").symlink_to("x")
    assert taken(store, folder) == tree


def test_the_store_inside_is_left_out(folder: Path, tmp_path: Path) -> None:
    tree = taken(Store(tmp_path / "elsewhere"), folder)
    assert taken(Store(folder / "d" / ".opencoti"), folder) == tree
    (tmp_path / "alias").symlink_to(folder)
    assert taken(Store(folder / "d" / ".opencoti"), tmp_path / "alias") == tree


def test_empty_folders_do_not_exist(tmp_path: Path, folder: Path, store: Store) -> None:
    tree = taken(store, folder)
    (folder / "none" / "at all").mkdir(parents=True)
    assert taken(store, folder) == tree
    (tmp_path / "void").mkdir()
    assert taken(store, tmp_path / "void") == EMPTY_TREE


def test_subdir(folder: Path, store: Store) -> None:
    listing = store.open().repo.list_tree(taken(store, folder, "d"))
    assert [row.split(b"\t")[1] for row in listing.split(b"\0")[:-1]] == [b"run"]
    for wrong in ("none", "a"):
        with pytest.raises(UsageError) as e:
            taken(store, folder, wrong)
        assert e.value.code == "no-folder"


def test_special_files(folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(folder / "d" / "fifo")
    with pytest.raises(CouldNot, match="fifo is neither") as e:
        taken(store, folder)
    assert e.value.code == "special-file" and e.value.hint
    (folder / "d" / "fifo").unlink()
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("sock")
        with pytest.raises(CouldNot, match="sock is neither"):
            taken(store, folder)


def test_what_cannot_be_read_is_named(folder: Path, store: Store) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    for path in (folder / "a", folder / "d"):
        path.chmod(0)
        with pytest.raises(CouldNot, match=path.name) as e:
            taken(store, folder)
        assert e.value.code == "disk"
        path.chmod(0o755)


@pytest.mark.parametrize("to", [b"", b"longer than before\n"])
def test_a_file_that_changes_while_it_is_read(
    folder: Path, store: Store, to: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = directory.scan

    def then_change(at: Path, *, without: Path) -> directory.Scan:
        found = real(at, without=without)
        (folder / "a").write_bytes(to)
        return found

    monkeypatch.setattr(directory, "scan", then_change)
    with pytest.raises(CouldNot) as e:
        taken(store, folder)
    assert e.value.code == "changed" and "/a" in e.value.message
    monkeypatch.setattr(directory, "scan", real)
    assert taken(store, folder)  # and the store took no harm


def test_unchanged_is_known_without_git(folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    age(folder)
    project = config(of(folder))
    assert base_if_ready(project, store) is None
    tree = ensure_base(project, store, progress=Silent())
    monkeypatch.setenv("PATH", "/nonexistent")
    assert base_if_ready(project, store) == tree
    assert ensure_base(project, store, progress=Silent()) == tree


def change_bytes(folder: Path) -> None:
    (folder / "a").write_bytes(b"b\r\n")


def change_mode(folder: Path) -> None:
    (folder / "a").chmod(0o755)


def add(folder: Path) -> None:
    (folder / "d" / "e" / "new").touch()


def remove(folder: Path) -> None:
    (folder / "a").unlink()


def relink(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").symlink_to("y")


def retype(folder: Path) -> None:
    (folder / "a").unlink()
    (folder / "a").symlink_to("x")


def rename(folder: Path) -> None:
    (folder / "d").rename(folder / "f")


def restore_time(folder: Path) -> None:
    st = (folder / "a").stat()
    (folder / "a").write_bytes(b"c\r\n")
    os.utime(folder / "a", ns=(st.st_atime_ns, st.st_mtime_ns))


@pytest.mark.parametrize("change", [change_bytes, change_mode, add, remove, relink, retype, rename, restore_time])
def test_a_change_is_seen(tmp_path: Path, folder: Path, store: Store, change: object) -> None:
    (folder / "link").symlink_to("x")
    age(folder)
    project = config(of(folder))
    before = ensure_base(project, store, progress=Silent())
    assert callable(change)
    change(folder)
    assert base_if_ready(project, store) is None
    after = ensure_base(project, store, progress=Silent())
    assert after != before and after == gits(folder, tmp_path)


def test_a_fresh_folder_is_not_trusted(tmp_path: Path, folder: Path, store: Store) -> None:
    """A change within the clock's grain leaves size and time as they are: git's "racy" problem."""
    age(folder)
    os.utime(folder / "a")
    project = config(of(folder))
    ensure_base(project, store, progress=Silent())
    assert base_if_ready(project, store) is None
    age(folder)
    ensure_base(project, store, progress=Silent())
    assert base_if_ready(project, store)


def test_a_moved_tree_of_old_files_is_trusted_again(folder: Path, store: Store) -> None:
    age(folder, 10**8)
    project = config(of(folder))
    tree = ensure_base(project, store, progress=Silent())
    os.utime(folder / "a", (4e9, 4e9))  # a date in the future is as good as one in the past
    ensure_base(project, store, progress=Silent())
    assert base_if_ready(project, store) == tree


def test_what_a_killed_import_left_is_swept(folder: Path, store: Store) -> None:
    pack = store.open().repo.path / "objects" / "pack"
    old, young = pack / "tmp_pack_old", pack / "tmp_pack_young"
    old.touch()
    young.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    taken(store, folder)
    assert not old.exists() and young.exists()


@pytest.mark.parametrize(("name", "why"), [("d/" * 200 + "x", "200 folders deep"), (".gitmodules", "symbolic link")])
def test_paths_that_could_never_be_written(tmp_path: Path, name: str, why: str) -> None:
    folder = tmp_path / "refused"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).symlink_to("x")
    with pytest.raises(CouldNot) as e:
        directory.scan(folder, without=tmp_path / "store")
    assert e.value.code == "unsafe-path" and why in e.value.message and "\n" not in e.value.message
