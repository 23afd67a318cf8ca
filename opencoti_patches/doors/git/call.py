"""One call of git, under a scrubbed environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from opencoti_patches.core.errors import CouldNot
from opencoti_patches.doors import proc
from opencoti_patches.doors.failures import HINTS

# Options before the subcommand, each for a reason.
SAFE = (
    "-c", f"core.attributesFile={os.devnull}",  # a user's attributes would convert bytes
    "-c", "core.quotePath=true",  # what diff writes must not depend on the machine
    "-c", "core.abbrev=40",
    "-c", "core.fsmonitor=false",  # never run a helper program
    "-c", "core.hooksPath=/dev/null",
    "-c", "gc.auto=0",  # refs do not reach the objects of single patches
    "-c", "safe.directory=*",  # the store may be another user's, read in CI
    "-c", "protocol.file.allow=always",
)  # fmt: skip


def environment(**extra: str) -> dict[str, str]:
    """The scrubbed environment: nothing of the user's git reaches a verdict."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") and k != "LANGUAGE"}
    env |= {
        "LC_ALL": "C",  # its messages are read
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0",
        # fixed, so that a commit's id depends on its contents alone
        "GIT_AUTHOR_NAME": "opencoti-patches", "GIT_AUTHOR_EMAIL": "patches@opencoti.invalid", "GIT_AUTHOR_DATE": "@0 +0000",
        "GIT_COMMITTER_NAME": "opencoti-patches", "GIT_COMMITTER_EMAIL": "patches@opencoti.invalid", "GIT_COMMITTER_DATE": "@0 +0000",
    }  # fmt: skip
    return env | extra


def call(
    args: Sequence[str | os.PathLike[str]],
    *,
    env: Mapping[str, str],
    cwd: Path,
    input: bytes = b"",
    options: Sequence[str] = SAFE,
    chatty: bool = False,
    meanwhile: Callable[[], None] | None = None,
) -> proc.Done:
    """Run git to its end. ``env`` is ``environment()`` with additions."""
    return proc.run(["git", *options, *args], cwd=cwd, env=env, input=input, chatty=chatty, meanwhile=meanwhile)


LOST = "delete the folder objects.git in the store (.opencoti), and run it again: what it held is fetched anew"
_DAMAGED = f"where that goes on: {LOST}"
_HINTS = dict.fromkeys(
    ("unable to read sha1 file", "missing blob", "missing tree", "bad object", "unable to read tree"), LOST
) | {os.strerror(e): hint for e, hint in HINTS.items()}


def must(done: proc.Done, doing: str) -> bytes:
    """What it printed; CouldNot ``git`` with its first line if it failed to ``doing``."""
    if done.code:
        first = next((line for line in done.error_text.splitlines() if line), f"exit {done.code}")
        hint = next((h for words, h in _HINTS.items() if words in done.error_text), _DAMAGED)
        raise CouldNot("git", f"git could not {doing}: {first.removeprefix('fatal: ').removeprefix('error: ')}", hint)
    return done.out


def batch(out: bytes) -> Iterator[bytes | None]:
    """What ``git cat-file --batch`` printed, object by object; None for one that is missing."""
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        head = out[at:end].split(b" ")
        size = int(head[2]) if len(head) == 3 else None
        yield None if size is None else out[end + 1 : end + 1 + size]
        at = end + 1 if size is None else end + size + 2
