"""What ends a run early. A "no" (drift, conflict) is data in a report, never an exception."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Process exit codes, the whole list."""

    YES = 0
    NO = 1
    USAGE = 2
    COULD_NOT = 3
    INTERRUPTED = 130


class OpencotiError(Exception):
    """A run that could not answer: one clear line, a hint, an exit code.

    ``code`` is a stable word for machines (``unknown-key``, ``locked``); ``message`` is one line
    for people; ``hint`` is what to do next, or empty.
    """

    exit: Exit = Exit.COULD_NOT

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class UsageError(OpencotiError):
    """The command line or the configuration is wrong: exit 2."""

    exit = Exit.USAGE


class CouldNot(OpencotiError):
    """A tool, the network, the disk or a lock failed us: exit 3."""

    exit = Exit.COULD_NOT


class Refused(OpencotiError):
    """The answer is no, and nothing was changed: exit 1."""

    exit = Exit.NO
