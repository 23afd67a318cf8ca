"""``lock``: written when the series applies, left alone when it does not."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.conftest import Diff, Project, Sandbox

BAD = "the series does not apply, patches/series.lock was left as it is"


def _project(project: Project, diff: Diff) -> Sandbox:
    return project(
        {"a": "1\n2\n3\n"},
        {
            "0001-x.patch": diff("a", "1\n2\n3\n", "1\ntwo\n3\n"),
            "0002-y.patch": diff("a", "1\ntwo\n3\n", "1\ntwo\n3\n4\n"),
        },
    )


def test_lock(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    ran = made("lock")
    assert (ran.code, ran.err) == (0, "")
    told = made("check", "--json", "--locked").json
    assert (told["ok"], told["stale"]) == (True, [])
    base, tip = told["base"]["tree"], told["tip"]["tree"]
    sums = [
        f"{name} {hashlib.sha256((made.root / 'patches' / name).read_bytes()).hexdigest()}"
        for name in ("0001-x.patch", "0002-y.patch")
    ]
    rows = (made.root / "patches/series.lock").read_text().splitlines()
    assert [r for r in rows if not r.startswith("#")] == [f"base {base}", *sums, f"tip {tip}"]
    assert ran.out == f"wrote patches/series.lock: base {base[:12]}, 2 patches, tip {tip[:12]}\n"


def test_a_second_run_writes_nothing(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made("lock")
    file = made.root / "patches/series.lock"
    before = file.stat()
    ran = made("lock", "--json")
    assert (ran.code, ran.json["state"], ran.json["patches"]) == (0, "unchanged", 2)
    after = file.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_tip_of_the_lock_is_gits(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    told = made("lock", "--json").json
    blob = b"1\ntwo\n3\n4\n"
    oid = hashlib.sha1(b"blob %d\0%s" % (len(blob), blob)).digest()
    row = b"100644 a\0" + oid
    assert told["tip"]["tree"] == hashlib.sha1(b"tree %d\0%s" % (len(row), row)).hexdigest()


def test_a_series_that_does_not_apply_leaves_the_lock(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made("lock")
    file = made.root / "patches/series.lock"
    before = file.read_bytes()
    made.write("patches/0001-x.patch", diff("a", "p\nq\n", "p\nQ\n"))
    ran = made("lock")
    assert ran.code == 1
    assert ran.out.startswith("0001-x.patch: failed: context-changed\n")
    assert ran.out.endswith(f"{BAD}\nnext: opencoti-patches check\n")
    assert file.read_bytes() == before
    told = made("lock", "--json")
    assert (told.code, told.json["ok"], told.json["first_failed"]) == (1, False, "0001-x.patch")


def test_without_a_lock_none_appears(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made.write("patches/0002-y.patch", "nothing to apply\n")
    ran = made("lock")
    assert (ran.code, BAD in ran.out) == (1, True)
    assert not (made.root / "patches/series.lock").exists()


def test_a_merged_lock_is_mended(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made("lock")
    file = made.root / "patches/series.lock"
    good = file.read_bytes()
    file.write_bytes(b"<<<<<<< ours\n" + good + b"=======\n>>>>>>> theirs\n")
    checked = made("check")
    assert checked.code == 1
    assert checked.out.startswith("error: series.lock line 1 is a conflict marker\n    next: opencoti-patches lock\n")
    told = made("check", "--json")
    assert (told.code, told.json["ok"], told.json["stale"]) == (1, False, ["series.lock line 1 is a conflict marker"])
    assert made("check", "--format", "github").out.startswith(
        "::error file=patches/series.lock,line=1,title=stale-lock::"
    )
    for how in ("junit", "sarif"):
        assert "conflict marker" in made("check", "--format", how).out
    assert made("lock").code == 0
    assert file.read_bytes() == good
    assert made("check", "--locked").code == 0


def test_a_lock_that_is_asked_for_and_not_there_is_a_no(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    plain = made("check")
    assert (plain.code, "no lock" in plain.out) == (0, False)
    asked = made("check", "--locked")
    assert asked.code == 1
    assert "error: there is no lock\n    next: opencoti-patches lock\n" in asked.out
    told = made("check", "--locked", "--json")
    assert (told.code, told.json["ok"], told.json["stale"]) == (1, False, ["there is no lock"])
    assert "::error file=patches/series.lock" in made("check", "--locked", "--format", "github").out
    assert made("lock").code == 0
    assert made("check", "--locked").code == 0


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        pytest.param(lambda rows: rows[:-1], "has no row for tip", id="no tip"),
        pytest.param(lambda rows: [], "has no row for base and tip", id="empty"),
        pytest.param(lambda rows: [*rows, rows[-1]], "is a second row for tip", id="two tips"),
        pytest.param(
            lambda rows: [*rows[:3], rows[2], *rows[3:]], "line 4 is a second row for 0001-x.patch", id="twice"
        ),
        pytest.param(lambda rows: [*rows, "=======\n"], "is a conflict marker", id="a marker at the end"),
    ],
)
def test_a_lock_that_is_none_is_an_error(
    project: Project, diff: Diff, edit: Callable[[list[str]], list[str]], said: str
) -> None:
    made = _project(project, diff)
    made("lock")
    file = made.root / "patches/series.lock"
    file.write_text("".join(edit(file.read_text().splitlines(keepends=True))))
    assert made("check").code == 1
    assert said in " ".join(made("check", "--locked").out.split())
    assert made("lock").code == 0
    assert made("check", "--locked").code == 0


def test_a_patch_that_is_called_like_a_marker_is_locked(project: Project, diff: Diff) -> None:
    made = project({"a": "1\n"}, {"=======.patch": diff("a", "1\n", "2\n")})
    assert made("lock").code == 0
    assert made("check", "--locked").code == 0


def test_an_empty_series_can_be_locked(project: Project) -> None:
    made = project({"a": "1\n"}, {})
    told = made("lock", "--json").json
    assert told["ok"]
    assert told["base"]["tree"] == told["tip"]["tree"]


def test_a_folder_without_a_series_file_can_be_locked(project: Project, diff: Diff) -> None:
    made = project({}, {f"{n}.patch": diff(str(n), "", "x\n") for n in (10, 9)}, series=None)
    assert made("lock").code == 0
    rows = (made.root / "patches/series.lock").read_text().splitlines()
    assert [r.split(" ")[0] for r in rows[2:]] == ["9.patch", "10.patch", "tip"]


def test_what_a_killed_run_left_is_swept(project: Project, diff: Diff) -> None:
    made = _project(project, diff)
    made("check")
    made.write("patches/.opencoti-tmp-abc", "half")
    assert made("lock").code == 0
    assert sorted(p.name for p in (made.root / "patches").iterdir()) == [
        "0001-x.patch",
        "0002-y.patch",
        "series",
        "series.lock",
    ]
