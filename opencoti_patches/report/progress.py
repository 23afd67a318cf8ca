"""Progress on stderr: nothing in the first two seconds, then a line that stays current."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable

_PATIENCE = 2.0  # seconds before the first word
_TERMINAL_EVERY = 0.2
_LOG_EVERY = 10.0  # in a CI log every line stays


class Lines:
    """One line on a terminal, rewritten; in a log a line now and then; nothing where stderr is closed."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._last = 0.0
        self._to = None if sys.stderr is None or sys.stderr.closed else sys.stderr
        self._terminal = self._to is not None and self._to.isatty()
        self._what = ""
        self._news: tuple[str, int, int, str] = ("", 0, 0, "")
        self._late: threading.Timer | None = None  # for work that has no news by the time that they are due

    def update(self, what: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        """Take news; show it if it is time to."""
        self._news = (what, done, total, unit)
        now = time.monotonic()
        if now - self._begun < _PATIENCE:
            if self._late is None:
                self._late = threading.Timer(self._begun + _PATIENCE - now, _show_late, (weakref.ref(self),))
                self._late.daemon = True
                _without_signals(self._late.start)
            return
        every = _TERMINAL_EVERY if self._terminal else _LOG_EVERY
        if now - self._last < every and what == self._what:
            return
        self._show(now, what, done, total, unit)

    def show_late(self) -> None:
        """Show the last news, unless later ones were shown."""
        if not self._last:
            self._show(time.monotonic(), *self._news)

    def _show(self, now: float, what: str, done: int, total: int, unit: str) -> None:
        self._last, self._what = now, what
        amount = _amount(done, total, unit)
        if self._terminal:
            self._write(f"\r\x1b[K{what}{amount}"[:100])
        else:
            self._write(f"{what}{amount}\n")

    def _write(self, text: str) -> None:
        if self._to is None:
            return
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            self._to.write(text)
            self._to.flush()

    def __del__(self) -> None:
        if self._late is not None:
            self._late.cancel()
        if self._terminal and self._last:
            self._write("\r\x1b[K")


def _without_signals(start: Callable[[], None]) -> None:
    """Start a thread that takes no signal: one that it took would interrupt the main thread where that has put
    interrupts off."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _show_late(lines: weakref.ref[Lines]) -> None:
    if (it := lines()) is not None:  # else the run is over
        it.show_late()


def _amount(done: int, total: int, unit: str) -> str:
    if not done and not total:
        return " …"
    if unit == "bytes":
        mib = f"{done / 2**20:.1f}" + (f" of {total / 2**20:.1f}" if total else "")
        return f": {mib} MiB"
    return f": {done}" + (f" of {total}" if total else "") + (f" {unit}" if unit else "")
