"""What a bump writes into the configuration."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from opencoti_patches.carry.target import Target, edited
from opencoti_patches.core.config import from_table
from opencoti_patches.core.model import EMPTY_TREE

HEAD = 'schema = 1\nname = "x"\n\n[[base.source]]\nkind = "git"\nurl = "u"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('rev = "old" # which\n', 'rev = "new" # which\nupstream = "label"\n'),
        ('rev = "old"\n\n# [series]\n# dir = "p"\n', 'rev = "new"\nupstream = "label"\n\n# [series]\n# dir = "p"\n'),
        (
            'rev = "old"\ninto = "a"\n\n[tree]\ndir = "t"\n',
            'rev = "new"\nupstream = "label"\ninto = "a"\n\n[tree]\ndir = "t"\n',
        ),
        ('upstream = "was"\nrev = "old"\n', 'upstream = "label"\nrev = "new"\n'),
        ('rev = "old"', 'rev = "new"\nupstream = "label"\n'),
    ],
)
def test_new_keys_stand_beside_what_changes_with_them(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "opencoti.toml"
    file.write_text(HEAD + before)
    config = from_table(tomllib.loads(HEAD + before), tmp_path)
    target = Target(config=config, base=EMPTY_TREE, source=0, changes={"rev": "new", "upstream": "label"})
    assert edited(file, target).decode() == HEAD + after


def test_an_empty_value_takes_the_key_out(tmp_path: Path) -> None:
    file = tmp_path / "opencoti.toml"
    file.write_text(HEAD + 'rev = "old"\nupstream = "was"\n')
    config = from_table(tomllib.loads(file.read_text()), tmp_path)
    target = Target(config=config, base=EMPTY_TREE, source=0, changes={"rev": "new", "upstream": ""})
    assert edited(file, target).decode() == HEAD + 'rev = "new"\n'
