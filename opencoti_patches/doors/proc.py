"""The door to other processes. No shell, ever; an interrupt ends the child before us."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from opencoti_patches.core.errors import CouldNot

_GRACE = 3.0  # seconds a child gets between terminate and kill
_SETTLE = 1.0  # seconds for what a child started to end after it
_TICK = 0.05  # seconds between two looks at what a child says
_NOTE = ".{}.group"  # beside a log: the process group that writes it


class Done(NamedTuple):
    """A finished process: its exit code, what it printed, in bytes."""

    code: int
    out: bytes
    err: bytes

    @property
    def error_text(self) -> str:
        """What it said on stderr, for people."""
        return self.err.decode("utf-8", "replace").strip()


def run(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    input: bytes = b"",
    chatty: bool = False,
    meanwhile: Callable[[], None] | None = None,
) -> Done:
    """Run a program to its end and capture what it prints. ``chatty``: it says very much on stderr, a
    line at a time, which is then gathered in memory instead of a pipe that wakes us for every line.
    ``meanwhile`` is called once it runs, for work that need not wait for it.

    Errors: CouldNot ``no-tool`` if it cannot be started. A non-zero exit is the caller's to judge.
    """
    said = os.memfd_create("stderr") if chatty and hasattr(os, "memfd_create") else -1
    try:
        child = _started(argv, cwd=cwd, env=env, stderr=subprocess.PIPE if said < 0 else said)
        try:
            if meanwhile is not None:
                meanwhile()
            out, err = child.communicate(input)
        except BaseException:
            _ended(child)
            raise
        if said >= 0:
            err = os.pread(said, os.fstat(said).st_size, 0)
        return Done(child.returncode, out, err)
    finally:
        if said >= 0:
            os.close(said)


def stream(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: Path,
    heard: Callable[[str], None],
) -> int:
    """Run a program in a process group of its own; what it prints goes into ``log``, appended, and line by line to
    ``heard``. Its exit code. An error in ``heard``, an interrupt or a termination of ours ends the whole group.

    It is over when the program has ended. What that left at work in its group gets a moment, then is ended too; a daemon
    with a session of its own goes on. Neither is waited for: it writes into the file, there is no pipe to hold open.

    Errors: CouldNot ``no-tool``; ``locked`` as ``guard_alone``.
    """
    with _terminable(), _noted(log) as note, open(log, "ab") as file, open(log, "rb") as said:
        _say(argv, file)
        said.seek(0, os.SEEK_END)
        child = _started(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, note=note)
        try:
            begun = b""  # a line without its end
            while (code := _code(child, _TICK)) is None:
                begun = _hear(said, begun, heard)
            if not _gone(child.pid, _SETTLE):
                _end_group(child)
                file.write(b"\n+ what it started still ran when this had ended: it was ended too\n")
                file.flush()
            if begun := _hear(said, begun, heard):
                heard(_line(begun))
            return code
        except BaseException:
            _end_group(child)
            raise


def _code(child: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Its exit code; None if it still runs after so many seconds."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return child.wait(seconds)
    return None


def _hear(said: BinaryIO, begun: bytes, heard: Callable[[str], None]) -> bytes:
    """Hand on the lines that came, the first with what was there of it; what there is of the next one."""
    for part in said:
        begun += part
        if part.endswith(b"\n"):
            heard(_line(begun))
            begun = b""
    return begun


def _line(said: bytes) -> str:
    return said.decode("utf-8", "replace").rstrip("\r\n")


class Service:
    """A program that runs beside us in a process group of its own."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child

    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._child.poll()

    def end(self, seconds: float) -> int | None:
        """Ask it to terminate; its exit code, None if it still runs after so many seconds."""
        self._child.terminate()
        return _code(self._child, seconds)

    def left(self, seconds: float) -> bool:
        """Whether, so long after its end, a process that it started is there."""
        return not _gone(self._child.pid, seconds)


@contextlib.contextmanager
def service(
    argv: Sequence[str | os.PathLike[str]], *, cwd: Path, env: Mapping[str, str], log: Path
) -> Iterator[Service]:
    """Start a program that serves; what it prints goes into ``log``. In the end, however that comes (an interrupt or a
    termination of ours too), no process of its group is left.

    Errors: CouldNot ``no-tool``, ``locked``.
    """
    with _terminable(), _noted(log) as note, open(log, "wb") as file:
        _say(argv, file)
        child = _started(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, note=note)
        try:
            yield Service(child)
        finally:
            _end_group(child)


def guard_alone(logs: Path) -> None:
    """Refuse to run beside what a killed run of ours started whose log is in this folder: it works on the same files. Notes
    of what has ended are swept. To be called by the one writer of the folder.

    Errors: CouldNot ``locked``, with the command that ends it.
    """
    for note in sorted(logs.glob(_NOTE.format("*.log"))):
        with contextlib.suppress(OSError, ValueError):
            group = int(note.read_text())
            if _at_work(group):
                raise CouldNot(
                    "locked",
                    f"what a killed run of ours started still runs (process group {group})",
                    f"wait for its end, or end it: kill -- -{group}",
                )
        note.unlink(missing_ok=True)


def _at_work(group: int) -> bool:
    """Whether a process of a group does anything: one that has ended may be listed for long, where nobody asks after
    it."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):  # the latter: only what has ended and nobody asked after
        return False
    stats = list(Path("/proc").glob("[0-9]*/stat"))
    if not stats:
        return True  # nothing tells
    for stat in stats:
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text("utf-8", "replace").rpartition(")")[2].split()[:3]
            if of == str(group) and state not in "ZX":
                return True
    return False


def _gone(group: int, seconds: float) -> bool:
    """Whether all of a group has ended, at the latest after so many seconds."""
    until = time.monotonic() + seconds
    while _at_work(group):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@contextlib.contextmanager
def _noted(log: Path) -> Iterator[int]:
    """A file beside the log, open, for the process group that writes it; gone once that has ended."""
    guard_alone(log.parent)
    path = log.with_name(_NOTE.format(log.name))
    try:
        with open(path, "w+b", buffering=0) as note:
            yield note.fileno()
    finally:
        with contextlib.suppress(OSError, ValueError):
            if _at_work(group := int(path.read_text())):  # an interrupt came before we knew of it
                os.killpg(group, signal.SIGKILL)
        path.unlink(missing_ok=True)


def _notes_itself(note: int) -> None:
    """Write our process group into a file. It runs in the child, before the program: a kill of ours at any moment leaves
    nothing at work of which no note tells."""
    with contextlib.suppress(OSError):  # no room for it: the program will say so
        os.pwrite(note, b"%-20d" % os.getpid(), 0)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """A termination of ours, or the end of our terminal, is an interrupt, so that it ends what was started, which has a
    session of its own and hears of neither."""

    def ended(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    heeded = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]  # nohup
    before = {number: signal.signal(number, ended) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(argv: Sequence[str | os.PathLike[str]], log: BinaryIO) -> None:
    log.write(f"+ {shlex.join(os.fspath(a) for a in argv)}\n".encode("utf-8", "surrogateescape"))
    log.flush()


def _end_group(child: subprocess.Popen[bytes]) -> None:
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE)
            if how == signal.SIGTERM:
                time.sleep(0.1)  # for the rest of the group, before they are killed too


def _started(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None,
    env: Mapping[str, str] | None,
    stderr: int | BinaryIO,
    stdin: int = subprocess.PIPE,
    stdout: int | BinaryIO = subprocess.PIPE,
    note: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program; with a ``note`` in a session of its own, whose group is noted there."""
    program = argv[0]
    if env is not None and env.get("PATH") != os.environ.get("PATH"):
        import shutil  # exec would go on to the next folder of that PATH where a file is none for it

        program = shutil.which(program, path=env.get("PATH")) or program
    try:
        return subprocess.Popen(
            argv,
            executable=program,
            cwd=cwd,
            env=env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=note is not None,
            preexec_fn=None if note is None else functools.partial(_notes_itself, note),
        )
    except FileNotFoundError:
        name = os.fspath(argv[0])
        if cwd is not None and not cwd.is_dir():
            raise CouldNot("no-tool", f"cannot run {name}: {cwd} is not there", "make that folder") from None
        if "/" in name and os.path.exists(os.path.join(cwd or "", name)):
            what, mend = "the program of its first line is not there", "install that, or change the line"
        else:
            what, mend = "it is not there", "name a file that is" if "/" in name else "install it, or put it on PATH"
        raise CouldNot("no-tool", f"cannot run {name}: {what}", mend) from None
    except OSError as e:
        if e.errno == errno.ENOEXEC and os.fspath(argv[0]) != "sh":  # an APE, or a script without a first line
            again = ["sh", program, *argv[1:]]
            return _started(again, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, note=note)
        mend = "name a file that is executable: chmod +x makes it one" if e.errno == errno.EACCES else ""
        raise CouldNot("no-tool", f"cannot run {os.fspath(argv[0])}: {e.strerror}", mend) from None


def _ended(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def feed(
    argv: Sequence[str | os.PathLike[str]],
    chunks: Iterable[bytes],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run a program that reads ``chunks`` as they come: input of any size costs the memory of one.

    An error in ``chunks`` ends the child and goes on up. Errors otherwise: as ``run``. If the child stops
    reading early, the rest is dropped and its exit code tells.
    """
    import tempfile

    # Files, not pipes, for what it prints: nobody reads while we write, so a full pipe would be a deadlock.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            child = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=out, stderr=err)
        except OSError as e:
            raise CouldNot(
                "no-tool", f"cannot run {os.fspath(argv[0])}: {e.strerror}", "install it, or put it on PATH"
            ) from None
        assert child.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                for chunk in chunks:
                    child.stdin.write(chunk)
                child.stdin.close()
            child.wait()
        except BaseException:
            _ended(child)
            raise
        finally:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
        out.seek(0)
        err.seek(0)
        return Done(child.returncode, out.read(), err.read())
