"""A project on a folder, made from dicts, and the program run on it in a process of its own."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CONFIG = 'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "directory"\npath = "base"\n'
LONG_AGO = 1_600_000_000  # a file that changed just now is read again by the next run
HEADER = "Say what it does\n\nAnd why it does that.\n\n"


@dataclass(frozen=True)
class Ran:
    """How one run ended. ``raw`` is stdout to the byte, ``screen`` stderr as it is printed."""

    code: int
    raw: bytes
    screen: str

    @property
    def out(self) -> str:
        """What it answered."""
        return self.raw.decode()

    @property
    def err(self) -> str:
        """What it said on stderr, a message a line."""
        return self.screen.replace("\n  ", " ")

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.raw)


@dataclass(frozen=True)
class Sandbox:
    """A folder, and the program run in it."""

    root: Path

    def __call__(self, *args: str | Path, cwd: Path | None = None, **env: str) -> Ran:
        """Run ``opencoti-patches ARGS`` there. ``env`` adds to the environment."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENCOTI_", "GIT_"))}
        done = subprocess.run(
            [sys.executable, "-m", "opencoti_patches", *map(str, args)],
            cwd=cwd or self.root,
            env=kept | {"HOME": str(self.root)} | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def write(self, path: str, content: str | bytes) -> Path:
        """Write a file, its folders too."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def files(self) -> dict[str, bytes]:
        """All files but the store's, with their contents."""
        found = (p for p in sorted(self.root.rglob("*")) if p.is_file() and ".opencoti" not in p.parts)
        return {str(p.relative_to(self.root)): p.read_bytes() for p in found}


Diff = Callable[[str, str, str], str]
Project = Callable[..., Sandbox]


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """An empty folder."""
    root = tmp_path / "work"
    root.mkdir()
    return Sandbox(root)


@pytest.fixture
def diff() -> Diff:
    """Makes a patch, header and all, of one file's text before and after; "" for a file that is not there."""

    def make(path: str, old: str, new: str) -> str:
        a, b = f"a/{path}" if old else "/dev/null", f"b/{path}" if new else "/dev/null"
        mode = "" if old and new else f"{'new' if new else 'deleted'} file mode 100644\n"
        hunks = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), a, b)
        return f"{HEADER}diff --git a/{path} b/{path}\n{mode}{''.join(hunks)}"

    return make


@pytest.fixture
def project(sandbox: Sandbox) -> Project:
    """Makes a project on the folder ``base``: its files, the patches, the series (by default the patches
    in their order; None for no series file)."""

    def make(
        files: Mapping[str, str | bytes],
        patches: Mapping[str, str | bytes],
        *,
        series: str | None = "",
        config: str = CONFIG,
    ) -> Sandbox:
        sandbox.write("opencoti.toml", config)
        (sandbox.root / "base").mkdir()
        (sandbox.root / "patches").mkdir()
        for path, content in files.items():
            os.utime(sandbox.write(f"base/{path}", content), (LONG_AGO, LONG_AGO))
        for name, content in patches.items():
            sandbox.write(f"patches/{name}", content)
        if series is not None:
            sandbox.write("patches/series", series or "".join(f"{name}\n" for name in patches))
        return sandbox

    return make
