"""Progress on stderr: silent for a quick run, and never silent in a slow one."""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING

from opencoti_patches.report import progress
from opencoti_patches.report.progress import Lines

if TYPE_CHECKING:
    import pytest


def waited_for(text: io.StringIO) -> str:
    """What stands there once something does, or after ten seconds."""
    for _ in range(1000):
        if text.getvalue():
            break
        time.sleep(0.01)
    return text.getvalue()


def test_work_without_news_is_told_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", heard := io.StringIO())
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    lines = Lines()
    lines.update("fetching")
    lines.update("writing files", 3, 9, "files")
    assert waited_for(heard) == "writing files: 3 of 9 files\n"
    lines.update("writing files", 4, 9, "files")  # in a log, not every line
    lines.update("done")
    assert heard.getvalue() == "writing files: 3 of 9 files\ndone …\n"


def test_a_run_that_ends_early_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", heard := io.StringIO())
    monkeypatch.setattr(progress, "_PATIENCE", 0.2)
    lines = Lines()
    lines.update("fetching")
    late = lines._late
    del lines
    assert late is not None
    late.join()
    assert heard.getvalue() == ""
