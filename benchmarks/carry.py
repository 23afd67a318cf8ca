"""A bump against ``git rebase`` of the same commits, in the same run: part of ``make bench``.

python benchmarks/carry.py [--patches 333] [--touched 3] [--files 3000 80000] [--runs 3] [--json FILE]

Upstream moves by one commit that edits, for a third of the patches, a line of their context: git apply refuses those,
and a merge takes them. Each run of the tool is a whole bump: every patch carried, proven and written, the lock
and the configuration with them. Nothing is on record but the two bases; git has all its objects, too.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from make_tree import git, make
from run import TOOL, forget, timed, tool

WANTED = 5  # times faster than git rebase


def drift(project: Path) -> int:
    """One more commit upstream, tagged ``new``, that edits the first context line of every third patch, in a
    file that no other patch touches. Returns how many patches that makes drift."""
    upstream = project.parent / "upstream"
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, patch in enumerate(sorted((project / "patches").glob("*.patch"))):
        for path, line in re.findall(r"^\+\+\+ b/(\S+)\n@@ -(\d+),", patch.read_text(), re.M):
            places[path].append((number, int(line)))
    alone = {found[0][0]: (path, found[0][1]) for path, found in places.items() if len(found) == 1}
    chosen = [alone[number] for number in sorted(alone) if number % 3 == 0]
    for path, line in chosen:
        rows = (upstream / path).read_text().split("\n")
        rows[line - 1] += " // upstream's own"
        (upstream / path).write_text("\n".join(rows))
    git(upstream, "commit", "-q", "-a", "-m", "upstream moves")
    git(upstream, "tag", "new")
    return len(chosen)


def branch(project: Path) -> Path:
    """A clone in which the series is the branch ``series`` on ``base``."""
    clone, mails = project.parent / "clone", project.parent / "mails"
    subprocess.run(["git", "clone", "-q", str(project.parent / "upstream"), str(clone)], check=True)
    tool(project, "export", str(mails), "--format", "git")
    git(clone, "checkout", "-q", "-b", "series", "base")
    git(clone, "am", "-q", *map(str, sorted(mails.glob("*.patch"))))
    return clone


def measure(root: Path, files: int, given: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Rows for one size of tree: what, how much, what is wanted."""
    project = make(root, files, given.patches, given.touched)
    moved = drift(project)
    clone = branch(project)
    kept = root / "kept"
    shutil.copytree(project, kept, ignore=shutil.ignore_patterns(".opencoti"))
    tool(project, "bump", "new", "--dry-run")  # both bases are in the store from here on

    def again() -> None:
        shutil.rmtree(project / "patches")
        shutil.copytree(kept, project, dirs_exist_ok=True)
        forget(project)

    def bump() -> None:
        done = subprocess.run([*TOOL, "-C", str(project), "bump", "new", "--json"], check=True, capture_output=True)
        found = [row["status"] for row in json.loads(done.stdout)["patches"]]
        assert (found.count("regenerated"), found.count("kept")) == (moved, given.patches - moved), found

    def rebase() -> None:
        git(clone, "rebase", "-q", "--onto", "new", "base", "work")

    def back() -> None:
        git(clone, "checkout", "-q", "-f", "-B", "work", "series")

    # by turns, so that both see the same machine
    took: dict[str, list[float]] = {"rebase": [], "bump": []}
    for _ in range(given.runs):
        again()
        back()
        took["rebase"].append(timed(rebase, 1))
        took["bump"].append(timed(bump, 1))
    theirs, ours = (statistics.median(took[name]) for name in ("rebase", "bump"))
    where = f"{given.patches} patches of which {moved} drift, {files} files"
    return [
        (f"git rebase: {where}", f"{theirs:.2f} s", ""),
        (f"bump: {where}", f"{ours:.2f} s", f"{theirs / ours:.1f} times faster than git rebase; wanted {WANTED}"),
    ]


def main() -> None:
    """Make the projects, time, print the table."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--patches", type=int, default=333)
    args.add_argument("--touched", type=int, default=3)
    args.add_argument("--files", type=int, nargs="+", default=[3000, 80_000])
    args.add_argument("--runs", type=int, default=3)
    args.add_argument("--json", type=Path)
    given = args.parse_args()
    rows = []
    for files in given.files:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            rows += measure(Path(folder), files, given)
    width = max(len(name) for name, _, _ in rows)
    for name, value, wanted in rows:
        print(f"{name:{width}}  {value:>8}  {wanted}")
    if given.json:
        given.json.write_text(json.dumps([{"what": n, "value": v, "wanted": w} for n, v, w in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
