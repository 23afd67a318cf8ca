"""Timings as ratios against peers in the same run: ``make bench``. docs/benchmarks.md says what they mean.

python benchmarks/run.py [--patches 500] [--touched 3] [--runs 5] [--large 80000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from make_tree import git, make

_SCRIPT = Path(sys.executable).with_name("opencoti-patches")
TOOL = [str(_SCRIPT)] if _SCRIPT.exists() else [sys.executable, "-m", "opencoti_patches"]


def timed(action: Callable[[], object], runs: int, before: Callable[[], object] = lambda: None) -> float:
    """The median of several runs in seconds; ``before`` is not counted."""
    took = []
    for _ in range(runs):
        before()
        begun = time.perf_counter()
        action()
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


def tool(project: Path, *args: str) -> None:
    """Run the tool; it must say yes."""
    subprocess.run([*TOOL, "-C", str(project), *args], check=True, capture_output=True)


def forget(project: Path) -> None:
    """What was judged is forgotten; the base stays."""
    shutil.rmtree(project / ".opencoti" / "verdicts", ignore_errors=True)


def one_cached(project: Path) -> Callable[[], object]:
    """The peer for ``check``: one ``git apply --cached`` of all patches on a full index."""
    upstream, index = project.parent / "upstream", project.parent / "peer-index"
    patches = [str(p) for p in sorted((project / "patches").glob("*.patch"))]

    def run() -> None:
        shutil.copyfile(upstream / ".git" / "index", index)
        subprocess.run(
            ["git", "apply", "--cached", *patches],
            cwd=upstream,
            env={**os.environ, "GIT_INDEX_FILE": str(index)},
            check=True,
        )

    return run


def quilt(project: Path) -> float:
    """Seconds of the peer people use: ``quilt push -a`` in a fresh checkout."""
    work = project.parent / "quilt"
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(project.parent / "upstream", work, ignore=shutil.ignore_patterns(".git"))
    shutil.copytree(project / "patches", work / "patches")
    begun = time.perf_counter()
    subprocess.run(
        ["quilt", "push", "-a", "-q"], cwd=work, check=True, capture_output=True, env={**os.environ, "QUILTRC": "-"}
    )
    return time.perf_counter() - begun


def memory(project: Path) -> float:
    """The peak of a cold check and of its children, in MiB."""
    forget(project)
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, *TOOL, "-C", str(project), "check"], check=True, capture_output=True, text=True
    )
    return int(out.stdout) / 1024


def main() -> None:
    """Make the projects, time, print the table."""
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--patches", type=int, default=500)
    args.add_argument("--touched", type=int, default=3)
    args.add_argument("--files", type=int, default=3000)
    args.add_argument("--large", type=int, default=80_000)
    args.add_argument("--runs", type=int, default=5)
    args.add_argument("--json", type=Path)
    given = args.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as folder:
        rows = measure(Path(folder), given)
    width = max(len(name) for name, _, _ in rows)
    for name, value, wanted in rows:
        print(f"{name:{width}}  {value:>10}  {wanted}")
    if given.json:
        given.json.write_text(json.dumps([{"what": n, "value": v, "wanted": w} for n, v, w in rows], indent=1) + "\n")


def measure(root: Path, given: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Every row: what, how much, what is wanted."""
    small = make(root / "small", given.files, given.patches, given.touched)
    tool(small, "bootstrap")
    cached = timed(one_cached(small), given.runs)
    cold = timed(lambda: tool(small, "check"), given.runs, lambda: forget(small))
    warm = timed(lambda: tool(small, "check"), given.runs)
    rows = [
        ("one git apply --cached of all", f"{cached:.2f} s", ""),
        ("cold check", f"{cold:.2f} s", f"at most {1.5 * cached + 0.3:.2f} s (1.5 times that and 0.3 s)"),
        ("check, nothing changed", f"{warm * 1000:.0f} ms", "at most 150 ms"),
        ("memory of a cold check", f"{memory(small):.0f} MiB", "under 200 MiB"),
    ]
    last = sorted((small / "patches").glob("*.patch"))[-1]
    edited = timed(lambda: tool(small, "check"), given.runs, lambda: last.write_text("x" + last.read_text()))
    rows.append(("check after an edit of the last patch", f"{edited * 1000:.0f} ms", ""))
    if shutil.which("quilt"):
        took = statistics.median(quilt(small) for _ in range(3))
        rows.append(("quilt push -a", f"{took:.1f} s", f"{took / cold:.0f} times a cold check; wanted 30"))
    work = root / "am"
    subprocess.run(["git", "clone", "-q", str(small.parent / "upstream"), str(work)], check=True)
    mails = root / "mails"
    tool(small, "export", str(mails), "--format", "git")
    begun = time.perf_counter()
    git(work, "am", "-q", *map(str, sorted(mails.glob("*.patch"))))
    am = time.perf_counter() - begun
    rows.append(("git am of all", f"{am:.1f} s", f"{am / cold:.0f} times a cold check"))
    tool(small, "apply")
    forward = timed(
        lambda: tool(small, "apply"),
        given.runs,
        lambda: tool(small, "apply", "--to", last.name.replace("0500", "0499")),
    )
    rows.append(("apply of one patch more", f"{forward * 1000:.0f} ms", ""))
    large = make(root / "large", given.large, given.patches, given.touched)
    tool(large, "bootstrap")
    many = timed(lambda: tool(large, "check"), given.runs, lambda: forget(large))
    rows.append(
        (
            f"cold check, {given.large} files",
            f"{many:.2f} s",
            f"{many / cold:.2f} times that of {given.files}; wanted 1.3",
        )
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    rows.append(("largest process of all", f"{peak:.0f} MiB", ""))
    return rows


if __name__ == "__main__":
    main()
