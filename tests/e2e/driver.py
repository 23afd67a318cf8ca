"""The command line in real processes that end, or stop, at the k-th thing they do to the disk.

Run as a program it is a server: a job a line (JSON), an answer a line. A child is forked for every job, with
the product imported already, in a session of its own. The things counted are renames, removals, folders
made, files opened for writing, syncs, and children started; the child is struck just before the k-th.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WATCHED = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.symlink", "os.truncate", "subprocess.Popen"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


Env = Mapping[str, str]
"""What the environment has besides."""


@dataclass(frozen=True)
class Struck:
    """How a run ended. ``code`` is negative for a signal; ``events`` are what it did, in order."""

    code: int
    out: str
    err: str
    events: list[str] = field(default_factory=list)

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


class Driver:
    """The server, from the side of the tests."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(
        self,
        root: Path,
        *args: str,
        at: int = 0,
        strike: signal.Signals | None = None,
        fsize: int = 0,
        env: Env | None = None,
    ) -> Struck:
        """Run ``opencoti-patches ARGS`` in ``root``; at event ``at`` (from 1) send it ``strike``. ``fsize``
        limits how long any file may grow."""
        job = {"root": str(root), "args": args, "at": at, "strike": strike or 0, "fsize": fsize, "env": dict(env or {})}
        assert self._child.stdin and self._child.stdout
        self._child.stdin.write(json.dumps(job) + "\n")
        self._child.stdin.flush()
        return Struck(**json.loads(self._child.stdout.readline()))

    def close(self) -> None:
        """End the server."""
        assert self._child.stdin
        self._child.stdin.close()
        self._child.wait()


def serve() -> None:
    """Answer jobs until there are no more."""
    import opencoti_patches

    for module in pkgutil.walk_packages(opencoti_patches.__path__, "opencoti_patches."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for line in sys.stdin:
        job = json.loads(line)
        pipes = [os.pipe() for _ in range(3)]  # not files: those have a limit in some jobs
        child = os.fork()
        if child == 0:
            be_the_program(job, *(write for _, write in pipes))
        for _, write in pipes:
            os.close(write)
        said = [read_all(read) for read, _ in pipes]
        _, status = os.waitpid(child, 0)
        answer = {"code": os.waitstatus_to_exitcode(status), "out": said[0], "err": said[1]}
        print(json.dumps({**answer, "events": said[2].split()}), flush=True)


def read_all(pipe: int) -> str:
    """Everything that comes out of it, to the end."""
    with open(pipe, encoding="utf-8") as f:
        return f.read()


def be_the_program(job: dict[str, Any], out: int, err: int, log: int) -> None:
    """The rest of the forked child's life."""
    os.setsid()
    os.chdir(job["root"])
    for number, fd in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
        os.dup2(fd, number)
        os.close(fd)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OPENCOTI_", "GIT_"))}
    os.environ.clear()
    os.environ.update(kept | {"HOME": job["root"]} | job["env"])
    if job["fsize"]:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (job["fsize"], job["fsize"]))
    watch(log, job["at"], job["strike"])
    sys.argv = ["opencoti-patches", *job["args"]]
    code = 70
    try:
        from opencoti_patches.cli import main

        main()
    except SystemExit as e:
        code = int(e.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def watch(log: int, at: int, strike: int) -> None:
    """Count events from now on, and strike at one."""
    seen = 0

    def event(name: str) -> None:
        nonlocal seen
        seen += 1
        os.write(log, f"{name}\n".encode())
        if seen == at:
            os.kill(os.getpid(), strike)

    def hook(name: str, args: tuple[Any, ...]) -> None:
        if name in WATCHED or (name == "open" and isinstance(args[2], int) and args[2] & WRITING):
            event(name)

    sync = os.fsync

    def fsync(fd: int) -> None:
        event("fsync")
        sync(fd)

    os.fsync = fsync  # type: ignore[assignment]
    sys.addaudithook(hook)


if __name__ == "__main__":
    serve()
