"""``init``: make a project of a folder."""

from __future__ import annotations

import os
from pathlib import Path

import click

from opencoti_patches.commands.common import Run, example, options
from opencoti_patches.core.config import FILE_NAME
from opencoti_patches.core.errors import UsageError
from opencoti_patches.doors import fs
from opencoti_patches.report.begun import SERIES_TEXT, configuration, report
from opencoti_patches.series import order

_PATCHES = "patches"
_IGNORED = ("/tree/", "/WORK/", "/.opencoti/")  # WORK is what the docs and hints call a folder to edit in


@click.command(
    epilog=example(
        """
opencoti-patches init
opencoti-patches init my-fork && cd my-fork
"""
    )
)
@click.argument("folder", metavar="[DIR]", type=click.Path(), default=".")
@options()
@click.pass_context
def command(ctx: click.Context, run: Run, folder: str) -> None:
    """Make DIR (default: here) a project: opencoti.toml, patches/series, .gitignore.

    The configuration is an example that works, with every kind of source shown. An opencoti.toml that is
    there is never overwritten. Patches that are there stay, and so does their series file; without one they
    are taken in order of number, then name. The .gitignore gets three lines if it lacks them: /tree/, /WORK/ (a folder to edit in) and /.opencoti/.
    """
    root = run.directory / folder
    _refuse(root)
    patches = root / _PATCHES
    found = order.load(patches) if patches.is_dir() else None
    written, kept = [], []
    if found is None or (not found.listed and not found.entries):
        fs.write(patches / order.SERIES_FILE, SERIES_TEXT.encode())
        written.append(f"{_PATCHES}/{order.SERIES_FILE}")
    elif found.listed:
        kept.append(f"{_PATCHES}/{order.SERIES_FILE}")
    if _ignore((root / ".gitignore").resolve()):
        written.append(".gitignore")
    else:
        kept.append(".gitignore")
    # last, so that a run that was killed can be repeated
    fs.write(root / FILE_NAME, configuration(root.resolve().name).encode())
    written.insert(0, FILE_NAME)
    there = folder if folder == "." else os.path.join(run.given, folder)
    run.answer(report(there, root.resolve(), found, written, kept), ctx)


def _refuse(root: Path) -> None:
    if os.path.lexists(root) and not root.is_dir():
        raise UsageError("not-a-folder", f"{root} is not a folder", "name a folder, or one to make")
    if os.path.lexists(root / FILE_NAME):
        raise UsageError(
            "exists",
            f"there is an {FILE_NAME} in {root.resolve()}",
            "it was left as it is; edit it, or delete it first",
        )
    if os.path.lexists(root / _PATCHES) and not (root / _PATCHES).is_dir():
        raise UsageError("not-a-folder", f"{root / _PATCHES} is not a folder", "move it out of the way")


def _ignore(file: Path) -> bool:
    """Add what the file lacks; True if that was anything. Every other byte of it stays."""
    with fs.disk_errors(f"read {file}"):
        text = file.read_bytes() if file.exists() else b""
    have = {line.strip().strip(b"/") for line in text.splitlines()}
    lacking = [line.encode() + b"\n" for line in _IGNORED if line.strip("/").encode() not in have]
    if lacking:
        gap = b"\n" if text and not text.endswith(b"\n") else b""
        fs.write(file, text + gap + b"".join(lacking))
    return bool(lacking)
