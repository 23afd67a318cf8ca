"""Shared ground: git as a judge of its own, the command line in this process, how many examples to try."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from opencoti_patches.cli import main

pytest_plugins = ["e2e.forked", "cli.documents", "cli.shipped"]

# Started in the background or by nohup, we ignore these, and so would all that the tests start and interrupt.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# OPENCOTI_EXAMPLES multiplies the examples of every property: 20 for a long night.
SLOWER = max(1, int(os.environ.get("OPENCOTI_EXAMPLES", "1")))
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("default")


def examples(count: int) -> settings:
    """Hypothesis settings for a property that is asked ``count`` times in a default run."""
    return settings(max_examples=count * SLOWER)


File = tuple[str, bytes]
"""(mode, content)."""
Files = Mapping[bytes, File]


class Git:
    """Real git on a bare repository, under an environment of its own. It shares no code with the product."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(path),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(path.parent),
            "GIT_DIR": str(path),
            "GIT_INDEX_FILE": str(path / "judge-index"),
        }
        if not (path / "HEAD").exists():
            path.mkdir(parents=True, exist_ok=True)
            self("init", "-q", "--bare", ".")

    def run(self, *args: str | Path, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run git to its end, whatever that is."""
        return subprocess.run(
            ["git", *map(str, args)], cwd=self.path, env=self.env, input=input, capture_output=True, check=False
        )

    def __call__(self, *args: str | Path, input: bytes = b"") -> bytes:
        """What git prints; it must succeed."""
        done = self.run(*args, input=input)
        assert done.returncode == 0, (args, done.stderr.decode("utf-8", "replace"))
        return done.stdout

    def put(self, kind: str, content: bytes) -> str:
        """Write one object, as git would."""
        raw = b"%s %d\0%s" % (kind.encode(), len(content), content)
        oid = hashlib.sha1(raw).hexdigest()
        target = self.path / "objects" / oid[:2] / oid[2:]
        if not target.exists():
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(zlib.compress(raw, 1))
        return oid

    def tree(self, files: Files) -> str:
        """Write a tree."""
        here: dict[bytes, tuple[bytes, str]] = {}
        below: dict[bytes, dict[bytes, File]] = {}
        for path, (mode, content) in files.items():
            first, _, rest = path.partition(b"/")
            if rest:
                below.setdefault(first, {})[rest] = (mode, content)
            else:
                here[first] = (mode.encode(), self.put("blob", content))
        here |= {name: (b"40000", self.tree(inner)) for name, inner in below.items()}
        rows = sorted(here.items(), key=lambda row: row[0] + (b"/" if row[1][0] == b"40000" else b""))
        return self.put("tree", b"".join(b"%s %s\0%s" % (m, n, bytes.fromhex(o)) for n, (m, o) in rows))

    def judge(self, base: str, patches: Sequence[tuple[Path, int, bool]]) -> tuple[list[bool], str]:
        """Apply patches (file, strip, reversed) one at a time on the full index of ``base``, leaving out
        those that git refuses: its verdict on each, and the tree at the end."""
        self("read-tree", base)
        verdicts = []
        for patch, strip, reverse in patches:
            args = ["--whitespace=nowarn", "--no-ignore-whitespace", f"-p{strip}", *(["-R"] * reverse)]
            verdicts.append(self.run("apply", "--cached", *args, "--", patch).returncode == 0)
        return verdicts, self("write-tree").decode().strip()


@dataclass(frozen=True)
class Answer:
    """How one run of the command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document on stdout."""
        return json.loads(self.out)


Cli = Callable[..., Answer]


@pytest.fixture(autouse=True)
def _own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test works on the store of whoever runs it."""
    monkeypatch.delenv("OPENCOTI_STORE", raising=False)


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """A fresh repository to judge in."""
    return Git(tmp_path / "judge.git")


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:
    """Run the command line in this process, from its arguments to its exit code."""

    def run(*args: str | Path) -> Answer:
        capfd.readouterr()
        monkeypatch.setattr("sys.argv", ["opencoti-patches", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return Answer(int(ended.value.code or 0), out, err)

    yield run
