"""``manifest.json`` of a build: what went in, what came out. Nothing in it says when or where it was made."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from opencoti_patches.build import abi
from opencoti_patches.core.errors import CouldNot
from opencoti_patches.core.model import Series, TreeId
from opencoti_patches.core.profile import Profile, inputs
from opencoti_patches.doors import fs, proc
from opencoti_patches.doors.net import sha256_of

SCHEMA = 1
NAME = "manifest.json"
ROWS = "abi.txt"


class Artefact(NamedTuple):
    """A file that the build made; ``path`` is relative to the outputs' folder; ``kind`` is ``ape`` (cosmocc's program for
    many systems), ``elf`` or ``file``."""

    path: str
    bytes: int
    sha256: str
    kind: str = "file"


def inputs_of(
    profile: Profile,
    targets: Sequence[str],
    base: TreeId,
    tip: TreeId,
    series: Series,
    tools: Mapping[str, str],
    variables: Mapping[str, str],
) -> dict[str, Any]:
    """What the result of a build depends on, as the manifest keeps it. ``variables``: of the user's environment."""
    return {
        "base": base,
        "tree": tip,
        "patches": [[e.name, e.sha256] for e in series.entries],
        "profile": profile.name,
        "settings": list(inputs(profile)),
        "targets": list(targets),
        "tools": dict(tools),
        "variables": dict(variables),
    }


def digest(what: Mapping[str, Any]) -> str:
    """One sha256 for all inputs."""
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def versions(tools: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Which version each tool is, in its own first line; empty for one that cannot say it."""
    found = {}
    for tool in tools:
        try:
            done = proc.run([tool, "--version"], env=env)
        except CouldNot:
            found[tool] = ""
            continue
        lines = [line for line in done.out.decode("utf-8", "replace").splitlines() if line.strip()]
        line = next((x for x in lines if re.search(r"\d+\.\d+", x)), "")  # nvcc's first ones are a title
        found[tool] = line.strip() if done.code == 0 else ""
    return found


def named(folder: Path, globs: Sequence[str]) -> set[Path]:
    """What the globs name; nothing that a linked folder leads out to: that is no result of a build."""
    top = folder.resolve()
    found = {p for pattern in globs for p in folder.glob(pattern)}
    return {p for p in found if p.parent.resolve().is_relative_to(top)}


def collect(folder: Path, globs: Sequence[str]) -> list[Artefact]:
    """The files that the globs name, each once, sorted; links are left out, for what they point to is one too."""
    found = [p for p in named(folder, globs) if p.is_file() and not p.is_symlink()]
    return [Artefact(str(p.relative_to(folder)), p.stat().st_size, sha256_of(p), kind_of(p)) for p in sorted(found)]


def kind_of(path: Path) -> str:
    """What a file is, by how it begins."""
    with open(path, "rb") as f:
        start = f.read(8)
    return "ape" if start.startswith((b"MZqFpD='", b"jartsr='")) else "elf" if start[:4] == b"\x7fELF" else "file"


def remove(folder: Path, globs: Sequence[str]) -> None:
    """Remove what the globs name: after a failure nothing may look as if it were the result."""
    for path in named(folder, globs):
        if path.is_file() or path.is_symlink():
            path.unlink(missing_ok=True)


def write(
    folder: Path, what: Mapping[str, Any], made: Sequence[Artefact], rows: Sequence[str] | None, since: str = ""
) -> None:
    """Put the manifest into the build folder, and beside it the rows of ggml's interface; None if they are not known.
    ``since``: the tree of the build that made the artefacts, where nothing that they are made of changed on the way."""
    known = None if rows is None else abi.digest(rows)
    made_of = [a._asdict() for a in made]
    doc = {"schema": SCHEMA, "inputs": what, "digest": digest(what), "abi": known, "artefacts": made_of}
    if since:
        note = f"nothing that {what['profile']} is made of changed since tree {since}"
        doc |= {"since": since, "note": note}
    fs.write(folder / ROWS, b"".join(f"{row}\n".encode() for row in rows or ()))
    fs.write(folder / NAME, json.dumps(doc, indent=1).encode() + b"\n")


def rows_of(folder: Path) -> tuple[str, ...]:
    """The rows of the interface that a build was made with; none if they are not known."""
    try:
        return tuple((folder / ROWS).read_text("utf-8").splitlines())
    except OSError:
        return ()


def read(folder: Path) -> dict[str, Any] | None:
    """The manifest of a build folder; None if there is none, or it is damaged."""
    doc = fs.read_json(folder / NAME)
    return doc if isinstance(doc, dict) and doc.get("schema") == SCHEMA and _whole(doc) else None


def artefacts_of(doc: Mapping[str, Any]) -> tuple[Artefact, ...]:
    """The artefacts of a manifest that was read."""
    return tuple(Artefact(**row) for row in doc["artefacts"])


def _whole(doc: Mapping[str, Any]) -> bool:
    try:
        rows = artefacts_of(doc)
        texts = [doc["digest"], doc["inputs"]["tree"], *(text for row in rows for text in (row.path, row.sha256))]
    except (KeyError, TypeError):
        return False
    return all(isinstance(text, str) for text in texts) and all(type(row.bytes) is int for row in rows)
