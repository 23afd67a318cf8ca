"""The libraries that only releases need: the extra ``release`` of the package."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from opencoti_patches.core.errors import CouldNot


def need(module: str) -> Any:
    """The module. Errors: CouldNot ``no-tool``, with the command that brings it."""
    try:
        return import_module(module)
    except ImportError:
        raise lacking(module.partition(".")[0]) from None


def lacking(library: str) -> CouldNot:
    """The error of a library that is not there."""
    return CouldNot("no-tool", f"releases need the library {library}", "pip install 'opencoti-patches[release]'")
