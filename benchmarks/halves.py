"""``bump`` on upstream's own edits: of what it changed in a file between two revisions, one half is taken for upstream's,
the other for a patch. Both together are what it has there, so the truth is known. Beside it git's three-way merge of the
same. Not a part of ``make bench``, for it wants a repository.

python benchmarks/halves.py REPO OLD NEW [--files 250] [--seed 1] [--json FILE]

REPO is any git repository, OLD and NEW two revisions of it. A case is a file that both have, a patch of its own; each
change of git's diff goes to one side by chance. Halves of one edit stand nearer to each other, and are more alike, than
what two people do, so more is *adapted* here than in real series; a place that was said with confidence and is another
than upstream's is a bug, or one of two copies of the same lines.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from make_tree import git_bytes as git
from run import TOOL

SURE = ("kept", "renumbered", "regenerated", "upstreamed")
SHARES = (0.2, 0.5, 0.8)  # of a file's changes that are the patch's
RIGHT, OTHER = "as upstream has it", "otherwise"
LARGEST = 600_000  # bytes of a file
_HUNK = re.compile(rb"(?m)^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
Change = tuple[int, int, list[bytes]]
"""Lines of the old file, from and to, and what they become."""


class Case(NamedTuple):
    """A file: as it was, with upstream's half, with the patch's, with both."""

    path: str
    old: bytes
    theirs: bytes
    ours: bytes
    both: bytes


def lines(raw: bytes) -> list[bytes]:
    """The lines of a file with their ends."""
    return [line + b"\n" for line in raw.split(b"\n")[:-1]]


def changes(repo: Path, path: str, revs: tuple[str, str]) -> list[Change]:
    """What the diff of two revisions changes in a file."""
    names = [f"{rev}:{path}" for rev in revs]
    new = lines(git(repo, "show", names[1]))
    found = []
    for m in _HUNK.finditer(git(repo, "diff", "-U0", *names)):
        a, b, c, d = int(m[1]), int(m[2] or 1), int(m[3]), int(m[4] or 1)
        at, to = (a - 1 if b else a), (c - 1 if d else c)
        found.append((at, at + b, new[to : to + d]))
    return found


def made(old: bytes, some: list[Change]) -> bytes:
    """A file with these changes."""
    found: list[bytes] = []
    at = 0
    for begin, end, added in some:
        found += [*lines(old)[at:begin], *added]
        at = end
    return b"".join([*found, *lines(old)[at:]])


def cases(repo: Path, revs: tuple[str, str], most: int, chance: random.Random) -> list[Case]:
    """Files of text that both revisions have, and in which each side gets a change."""
    listed = git(repo, "diff", "--name-only", "-z", "--diff-filter=M", "--no-renames", *revs)
    paths = [p.decode("utf-8", "surrogateescape") for p in listed.split(b"\0")[:-1]]
    chance.shuffle(paths)
    found: list[Case] = []
    for path in paths:
        old, new = (git(repo, "show", f"{rev}:{path}") for rev in revs)
        plain = all(x.endswith(b"\n") and not set(b"\0\r") & set(x) and len(x) < LARGEST for x in (old, new))
        share = chance.choice(SHARES)
        drawn = [(change, chance.random() < share) for change in changes(repo, path, revs)] if plain else []
        theirs, ours = ([change for change, mine in drawn if mine == side] for side in (False, True))
        if theirs and ours:
            found.append(Case(path, old, made(old, theirs), made(old, ours), new))
        if len(found) == most:
            break
    return found


def put(root: Path, files: dict[str, bytes], tag: str) -> None:
    """Commit files, and tag that."""
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", tag)
    git(root, "tag", tag)


def project(root: Path, found: list[Case]) -> Path:
    """A project with a patch a case, on a base whose ``new`` has the other half."""
    upstream, patches = root / "upstream", root / "project" / "patches"
    patches.mkdir(parents=True)
    upstream.mkdir()
    git(upstream, "init", "-q")
    (upstream / ".git" / "info").mkdir(exist_ok=True)
    (upstream / ".git" / "info" / "attributes").write_text("* -text -filter -ident\n")
    put(upstream, {c.path: c.ours for c in found}, "ours")
    put(upstream, {c.path: c.old for c in found}, "old")
    put(upstream, {c.path: c.theirs for c in found}, "new")
    for number, c in enumerate(found):
        (patches / f"{number:04d}-half.patch").write_bytes(git(upstream, "diff", "old", "ours", "--", c.path))
    (root / "project" / "opencoti.toml").write_text(
        f'schema = 1\nname = "bench"\n\n[[base.source]]\nkind = "git"\nurl = "{upstream}"\nrev = "old"\n'
    )
    return root / "project"


def bump(folder: Path, names: list[str]) -> dict[str, dict[str, str]]:
    """The rows of a bump of these patches."""
    (folder / "patches" / "series").write_text("".join(f"{name}\n" for name in names))
    command = [*TOOL, "-C", str(folder), "bump", "new", "--json", "--accept-adapted"]
    done = subprocess.run(command, capture_output=True, check=False)
    if not done.stdout:
        raise SystemExit(done.stderr.decode())
    return {row["name"]: row for row in json.loads(done.stdout)["patches"]}


def judged(root: Path, found: list[Case]) -> list[tuple[Case, str, bool]]:
    """Each case, its status, and whether the patch makes of upstream's half what upstream has."""
    folder = project(root, found)
    names = [f"{number:04d}-half.patch" for number in range(len(found))]
    rows = bump(folder, names)
    carried = [name for name in names if rows[name]["status"] in (*SURE, "adapted")]
    if len(carried) < len(names):  # a conflict keeps all as they are: once more without those
        subprocess.run([*TOOL, "-C", str(folder), "bump", "--abort"], capture_output=True, check=True)
        bump(folder, carried)
    left = (folder / "patches" / "series").read_text().split()
    for name in left:
        git(root / "upstream", "apply", "--whitespace=nowarn", str(folder / "patches" / name))
    return [
        (c, rows[name]["status"], name in carried and (root / "upstream" / c.path).read_bytes() == c.both)
        for name, c in zip(names, found, strict=True)
    ]


def merged(root: Path, c: Case) -> str:
    """What git's merge of both halves comes to."""
    sides = [root / name for name in ("ours", "old", "theirs")]
    for path, content in zip(sides, (c.ours, c.old, c.theirs), strict=True):
        path.write_bytes(content)
    done = subprocess.run(["git", "merge-file", "-p", *map(str, sides)], capture_output=True, check=False)
    return "conflict" if done.returncode else RIGHT if done.stdout == c.both else OTHER


def main() -> int:
    """Split, carry, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo", type=Path)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--files", type=int, default=250, help="how many, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = cases(given.repo, (given.old, given.new), given.files, random.Random(given.seed))
    with tempfile.TemporaryDirectory() as folder:
        rows = judged(Path(folder), found)
        peer = Counter(merged(Path(folder), c) for c in found)
    for (status, right), count in sorted(Counter((status, right) for _, status, right in rows).items()):
        how = RIGHT if right else OTHER if status in (*SURE, "adapted") else ""
        print(f"{status:12}{how:20}{count:5}")
    for how, count in sorted(peer.items()):
        print(f"{'git merge':12}{how:20}{count:5}")
    for c, status, right in rows:
        if status in SURE and not right:
            print(f"{status}, and otherwise: {c.path}")
    if given.json:
        listed = [{"file": c.path, "status": status, "right": right} for c, status, right in rows]
        given.json.write_text(json.dumps({"cases": listed, "git merge": peer}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
