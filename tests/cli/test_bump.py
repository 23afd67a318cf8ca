"""``bump`` on small upstreams: what each status means, and the session that a conflict opens."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from .conftest import Diff, Sandbox

CODE = """#include "all.h"

static int first(int x) {
    int y = x + 1;
    log_it(y);
    return y;
}

static int second(int x) {
    int y = x * 2;
    log_it(y);
    check(y);
    return y;
}

static int third(int x) {
    int y = x - 3;
    log_it(y);
    return y;
}
"""
Carry = Callable[..., Sandbox]


def edit(text: str, *pairs: tuple[str, str]) -> str:
    """The text with each first part, which must stand there once, replaced."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def git(folder: Path, *args: str) -> str:
    env = {"PATH": __import__("os").environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    env |= {f"GIT_{who}_{what}": "x@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return subprocess.run(["git", *args], cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def carry(sandbox: Sandbox) -> Carry:
    """Makes a project on the tag ``old`` of an upstream that has a tag ``new``."""

    def make(old: Mapping[str, str], new: Mapping[str, str], patches: Mapping[str, str]) -> Sandbox:
        upstream = sandbox.root / "upstream"
        upstream.mkdir()
        git(upstream, "init", "-q")
        for tag, files in (("old", old), ("new", new)):
            for path in [p for p in upstream.rglob("*") if p.is_file() and ".git" not in p.parts]:
                path.unlink()
            for name, text in files.items():
                target = upstream / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text)
            git(upstream, "add", "-A")
            git(upstream, "commit", "-q", "--allow-empty", "-m", tag)
            git(upstream, "tag", tag)
        sandbox.write(
            "opencoti.toml",
            'schema = 1\nname = "small"  # ours\n\n[[base.source]]\n# the upstream\nkind = "git"\nurl = "upstream"\nrev = "old"  # pinned\n',
        )
        for name, text in patches.items():
            sandbox.write(f"patches/{name}", text)
        sandbox.write("patches/series", "# the series\n" + "".join(f"{n}\n" for n in patches))
        return sandbox

    return make


def statuses(run: Sandbox, *args: str) -> dict[str, str]:
    return {row["name"]: row["status"] for row in run("bump", *args, "--json").json["patches"]}


def test_a_patch_that_still_fits_is_kept_to_the_byte(carry: Carry, diff: Diff) -> None:
    patch = diff("a.c", CODE, edit(CODE, ("x + 1", "x + 9")))
    run = carry({"a.c": CODE, "b.c": "one\n"}, {"a.c": CODE, "b.c": "two\n"}, {"0001-nine.patch": patch})
    assert statuses(run, "new") == {"0001-nine.patch": "kept"}
    assert (run.root / "patches/0001-nine.patch").read_text() == patch
    rev = git(run.root / "upstream", "rev-parse", "new").strip()
    config = (run.root / "opencoti.toml").read_text()
    assert f'rev = "{rev}"' in config
    assert f'upstream = "{rev} (new)"' in config
    assert "# ours" in config and "# the upstream" in config
    assert run("check").code == 0


def test_moved_lines_give_new_numbers_and_nothing_else(carry: Carry, diff: Diff) -> None:
    patch = diff("a.c", CODE, edit(CODE, ("x - 3", "x - 4")))
    run = carry({"a.c": CODE}, {"a.c": "// new\n// lines\n" + CODE}, {"0001-four.patch": patch})
    assert statuses(run, "new") == {"0001-four.patch": "renumbered"}
    assert (run.root / "patches/0001-four.patch").read_text() == patch.replace("@@ -14,7 +14,7 @@", "@@ -16,7 +16,7 @@")
    assert run("check", "--no-offset").code == 0


def test_what_upstream_left_alone_is_still_what_git_says_of_it(carry: Carry, diff: Diff) -> None:
    """A patch that was an offset off already, one that did not apply, and one that stands on neither."""
    off = diff("a.c", "\n" + CODE, "\n" + edit(CODE, ("x - 3", "x - 4")))
    lost = diff("b.c", CODE.replace("x * 2", "x * 7"), CODE.replace("x * 2", "x * 8"))
    plain = diff("c.c", CODE, edit(CODE, ("x - 3", "x - 4")))
    files = dict.fromkeys(("a.c", "b.c", "c.c"), CODE)
    series = {"0001-off.patch": off, "0002-plain.patch": plain}
    run = carry({**files, "d.c": "one\n"}, {**files, "d.c": "two\n"}, {**series, "0003-lost.patch": lost})
    found = {"0001-off.patch": "renumbered", "0002-plain.patch": "kept", "0003-lost.patch": "conflict"}
    assert statuses(run, "new", "--dry-run") == found
    run.write("patches/series", "".join(f"{name}\n" for name in series))
    assert statuses(run, "new") == {name: found[name] for name in series}
    assert run("check", "--no-offset").code == 0


def test_changed_context_is_carried_by_upstreams_own_diff(carry: Carry, diff: Diff) -> None:
    patch = diff("a.c", CODE, edit(CODE, ("    check(y);\n", "    check(y);\n    count(y);\n")))
    new = edit(CODE, ("    int y = x * 2;\n", "    long y = x * 2L;\n"))
    run = carry({"a.c": CODE}, {"a.c": new}, {"0001-count.patch": patch})
    assert statuses(run, "new") == {"0001-count.patch": "regenerated"}
    text = (run.root / "patches/0001-count.patch").read_text()
    assert text.splitlines()[1].startswith("small note (")
    assert text.splitlines()[1].endswith("Content unchanged.")
    assert run("apply").code == 0
    assert (run.root / "tree/a.c").read_text() == edit(new, ("    check(y);\n", "    check(y);\n    count(y);\n"))


def test_a_renamed_name_is_followed_and_wants_a_look(carry: Carry, diff: Diff) -> None:
    patch = diff("a.c", CODE, edit(CODE, ("    check(y);\n", "    log_it(2 * y);\n    check(y);\n")))
    new = CODE.replace("log_it(", "log_value(").replace("check(y)", "check(y, 1)")
    run = carry({"a.c": CODE}, {"a.c": new}, {"0001-log.patch": patch})
    before = run.files()
    refused = run("bump", "new", "--json")
    assert refused.code == 1
    row = refused.json["patches"][0]
    assert row["status"] == "adapted"
    assert "follows the renaming of log_it to log_value" in row["reason"]
    assert run.files() == before
    assert statuses(run, "new", "--accept-adapted") == {"0001-log.patch": "adapted"}
    assert run("apply").code == 0
    assert "    log_value(2 * y);\n    check(y, 1);\n" in (run.root / "tree/a.c").read_text()


def test_a_counter_that_both_raised_is_raised_twice(carry: Carry, diff: Diff) -> None:
    old = "enum ops {\n    A,\n    B,\n    COUNT,\n};\nint x;\nint y;\nint z;\nstatic_assert(COUNT == 2);\n"
    patch = diff("ops.h", old, edit(old, ("    B,\n", "    B,\n    OURS,\n"), ("COUNT == 2", "COUNT == 3")))
    new = edit(old, ("    A,\n", "    A0,\n    A,\n"), ("COUNT == 2", "COUNT == 3"))
    run = carry({"ops.h": old}, {"ops.h": new}, {"0001-op.patch": patch})
    assert statuses(run, "new", "--accept-adapted") == {"0001-op.patch": "adapted"}
    assert run("apply").code == 0
    assert "static_assert(COUNT == 4);" in (run.root / "tree/ops.h").read_text()


def test_what_upstream_has_leaves_the_series(carry: Carry, diff: Diff) -> None:
    fixed = edit(CODE, ("x + 1", "x + 2"))
    other = diff("a.c", fixed, edit(fixed, ("x - 3", "x - 4")))
    patches = {"0001-fix.patch": diff("a.c", CODE, fixed), "0002-other.patch": other}
    run = carry({"a.c": CODE}, {"a.c": fixed}, patches)
    assert "1 kept, 1 upstreamed. 2 files would be written, 1 deleted.\n" in run("bump", "new", "--dry-run").out
    done = run("bump", "new")
    assert "Written: patches/series, opencoti.toml. Deleted: patches/0001-fix.patch." in " ".join(done.out.split())
    assert run("undo").code == 0
    assert statuses(run, "new") == {"0001-fix.patch": "upstreamed", "0002-other.patch": "kept"}
    assert (run.root / "patches/series").read_text() == "# the series\n0002-other.patch\n"
    assert not (run.root / "patches/0001-fix.patch").exists()
    assert run("check").code == 0


CONFLICT = edit(CODE, ("x * 2", "x * 5"))


@pytest.fixture
def stuck(carry: Carry, diff: Diff) -> Sandbox:
    """Patch 1 cannot be carried, 2 stands on it, 3 has nothing to do with it."""
    ours = edit(CODE, ("x * 2", "x * 3"))
    upon = edit(ours, ("int y = x * 3;\n", "int y = x * 3;\n    assert(y % 3 == 0);\n"))
    apart = edit(upon, ("x - 3", "x - 4"))
    patches = {
        "0001-three.patch": diff("a.c", CODE, ours),
        "0002-assert.patch": diff("a.c", ours, upon),
        "0003-four.patch": diff("a.c", upon, apart),
    }
    return carry({"a.c": CODE}, {"a.c": CONFLICT}, patches)


def test_a_conflict_opens_a_session_and_changes_nothing(stuck: Sandbox) -> None:
    before = stuck.files()
    ran = stuck("bump", "new", "--json")
    assert ran.code == 1
    assert [row["status"] for row in ran.json["patches"]] == ["conflict", "blocked", "renumbered"]
    assert ran.json["waits_for"] == "0001-three.patch"
    text = Path(ran.json["worktree"], "a.c").read_text()
    assert (
        "<<<<<<< upstream\n    int y = x * 5;\n||||||| before 0001-three.patch\n    int y = x * 2;\n=======\n    int y = x * 3;\n"
        in text
    )
    assert stuck.files() == before
    assert "waits for 0001-three.patch" in stuck("bump", "--status").out


def test_resolved_conflicts_finish_the_bump(stuck: Sandbox) -> None:
    work = Path(stuck("bump", "new", "--json").json["worktree"])
    early = stuck("bump", "--continue")
    assert early.code == 1
    assert "a.c line 10 still has a conflict marker" in early.err
    work.joinpath("a.c").write_text(edit(CONFLICT, ("x * 5", "x * 15")))
    done = stuck("bump", "--continue", "--json")
    assert done.code == 0, done.raw
    assert [row["status"] for row in done.json["patches"]] == ["adapted", "regenerated", "kept"]
    assert stuck("check").code == 0
    assert stuck("apply").code == 0
    assert "int y = x * 15;\n    assert(y % 3 == 0);\n" in (stuck.root / "tree/a.c").read_text()
    assert "conflict resolved by hand" in (stuck.root / "patches/0001-three.patch").read_text()
    assert stuck("bump", "--status").out == "no bump is under way\n"


def test_a_skipped_patch_stays_as_a_file_and_a_comment(stuck: Sandbox) -> None:
    stuck("bump", "new")
    patch = (stuck.root / "patches/0002-assert.patch").read_bytes()
    doubtful = stuck("bump", "--skip", "1", "--json")
    assert doubtful.code == 1
    row = doubtful.json["patches"][1]
    assert (row["status"], row["reason"].split(";")[0]) == ("adapted", "stands on 0001-three.patch, which is left out")
    assert stuck("bump", "--skip", "2").code == 0
    assert (stuck.root / "patches/series").read_text() == (
        "# the series\n# 0001-three.patch  # skipped in the bump to new\n# 0002-assert.patch  # skipped in the bump to new\n0003-four.patch\n"
    )
    assert (stuck.root / "patches/0002-assert.patch").read_bytes() == patch
    assert stuck("check").code == 0


def test_abort_leaves_no_trace(stuck: Sandbox) -> None:
    before = stuck.files()
    work = Path(stuck("bump", "new", "--json").json["worktree"])
    second = stuck("bump", "new")
    assert second.code == 1
    assert "a bump to new is under way, and waits for 0001-three.patch" in second.err
    assert stuck("bump", "--abort").code == 0
    assert not work.exists()
    assert stuck.files() == before
    for option in ("--continue", "--abort"):
        wrong = stuck("bump", option)
        assert wrong.code == 2
        assert "no bump is under way" in wrong.err
    asked = stuck("bump", "--status")  # to ask is no mistake
    assert (asked.code, asked.out, asked.err) == (0, "no bump is under way\n", "")


def test_a_dry_run_opens_no_session(stuck: Sandbox) -> None:
    assert stuck("bump", "new", "--dry-run").code == 1
    assert stuck("bump", "--status").out == "no bump is under way\n"


def test_two_of_the_ways_at_once_are_refused(stuck: Sandbox) -> None:
    ran = stuck("bump", "new", "--abort")
    assert ran.code == 2
    assert "give one of" in ran.err


def test_a_revision_of_two_lines_is_refused_in_one(carry: Carry, diff: Diff) -> None:
    run = carry({"a.c": CODE}, {"a.c": CODE}, {"0001-a.patch": diff("a.c", CODE, CODE + "// end\n")})
    ran = run("bump", "new\nold")
    assert (ran.code, len(ran.err.splitlines())) == (3, 2)  # the error, the hint
    assert "has no revision new\\nold" in ran.err
