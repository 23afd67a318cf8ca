"""A git repository whose objects have another format than the store's."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_base_git import commit, git, quiet_home, store

from opencoti_patches.base import gitsource
from opencoti_patches.base.store import Store
from opencoti_patches.core.errors import CouldNot

__all__ = ["quiet_home", "store"]


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("rev", ["main", "id"])
def test_another_object_format_is_told_as_such(tmp_path: Path, store: Store, far: bool, rev: str) -> None:
    where = tmp_path / "up"
    where.mkdir()
    git(where, "init", "-q", "--object-format=sha256")
    oid = commit(where, **{"a.c": "one\n"})
    store.repo.create()
    with pytest.raises(CouldNot) as e:
        if far:
            store.remote.fetch(where.as_uri(), oid if rev == "id" else rev)
        else:
            gitsource.full_rev(str(where), oid if rev == "id" else rev, store)
    assert "SHA-256" in e.value.message and e.value.hint
