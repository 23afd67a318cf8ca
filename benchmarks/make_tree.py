"""Synthetic projects for timing: a tree of C-like files in a git repository and a series over it."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

LINES = 120  # of a file


def content(number: int) -> str:
    """The text of file ``number``: functions whose lines stand once in it."""
    rows = [f"// file {number}"]
    for function in range(LINES // 12):
        rows.append(f"static int f_{number}_{function}(int x) {{")
        rows += [f"    x += {number * 31 + function * 7 + i}; // step {i} of {function}" for i in range(9)]
        rows += ["    return x;", "}"]
    return "\n".join(rows) + "\n"


def name(number: int, per_folder: int = 100) -> str:
    """Where file ``number`` lies."""
    return f"src/d{number // per_folder:03d}/file{number:05d}.c"


def make(root: Path, files: int, patches: int, touched: int, seed: int = 1) -> Path:
    """A project with ``files`` files, and ``patches`` patches of ``touched`` files each that apply
    in order. Returns its folder."""
    upstream, project = root / "upstream", root / "project"
    texts: dict[int, list[str]] = {}
    for number in range(files):
        path = upstream / name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content(number))
    git(upstream, "init", "-q")
    git(upstream, "add", "-A")
    git(upstream, "commit", "-q", "-m", "base")
    git(upstream, "tag", "base")
    (project / "patches").mkdir(parents=True)
    chance = random.Random(seed)
    names = []
    for p in range(1, patches + 1):
        parts = [f"Change {touched} files, step {p}\n\nA synthetic patch for timing.\n\n"]
        for number in sorted(chance.sample(range(files), touched)):
            old = texts.setdefault(number, content(number).splitlines())
            at = chance.randrange(4, len(old) - 8)
            new = [*old[:at], f"    x ^= {p}; // added by {p}", *old[at + 1 :]]
            parts.append(diff(name(number), old, new, at))
            texts[number] = new
        names.append(f"{p:04d}-step.patch")
        (project / "patches" / names[-1]).write_text("".join(parts))
    (project / "patches" / "series").write_text("\n".join(names) + "\n")
    (project / "opencoti.toml").write_text(
        f'schema = 1\nname = "bench"\n\n[[base.source]]\nkind = "git"\nurl = "{upstream}"\nrev = "base"\n'
    )
    return project


def diff(path: str, old: list[str], new: list[str], at: int) -> str:
    """One file's part of a patch that replaces line ``at``, from 0."""
    rows = (
        [f" {x}" for x in old[at - 3 : at]] + [f"-{old[at]}", f"+{new[at]}"] + [f" {x}" for x in old[at + 1 : at + 4]]
    )
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{at - 2},7 +{at - 2},7 @@\n"
        + "\n".join(rows)
        + "\n"
    )


def git(folder: Path, *args: str) -> str:
    """git under no configuration; what it prints."""
    return git_bytes(folder, *args).decode()


def git_bytes(folder: Path, *args: str) -> bytes:
    """The same, to the byte."""
    env = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "HOME": str(folder),
        **{
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "bench"), ("EMAIL", "bench@bench.invalid"))
        },
    }
    return subprocess.run(["git", *args], cwd=folder, env=env, check=True, capture_output=True).stdout
