"""``git apply``: the strict verdict, and its own words on every hunk."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from opencoti_patches.core.model import Entry, decode, printable
from opencoti_patches.doors import proc
from opencoti_patches.doors.git.call import call, environment

GIVES_UP = "git gives up on it"
# A patch makes git die of these; of others the machine or its user does.
_DEATHS = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_HUNK_LANDED = re.compile(rb"Hunk #(\d+) succeeded at (\d+) \(offset (-?\d+) lines?\)\.")


class Landing(NamedTuple):
    """One hunk that git placed away from its line number. ``file`` counts the files of the patch
    from 0, in the order in which the patch names them."""

    file: int
    hunk: int
    line: int
    offset: int


class Applied(NamedTuple):
    """What one ``git apply`` of several patches said. ``landings`` has a tuple a patch that git got
    through, in order; the first that it refused is at ``len(landings)``."""

    ok: bool
    landings: tuple[tuple[Landing, ...], ...]
    errors: tuple[str, ...]


def arguments(patches: Sequence[Path], *, strip: int, reverse: bool) -> list[str]:
    """What strict means, as options of ``git apply``: no white space is forgiven, no fuzz exists."""
    return [
        "-v",
        "--whitespace=nowarn",
        "--no-ignore-whitespace",
        f"-p{strip}",
        *(["-R"] if reverse else []),
        "--",
        *map(str, patches),
    ]


def read_apply(done: proc.Done, reverse: bool = False) -> Applied:
    """Read ``git apply -v``: a patch is a run of "Checking patch" then a run of "Applied patch" (the
    latter is not said by ``--check``, which is for one patch). With ``-R`` git goes through the files from
    the last to the first, and says offsets with the sign turned round."""
    patches: list[tuple[Landing, ...]] = []
    current: list[Landing] = []
    errors: list[str] = []
    file, applied = -1, 0

    def landed() -> tuple[Landing, ...]:
        return tuple(Landing(file - w.file, w.hunk, w.line, -w.offset) for w in current) if reverse else tuple(current)

    for line in done.err.split(b"\n"):
        if line.startswith(b"Checking patch "):
            if applied:
                patches.append(landed())
                current, file, applied = [], -1, 0
            file += 1
        elif line.startswith(b"Applied patch "):
            applied += 1
        elif m := _HUNK_LANDED.fullmatch(line):
            current.append(Landing(file, int(m[1]), int(m[2]), int(m[3])))
        elif line.startswith((b"error: ", b"fatal: ")):
            errors.append(decode(line.split(b": ", 1)[1]))
    # the last one may be cut short by an error while git writes: then not every file is said to be applied
    if file >= 0 and (done.code == 0 or applied == file + 1):
        patches.append(landed())
    return Applied(done.code == 0, tuple(patches), tuple(errors))


def without_crash(done: proc.Done, said: Applied) -> Applied | None:
    """A refusal in place of a crash: some garbled patches trip an assertion in git. None if it did not crash."""
    if -done.code not in _DEATHS:
        return None
    last = printable(done.error_text.rsplit("\n", 1)[-1])
    crash = f"{GIVES_UP} ({signal.Signals(-done.code).name}): {last}"
    return said._replace(ok=False, errors=(crash, *said.errors))


def apply_check(folder: Path, *patches: Path, strip: int = 1, reverse: bool = False) -> Applied:
    """Literally ``git apply --check`` of a patch file in a checkout, as a user would run it. Of several, none may
    touch what another does: git checks each against the folder, not behind the one before."""
    args = ["apply", "--check", *arguments(patches, strip=strip, reverse=reverse)]
    done = call(args, env=environment(GIT_CEILING_DIRECTORIES=str(folder.parent)), cwd=folder)
    return read_apply(done, reverse)


def apply_reject(folder: Path, patch: Path, *, strip: int, reverse: bool) -> bytes:
    """``git apply --reject -v`` in a scratch folder: its own word on every hunk, on stderr."""
    args = ["apply", "--reject", *arguments([patch], strip=strip, reverse=reverse)]
    return call(args, env=environment(GIT_CEILING_DIRECTORIES=str(folder.parent)), cwd=folder).err


def runs_of(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Split a series where the strip level or the direction changes: git takes one of each a call."""
    begin = 0
    for i in range(1, len(entries) + 1):
        if i == len(entries) or (entries[i].strip, entries[i].reverse) != (
            entries[begin].strip,
            entries[begin].reverse,
        ):
            yield entries[begin:i]
            begin = i
