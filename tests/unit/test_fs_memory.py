"""Memory that is full before or while scratch files are written in it, and a disk on which git cannot write."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

QUICK = """
from pathlib import Path
from opencoti_patches.doors import fs
print(fs.quick(1000, Path("DISK")))
"""
FULL = """
from pathlib import Path
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.doors import fs
try:
    with fs.scratch(fs.quick(1000, Path("DISK"))) as folder:
        fs.scribble(folder / "all", b"x" * (80 << 20))
except CouldNot as e:
    print(e.code, e.message)
"""
READ_ONLY = """
import subprocess
from pathlib import Path
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.doors.git import Repository
repo = Repository(Path("/dev/shm/objects.git"))
repo.create()
subprocess.run(["mount", "-o", "remount,ro", "/dev/shm"], check=True)
try:
    repo.hash_blobs([b"one"])
except CouldNot as e:
    print(e.hint)
"""


def in_small_memory(options: str, program: str) -> str:
    """What a program prints where /dev/shm is a file system of its own."""
    script = f'mount -t tmpfs -o {options} opencoti-test /dev/shm && exec "$0" -c "$1"'
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    argv = ["unshare", "-rm", "sh", "-c", script, sys.executable, program]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("options", "where"), [("size=64m", "/dev/shm/opencoti-0"), ("size=8m", "DISK"), ("size=64m,nr_inodes=20", "DISK")]
)
def test_memory_without_room_for_bytes_or_files_is_not_used(options: str, where: str) -> None:
    assert in_small_memory(options, QUICK).strip() == where


def test_memory_that_runs_full_is_named() -> None:
    said = in_small_memory("size=64m", FULL)
    assert said.startswith("disk /dev/shm ran full")


def test_what_git_cannot_write_has_the_disks_hint() -> None:
    assert "OPENCOTI_STORE" in in_small_memory("size=64m", READ_ONLY)
