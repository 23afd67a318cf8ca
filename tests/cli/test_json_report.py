"""``report`` in JSON and as Markdown: what it says of each patch, each file, and of the commit before."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.documents import CLEAN, FAILED, HEAD, LINES, MADE, MOVED, OTHER_MOVED, STANDS_ON_IT, Ask, Project, diff, swap

if TYPE_CHECKING:
    from e2e.forked import Forked

MAIL = "From: A <a@example.com>\nDate: Sat, 7 Feb 2026 10:00:00 +0100\nSubject: [PATCH 1/2] f: twenty\n\nSo.\n\n"
NOTED = (
    "ten\nsmall note (2025-03-04, x): hunk regenerated via snapshot-diff against base; it moved. Content unchanged.\n"
)
NOBODY = (
    "From: nobody <n@example.com>\nDate: Thu, 1 Jan 1970 00:00:00 +0000\nSubject: g\n\nUpstream-Status: Pending [x]\n\n"
)


def git(folder: Path, *args: str, day: str = "2024-05-06") -> None:
    """git in the project's own repository, committing on a given day."""
    who = {f"GIT_{w}_{k}": v for w in ("AUTHOR", "COMMITTER") for k, v in (("NAME", "a"), ("EMAIL", "a@example.com"))}
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), **who, "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
    subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *args], cwd=folder, env=env, check=True, capture_output=True
    )


def commit(folder: Path, message: str) -> None:
    """All of the project, but for the store."""
    git(folder, "add", "-A", ".", ":!.opencoti", ":!base")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def carried(small: Project, ask: Ask, forked: Forked) -> Path:
    """A project whose base has moved since the last commit: committed and locked before and after."""
    folder = small({"0001-a.patch": MAIL + CLEAN, "0002-b.patch": HEAD + MADE, "0003-c.patch": NOTED + MOVED})
    git(folder, "init", "-q")
    ask("lock", "--json", code=0)
    commit(folder, "one")
    (folder / "base/f.txt").write_text("".join(swap(swap(LINES, 3, "three\n"), 28, "28\n28\n")))
    ask("lock", "--json", code=0)
    commit(folder, "two")
    return folder


def test_report(carried: Path, ask: Ask) -> None:
    document = ask("report", "--json", code=0)
    assert (document["applies"], document["standing"], document["written"]) == (True, "lines", [])
    a, b, c = document["patches"]
    assert (a["subject"], a["date"], a["date_by"]) == ("f: twenty", "2026-02-07", "header")
    assert (b["date"], b["date_by"]) == ("2024-05-06", "commit")
    assert (c["date"], c["date_by"], c["status"]) == ("2025-03-04", "note", "offset")
    assert c["next"] == "opencoti-patches regen 0003"
    assert [p["stands_on"] for p in (a, b, c)] == [[], [], []]  # one file, but lines far apart
    f, more = document["files"]
    assert (f["path"], more["path"], more["churn"]) == ("f.txt", "more.c", 0)
    assert [row["patch"] for row in f["patches"]] == ["0001-a.patch", "0003-c.patch"]
    assert f["churn"] == 5  # one line by one, one line by two
    lock = document["lock"]
    assert (lock["against"], lock["new"], lock["changed"], lock["gone"], lock["moved"]) == ("HEAD", [], [], [], False)
    assert document["previous"] not in (None, lock["base"], document["base"]["tree"])
    assert lock["base"] == document["base"]["tree"]


def test_against_a_commit(carried: Path, ask: Ask, forked: Forked) -> None:
    (carried / "patches/0002-b.patch").unlink()
    forked.write("patches/0001-a.patch", MAIL + "More.\n\n" + CLEAN)
    forked.write("patches/0004-g.patch", NOBODY + OTHER_MOVED)
    forked.write("patches/series", "0003-c.patch\n0001-a.patch\n0004-g.patch\n")
    document = ask("report", "--json", "--against", "HEAD~1", code=0)
    lock = document["lock"]
    assert (lock["against"], lock["new"], lock["changed"]) == ("HEAD~1", ["0004-g.patch"], ["0001-a.patch"])
    assert (lock["gone"], lock["moved"]) == (["0002-b.patch"], True)
    assert lock["base"] == document["previous"] != document["base"]["tree"]
    assert (document["patches"][2]["date"], document["patches"][2]["upstream"]) == (None, "Pending [x]")
    assert "1 new, 1 changed, 1 gone, another order, another base" in forked(
        "report", "--against", "HEAD~1"
    ).out.replace("\n  ", " ")
    assert ask("report", "--json", "--against", "nowhere", code=3)["error"]["code"] == "no-rev"
    assert ask("report", "--json", "--against", "--output=x", code=3)["error"]["code"] == "no-rev"
    assert not (carried / "patches/x").exists()


def test_a_series_that_does_not_apply_and_no_repository(ask: Ask, small: Project, forked: Forked) -> None:
    folder = small(
        {
            "0001-bad.patch": FAILED,
            "0002-more.patch": STANDS_ON_IT,
            "0003-done.patch": diff("f.txt", swap(LINES, 9, "x\n"), LINES),
        }
    )
    document = ask("report", "--json", "--html", "out/page.html", code=0)
    assert (document["applies"], document["lock"], document["previous"]) == (False, None, None)
    bad, blocked, done = document["patches"]
    assert (bad["status"], blocked["status"]) == ("failed", "blocked")
    assert bad["next"] == "opencoti-patches bootstrap --to 0001 --merge WORK"
    assert (done["cause"], done["base_has"], bad["base_has"]) == ("already-applied", "all", "no")
    assert document["written"] == ["out/page.html"]
    assert (folder / "out/page.html").read_text("utf-8").startswith("<!doctype html>")
    assert ask("report", "--json", "--markdown", code=2)["error"]["code"] == "usage"
    assert ask("report", "--json", "--html", "base", code=2)["error"]["code"] == "bad-folder"
    said = forked("report", "--markdown").out
    assert "**3 patches on " in said and "2 failed, 1 blocked.** The series does not apply." in said
    assert "```sh\nopencoti-patches bootstrap --to 0001 --merge WORK\n" in said
    assert said.count("```sh") == 2  # the blocked one is mended with the one before it


def test_markdown_is_short_and_escaped(small: Project, forked: Forked, ask: Ask) -> None:
    made = {f"{n:04}-g.patch": f"@someone <b>|`x`\n\nSo.\n\n{MADE}".replace("more.c", f"{n}.c") for n in range(1, 41)}
    folder = small(made)
    git(folder, "init", "-q")
    ask("lock", "--json", code=0)
    commit(folder, "one")
    forked.write("patches/0007-g.patch", made["0007-g.patch"] + "\n")
    ran = forked("report", "--markdown", "out.md")
    assert (ran.code, ran.out) == (0, "wrote out.md\n")
    said = (folder / "out.md").read_text()
    assert "| <code>0007-g.patch</code> @&#8203;someone &lt;b&gt;\\|\\`x\\` | clean | +1 -0 | changed |" in said
    assert said.count("\n|") == 3
    assert "39 clean patches, as locked." in said
