"""``verify``: whatever is done to a release is named, file by file; also where the sums are written anew."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.shipped import VERSION
from opencoti_patches.core.progress import Silent
from opencoti_patches.release import index
from opencoti_patches.release.findings import Verified
from opencoti_patches.release.verify import verify

if TYPE_CHECKING:
    from conftest import Cli
    from e2e.driver import Driver

    from cli.shipped import Package

NAMES = [
    "BUILD_INFO.cuda.md",
    "BUILD_INFO.engine.md",
    "LICENSES.cuda.txt",
    "LICENSES.engine.txt",
    "RELEASE_NOTES.md",
    f"small-{VERSION}-abi.txt",
    f"small-{VERSION}-cuda.pin",
    f"small-{VERSION}-engine.pin",
    f"small-{VERSION}-patches.tar.xz",
    f"small-{VERSION}-source.tar.xz",
    f"small-{VERSION}-source.tar.zst",
    f"small-{VERSION}.cdx.json",
    f"small-{VERSION}.index",
    f"small-{VERSION}.provenance.unsigned.intoto.json",
    "small-cuda-",
    "small-engine-",
]
SUMS = "SHA256SUMS"


@pytest.fixture(scope="session")
def release(made: Path, driver: Driver) -> Path:
    """A release of both components, once; do not change it."""
    ran = driver(made, "package", "--out", str(made.parent / "release"))
    assert ran.code == 0, ran.err
    return made.parent / "release"


@pytest.fixture
def copy(release: Path, tmp_path: Path) -> Path:
    """A copy of it, far from its project."""
    shutil.copytree(release, tmp_path / "copy")
    return tmp_path / "copy"


def judged(folder: Path) -> Verified:
    """The verdict on a release, without its base."""
    return verify(folder, offline=True, progress=Silent())


def named(found: Verified) -> set[str]:
    """The files with which something is wrong."""
    return {w.file for w in found.wrong}


def path_of(folder: Path, name: str) -> Path:
    """A file of the release; a payload by the beginning of its name."""
    (path,) = (p for p in folder.iterdir() if p.name == name or (name.endswith("-") and p.name.startswith(name)))
    return path


def flip(path: Path, at: int | None = None) -> None:
    """Change one bit."""
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 if at is None else at] ^= 1
    path.write_bytes(raw)


def seal(folder: Path) -> None:
    """Write the sums anew, as whoever tampers would."""
    names = sorted(p.name for p in folder.iterdir() if p.name != SUMS)
    rows = (f"{hashlib.sha256((folder / n).read_bytes()).hexdigest()}  {n}\n" for n in names)
    (folder / SUMS).write_text("".join(rows))


def test_these_are_all_files(release: Path) -> None:
    assert len(list(release.iterdir())) == len(NAMES) + 1
    assert {path_of(release, n) for n in NAMES} == set(release.iterdir()) - {release / SUMS}


def test_a_release_is_right_anywhere(copy: Path, cli: Cli, made: Path, tmp_path: Path) -> None:
    found = judged(copy)
    assert (found.ok, found.signature) == (True, "unsigned")
    assert {c.name: c.state for c in found.checks if c.state != "ok"} == {"signature": "skipped", "rebuild": "skipped"}
    with_base = cli("-C", made, "verify", copy, "--json")
    assert with_base.code == 0
    assert {"check": "rebuild", "state": "ok"} in with_base.json["checks"]
    assert cli("-C", tmp_path, "verify", index.find(copy), "--offline").code == 0
    alone = cli("-C", tmp_path, "verify", copy, "--json")  # its base is a folder of somebody's
    assert (alone.code, alone.json["error"]["code"]) == (3, "no-base-here")
    assert alone.json["error"]["message"] == "the base is the folder 'base' of its makers, which only they have"


def test_no_message_shows_where_we_unpacked_it(copy: Path) -> None:
    from opencoti_patches.release import tarball

    packed = copy / f"small-{VERSION}-patches.tar.xz"
    entries = [e for e in tarball.read_small(packed, 1 << 20, copy.parent) if e.path == "opencoti.toml"]
    packed.unlink()
    members = [tarball.Member(e.path, e.mode, e.content) for e in entries]
    tarball.write([packed], members, f"small-{VERSION}-patches", 0)
    rewrite(copy)
    seal(copy)
    (wrong,) = (w.message for w in judged(copy).wrong if w.check == "patches")
    assert wrong == "there is no patches folder patches"


@pytest.mark.parametrize("name", [*NAMES, SUMS])
def test_a_flipped_bit_is_named(name: str, copy: Path) -> None:
    path = path_of(copy, name)
    flip(path)
    found = judged(copy)
    if name == SUMS:  # a sum in it is another, or a name
        assert any(SUMS in (w.file, *w.message.replace(":", "").split()) for w in found.wrong), found.wrong
    else:
        assert named(found) == {path.name}, found.wrong


def test_a_flipped_bit_is_named_also_where_the_base_cannot_be_had(cli: Cli, copy: Path) -> None:
    file = next(p for p in copy.iterdir() if p.name.startswith("small-engine-"))
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    ran = cli("-C", copy.parent, "verify", copy)  # the base is a folder of its makers
    assert ran.code == 1, ran.err
    assert file.name in ran.out


def test_each_file_that_is_missing_or_has_another_name_is_named(copy: Path) -> None:
    names = {p.name for p in copy.iterdir()} - {SUMS}
    for name in names:
        (copy / name).rename(copy / f"x-{name}")
    moved = judged(copy)
    assert {(w.file, w.message) for w in moved.wrong} == {(n, f"it is called x-{n} here") for n in names}
    for name in names:
        (copy / f"x-{name}").unlink()
    assert {(w.file, w.message) for w in judged(copy).wrong} == {(n, "it is missing") for n in names}


def test_a_sum_that_is_wrong_is_not_held_against_the_file(copy: Path) -> None:
    row = next(r for r in (copy / SUMS).read_text().splitlines() if "small-cuda-" in r)
    (copy / SUMS).write_text((copy / SUMS).read_text().replace(row[:64], "0" * 64))
    (wrong,) = judged(copy).wrong
    assert wrong.file == SUMS
    assert "small-cuda-" in wrong.message


def test_the_sums_are_missed_too(copy: Path) -> None:
    (copy / SUMS).rename(copy / f"x-{SUMS}")
    assert {SUMS, f"x-{SUMS}"} <= named(judged(copy))


@pytest.mark.parametrize("name", ["small-cuda-", f"small-{VERSION}.index", f"small-{VERSION}-source.tar.xz"])
def test_one_file_that_is_missing_is_told_once(name: str, copy: Path) -> None:
    path = path_of(copy, name)
    path.unlink()
    assert {(w.file, w.message) for w in judged(copy).wrong} == {(path.name, "it is missing")}


# what only the sums cover: whoever writes them anew can change it, unless it is signed
UNSEALED = {f"small-{VERSION}.provenance.unsigned.intoto.json"}


@pytest.mark.parametrize("name", [n for n in NAMES if n not in UNSEALED])
def test_with_the_sums_written_anew_the_file_is_named_all_the_same(name: str, copy: Path) -> None:
    path = path_of(copy, name)
    flip(path)
    seal(copy)
    found = judged(copy)
    assert any(path.name in (w.file, *w.message.split()) for w in found.wrong), found.wrong


def swap_payloads(folder: Path) -> None:
    a, b = path_of(folder, "small-cuda-"), path_of(folder, "small-engine-")
    one, other = a.read_bytes(), b.read_bytes()
    a.write_bytes(other)
    b.write_bytes(one)


def swap_pins(folder: Path) -> None:
    """Each component's pin under the other's name, and an index that goes along."""
    a, b = (folder / f"small-{VERSION}-{c}.pin" for c in ("cuda", "engine"))
    one, other = a.read_bytes(), b.read_bytes()
    a.write_bytes(other)
    b.write_bytes(one)
    rewrite(folder)


def rewrite(folder: Path) -> None:
    """Give the index the sums and sizes of its files as they are."""
    path = index.find(folder)
    lines = []
    for line in path.read_text().splitlines():
        words = line.split(" ")
        if words[0] in ("pin", "file"):
            raw = (folder / words[2]).read_bytes()
            words[3:] = [hashlib.sha256(raw).hexdigest(), str(len(raw))]
        lines.append(" ".join(words))
    path.write_text("\n".join(lines) + "\n")


def edit_pin(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / f"small-{VERSION}-cuda.pin"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        rewrite(folder)

    return change


def other_tip(folder: Path) -> None:
    path = index.find(folder)
    text = path.read_text()
    tip = text.partition("\ntip ")[2][:40]
    path.write_text(text.replace(tip, "0" * 40))


LIES: dict[str, tuple[Callable[[Path], object], str]] = {
    "payloads swapped": (swap_payloads, "small-cuda-"),
    "pins swapped": (swap_pins, f"small-{VERSION}-cuda.pin"),
    "added": (lambda d: (d / "more.txt").write_text("x"), "more.txt"),
    "a folder": (lambda d: (d / "sub").mkdir(), "sub"),
    "a link": (lambda d: (d / "link").symlink_to("/etc/hostname"), "link"),
    "another gpu": (edit_pin("requires ", "sass 90\nrequires "), "small-cuda-"),
    "another glibc": (edit_pin("glibc 2", "glibc 1"), "small-cuda-"),
    "another interface": (edit_pin("abi ggml ", "abi ggml 0000"[:13] + "0"), f"small-{VERSION}-cuda.pin"),
    "an unknown key": (edit_pin("requires ", "demands "), f"small-{VERSION}-cuda.pin"),
    "another tip": (other_tip, f"small-{VERSION}-source.tar.xz"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_named_where_all_sums_go_along(lie: str, copy: Path) -> None:
    change, name = LIES[lie]
    change(copy)
    for path in copy.iterdir():
        if path.is_symlink() or path.is_dir():
            break
    else:
        seal(copy)
    found = judged(copy)
    assert any(w.file.startswith(name) for w in found.wrong), found.wrong


def test_patches_that_do_not_make_the_tree_are_found_by_rebuilding(made: Path, copy: Path, cli: Cli) -> None:
    """Source, lock, index: all agree, and the patches lead elsewhere."""
    from opencoti_patches.release import tarball

    packed = copy / f"small-{VERSION}-patches.tar.xz"
    entries = list(tarball.read_small(packed, 1 << 20, copy.parent))
    old = next(e.content for e in entries if e.path.endswith("0002-step.patch"))
    new = old.replace(b"return 3", b"return 4")
    was, now = (hashlib.sha256(x).hexdigest() for x in (old, new))
    members = [
        tarball.Member(e.path, e.mode, new if e.content == old else e.content.replace(was.encode(), now.encode()))
        for e in entries
    ]
    packed.unlink()
    tarball.write([packed], members, f"small-{VERSION}-patches", 0)
    listed = index.find(copy)
    listed.write_text(listed.read_text().replace(was, now))
    rewrite(copy)
    seal(copy)
    wrong = cli("-C", made, "verify", copy, "--json").json["wrong"]
    (row,) = (w for w in wrong if w["check"] == "rebuild")
    assert row["file"] == packed.name
    assert "base and patches make tree" in row["message"]


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A secret and a public key."""
    if not shutil.which("minisign"):
        pytest.skip("needs minisign")
    secret, public = tmp_path / "k.sec", tmp_path / "k.pub"
    subprocess.run(["minisign", "-G", "-W", "-s", secret, "-p", public], check=True, capture_output=True)
    yield secret, public


def test_a_signature_is_made_and_verified(package: Package, cli: Cli, root: Path, keys: tuple[Path, Path]) -> None:
    secret, public = keys
    assert package("--key", secret, out="one").json["signed"]
    assert package("--key", secret, out="two").code == 0
    names = [p.name for p in sorted((root / "one").iterdir())]
    assert [(root / "one" / n).read_bytes() for n in names] == [(root / "two" / n).read_bytes() for n in names]
    assert not any(".unsigned." in n for n in names)

    def judge(*args: str | Path) -> Any:
        return cli("-C", root, "verify", "one", *args, "--offline", "--json").json

    assert judge("--key", public)["signature"] == "verified"
    assert judge()["signature"] == "not verified"
    flip(root / "one/RELEASE_NOTES.md")
    seal(root / "one")
    assert {w["file"] for w in judge("--key", public)["wrong"] if w["check"] == "signature"} == {SUMS}
    (root / f"one/{SUMS}.minisig").unlink()
    assert SUMS in {w["file"] for w in judge()["wrong"] if w["check"] == "signature"}
    assert cli("-C", root, "verify", "two", "--key", public, "--offline").code == 0
