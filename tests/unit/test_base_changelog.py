"""Which commit a source distribution holds, as its own change log says, and never by a guess."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from opencoti_patches.base.changelog import Named, commit_of, read
from opencoti_patches.base.store import Store
from opencoti_patches.core.config import Source

FULL = "210a6570ceda20c5d6439172c09ada08c3754cc9"
LOG = """# Changelog

## [Unreleased]

- feat: Update llama.cpp to ggml-org/llama.cpp@0000000000

## [0.3.25]

- fix: something by @somebody in #2240
- feat: Update llama.cpp to ggml-org/llama.cpp@210a6570c by @somebody in #2242

## [0.3.24] - 2026-05-01

- feat: Update llama.cpp to ggerganov/llama.cpp@af6528e6df5d798f7f1363ec1141699be0f638e2

## [0.3.23]

- fix: nothing of that kind; see ggml-org/whisper.cpp@1234567

## [0.3.22]

- feat: Update llama.cpp to ggml-org/llama.cpp@1111111
- feat: Update llama.cpp to ggml-org/llama.cpp@2222222
"""


@pytest.mark.parametrize(
    ("version", "recorded", "found"),
    [
        ("0.3.25", "", Named("210a6570c")),
        ("0.3.25", FULL, Named(FULL)),
        ("0.3.25", "ref: refs/heads/master", Named("210a6570c")),
        (
            "0.3.25",
            "f" * 40,
            Named("", "CHANGELOG.md names 210a6570c for 0.3.25, and the archive holds ffffffffffff"),
        ),
        ("0.3.24", "", Named("af6528e6df5d798f7f1363ec1141699be0f638e2")),
        ("0.3.23", "", Named("", "CHANGELOG.md names no commit of llama.cpp for 0.3.23")),
        ("0.3.23", FULL, Named("", "CHANGELOG.md names no commit of llama.cpp for 0.3.23")),
        ("0.3.22", "", Named("", "CHANGELOG.md names 2 commits of llama.cpp for 0.3.22")),
        ("0.3.22", "2222222" + "0" * 33, Named("2222222" + "0" * 33)),
        ("0.3.2", "", Named("", "CHANGELOG.md has no section for 0.3.2")),
        ("0.3.25.post1", "", Named("", "CHANGELOG.md has no section for 0.3.25.post1")),
    ],
)
def test_only_what_the_entry_of_this_version_says(version: str, recorded: str, found: Named) -> None:
    assert read(LOG, version, "llama.cpp", recorded) == found


@pytest.mark.parametrize("name", ["llamaXcpp", "x.llama.cpp", "lama.cpp"])
def test_another_repository_is_not_meant(name: str) -> None:
    log = f"## 1.0\n- feat: Update llama.cpp to ggml-org/{name}@210a6570c\n"
    assert read(log, "1.0", "llama.cpp").commit == ""
    assert read(log.replace(name, "llama.cpp"), "v1.0".removeprefix("v"), "llama.cpp").commit == "210a6570c"


Sdist = Callable[[Mapping[str, str]], tuple[Source, Store]]


@pytest.fixture
def sdist(tmp_path: Path) -> Sdist:
    """Puts an archive into a store's downloads, as a source of version 0.3.25."""

    def make(files: Mapping[str, str]) -> tuple[Source, Store]:
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w:gz") as t:
            for name, text in files.items():
                info = tarfile.TarInfo(f"p-0.3.25/{name}")
                info.size = len(text.encode())
                t.addfile(info, io.BytesIO(text.encode()))
        sha = hashlib.sha256(raw.getvalue()).hexdigest()
        store = Store(tmp_path / "store")
        store.downloads.mkdir(parents=True)
        (store.downloads / sha).write_bytes(raw.getvalue())
        source = Source("pypi-sdist", package="p", version="0.3.25", sha256=sha, subdir="vendor/llama.cpp")
        return source, store

    return make


def test_it_is_read_from_the_archive_once(sdist: Sdist) -> None:
    source, store = sdist({"CHANGELOG.md": LOG, ".git/modules/vendor/llama.cpp/HEAD": FULL + "\n", "a.c": "x\n"})
    assert commit_of(source, store) == Named(FULL)
    (store.downloads / source.sha256).unlink()
    assert commit_of(source, store) == Named(FULL)


def test_a_log_of_another_place_is_none(sdist: Sdist) -> None:
    source, store = sdist({"vendor/llama.cpp/CHANGELOG.md": LOG, "vendor/llama.cpp/a.c": "x\n"})
    assert commit_of(source, store) == Named("", "it has no CHANGELOG.md")
    assert commit_of(source._replace(subdir=""), store).commit == ""
