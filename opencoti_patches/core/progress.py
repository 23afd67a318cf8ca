"""How long work tells how far it is. Where that is shown is for report/ to say."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Takes news of work that may last."""

    def update(self, what: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        """``what`` is under way: ``done`` of ``total`` units (0: unknown). Call as often as you like."""


class Silent:
    """Tells nobody."""

    def update(self, what: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        """Nothing."""
