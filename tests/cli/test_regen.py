"""``regen``: drifted patches written anew, to the byte; everything else stays untouched, to the byte too.

A golden case is a folder ``tests/golden/regen/NAME``: ``base/``, ``patches/``, and ``expected/`` with the files
that are to be written and ``rows.json``: arguments, exit code, a status a patch. What is expected was made by
hand and ``git diff`` alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import (
    CONFIG,
    HEADER,
    Files,
    leftovers,
    numbered,
    patch_between,
    script,
    set_base,
    text,
    write_folder,
    write_project,
)

if TYPE_CHECKING:
    from conftest import Cli, Git
    from e2e.forked import Forked

    from cli.conftest import Ran, Sandbox


CASES = Path(__file__).parents[1] / "golden" / "regen"
NAMES = sorted(p.name for p in CASES.iterdir())
DAY: Any = {"SOURCE_DATE_EPOCH": "1767312000"}  # 2026-01-02

START: Files = {"a": text(numbered(1, 40)), "b": text(numbered(1, 40)), "c": text("c\n")}
FIRST: Files = {**START, "a": text(numbered(1, 40, n20="twenty"))}
SECOND: Files = {**FIRST, "b": text(numbered(1, 40, n20="twenty"))}
THIRD: Files = {**SECOND, "c": text("C\n")}


def patches(root: Path) -> dict[str, bytes]:
    """All files of the patches folder."""
    return {p.name: p.read_bytes() for p in (root / "patches").iterdir()}


def statuses(ran: Ran) -> list[str]:
    """The statuses of all rows."""
    return [r["status"] for r in ran.json["patches"]]


@pytest.fixture
def sandbox(forked: Forked) -> Sandbox:
    """An empty folder, and the program run in it."""
    return forked


@pytest.fixture
def made(sandbox: Sandbox, git: Git) -> Sandbox:
    """Three patches, each on a file of its own."""
    write_project(sandbox.root, git, [START, FIRST, SECOND, THIRD])
    return sandbox


def drift(root: Path, **files: str) -> None:
    """Upstream changes these files."""
    set_base(root, {**START, **{p: text(t) for p, t in files.items()}})


UP = "upstream\n" * 3
GONE = "".join(f"quite another text {i}\n" for i in range(30))


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, tmp_path: Path, cli: Cli, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    case, root = CASES / name, tmp_path / "work"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", DAY["SOURCE_DATE_EPOCH"])
    monkeypatch.delenv("OPENCOTI_STORE", raising=False)
    base = {str(p.relative_to(case / "base")): text(p.read_bytes()) for p in case.rglob("base/**/*") if p.is_file()}
    write_folder(root / "base", base)
    shutil.copytree(case / "patches", root / "patches")
    (root / "opencoti.toml").write_text(CONFIG.replace("small", "case"))
    before = patches(root)
    wanted = json.loads((case / "expected/rows.json").read_bytes())
    changed = {p.name: p.read_bytes() for p in (case / "expected").iterdir() if p.name != "rows.json"}

    ran = cli("-C", root, "regen", "--json", *wanted["args"])
    assert [[r["name"], r["status"]] for r in ran.json["patches"]] == wanted["rows"]
    assert ran.code == wanted["code"]
    assert patches(root) == before | changed
    again = cli("-C", root, "regen", "--json", *wanted["args"])
    assert patches(root) == before | changed
    assert again.code == wanted["code"]
    if wanted["code"] == 0:
        assert {r["status"] for r in again.json["patches"]} == {"kept"}
        series = [r.split() for r in (case / "patches/series").read_text().splitlines()]
        rows = [(n, next((int(o[2:]) for o in opts if o[:2] == "-p"), 1), "-R" in opts) for n, *opts in series]
        tree = git.tree({os.fsencode(p): f for p, f in base.items()})
        verdicts, _ = git.judge(tree, [(root / "patches" / n, strip, rev) for n, strip, rev in rows])
        assert all(verdicts)
        assert cli("-C", root, "check", "--no-offset").code == 0


def test_untouched_to_the_byte_and_the_time(made: Sandbox) -> None:
    file = made.root / "patches/0001-step.patch"
    os.utime(file, (1, 1))
    before = made.files()
    ran = made("regen", "--json")
    assert (ran.code, statuses(ran), ran.json["written"]) == (0, ["kept"] * 3, [])
    assert made("regen").out == "3 kept. Nothing to write.\n"
    assert made.files() == before
    assert file.stat().st_mtime_ns == 10**9

    drift(made.root, b=UP + numbered(1, 40))
    ran = made("regen", "--json")
    assert statuses(ran) == ["kept", "renumbered", "kept"]
    assert ran.json["written"] == ["patches/0002-step.patch"]
    assert file.stat().st_mtime_ns == 10**9
    assert file.read_bytes() == before["patches/0001-step.patch"]


def test_renumbered_changes_numbers_only(made: Sandbox) -> None:
    file = made.root / "patches/0002-step.patch"
    before = file.read_bytes()
    file.chmod(0o640)
    drift(made.root, b=UP + numbered(1, 40))
    ran = made("regen", "--json")
    assert (ran.code, statuses(ran)) == (0, ["kept", "renumbered", "kept"])
    after = file.read_bytes()
    assert b"@@ -20,7 +20,7 @@" in after
    assert after.replace(b"-20,7 +20,7", b"-17,7 +17,7") == before
    assert file.stat().st_mode & 0o777 == 0o640
    assert made("check", "--no-offset").code == 0
    assert leftovers(made.root) == []


def test_dry_run_writes_nothing_and_says_the_same(made: Sandbox) -> None:
    drift(made.root, b=UP + numbered(1, 40))
    made("lock")
    before = made.files()
    dry = made("regen", "--dry-run", "--json")
    assert (dry.code, dry.json["dry_run"], dry.json["written"]) == (0, True, [])
    assert made.files() == before
    wet = made("regen", "--json")
    assert dry.json["patches"] == wet.json["patches"]
    assert made.files() != before


def test_the_lock_follows(made: Sandbox) -> None:
    assert made("lock").code == 0
    drift(made.root, b=UP + numbered(1, 40))
    ran = made("regen", "--json")
    assert ran.json["written"] == ["patches/0002-step.patch", "patches/series.lock"]
    assert made("check", "--locked").code == 0
    lock = made.root / "patches/series.lock"
    before = lock.read_bytes()
    assert made("lock").code == 0
    assert lock.read_bytes() == before
    # with a patch in conflict there is no tip to claim
    drift(made.root, a=GONE, b=UP * 2 + numbered(1, 40))
    assert made("regen").code == 1
    assert lock.read_bytes() == before
    # without a lock none is made
    lock.unlink()
    drift(made.root, b=numbered(1, 40))
    assert made("regen").code == 0
    assert not lock.exists()


def test_a_conflict_leaves_its_file_and_stops_nothing(made: Sandbox) -> None:
    drift(made.root, a=GONE, b=UP + numbered(1, 40))
    before = patches(made.root)
    ran = made("regen", "--json")
    assert (ran.code, ran.json["ok"], statuses(ran)) == (1, False, ["conflict", "renumbered", "kept"])
    after = patches(made.root)
    assert {n for n in after if after[n] != before[n]} == {"0002-step.patch"}
    assert ran.json["patches"][0]["reason"]
    assert made("regen", "2").code == 0  # the one that was asked for is well


def test_blocked_by_what_a_conflict_would_add(made: Sandbox, git: Git) -> None:
    on_it = {**FIRST, "a": text(numbered(1, 40, n20="twenty\nand more"))}
    (made.root / "patches/0002-step.patch").write_bytes(patch_between(git, FIRST, on_it))
    drift(made.root, a=GONE)
    before = patches(made.root)
    ran = made("regen", "--json")
    assert (ran.code, statuses(ran)) == (1, ["conflict", "blocked", "kept"])
    assert "0001-step.patch" in ran.json["patches"][1]["reason"]
    assert patches(made.root) == before


def test_only_named_patches_are_written(made: Sandbox) -> None:
    drift(made.root, a=UP + numbered(1, 40), b=UP + numbered(1, 40))
    before = patches(made.root)
    ran = made("regen", "0002", "--json")
    assert (ran.code, [r["name"] for r in ran.json["patches"]]) == (0, ["0002-step.patch"])
    after = patches(made.root)
    assert {n for n in after if after[n] != before[n]} == {"0002-step.patch"}
    ran = made("regen", "1", "3", "--json")
    assert [(r["name"], r["status"]) for r in ran.json["patches"]] == [
        ("0001-step.patch", "renumbered"),
        ("0003-step.patch", "kept"),
    ]
    assert made("regen", "nothing-like-it").code == 2


def test_adapted_wants_a_word(made: Sandbox, git: Git) -> None:
    """The place is another function now: content and bytes fit, and still it may be wrong."""

    def functions(name: str, line: str = "") -> str:
        return "".join(
            f"void {name if i == 2 else f'f{i}'}(int i)\n{{\n"
            + "".join(f"    a{i}_{j}();\n" + (line if (i, j) == (2, 5) else "") for j in range(11))
            + "}\n\n"
            for i in range(4)
        )

    first = {**START, "f.c": text(functions("f2"))}
    write_folder(made.root / "base", {"f.c": first["f.c"]})
    step = patch_between(git, first, {**first, "f.c": text(functions("f2", "    mine();\n"))})
    assert b"void f2(int i)" in step
    (made.root / "patches/0003-step.patch").write_bytes(step)
    set_base(made.root, {**START, "b": text(UP + numbered(1, 40)), "f.c": text("// up\n" + functions("other"))})
    before = patches(made.root)
    ran = made("regen", "--json")
    assert (ran.code, statuses(ran)) == (1, ["kept", "renumbered", "adapted"])
    assert (ran.json["needs_acceptance"], ran.json["written"]) == (["0003-step.patch"], [])
    assert patches(made.root) == before
    assert "f2" in ran.json["patches"][2]["reason"] and "other" in ran.json["patches"][2]["reason"]
    assert made("regen", "2").code == 0
    assert made("regen", "--accept-adapted").code == 0
    assert made("check", "--no-offset").code == 0


def test_drift_in_white_space(made: Sandbox, git: Git) -> None:
    """Context follows upstream, removed lines follow it too, added lines stay as the author wrote them."""
    old = "int f(int a)\n{\n    int x = a;\n    use(x);\n    return x;\n}\n"
    new = old.replace("    use(x);\n", "    use(x,  1);\n    more(x);\n")
    now = old.replace("    int x = a;", "\tint x = a;").replace("    use(x);", "\tuse(x);  ")
    (made.root / "patches/0003-step.patch").write_bytes(
        patch_between(git, {**START, "c": text(old)}, {**START, "c": text(new)})
    )
    drift(made.root, c=now)
    ran = made("regen", "--note", "bug-7", "--json", **DAY)
    assert (ran.code, statuses(ran)) == (0, ["kept", "kept", "regenerated"])
    raw = (made.root / "patches/0003-step.patch").read_bytes()
    wanted = now.replace("\tuse(x);  \n", "    use(x,  1);\n    more(x);\n")
    diff = patch_between(git, {"c": text(now)}, {"c": text(wanted)}, header=b"")
    note = (
        b"small note (2026-01-02, bug-7): hunk regenerated via snapshot-diff against the post-0002 bootstrap; "
        b"1 context line changed in white space only; 1 removed line changed in white space only. "
        b"Content unchanged.\n"
    )
    first, rest = HEADER.split(b"\n", 1)
    assert raw == first + b"\n" + note + rest + re.sub(rb"(?m)^(index )(\w{40})\.\.(\w{40})", _as_long_as(raw), diff)
    made("regen")
    assert (made.root / "patches/0003-step.patch").read_bytes() == raw


def _as_long_as(raw: bytes) -> bytes:
    found = re.search(rb"(?m)^index (\w+)\.\.(\w+)", raw)
    assert found
    return rb"\g<1>%s..%s" % (found[1], found[2])


def test_deletions_modes_and_new_files_come_along(made: Sandbox, git: Git) -> None:
    """A patch with one drifted hunk keeps everything else that it does."""
    after = {
        "a": text(numbered(1, 40, n20="TWENTY")),
        "c": script("c\n"),
        "new": script("#!/bin/sh\n"),
        "dir/empty": text(""),
    }
    (made.root / "patches/0001-step.patch").write_bytes(patch_between(git, START, after))
    made.write("patches/series", "0001-step.patch\n")
    drift(made.root, a=numbered(1, 40, n19="line  19"))
    ran = made("regen", "--json")
    assert (ran.code, statuses(ran)) == (0, ["regenerated"])
    assert made("apply", "out").code == 0
    from e2e.trees import read_folder

    assert read_folder(made.root / "out") == {**after, "a": text(numbered(1, 40, n19="line  19", n20="TWENTY"))}


def test_two_places_are_no_place(made: Sandbox, git: Git) -> None:
    """White space drifted, and the lines stand twice: nobody may choose."""
    block = "begin\n  one\n  two\n  three\nend\n"
    old = "top\n" + block + "middle\n"
    new = old.replace("  two\n", "  2\n")
    (made.root / "patches/0003-step.patch").write_bytes(
        patch_between(git, {**START, "c": text(old)}, {**START, "c": text(new)}, "-U1", "--no-renames")
    )
    drift(made.root, c=("first\n" + block + "second\n" + block).replace("  ", "\t"))
    before = patches(made.root)
    ran = made("regen", "--json")
    assert (ran.code, statuses(ran)) == (1, ["kept", "kept", "conflict"])
    assert patches(made.root) == before


def test_the_series_file_and_folders_of_patches_stay(made: Sandbox) -> None:
    (made.root / "patches/sub").mkdir()
    (made.root / "patches/0002-step.patch").rename(made.root / "patches/sub/0002-step.patch")
    series = "# kept as it is\n0001-step.patch # one\n\nsub/0002-step.patch -p1\n0003-step.patch"
    made.write("patches/series", series)
    drift(made.root, b=UP + numbered(1, 40))
    assert made("regen").code == 0
    assert (made.root / "patches/series").read_text() == series
    assert b"-20,7 +20,7" in (made.root / "patches/sub/0002-step.patch").read_bytes()


def test_a_wrong_strip_level_is_said_and_nothing_else(made: Sandbox) -> None:
    made.write("patches/series", "0001-step.patch -p3\n0002-step.patch\n0003-step.patch\n")
    row = made("regen", "--json").json["patches"][0]
    assert (row["status"], row["hunks"], row["next"]) == ("conflict", [], "opencoti-patches check")
    assert row["reason"] == "nothing is left of a/a with -p3; with -p1 instead it is a, which is there"


def test_a_deletion_of_other_lines_is_for_a_person(made: Sandbox, git: Git) -> None:
    gone: Files = {k: v for k, v in START.items() if k != "c"}
    (made.root / "patches/0003-step.patch").write_bytes(patch_between(git, START, gone))
    drift(made.root, c="other\nlines\n")
    (problem,) = (row := made("check", "--json").json["patches"][2])["problems"]
    assert (problem["message"], row["next"]) == (
        "the file that it deletes has other lines",
        "opencoti-patches bootstrap --to 0003 --merge WORK",
    )
    assert statuses(made("regen", "--json"))[2] == "conflict"
