"""Folders as dicts and back, and patches between them written by git itself."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from conftest import File, Git

Files = Mapping[str, File]
"""(mode, content) by path; a symlink's content is where it points."""

CONFIG = 'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "directory"\npath = "base"\n'
LONG_AGO = 1_600_000_000  # a file that changed just now is read again by the next run
HEADER = b"Say what it does\n\nAnd why it does that.\n\n"


def text(content: str | bytes) -> File:
    """A plain file."""
    return "100644", content.encode() if isinstance(content, str) else content


def script(content: str | bytes) -> File:
    """An executable one."""
    return "100755", text(content)[1]


def link(goal: str) -> File:
    """A symlink."""
    return "120000", goal.encode()


def numbered(first: int, last: int, **other: str) -> str:
    """Lines ``line 1`` and so on; ``n12="x"`` makes the twelfth another."""
    return "".join(f"{other.get(f'n{i}', f'line {i}')}\n" for i in range(first, last + 1))


def write_folder(root: Path, files: Files) -> Path:
    """Write files into a folder, with times long past."""
    root.mkdir(parents=True, exist_ok=True)
    for path, (mode, content) in files.items():
        goal = root / path
        goal.parent.mkdir(parents=True, exist_ok=True)
        if mode == "120000":
            os.symlink(content, os.fsencode(goal))
        else:
            goal.write_bytes(content)
            goal.chmod(0o755 if mode == "100755" else 0o644)
        os.utime(goal, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    return root


def read_folder(root: Path) -> dict[str, File]:
    """Everything under a folder but a ``.git`` at its top; an empty folder reads as ``name/``."""
    found: dict[str, File] = {}
    for at, folders, names in os.walk(root):
        if Path(at) == root and ".git" in folders:
            folders.remove(".git")
        here = Path(at)
        for name in [*names, *(f for f in folders if (here / f).is_symlink())]:
            full = here / name
            path = str(full.relative_to(root))
            if full.is_symlink():
                found[path] = link(os.readlink(full))
            else:
                mode = "100755" if full.stat().st_mode & stat.S_IXUSR else "100644"
                found[path] = mode, full.read_bytes()
        if here != root and not names and not folders:
            found[f"{here.relative_to(root)}/"] = "040000", b""
    return found


def times(root: Path) -> dict[str, int]:
    """When each file was last written, to the nanosecond."""
    return {p: (root / p).lstat().st_mtime_ns for p in read_folder(root) if not p.endswith("/")}


def patch_between(git: Git, a: Files, b: Files, *options: str, header: bytes = HEADER) -> bytes:
    """The patch from one set of files to another, as git writes it."""
    trees = [git.tree({os.fsencode(p): f for p, f in files.items()}) for files in (a, b)]
    diff = git("diff-tree", "-r", "-p", "--binary", *(options or ("--no-renames",)), *trees)
    return header + diff


def write_project(root: Path, git: Git, states: Sequence[Files], *, config: str = CONFIG) -> list[str]:
    """A project whose base is the first state and whose patches lead from each to the next; their names."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "opencoti.toml").write_text(config)
    write_folder(root / "base", states[0])
    (root / "patches").mkdir()
    names = [f"{n:04}-step.patch" for n in range(1, len(states))]
    for name, a, b in zip(names, states, states[1:], strict=False):
        (root / "patches" / name).write_bytes(patch_between(git, a, b))
    (root / "patches/series").write_text("".join(f"{n}\n" for n in names))
    return names


def set_base(root: Path, files: Files) -> None:
    """Put other files in the place of a project's base: upstream moved on."""
    shutil.rmtree(root / "base")
    write_folder(root / "base", files)


def leftovers(*folders: Path) -> list[Path]:
    """What only a run at work may have lying about."""
    return [p for folder in folders for p in folder.rglob(".opencoti-*") if p.name != ".opencoti"]


def plain_git(folder: Path, *args: str) -> str:
    """git as a user runs it in a folder, with no configuration."""
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    env |= {f"GIT_{who}_{what}": "you@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["git", *args], cwd=folder, env=env, capture_output=True, check=False)
    assert done.returncode == 0, (args, done.stderr.decode())
    return done.stdout.decode()
