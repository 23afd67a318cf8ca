"""A project in a state that a test can go back to, with a run ahead of it that changes much."""

from __future__ import annotations

import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

from conftest import File

from e2e.driver import Driver, Env, Struck
from e2e.trees import CONFIG, Files, leftovers, link, numbered, plain_git, read_folder, script, text, write_folder

START: Files = {
    "a": text(numbered(1, 40)),
    "b": text(numbered(1, 40)),
    "c": text("c\n"),
    "gone": text("gone\n"),
    "to-folder": text("file\n"),
    "to-file/x": text("x\n"),
    "l": link("a"),
}
FIRST: Files = {
    **{p: f for p, f in START.items() if p not in ("gone", "to-folder", "to-file/x")},
    "a": text(numbered(1, 40, n20="twenty")),
    "to-folder/y": text("y\n"),
    "to-file": script("file\n"),
    "l": link("b"),
    "new/z": text("z\n"),
}
SECOND: Files = {**FIRST, "b": text(numbered(1, 40, n20="twenty"))}
THIRD: Files = {**SECOND, "c": text("C\n"), "b": text(numbered(1, 40, n20="twenty", n30="thirty"))}
UPSTREAM: Files = {**START, "a": text("up\n" + numbered(1, 40)), "b": text("up\n" + numbered(1, 40))}
CONFIG_OUT = CONFIG.replace('"base"', '"../base"').replace("[[base", '[tree]\ndir = "tree"\n\n[[base')


@dataclass(frozen=True)
class Scene:
    """A project that can be put back to where it was. What stands outside ``root`` (base, tree's times)
    stays, so that a run after it costs little."""

    root: Path
    kept: Path
    driver: Driver

    @property
    def tree(self) -> Path:
        """The working tree."""
        return self.root / "tree"

    def run(self, *args: str, at: int = 0, strike: signal.Signals | None = None, env: Env | None = None) -> Struck:
        """Run the program, and strike it."""
        return self.driver(self.root, *args, at=at, strike=strike, env=env)

    def from_git(self, *versions: Files) -> None:
        """Make the base a git repository, with a tag a version, and the project on the first: v1, v2, …"""
        up = self.root.parent / "up"
        plain_git(self.root.parent, "init", "-q", "up")
        for number, files in enumerate(versions, 1):
            for old in (up / p for p in read_folder(up)):
                old.unlink()
            write_folder(up, files)
            plain_git(up, "add", "-A")
            plain_git(up, "commit", "-q", "-m", "version")
            plain_git(up, "tag", f"v{number}")
        toml = self.root / "opencoti.toml"
        toml.write_text(toml.read_text().replace('"directory"\npath = "../base"', '"git"\nurl = "../up"\nrev = "v1"'))

    def keep(self) -> None:
        """Remember this state."""
        shutil.copytree(self.root, self.kept, symlinks=True)

    def back(self) -> None:
        """Go back to it."""
        shutil.rmtree(self.root)
        shutil.copytree(self.kept, self.root, symlinks=True)

    def patches(self) -> dict[str, File]:
        """What people see of the patches folder, and the configuration: a temporary file is nobody's."""
        files = read_folder(self.root / "patches") | {"../toml": text((self.root / "opencoti.toml").read_bytes())}
        return {p: f for p, f in files.items() if not p.startswith(".opencoti-tmp-")}

    def trees(self) -> dict[str, dict[str, File]]:
        """The working trees there are, by name."""
        names = [n for n in ("tree", "fresh") if (self.root / n).exists()]
        return {n: read_folder(self.root / n) for n in names}

    def clean(self) -> bool:
        """Whether nothing lies about that a run needed only while it was at work. (Who only reads writes
        verdicts too, beside others; nobody may sweep there.)"""
        scratch = self.root / ".opencoti/scratch"
        journals = list((self.root / ".opencoti").glob("projects/*/journal.json"))
        left = [p for p in leftovers(self.root) if "verdicts" not in p.parts]
        return not left and not (scratch.exists() and any(scratch.iterdir())) and not journals
