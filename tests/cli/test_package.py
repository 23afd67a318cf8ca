"""``package``: what it writes, twice the same; what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.shipped import DATE, ROWS, VERSION, commit, folder_of, state
from opencoti_patches.core.errors import Refused
from opencoti_patches.release import component, index

if TYPE_CHECKING:
    from conftest import Cli
    from e2e.driver import Driver

    from cli.shipped import Package


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a release."""
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def test_two_folders_and_two_days_give_the_same_bytes(
    package: Package, cli: Cli, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = package()
    assert (first.code, first.json["state"], first.json["version"]) == (0, "written", VERSION)
    other = tmp_path / "elsewhere/far"
    shutil.copytree(root, other, symlinks=True, ignore=lambda _, names: [n for n in names if n == "out"])
    for path in other.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)  # another day
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    old = os.umask(0o077)
    try:
        assert cli("-C", other, "package", "--out", tmp_path / "second").code == 0
    finally:
        os.umask(old)
    assert contents(root / "out") == contents(tmp_path / "second")
    again = package()
    assert (again.code, again.json["state"]) == (0, "unchanged")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(DATE + 5))
    assert package(out="later").json["version"] == f"{DATE + 5}000"


def test_the_tar_is_the_tip_and_the_payload_runs(package: Package, root: Path, tmp_path: Path) -> None:
    ran = package().json
    names = {(f["kind"], f["name"].rpartition(".")[2]): f["name"] for f in ran["files"]}
    with tarfile.open(root / "out" / names["source-xz", "xz"]) as tar:
        infos = tar.getmembers()
        assert [i.name for i in infos] == sorted(i.name for i in infos)
        assert {(i.uid, i.gid, i.uname, i.mtime) for i in infos} == {(0, 0, "", DATE)}
        tar.extractall(tmp_path / "x", filter="data")
    (top,) = (tmp_path / "x").iterdir()
    git = {"GIT_DIR": str(tmp_path / "g"), "GIT_WORK_TREE": str(top), "PATH": os.environ["PATH"]}
    for args in (["init", "-q"], ["add", "-A", "-f"]):
        subprocess.run(["git", *args], env=git, cwd=top, check=True, capture_output=True)
    tree = subprocess.run(["git", "write-tree"], env=git, cwd=top, check=True, capture_output=True, text=True)
    assert tree.stdout.strip() == ran["tip"]["tree"]
    subprocess.run(["make", "toy"], cwd=top, check=True, capture_output=True)  # whoever gets it can build it
    with tarfile.open(root / "out" / names["payload", "xz"]) as tar:
        tar.extractall(tmp_path / "y", filter="data")
    toy = tmp_path / "y/small-engine/toy"
    done = subprocess.run([toy], env={"LD_LIBRARY_PATH": str(toy.parent)}, check=False)
    assert done.returncode == 0  # it finds libtoy.so.0, which is a link
    assert "Do what you like." in (toy.parent / "LICENSES.engine.txt").read_text()
    assert "Permission is hereby granted" in (toy.parent / "LICENSES.engine.txt").read_text()


def test_notes_tell_what_is_new_changed_and_gone(package: Package, cli: Cli, root: Path) -> None:
    assert package().code == 0
    patches = root / "patches"
    (patches / "0001-step.patch").write_text((patches / "0001-step.patch").read_text().replace("why", "wherefore"))
    (patches / "0002-step.patch").rename(patches / "0003-other.patch")
    (patches / "series").write_text("0001-step.patch\n0003-other.patch\n")
    for args in (["lock"], ["build", "cpu"]):
        assert cli("-C", root, *args).code == 0
    state(root, "cpu")
    commit(root, DATE + 60)
    ran = package("--component", "engine", "--since", "out", out="out2")
    assert ran.code == 0, ran.out
    page = (root / "out2/RELEASE_NOTES.md").read_text()
    sections = {part.split("\n")[0]: part for part in page.split("\n## ")}
    assert "0003-other.patch" in sections["New patches"]
    assert "And wherefore it does that." in sections["Changed patches"]
    assert "0002-step.patch\n\nSay what it does" in sections["Patches that are gone"]
    assert index.load(index.find(root / "out2")).since[0] == VERSION  # type: ignore[index]
    same = package("--component", "engine", "--since", "out2", out="out3")
    assert (same.code, same.json["error"]["code"]) == (1, "version-exists")


def edit_lock(root: Path) -> None:
    (root / "patches/series.lock").unlink()


def edit_patch(root: Path) -> None:
    path = root / "patches/0002-step.patch"
    path.write_text(path.read_text().replace("return 3", "return 4"))


def other_patch_locked(root: Path) -> None:
    edit_patch(root)
    run = [sys.executable, "-m", "opencoti_patches", "-C", str(root), "lock"]
    subprocess.run(run, check=True, capture_output=True)
    commit(root)


def loose_config(root: Path) -> None:
    (root / "opencoti.toml").write_text((root / "opencoti.toml").read_text() + "# more\n")


def other_settings(root: Path) -> None:
    text = (root / "opencoti.toml").read_text().replace('targets = ["libgpu.so"]', 'targets = ["all"]')
    (root / "opencoti.toml").write_text(text)
    commit(root)


def no_licence(root: Path) -> None:
    """The base with another vendored folder, through a build of its own."""
    (root / "base/vendor/bare").mkdir(parents=True)
    (root / "base/vendor/bare/bare.h").write_text("int bare(void);\n")
    for args in (["lock"], ["build", "cpu"], ["build", "cuda"]):
        run = [sys.executable, "-m", "opencoti_patches", "-C", str(root), *args]
        subprocess.run(run, check=True, capture_output=True)
    for profile in ("cpu", "cuda"):
        state(root, profile)
    commit(root)


def damaged_manifest(root: Path) -> None:
    path = folder_of(root, "cuda") / "manifest.json"
    doc = json.loads(path.read_text())
    doc["inputs"]["tree"] = "0" * 40
    path.write_text(json.dumps(doc))


def too_large(root: Path) -> None:
    """An artefact of exactly 2 GiB, which costs no disk."""
    path = folder_of(root, "cuda") / "manifest.json"
    doc = json.loads(path.read_text())
    doc["artefacts"][0]["bytes"] = 2 << 30
    path.write_text(json.dumps(doc))
    with open(root / "tree/libgpu.so", "ab") as f:
        f.truncate(2 << 30)


def other_version(root: Path) -> None:
    run = [sys.executable, "-m", "opencoti_patches", "-C", str(root), "package", "--out", "out"]
    subprocess.run(run, check=True, capture_output=True)
    state(root, "cuda", smoke=None)


REFUSALS = {
    "no lock": (edit_lock, "not-locked", "opencoti-patches lock"),
    "not the lock's": (edit_patch, "not-locked", "opencoti-patches lock"),
    "not committed": (loose_config, "not-committed", "commit"),
    "stale": (other_patch_locked, "stale-build", "opencoti-patches build cpu"),
    "other settings": (other_settings, "stale-build", "opencoti-patches build cuda"),
    "damaged manifest": (damaged_manifest, "stale-build", "opencoti-patches build cuda"),
    "dirty": (lambda r: (r / "tree/toy").write_bytes(b"x"), "dirty-build", "opencoti-patches build cpu"),
    "gone": (lambda r: (r / "tree/toy").unlink(), "dirty-build", "build cpu --clean"),
    "not built": (lambda r: (folder_of(r, "cuda") / "manifest.json").unlink(), "no-build", "build cuda"),
    "another abi": (lambda r: state(r, "cuda", rows=(ROWS[0], "record tensor: size 24, align 8")), "abi-differs", "same series"),
    "unknown abi": (lambda r: state(r, "cuda", rows=()), "abi-differs", "opencoti-patches[abi]"),
    "no licence": (no_licence, "no-licence", "licences/bare.txt"),
    "too large": (too_large, "asset-too-large", "fewer architectures"),
    "not smoked": (lambda r: state(r, "cuda", smoke=None), "not-smoked", "--unsmoked"),
    "smoke of other bytes": (
        lambda r: state(r, "cpu", manifest="0" * 64),
        "not-smoked",
        "opencoti-patches smoke cpu",
    ),
    "smoke failed": (lambda r: state(r, "cpu", smoke=False), "not-smoked", "opencoti-patches smoke cpu"),
    "version exists": (other_version, "version-exists", "cut once"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_was_not_verified_is_refused(case: str, package: Package, root: Path) -> None:
    change, code, mend = REFUSALS[case]
    change(root)
    before = contents(root / "out") if (root / "out").exists() else None
    ran = package(*(["--unsmoked"] if case == "version exists" else []))
    assert (ran.code, ran.json["error"]["code"]) == (1, code), ran.out
    assert mend in ran.json["error"]["hint"].replace(f"-C {root} ", "")
    assert (contents(root / "out") if (root / "out").exists() else None) == before
    assert [p.name for p in root.iterdir() if p.name.startswith(".opencoti-tmp")] == []


def test_an_interface_that_differs_is_told_row_by_row(package: Package, root: Path) -> None:
    state(root, "cuda", rows=(ROWS[0], "record tensor: size 24, align 8"))
    assert "record tensor (size 16, align 8, size 24, align 8)" in package().json["error"]["message"]


def test_unsmoked_is_recorded(package: Package, root: Path) -> None:
    state(root, "cuda", smoke=False)
    ran = package("--unsmoked")
    assert (ran.code, ran.json["unsmoked"]) == (0, ["cuda"])
    assert "unsmoked cuda\n" in index.find(root / "out").read_text()
    assert "the smoke run failed; released all the same" in (root / "out/BUILD_INFO.cuda.md").read_text()
    assert "gated-with" not in (root / f"out/small-{VERSION}-cuda.pin").read_text()
    assert "engine-min" in (root / f"out/small-{VERSION}-cuda.pin").read_text()


def test_a_kill_and_a_full_disk_leave_no_release_or_a_whole_one(driver: Driver, root: Path, tmp_path: Path) -> None:
    args = ["package", "--out"]
    env = {"HOME": str(tmp_path)}
    assert driver(root, *args, "out", env=env).code == 0  # which leaves nothing new to record
    events = driver(root, *args, "out-n", env=env).events
    last = max(k for k, event in enumerate(events, 1) if event == "os.rename")
    for k in (last // 3, last - 1, last, last + 1, len(events)):
        struck = driver(root, *args, "out-k", at=k, strike=signal.SIGKILL, env=env)
        assert struck.code == -signal.SIGKILL
        if (root / "out-k").exists():
            assert contents(root / "out-k") == contents(root / "out")
            shutil.rmtree(root / "out-k")
    full = driver(root, *args, "out-f", fsize=4096, env=env)
    assert full.code == 3
    assert not (root / "out-f").exists()
    assert driver(root, *args, "out-k", env=env).code == 0
    assert contents(root / "out-k") == contents(root / "out")
    assert [p.name for p in root.iterdir() if p.name.startswith(".opencoti-tmp")] == []


def test_an_asset_may_have_less_than_2_gib() -> None:
    assert component.too_large((2 << 30) - 1) is None
    assert component.too_large(1900 << 20) is None
    assert component.too_large((1900 << 20) - 1) is False
    with pytest.raises(Refused, match="2 GiB"):
        component.guard_size("x", 2 << 30)


def test_a_missing_library_is_named_with_its_command(
    package: Package, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "elftools.elf.elffile", None)
    error = package().json["error"]
    assert (error["code"], error["hint"]) == ("no-tool", "pip install 'opencoti-patches[release]'")
    assert not (root / "out").exists()


def test_only_a_tree_with_ggml_has_an_interface_to_know(package: Package, cli: Cli, root: Path) -> None:
    both = ("--component", "engine", "--component", "cuda")
    for profile in ("cpu", "cuda"):
        state(root, profile, rows=())
    state(root, "cuda", rows=())  # of the host as it is now
    ran = package(*both)
    assert (ran.code, ran.json.get("warnings")) == (0, []), ran.out
    (root / "base/ggml/include").mkdir(parents=True)
    (root / "base/ggml/include/ggml.h").write_text("int ggml;\n")
    for args in (["lock"], ["build", "cpu"], ["build", "cuda"]):
        assert cli("-C", root, *args).code == 0
    for profile in ("cpu", "cuda"):
        state(root, profile, rows=())
    commit(root, DATE + 60)
    (warning,) = package("--component", "engine", out="one").json["warnings"]
    assert "opencoti-patches[abi]" in warning
    assert package(*both, out="two").json["error"]["code"] == "abi-differs"


def test_a_library_that_nobody_has_is_warned_of(package: Package, cli: Cli, root: Path) -> None:
    stub = ["cc", "-shared", "-x", "c", os.devnull, "-Wl,-soname,libnccl.so.2", "-o", f"{root.parent}/libnccl.so.2"]
    subprocess.run(stub, check=True, capture_output=True)
    config = (root / "opencoti.toml").read_text()
    flags = f"CC=cc -Wl,--no-as-needed -L{root.parent} -l:libnccl.so.2"
    (root / "opencoti.toml").write_text(config.replace("options = []", f'options = ["{flags}"]'))
    assert cli("-C", root, "build", "cuda").code == 0
    state(root, "cuda")
    commit(root)
    (warning,) = package("--component", "cuda").json["warnings"]
    assert warning.startswith("cuda needs libnccl.so.2, which is not in the release")
    assert "-DGGML_CUDA_NCCL=OFF" in warning
