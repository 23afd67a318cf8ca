"""``bump`` on real series of a distribution: the patches of its source packages from one release to the next, against
what its maintainers have there. Not a part of ``make bench``, for it wants the network.

python benchmarks/releases.py MIRROR OLD NEW [--packages 200] [--largest 4] [--seed 1] [--json FILE]

MIRROR is the address of a Debian archive, OLD and NEW are two of its releases. A case is a patch that both series have
under one name, on the files that it touches: those of OLD, after the patches before it, are the old base, those of NEW
the new one, and what NEW's patch makes of them is the truth. Only packages whose two series git takes as they are.

*kinds*: clean (git takes OLD's patch on NEW, to the truth), same (no line of the patch changed but context), reindented
(white space alone), changed. *verdicts*: exact; cautious (the truth, but adapted where nothing changed); review (other
than the truth, and adapted); wrong (other, and said with confidence); fail (a conflict).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from make_tree import git
from run import TOOL

SURE = ("kept", "renumbered", "regenerated", "upstreamed")
Files = dict[str, bytes]


class Package(NamedTuple):
    """A source package of one release: its folder in the archive, and its files (sha256, size, name)."""

    folder: str
    files: tuple[tuple[str, int, str], ...]

    def one(self, pattern: str) -> tuple[str, int, str] | None:
        """The one file whose name has this; None if there are several or none."""
        found = [f for f in self.files if re.search(pattern, f[2]) and not f[2].endswith(".asc")]
        return found[0] if len(found) == 1 else None


class Step(NamedTuple):
    """A patch of a series: its text, the files that it touches before and after it."""

    raw: bytes
    before: Files
    after: Files


def packages(mirror: str, release: str) -> dict[str, Package]:
    """The source packages of a release."""
    raw = urllib.request.urlopen(f"{mirror}/dists/{release}/main/source/Sources.xz", timeout=120).read()
    found = {}
    for block in lzma.decompress(raw).decode("utf-8", "replace").split("\n\n"):
        name, folder = (re.search(rf"(?m)^{key}: (\S+)$", block) for key in ("Package", "Directory"))
        sums = re.search(r"(?m)^Checksums-Sha256:\n((?: .*\n?)+)", block)
        if name and folder and sums and "\nFormat: 3.0 (quilt)" in block:
            rows = [line.split() for line in sums[1].splitlines()]
            found[name[1]] = Package(folder[1], tuple((r[0], int(r[1]), r[2]) for r in rows))
    return found


def fetched(mirror: str, package: Package, pattern: str, folder: Path) -> Path | None:
    """A file of a package, checked; None where the mirror has it not."""
    wanted = package.one(pattern)
    if wanted is None:
        return None
    try:
        raw = urllib.request.urlopen(f"{mirror}/{package.folder}/{wanted[2]}", timeout=120).read()
    except OSError:
        return None
    if hashlib.sha256(raw).hexdigest() != wanted[0]:
        return None
    (folder / wanted[2]).write_bytes(raw)
    return folder / wanted[2]


def member(tar: tarfile.TarFile, name: str) -> bytes:
    """A file of an archive. Errors: KeyError."""
    found = tar.extractfile(name)
    if found is None:
        raise KeyError(name)
    return found.read()


def series(archive: Path) -> dict[str, bytes]:
    """The patches in order; empty where one wants options of its own."""
    with tarfile.open(archive) as tar:
        try:
            listed = member(tar, "debian/patches/series").decode()
            rows = [line.split("#")[0].split() for line in listed.splitlines()]
            names = [row[0] for row in rows if row]
            plain = all(len(row) == 1 for row in rows if row)
            return {n: member(tar, f"debian/patches/{n}") for n in names} if plain else {}
        except (KeyError, UnicodeDecodeError):
            return {}


def touched(raw: bytes) -> set[str]:
    """The paths that a patch names, one folder stripped."""
    names = (m.decode("utf-8", "replace") for m in re.findall(rb"(?m)^(?:---|\+\+\+) ([^\t\n]+)", raw))
    return {n.split("/", 1)[1].strip() for n in names if "/" in n and n != "/dev/null"}


def read(root: Path, paths: set[str]) -> Files | None:
    """Plain files of text; None if one is none or is large."""
    found = {}
    for path in paths:
        if (root / path).is_symlink():
            return None
        if (root / path).is_file():
            found[path] = (root / path).read_bytes()
    return None if any(b"\0" in x or len(x) > 600_000 for x in found.values()) else found


def takes(tree: Path, raw: bytes) -> bool:
    """Whether git takes a patch on a folder; then it is in."""
    patch = tree / ".git" / "the.patch"
    patch.write_bytes(raw)
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", str(patch)], cwd=tree, capture_output=True, check=False
    )
    return done.returncode == 0


def walked(archive: Path, patches: Mapping[str, bytes], also: Mapping[str, set[str]], folder: Path) -> dict[str, Step]:
    """What each patch does, on the sources in ``archive``, up to the first that git refuses. ``also``: more paths to look at."""
    subprocess.run(["tar", "xf", str(archive), "-C", str(folder), "--no-same-owner"], check=True, capture_output=True)
    roots = list(folder.iterdir())
    tree = roots[0] if len(roots) == 1 and roots[0].is_dir() else folder
    (tree / ".gitattributes").unlink(missing_ok=True)  # it would change what git writes
    git(tree, "init", "-q")
    found = {}
    for name, raw in patches.items():
        paths = touched(raw) | also.get(name, set())
        before = read(tree, paths)
        if not takes(tree, raw):
            break
        after = read(tree, paths)
        if before is not None and after is not None:
            found[name] = Step(raw, before, after)
    return found


def put(root: Path, files: Files) -> None:
    """Make a folder hold these files and no others, beside git's own."""
    for path in root.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def kind(old: Step, new: Step, folder: Path) -> str:
    """What carrying this patch takes; empty where git takes it and makes something else of it than the maintainers."""
    git(folder, "init", "-q")
    put(folder, new.before)
    a, b = (re.findall(rb"(?m)^(?:\+(?!\+\+ )|-(?!-- )).*$", s.raw) for s in (old, new))
    content = "same" if a == b else "reindented" if _bare(a) == _bare(b) else "changed"
    if takes(folder, old.raw):
        right = read(folder, {*new.before, *new.after, *touched(old.raw)}) == new.after
        return "clean" if right else "same" if content == "same" else ""
    return content


def _bare(rows: list[bytes]) -> list[bytes]:
    """Changed lines without any white space, blank ones left out."""
    return [bare for row in rows if (bare := b"".join(row[1:].split()))]


def verdict(old: Step, new: Step, kind_: str, root: Path) -> str:
    """How the tool carries the patch, as a user would run it."""
    upstream, project, result = root / "upstream", root / "project", root / "result"
    upstream.mkdir(parents=True)
    git(upstream, "init", "-q")
    for tag, files in (("old", old.before), ("new", new.before)):
        put(upstream, files)
        git(upstream, "add", "-A", "-f")
        git(upstream, "commit", "-q", "--allow-empty", "-m", tag)
        git(upstream, "tag", tag)
    (project / "patches").mkdir(parents=True)
    (project / "opencoti.toml").write_text(
        f'schema = 1\nname = "bench"\n\n[[base.source]]\nkind = "git"\nurl = "{upstream}"\nrev = "old"\n'
    )
    (project / "patches" / "0001-it.patch").write_bytes(old.raw)
    (project / "patches" / "series").write_text("0001-it.patch\n")
    command = [*TOOL, "-C", str(project), "bump", "new", "--json", "--accept-adapted"]
    done = subprocess.run(command, capture_output=True, check=False)
    status = json.loads(done.stdout)["patches"][0]["status"]
    if status not in (*SURE, "adapted"):
        return "fail"
    result.mkdir()
    git(result, "init", "-q")
    put(result, new.before)
    left = (project / "patches" / "series").read_text().split()
    if not all(takes(result, (project / "patches" / name).read_bytes()) for name in left):
        return "fail"
    if read(result, {*new.before, *new.after}) == new.after:
        return "cautious" if status == "adapted" and kind_ == "same" else "exact"
    return "wrong" if status in SURE else "review"


def cases(mirror: str, old: Package, new: Package, folder: Path) -> Iterator[tuple[str, Step, Step]]:
    """The patches that both series of a package have under one name, and that do not do the same on the same files."""
    sides = [fetched(mirror, p, r"\.debian\.tar\.", folder) for p in (old, new)]
    if None in sides:
        return
    a, b = (series(side) for side in sides if side)
    both = [n for n in a if n in b]
    if all(a[n] == b[n] for n in both):
        return
    sources = [fetched(mirror, p, r"\.orig\.tar\.", folder) for p in (old, new)]
    if None in sources:
        return
    also = {n: touched(a[n]) | touched(b[n]) for n in both}
    walks = []
    for number, (source, patches) in enumerate(zip(sources, (a, b), strict=True)):
        (folder / str(number)).mkdir()
        walks.append(walked(source, patches, also, folder / str(number)) if source else {})
    for name in both:
        if name in walks[0] and name in walks[1]:
            x, y = walks[0][name], walks[1][name]
            if x.before and x.before != y.before and x.before != x.after and y.before != y.after:
                yield name, x, y


def main() -> int:
    """Fetch, carry, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror")
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--packages", type=int, default=200, help="how many to look at, drawn of all")
    parser.add_argument("--largest", type=float, default=4, help="MB of sources, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    old, new = (packages(given.mirror, release) for release in (given.old, given.new))
    names = sorted(
        n for n in old if n in new and old[n].files != new[n].files and _small(old[n], new[n], given.largest)
    )
    random.Random(given.seed).shuffle(names)
    table: defaultdict[str, Counter[str]] = defaultdict(Counter)
    rows = []
    for name in names[: given.packages]:
        with tempfile.TemporaryDirectory() as made:
            for number, (patch, x, y) in enumerate(cases(given.mirror, old[name], new[name], Path(made))):
                place = Path(made) / f"case-{number}"
                (place / "kind").mkdir(parents=True)
                if found := kind(x, y, place / "kind"):
                    said = verdict(x, y, found, place)
                    table[found][said] += 1
                    rows.append({"package": name, "patch": patch, "kind": found, "verdict": said})
                    print(f"{said:9}{found:12}{name} {patch}", file=sys.stderr, flush=True)
    for found, counts in sorted(table.items()):
        shown = " ".join(f"{said} {counts[said]:4}" for said in ("exact", "cautious", "review", "wrong", "fail"))
        print(f"{found:12}{shown}  of {counts.total()}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    return 0


def _small(old: Package, new: Package, largest: float) -> bool:
    """Whether both have one archive of sources, not too large, and one of patches that is worth a look."""
    sources, patches = ([p.one(pattern) for p in (old, new)] for pattern in (r"\.orig\.tar\.", r"\.debian\.tar\."))
    return all(f and f[1] < largest * 1e6 for f in sources) and all(f and f[1] > 10_000 for f in patches)


if __name__ == "__main__":
    sys.exit(main())
