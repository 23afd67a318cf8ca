"""What goes together in the documents of ``smoke``, ``canary`` and ``bisect``; that real ones fit the schema is held where they
are made."""

from __future__ import annotations

from typing import Any

import pytest

from cli.documents import VALIDATOR

FAILURE = {"step": "ask", "prompt": 1, "cause": "died", "message": "m", "lines": []}
SMOKE: dict[str, Any] = {
    "schema": 1,
    "command": "smoke",
    "ok": True,
    "profile": "cpu",
    "tree": "a" * 40,
    "server": "bin/s",
    "model": {"path": "/m", "sha256": "b" * 64},
    "log": "/l",
    "record": "/r",
    "prompts": [{"text": "t", "contains": None, "answer": "a", "tokens": 1}],
    "failure": None,
}
SIDE = {"tree": "a" * 40, "dir": "/d", "prompts": []}
DIFFERENCE = {"prompt": 1, "text": "t", "token": 0, "what": "token", "old": "a", "new": None}
AGAINST: dict[str, Any] = {
    "schema": 1,
    "command": "smoke",
    "ok": True,
    "profile": "cpu",
    "against": None,
    "old": SIDE,
    "new": SIDE,
    "differences": [],
    "failure": None,
}
CANARY: dict[str, Any] = {
    "schema": 1,
    "command": "canary",
    "ok": True,
    "profile": "cpu",
    "tree": "a" * 40,
    "server": "bin/s",
    "samples": 1,
    "at_least": None,
    "log": "/l",
    "rows": [{"context": 1, "kv": "f16", "found": 0, "score": 0, "samples": [], "failure": None}],
}
BISECT: dict[str, Any] = {
    "schema": 1,
    "command": "bisect",
    "ok": True,
    "profile": None,
    "how": "run",
    "from": "base",
    "to": "p",
    "first": "p",
    "between": [],
    "why": "",
    "steps": [{"patch": "base", "tree": "a" * 40, "outcome": "pass", "why": "", "log": None}],
}


@pytest.mark.parametrize(
    ("good", "change"),
    [
        (SMOKE, {"ok": False}),
        (SMOKE, {"failure": FAILURE}),
        (SMOKE, {"ok": False, "failure": FAILURE | {"step": "end"}}),
        (SMOKE, {"prompts": []}),
        (SMOKE, {"differences": []}),
        (AGAINST, {"ok": False}),
        (AGAINST, {"differences": [DIFFERENCE]}),
        (AGAINST, {"new": None}),
        (AGAINST, {"ok": False, "failure": FAILURE}),
        (AGAINST, {"ok": False, "failure": FAILURE | {"side": "old"}}),
        (AGAINST, {"ok": False, "differences": [DIFFERENCE | {"what": "else"}]}),
        (CANARY, {"rows": [CANARY["rows"][0] | {"failure": FAILURE}]}),
        (CANARY, {"at_least": 2}),
        (CANARY, {"rows": []}),
        (BISECT, {"ok": False}),
        (BISECT, {"first": None}),
        (BISECT, {"between": ["p"]}),
        (BISECT, {"why": "w"}),
        (BISECT, {"ok": False, "first": None}),
        (BISECT, {"steps": []}),
    ],
)
def test_the_schema_knows_what_goes_together(good: dict[str, Any], change: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(good)
    assert not VALIDATOR.is_valid(good | change)


@pytest.mark.parametrize(
    ("good", "change"),
    [
        (SMOKE, {"ok": False, "failure": FAILURE}),
        (AGAINST, {"ok": False, "differences": [DIFFERENCE]}),
        (AGAINST, {"ok": False, "new": None, "failure": FAILURE | {"side": "old", "log": "/l"}}),
        (CANARY, {"ok": False, "at_least": 0.5}),
        (BISECT, {"ok": False, "first": None, "between": ["o", "p"], "why": "w"}),
    ],
)
def test_a_no_is_a_document_too(good: dict[str, Any], change: dict[str, Any]) -> None:
    assert VALIDATOR.is_valid(good | change)
