"""``check`` on the situations that patches get into: what it says, against what git itself does.

A case is a folder ``check/NAME``: ``base.json`` (path -> [mode, text, …] or [mode, {"base64": …}]), ``patches/`` and
``expected.json``. Texts and paths are UTF-8 with ``surrogateescape``, so "\\udce9" is the byte 0xE9. Each test runs
the command line on the case, lets git judge it alone (one ``git apply --cached`` a patch on a full index), and holds
both to ``expected.json``.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, File, Git

CASES = Path(__file__).parent / "check"
NAMES = sorted(p.name for p in CASES.iterdir())


def read_base(case: Path) -> dict[bytes, File]:
    """The base's files by path."""
    entries: dict[str, list[Any]] = json.loads((case / "base.json").read_bytes())
    return {path.encode("utf-8", "surrogateescape"): (row[0], _content(row[1:])) for path, row in entries.items()}


def _content(parts: list[Any]) -> bytes:
    if parts and isinstance(parts[0], dict):
        return base64.b64decode(parts[0]["base64"])
    return "".join(parts).encode("utf-8", "surrogateescape")


def make_project(case: Path, base: dict[bytes, File], folder: Path) -> None:
    """A project whose base is a directory and whose patches are the case's."""
    root = os.fsencode(folder / "base")
    os.mkdir(root)
    for path, (mode, content) in base.items():
        target = os.path.join(root, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if mode == "120000":
            os.symlink(content, target)
            continue
        with open(target, "wb") as f:
            f.write(content)
        os.chmod(target, 0o755 if mode == "100755" else 0o644)
    shutil.copytree(case / "patches", folder / "patches")
    source = '[[base.source]]\nkind = "directory"\npath = "base"\n'
    (folder / "opencoti.toml").write_text(f'schema = 1\nname = "case"\n{source}')


def options_of(case: Path) -> list[tuple[str, int, bool]]:
    """(name, strip level, reversed) of every patch, read from the series by the simplest means."""
    rows = [r.split("#")[0].split() for r in (case / "patches" / "series").read_text().split("\n")]
    return [
        (name, next((int(o[2:]) for o in options if o[2:].isdigit()), 1), "-R" in options)
        for name, *options in filter(None, rows)
    ]


def summary(row: dict[str, Any]) -> dict[str, Any]:
    """What a case pins of one patch's answer: all but the wording and the advice."""
    alike = ("name", "status", "cause", "files", "blocked_by", "without")
    kept: dict[str, Any] = {k: row[k] for k in alike if k in row}
    if "offsets" in row:
        kept["offsets"] = [f"{o['file']}#{o['hunk']} {o['offset']:+d} at {o['line']}" for o in row["offsets"]]
    if "problems" in row:
        kept["problems"] = [
            {k: p[k] for k in ("cause", "level", "file", "hunk", "line", "patch_line", "diff") if k in p}
            for p in row["problems"]
        ]
    return kept


def pinned(row: dict[str, Any]) -> dict[str, Any]:
    """An expected row without the words, which are looked for and not compared."""
    kept = {k: v for k, v in row.items() if k not in ("says", "evidence")}
    if "problems" in row:
        kept["problems"] = [{"level": "error"} | {k: v for k, v in p.items() if k != "says"} for p in row["problems"]]
    return kept


@pytest.mark.parametrize("name", NAMES)
def test_check_says_what_git_does(name: str, cli: Cli, git: Git, tmp_path: Path) -> None:
    case = CASES / name
    base = read_base(case)
    want = json.loads((case / "expected.json").read_bytes())
    make_project(case, base, tmp_path)

    tree = git.tree(base)
    verdicts, tip = git.judge(tree, [(case / "patches" / n, strip, back) for n, strip, back in options_of(case)])
    assert [row["status"] in ("clean", "offset") for row in want["patches"]] == verdicts
    assert want["tip"] == tip

    answer = cli("-C", tmp_path, "check", "--json")
    said = answer.json
    assert said["base"]["tree"] == tree
    assert said["tip"]["tree"] == (tip if all(verdicts) else None)
    assert said["ok"] == all(verdicts)
    assert answer.code == (0 if all(verdicts) else 1)
    assert [summary(row) for row in said["patches"]] == [pinned(row) for row in want["patches"]]
    for row, expected in zip(said["patches"], want["patches"], strict=True):
        assert expected.get("evidence", "") in row.get("evidence", "")
        for problem, told in zip(row.get("problems", []), expected.get("problems", []), strict=True):
            assert told["says"] in problem["message"]
