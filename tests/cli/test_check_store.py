"""``check --locked`` on a store that somebody else wrote: nothing in it counts that is not what its name says."""

from __future__ import annotations

import hashlib
import json
import subprocess
import zlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.conftest import Diff, Project, Sandbox

OLD = "".join(f"line {n}\n" for n in range(1, 31))
OTHER = OLD.replace("line 14", "line of theirs")


@pytest.fixture
def made(project: Project, diff: Diff) -> Sandbox:
    """A patch that does not apply."""
    return project({"a.c": OLD}, {"0001-x.patch": diff("a.c", OTHER, OTHER.replace("line 15", "ours"))})


def _forge(made: Sandbox) -> None:
    """Put other contents under the name of the base's blob."""
    objects = made.root / ".opencoti/objects.git"
    for pack in (objects / "objects/pack").glob("*.pack"):
        data = pack.read_bytes()
        for file in pack.parent.glob(f"{pack.stem}.*"):
            file.unlink()
        subprocess.run(["git", "--git-dir", objects, "unpack-objects", "-q"], input=data, check=True)
    oid = hashlib.sha1(b"blob %d\0" % len(OLD) + OLD.encode()).hexdigest()
    loose = objects / "objects" / oid[:2] / oid[2:]
    loose.chmod(0o644)
    loose.write_bytes(zlib.compress(b"blob %d\0" % len(OTHER) + OTHER.encode()))


def test_an_object_under_the_name_of_another(made: Sandbox) -> None:
    assert made("check").code == 1
    _forge(made)
    ran = made("check", "--locked")
    assert (ran.code, "the store is damaged: " in ran.err) == (3, True)


def test_a_listing_of_other_files(made: Sandbox) -> None:
    base = made("check", "--json").json["base"]["tree"]
    listing = made.root / ".opencoti/listings" / base
    listing.write_bytes(listing.read_bytes().replace(b"\ta.c\0", b"\tb.c\0"))
    for note in (made.root / ".opencoti/bases").glob("*"):
        known = json.loads(note.read_text())
        if "sum" in known:
            data = listing.read_bytes()
            note.write_text(json.dumps(known | {"sum": f"{len(data)} {zlib.crc32(data):08x}"}))
    ran = made("check", "--locked")
    assert (ran.code, "has other files than the tree" in " ".join(ran.err.split())) == (3, True)
