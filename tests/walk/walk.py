#!/usr/bin/env python3
"""The walk of our own series that docs/carry.md shows, from the committed base to 0.3.36, command by command: each output is
compared with the page, and each series with the one kept here.

Where a person resolves a conflict or edits a folder, the files are taken from the project of that version beside this file,
as that person left them. What a bump writes has to be that series again, but for the notes, which have a date.

    walk.py [--print] [DIR]     --print: the section of the page with what came. DIR (build/walk) keeps what was downloaded

Asks the package registry for four sdists (280 MB) the first time. Ends with 1 if anything is otherwise.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from e2e.page import ROOT, Ran, Shell, as_it_came, fits, steps_of  # noqa: E402

PAGE = ROOT / "docs/carry.md"
_NOTE = re.compile(rb"(?m)^opencoti note \(.*\n")
_FILE = re.compile(r"(?m)^\+\+\+ b/(\S+)")


def section() -> str:
    """The part of the page that is walked."""
    text = PAGE.read_text("utf-8")
    begin = text.index("## Our own series")
    return text[begin : text.index("\n## ", begin)]


class Walk:
    """A copy of this project that goes from version to version."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.shell = Shell(folder, store)
        self.version = ""
        self.wrong: list[str] = []
        self.folder = folder
        shutil.copy(ROOT / "opencoti.toml", folder)
        shutil.copytree(ROOT / "patches", folder / "patches")

    def __call__(self, command: str) -> Ran:
        """One command of the page, after what a person does before it."""
        if to := re.search(r"bump (\d\S*)", command):
            self.version = to[1]
        if "bump --continue" in command:
            self._resolve()
        if edited := re.search(r"regen (\d+) --from WORK", command):
            self.shell(f"rm -rf WORK; opencoti-patches bootstrap --to {edited[1]} WORK")
            self._as_left(edited[1], self.folder / "WORK")
        ran = self.shell(command)
        if "check" in command:
            self._compare()
        return ran

    def _resolve(self) -> None:
        status = json.loads("\n".join(self.shell("opencoti-patches bump --status --json")[1]))
        session = status["session"]
        if session and session["waits_for"]:
            self._as_left(session["waits_for"][:4], Path(session["worktree"]), session["files"])

    def _as_left(self, patch: str, tree: Path, files: Sequence[str] = ()) -> None:
        """The files of a patch, and those in conflict, as a person left them in a tree."""
        kept = HERE / self.version
        with tempfile.TemporaryDirectory() as there:
            shutil.copytree(kept, there, dirs_exist_ok=True)
            code, _, err = self.shell(f"opencoti-patches -C {shlex.quote(there)} bootstrap --to {patch} {there}/done")
            if code:
                raise SystemExit(err)
            (file,) = (kept / "patches").glob(f"{patch}-*.patch")
            for path in {*_FILE.findall(file.read_text("utf-8")), *files}:
                shutil.copy(Path(there, "done", path), tree / path)

    def _compare(self) -> None:
        kept = HERE / self.version / "patches"
        for file in sorted(kept.glob("*.patch")):
            came = (self.folder / "patches" / file.name).read_bytes()
            if _NOTE.sub(b"", came) != _NOTE.sub(b"", file.read_bytes()):
                self.wrong.append(f"{self.version}: {file.name} is not the one in {kept.relative_to(ROOT)}")


def main() -> int:
    """Walk, then say what was otherwise."""
    prints = "--print" in sys.argv
    keep = Path(next((a for a in sys.argv[1:] if not a.startswith("-")), ROOT / "build/walk")).resolve()
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(Path(folder), keep / "store")
        if prints:
            print("\n".join(as_it_came(section(), walk)))
        else:
            for step in steps_of(section()):
                code, came, err = walk(step.command)
                print(f"{'as the page says' if fits(step.says, came) else 'OTHERWISE'}: {step.command}", flush=True)
                if not fits(step.says, came):
                    walk.wrong.append("\n".join([f"{walk.version}: {step.command} ended with {code}", *came, err]))
    print("\n\n".join(walk.wrong), file=sys.stderr)
    return bool(walk.wrong)


if __name__ == "__main__":
    sys.exit(main())
