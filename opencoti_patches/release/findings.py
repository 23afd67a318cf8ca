"""What ``verify`` finds: the checks that ran, what is wrong and in which file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from opencoti_patches.core.errors import OpencotiError
from opencoti_patches.release.index import Index

State = Literal["ok", "wrong", "skipped"]


class Wrong(NamedTuple):
    """One thing that is not as it should be; ``file`` is the file's name in the release."""

    check: str
    file: str
    message: str


class Check(NamedTuple):
    """One check: how it ended; of a skipped one, why."""

    name: str
    state: State
    why: str = ""


class Verified(NamedTuple):
    """The answer. ``index`` is None where it cannot be read; ``signature`` is ``verified``, ``not verified`` (no key
    was given) or ``unsigned``."""

    folder: Path
    whole: Index | None
    checks: tuple[Check, ...]
    wrong: tuple[Wrong, ...]
    signature: str

    @property
    def ok(self) -> bool:
        """Whether all that was checked is right."""
        return not self.wrong


class Findings:
    """Gathers them. A file that is known to be wrong is not judged again: one cause, one line. ``scratch`` is a folder of
    ours that the release is unpacked in; nobody is told of it."""

    def __init__(self, scratch: Path) -> None:
        self._ours = (f"{scratch}/project/", f"{scratch}/")
        self.wrong: list[Wrong] = []
        self.checks: list[Check] = []
        self._now = ""

    def add(self, file: str, message: str) -> None:
        """Note what is wrong with a file, in the check that is under way."""
        for ours in self._ours:
            message = message.replace(ours, "")
        self.wrong.append(Wrong(self._now, file, message))

    def reword(self, file: str, other: str, message: str) -> None:
        """What was held against a file is wrong with another."""
        self.wrong = [w._replace(file=other, message=message) if w.file == file else w for w in self.wrong]

    def skip(self, name: str, why: str) -> None:
        """Note a check that cannot be made."""
        self.checks.append(Check(name, "skipped", why))

    def bad(self, file: str) -> bool:
        """Whether something is wrong with it already."""
        return any(w.file == file for w in self.wrong)

    @contextmanager
    def check(self, name: str, file: str = "") -> Iterator[None]:
        """One check, of ``file`` unless ``about`` says another."""
        before, self._now = len(self.wrong), name
        with self.about(file):
            yield
        self.checks.append(Check(name, "wrong" if len(self.wrong) > before else "ok"))

    @contextmanager
    def about(self, file: str) -> Iterator[None]:
        """What a stranger's file makes our readers raise is a finding about it, once."""
        try:
            yield
        except ValueError as e:
            message = str(e)
        except OpencotiError as e:
            if e.code not in _OF_FILES:
                raise
            message = e.message
        else:
            return
        if not self.bad(file):
            self.add(file, message)


# errors that say something of the file that was read, rather than of the machine
_OF_FILES = {
    "bad-pin",
    "bad-lock",
    "bad-series",
    "twice",
    "missing-patch",
    "unsafe-path",
    "unsafe-archive",
    "bad-archive",
    "bad-binary",
    "mixed-platforms",
    "no-series",
    "no-subdir",
    "not-a-file",
    "too-large",
    "does-not-apply",
    "bad-toml",
    "bad-schema",
    "unknown-key",
    "missing-key",
    "bad-value",
    "bad-name",
    "no-base",
    "no-project",
}
