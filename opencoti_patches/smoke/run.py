"""A command run on a tree, and its exit code taken for an answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from opencoti_patches.doors import fs, proc
from opencoti_patches.smoke.bisect import Outcome
from opencoti_patches.smoke.server import exit_word

_SKIP = 125  # as for git bisect


def command(argv: Sequence[str], tree: Path, build: Path | None, log: Path) -> tuple[Outcome, str]:
    """Run a command in ``tree``, with ``OPENCOTI_TREE`` and ``OPENCOTI_BUILD`` in its environment. What it prints goes
    into ``log``. Errors: CouldNot ``no-tool``."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env["OPENCOTI_TREE"] = str(tree)
    env.pop("OPENCOTI_BUILD", None)
    if build is not None:
        env["OPENCOTI_BUILD"] = str(build)
    with fs.disk_errors(f"write {log}"):
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
    code = proc.stream(argv, cwd=tree, env=env, log=log, heard=lambda _line: None)
    if code == 0:
        return "pass", ""
    return "skip" if code == _SKIP else "fail", exit_word(code)
