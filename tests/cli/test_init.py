"""``init``: a project that works, and nothing lost of what was there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from opencoti_patches.core.config import from_table, load
from opencoti_patches.series import order

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox


def test_a_new_project(sandbox: Sandbox) -> None:
    ran = sandbox("init")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "wrote opencoti.toml, patches/series, .gitignore\nnext: see opencoti.toml, then opencoti-patches check\n"
    )
    config = load(sandbox.root)
    assert config.name == "work"
    assert (config.patches, config.tree, config.strip) == (sandbox.root / "patches", sandbox.root / "tree", 1)
    (source,) = config.sources
    assert (source.kind, source.package, source.version) == ("pypi-sdist", "llama-cpp-python", "0.3.24")
    assert source.sha256 == "f610476c5c737366859dad2315ed7948b1580202f5d139bd0b3437718d6d7092"
    assert (source.subdir, source.into) == ("vendor/llama.cpp", "llama.cpp")
    assert order.load(config.patches).entries == ()
    assert order.load(config.patches).listed
    assert (sandbox.root / ".gitignore").read_text() == "/tree/\n/WORK/\n/.opencoti/\n"
    assert max(map(len, (sandbox.root / "opencoti.toml").read_text().splitlines())) <= 80


def test_every_commented_key_is_one_that_may_be_there(sandbox: Sandbox) -> None:
    sandbox("init")
    text = (sandbox.root / "opencoti.toml").read_text()
    live = re.sub(r"^# (?=\[\[|[a-z0-9]+ = )", "", text, flags=re.M)
    config = from_table(tomllib.loads(live), sandbox.root)
    assert [s.kind for s in config.sources] == ["pypi-sdist", "git", "archive", "directory"]
    assert (config.patches, config.tree, config.strip) == (sandbox.root / "patches", sandbox.root / "tree", 1)


def test_never_overwrites(sandbox: Sandbox) -> None:
    sandbox.write("opencoti.toml", "mine\n")
    before = sandbox.files()
    ran = sandbox("init")
    assert (ran.code, ran.out) == (2, "")
    assert "there is an opencoti.toml" in ran.err
    assert sandbox.files() == before
    asked = sandbox("--json", "init")
    assert (asked.code, asked.json["error"]["code"]) == (2, "exists")
    assert sandbox.files() == before


def test_a_link_to_nothing_is_in_the_way_too(sandbox: Sandbox) -> None:
    (sandbox.root / "opencoti.toml").symlink_to("elsewhere")
    assert sandbox("init").code == 2
    assert list(sandbox.files()) == []


def test_a_file_where_the_folder_should_be(sandbox: Sandbox) -> None:
    sandbox.write("taken", "")
    ran = sandbox("init", "taken")
    assert (ran.code, ran.out) == (2, "")
    assert "taken is not a folder" in ran.err
    assert sandbox("init", "taken/deeper").code == 3
    assert sandbox.files() == {"taken": b""}


def test_a_patches_file_is_in_the_way(sandbox: Sandbox) -> None:
    sandbox.write("patches", "")
    ran = sandbox("init")
    assert ran.code == 2
    assert "patches is not a folder" in ran.err
    assert list(sandbox.files()) == ["patches"]


def test_patches_without_a_series_file_stay_without(sandbox: Sandbox) -> None:
    for name in ("10-c.patch", "9-b.patch", "z.patch", "0001-a.diff"):
        sandbox.write(f"patches/{name}", "")
    ran = sandbox("init")
    assert ran.code == 0
    assert not (sandbox.root / "patches/series").exists()
    assert "4 patches found in patches/" in ran.out
    assert "no series file; patches are taken in order of number, then name" in ran.out
    assert [e.name for e in order.load(sandbox.root / "patches").entries] == [
        "0001-a.diff",
        "9-b.patch",
        "10-c.patch",
        "z.patch",
    ]


def test_a_series_file_is_kept(project: Project, diff: Diff) -> None:
    made = project(
        {}, {"b.patch": diff("b", "", "b\n"), "a.patch": diff("a", "", "a\n")}, series="b.patch # why\na.patch\n"
    )
    (made.root / "opencoti.toml").unlink()
    ran = made("init", "--json")
    assert ran.json["written"] == ["opencoti.toml", ".gitignore"]
    assert ran.json["kept"] == ["patches/series"]
    assert ran.json["patches"] == 2
    assert (made.root / "patches/series").read_text() == "b.patch # why\na.patch\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"build/", b"build/\n/tree/\n/WORK/\n/.opencoti/\n"),
        (b"\xff\r\n", b"\xff\r\n/tree/\n/WORK/\n/.opencoti/\n"),
        (b"tree\n", b"tree\n/WORK/\n/.opencoti/\n"),
        (b"/tree/\n.opencoti/\nWORK\n", b"/tree/\n.opencoti/\nWORK\n"),
    ],
)
def test_the_ignore_file_only_grows(sandbox: Sandbox, before: bytes, after: bytes) -> None:
    sandbox.write(".gitignore", before)
    ran = sandbox("init", "--json")
    assert (sandbox.root / ".gitignore").read_bytes() == after
    assert (".gitignore" in ran.json["written"]) == (before != after)
    assert (".gitignore" in ran.json["kept"]) == (before == after)


def test_another_folder(sandbox: Sandbox, tmp_path: Path) -> None:
    ran = sandbox("-C", sandbox.root, "init", "new/fork", cwd=tmp_path)
    assert ran.code == 0
    assert f"next: cd {sandbox.root}/new/fork,\n" in ran.out  # from where it was asked
    assert load(sandbox.root / "new/fork").name == "fork"
    assert sandbox("init", "-C", sandbox.root / "new", "other", cwd=tmp_path).code == 0
    assert load(sandbox.root / "new/other").name == "other"


def test_a_folder_with_any_name(sandbox: Sandbox) -> None:
    for name, want in (('say "hé"', 'say "hé"'), ("two\nlines", "patches")):
        assert sandbox("init", name).code == 0
        assert load(sandbox.root / name).name == want
