"""``opencoti.toml``: what may stand in it, and one clear line for what may not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from opencoti_patches.core.config import Config, Source, from_table, load
from opencoti_patches.core.errors import UsageError

HEAD = "schema = 1\n"
FOLDER = '[[base.source]]\nkind = "directory"\npath = "up"\n'
SUM = "AB" * 32


def _read(text: str, root: Path = Path("/p")) -> Config:
    return from_table(tomllib.loads(text), root)


def _refused(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        _read(text)
    assert caught.value.exit == 2
    return caught.value


def test_the_least() -> None:
    config = _read(HEAD + FOLDER)
    assert config == Config(
        root=Path("/p"),
        name="p",
        sources=config.sources,
        patches=Path("/p/patches"),
        tree=Path("/p/tree"),
        strip=1,
    )
    (source,) = config.sources
    assert (source.kind, source.path, source.into, source.subdir, source.submodules) == (
        "directory",
        "/p/up",
        "",
        "",
        True,
    )


def test_everything(tmp_path: Path) -> None:
    (tmp_path / "mirror.git").mkdir()
    text = f"""
schema = 1
name = "full"
[series]
dir = "/elsewhere/patches"
strip = 0
[tree]
dir = "out/tree"
[[base.source]]
kind = "pypi-sdist"
package = "llama-cpp-python"
version = "0.3.24"
sha256 = "{SUM}"
subdir = "./vendor/llama.cpp/"
into = "llama.cpp"
upstream = "b9445"
[[base.source]]
kind = "git"
url = "mirror.git"
rev = "b9445"
submodules = false
[[base.source]]
kind = "git"
url = "https://example.org/x.git"
rev = "main"
[[base.source]]
kind = "archive"
url = "https://example.org/x.tar.gz"
[[base.source]]
kind = "archive"
path = "~/x.zip"
"""
    config = _read(text, tmp_path)
    assert (config.name, config.strip) == ("full", 0)
    assert (config.patches, config.tree) == (Path("/elsewhere/patches"), tmp_path / "out/tree")
    sdist, local, remote, by_url, by_path = config.sources
    assert (sdist.sha256, sdist.subdir, sdist.label) == (SUM.lower(), "vendor/llama.cpp", "llama-cpp-python 0.3.24")
    assert (local.url, local.submodules) == (str(tmp_path / "mirror.git"), False)
    assert (remote.url, remote.label) == ("https://example.org/x.git", "https://example.org/x.git main")
    assert (by_url.url, by_url.path) == ("https://example.org/x.tar.gz", "")
    assert by_path.path == str(Path("~/x.zip").expanduser())


@pytest.mark.parametrize(
    ("text", "names", "hint"),
    [
        ('nmae = "x"\n' + FOLDER, "unknown key 'nmae'", "did you mean 'name'?"),
        (FOLDER + 'subdri = "x"\n', "unknown key 'subdri' in base.source 1", "did you mean 'subdir'?"),
        (FOLDER + "[series]\nstripp = 1\n", "unknown key 'stripp' in series", "did you mean 'strip'?"),
        (FOLDER + '[tree]\ndri = "x"\n', "unknown key 'dri' in tree", "did you mean 'dir'?"),
        (
            FOLDER + FOLDER + 'rev = "x"\n',
            "unknown key 'rev' in base.source 2",
            "known here: into, kind, path, subdir, upstream",
        ),
        (FOLDER + "[base]\nsuorce = 1\n".replace("[base]", "[bases]"), "unknown key 'bases'", "did you mean 'base'?"),
    ],
)
def test_an_unknown_key_names_the_nearest(text: str, names: str, hint: str) -> None:
    error = _refused(HEAD + text)
    assert error.code == "unknown-key"
    assert names in error.message
    assert error.hint == hint


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("pypi", "did you mean 'pypi-sdist'?"),
        ("archiv", "did you mean 'archive'?"),
        ("svn", "one of: pypi-sdist, git,"),
    ],
)
def test_a_wrong_kind(kind: str, hint: str) -> None:
    error = _refused(f'{HEAD}[[base.source]]\nkind = "{kind}"\n')
    assert error.code == "bad-value"
    assert f"base.source 1: unknown kind '{kind}'" in error.message
    assert error.hint.startswith(hint)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (FOLDER, "bad-schema", "schema must be 1, it is None"),
        ("schema = 2\n" + FOLDER, "bad-schema", "it is 2"),
        ("schema = true\n" + FOLDER, "bad-schema", "it is True"),
        (HEAD + '[[base.source]]\nkind = "directory"\npath = "~nosuch/x"\n', "bad-value", "no such user"),
        (HEAD + '[[base.source]]\nkind = "git"\nurl = "~nosuch/x"\nrev = "r"\n', "bad-value", "no such user"),
        (HEAD, "no-base", "at least one [[base.source]]"),
        (HEAD + "[base]\nsource = []\n", "no-base", "at least one"),
        (HEAD + '[base]\nsource = "x"\n', "no-base", "at least one"),
        (HEAD + 'series = "x"\n' + FOLDER, "bad-value", "series must be a table"),
        (HEAD + "name = 3\n" + FOLDER, "bad-value", "name must be a string, it is 3"),
        (HEAD + FOLDER + "into = 1\n", "bad-value", "base.source 1: into must be a string, it is 1"),
        (HEAD + FOLDER + "[series]\nstrip = true\n", "bad-value", "series.strip must be a number"),
        (HEAD + FOLDER + "[series]\nstrip = -1\n", "bad-value", "series.strip must be a number"),
        (HEAD + FOLDER + '[series]\nstrip = "1"\n', "bad-value", "series.strip must be a number"),
        (HEAD + FOLDER + "[tree]\ndir = 1\n", "bad-value", "dir must be a string"),
        (HEAD + FOLDER + 'into = "../x"\n', "unsafe-path", "into must be a plain path"),
        (HEAD + FOLDER + 'subdir = "/x"\n', "unsafe-path", "subdir must be a plain path"),
        (HEAD + FOLDER + 'into = "a/.git/b"\n', "unsafe-path", "into must be a plain path"),
        (HEAD + '[[base.source]]\nkind = "directory"\n', "missing-key", "a directory source needs 'path'"),
        (HEAD + '[[base.source]]\nkind = "git"\nurl = "u"\n', "missing-key", "a git source needs 'rev'"),
        (HEAD + '[[base.source]]\nkind = "pypi-sdist"\npackage = "p"\n', "missing-key", "needs 'version'"),
        (HEAD + '[[base.source]]\nkind = "archive"\n', "missing-key", "either 'path' or 'url'"),
        (HEAD + '[[base.source]]\nkind = "archive"\npath = "p"\nurl = "u"\n', "missing-key", "either 'path' or 'url'"),
        (
            HEAD + '[[base.source]]\nkind = "archive"\npath = "p"\nsha256 = "abc"\n',
            "bad-value",
            "sha256 is 64 hex digits",
        ),
        (
            HEAD + '[[base.source]]\nkind = "git"\nurl = "u"\nrev = "r"\nsubmodules = "no"\n',
            "bad-value",
            "true or false",
        ),
    ],
)
def test_what_is_refused(text: str, code: str, says: str) -> None:
    error = _refused(text)
    assert error.code == code
    assert error.message.startswith("opencoti.toml: ")
    assert says in error.message


def test_the_nearest_file_above_counts(tmp_path: Path) -> None:
    (tmp_path / "opencoti.toml").write_text(HEAD + FOLDER)
    below = tmp_path / "a/b"
    below.mkdir(parents=True)
    assert load(below).root == tmp_path
    assert load(below).file == tmp_path / "opencoti.toml"


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"schema = \n", "bad-toml"), (b'name = "\xff"\n', "bad-toml"), (b"a = 1\na = 2\n", "bad-toml")],
)
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes, code: str) -> None:
    (tmp_path / "opencoti.toml").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load(tmp_path)
    assert caught.value.code == code
    assert caught.value.hint


def test_no_project(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path)
    assert caught.value.code == "no-project"
    assert "init" in caught.value.hint


def test_a_label_or_a_place_is_not_part_of_what_a_source_is() -> None:
    (source,) = _read(HEAD + FOLDER).sources
    assert source._replace(into="x", upstream="y").key() == source.key()
    assert source._replace(subdir="x").key() != source.key()


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("https://me:p@ss@host.example/a/b.git", "https://host.example/a/b.git"),
        ("https://token@host.example/a?key=1#x", "https://host.example/a"),
        ("ssh://git@host.example/a.git", "ssh://host.example/a.git"),
        ("git@host.example:a/b.git", "git@host.example:a/b.git"),
        ("https://host.example/a@b/c.git", "https://host.example/a@b/c.git"),
        ("/home/me/a b", "/home/me/a b"),
    ],
)
def test_a_label_holds_no_credentials(url: str, label: str) -> None:
    assert Source(kind="git", url=url, rev="v1").label == f"{label} v1"
