"""``regen``, ``bump`` and ``forecast`` in JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.trees import plain_git

from cli.documents import (
    CLEAN,
    FAILED,
    HALF_DONE,
    HEAD,
    LINES,
    MOVED,
    OTHER_MOVED,
    STANDS_ON_IT,
    Ask,
    Project,
    diff,
    swap,
)

if TYPE_CHECKING:
    from e2e.forked import Forked


def test_regen_of_an_offset(ask: Ask, small: Project) -> None:
    small({"0001-ten.patch": MOVED, "0002-twenty.patch": CLEAN})
    tried = ask("regen", "--json", "--dry-run", code=0)
    assert (tried["dry_run"], tried["written"]) == (True, [])
    done = ask("regen", "--json", code=0)
    assert done["patches"] == tried["patches"]
    assert [(row["name"], row["status"]) for row in done["patches"]] == [
        ("0001-ten.patch", "renumbered"),
        ("0002-twenty.patch", "kept"),
    ]
    assert done["patches"][0]["hunks"] == [{"file": "f.txt", "hunk": 1, "how": "moved by -2 lines"}]
    assert done["written"] == ["patches/0001-ten.patch"]
    assert ask("check", "--json", "--no-offset", code=0)["ok"] is True


def test_regen_of_a_conflict(ask: Ask, small: Project) -> None:
    small({"0001-root.patch": FAILED, "0002-after.patch": STANDS_ON_IT, "0003-ten.patch": OTHER_MOVED})
    document = ask("regen", "--json", code=1)
    assert [row["status"] for row in document["patches"]] == ["conflict", "blocked", "renumbered"]
    assert document["written"] == ["patches/0003-ten.patch"]
    assert document["needs_acceptance"] == []


def test_regen_of_what_has_to_be_accepted(ask: Ask, small: Project, forked: Forked) -> None:
    small({"0001-tidy.patch": HALF_DONE})
    asked = ask("regen", "--json", code=1)
    (row,) = asked["patches"]
    assert row["status"] == "adapted"
    assert row["interdiff"][0] == "f.txt"
    assert any(line.split() == ["-+the", "line", "number", "10"] for line in row["interdiff"])
    assert (asked["needs_acceptance"], asked["written"]) == (["0001-tidy.patch"], [])
    aside = ask("regen", "--json", "--into", "OUT", code=1)
    assert (aside["needs_acceptance"], aside["written"]) == (["0001-tidy.patch"], ["OUT/0001-tidy.patch"])
    assert ask("regen", "--json", "--into", "OUT", "--dry-run", code=1)["written"] == []
    done = ask("regen", "--json", "--accept-adapted", code=0)
    assert (done["patches"], done["needs_acceptance"]) == ([row], [])
    assert done["written"] == ["patches/0001-tidy.patch"]


def test_regen_from_a_folder(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN})
    ask("bootstrap", "--json", "--to", "1", "WORK", code=0)
    (folder / "WORK/f.txt").write_text("".join(swap(LINES, 20, "TWENTY\n")))
    (folder / "WORK/new.c").write_text("new\n")
    document = ask("regen", "--json", "1", "--from", "WORK", code=0)
    (row,) = document["patches"]
    assert (row["status"], row["hunks"]) == ("adapted", [])
    assert "  ++TWENTY" in row["interdiff"]
    assert (document["needs_acceptance"], document["new_files"]) == ([], ["new.c"])


GIT = 'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "git"\nurl = "up"\nrev = "v1"\n'


@pytest.fixture
def upstream(forked: Forked) -> Path:
    """A repository with two tags. The second has two lines more at the top of f.txt, another fifth line in
    g.txt, and other lines around the tenth of h.txt."""
    up = forked.root / "up"
    for tag, f, g, h in (
        ("v1", LINES, LINES, LINES),
        ("v2", ["x\n", "y\n", *LINES], swap(LINES, 5, "five\n"), swap(swap(LINES, 8, "eight\n"), 12, "twelve\n")),
    ):
        for name, lines in (("f.txt", f), ("g.txt", g), ("h.txt", h)):
            forked.write(f"up/{name}", "".join(lines))
        if tag == "v1":
            plain_git(up, "init", "-q", "-b", "main", ".")
        plain_git(up, "add", ".")
        plain_git(up, "commit", "-q", "-m", tag)
        plain_git(up, "tag", tag)
    return up


def _line(path: str, at: int, text: str) -> str:
    return HEAD + diff(path, LINES, swap(LINES, at, text))


def test_bump(ask: Ask, small: Project, upstream: Path) -> None:
    patches = {
        "0001-f.patch": _line("f.txt", 20, "twenty\n"),
        "0002-g.patch": _line("g.txt", 5, "five\n"),
        "0003-h.patch": _line("h.txt", 10, "ten\n"),
        "0004-g.patch": HEAD + diff("g.txt", swap(LINES, 5, "five\n"), [*swap(LINES, 5, "five\n")[:-1], "last\n"]),
    }
    folder = small(patches, GIT)
    tried = ask("bump", "v2", "--json", "--dry-run", code=0)
    assert (tried["dry_run"], tried["written"], tried["deleted"]) == (True, [], [])
    done = ask("bump", "v2", "--json", code=0)
    assert done["patches"] == tried["patches"]
    assert [(row["name"], row["status"]) for row in done["patches"]] == [
        ("0001-f.patch", "renumbered"),
        ("0002-g.patch", "upstreamed"),
        ("0003-h.patch", "regenerated"),
        ("0004-g.patch", "kept"),
    ]
    assert done["patches"][1]["reason"] == "upstream has all of it"
    assert done["patches"][1]["hunks"] == [{"file": "g.txt", "hunk": 1, "how": "upstream has it already"}]
    assert done["deleted"] == ["patches/0002-g.patch"]
    assert set(done["written"]) == {
        "patches/0001-f.patch",
        "patches/0003-h.patch",
        "patches/series",
        "opencoti.toml",
    }
    assert not (folder / "patches/0002-g.patch").exists()
    rev = plain_git(upstream, "rev-parse", "v2").strip()
    assert rev in (folder / "opencoti.toml").read_text()
    now = ask("check", "--json", code=0)
    assert (done["base"]["tree"], done["tip"]) == (now["base"]["tree"], now["tip"])
    assert (done["from"]["upstream"], done["base"]["upstream"]) == ("", f"{rev} (v2)")
    assert ask("bump", rev, "--json", code=0) == {
        "schema": 1,
        "command": "bump",
        "ok": True,
        "answer": "already",
        "value": rev,
        "label": done["base"]["label"],
        "upstream": f"{rev} (v2)",
    }


def test_bump_where_a_conflict_was_resolved_before(ask: Ask, stuck: Path) -> None:
    worktree = ask("bump", "v2", "--json", code=1)["worktree"]
    (Path(worktree) / "g.txt").write_text("".join(swap(LINES, 5, "another five\n")))
    before = {path: path.read_bytes() for path in [*(stuck / "patches").iterdir(), stuck / "opencoti.toml"]}
    done = ask("bump", "--json", "--continue", code=0)
    assert (done["reused"], done["written"].count("patches/resolutions.jsonl")) == ([], 1)
    for path, content in before.items():
        path.write_bytes(content)
    asked = ask("bump", "v2", "--json", code=1)
    assert (asked["reused"], asked["needs_acceptance"]) == (["0001-g.patch"], ["0001-g.patch"])
    gone = ask("bump", "--forget", "1", "--json", code=0)
    assert (gone["answer"], gone["forgotten"], gone["resolutions"]) == ("forgotten", "0001-g.patch", 1)
    assert (gone["written"], gone["deleted"]) == ([], ["patches/resolutions.jsonl"])
    unknown = ask("bump", "--forget", "1", "--json", code=2)["error"]
    assert (unknown["code"], unknown["hint"]) == ("no-resolution", "")
    (stuck / "patches/resolutions.jsonl").write_text("{}\n")
    assert ask("bump", "v2", "--json", code=2)["error"]["code"] == "bad-resolutions"


def test_bump_of_what_has_to_be_accepted(ask: Ask, small: Project, upstream: Path) -> None:
    both = swap(swap(LINES, 5, "five\n"), 20, "twenty\n")
    small({"0001-g.patch": HEAD + diff("g.txt", LINES, both)}, GIT)
    asked = ask("bump", "v2", "--json", code=1)
    (row,) = asked["patches"]
    assert (row["status"], asked["needs_acceptance"], asked["written"]) == ("adapted", ["0001-g.patch"], [])
    assert "  -+five" in row["interdiff"]
    done = ask("bump", "v2", "--json", "--accept-adapted", code=0)
    assert (done["patches"], done["needs_acceptance"]) == ([row], [])
    assert "patches/0001-g.patch" in done["written"]


@pytest.fixture
def stuck(small: Project, upstream: Path) -> Path:
    """A project whose first patch finds no place upstream, whose second stands on it, and a third."""
    ours = swap(LINES, 5, "another five\n")
    after = HEAD + diff("g.txt", ours, [*ours[:5], "and more\n", *ours[5:]])
    third = _line("f.txt", 20, "twenty\n")
    first = _line("g.txt", 5, "another five\n")
    return small({"0001-g.patch": first, "0002-g.patch": after, "0003-f.patch": third}, GIT)


def test_bump_of_a_conflict(ask: Ask, stuck: Path) -> None:
    tried = ask("bump", "v2", "--json", "--dry-run", code=1)
    assert "waits_for" not in tried
    document = ask("bump", "v2", "--json", code=1)
    assert tried["patches"][0].pop("next") == "opencoti-patches bump v2"
    assert document["patches"][0].pop("next") == "opencoti-patches bump --continue  # once it is resolved"
    assert document["patches"] == tried["patches"]
    assert (document["answer"], document["tip"], document["skipped"]) == ("carried", {"tree": None}, [])
    first, second, third = document["patches"]
    assert [row["status"] for row in (first, second, third)] == ["conflict", "blocked", "renumbered"]
    assert first["hunks"][0]["file"] == "g.txt"
    assert second["reason"].startswith("stands on 0001-g.patch: ")
    assert (document["written"], document["waits_for"], document["files"]) == ([], "0001-g.patch", ["g.txt"])
    assert "<<<<<<<" in (Path(document["worktree"]) / "g.txt").read_text()


def test_a_bump_that_is_resolved(ask: Ask, stuck: Path) -> None:
    worktree = ask("bump", "v2", "--json", code=1)["worktree"]
    assert ask("bump", "v2", "--json", code=1)["error"]["code"] == "session-open"
    assert ask("bump", "--json", "--continue", code=1)["error"]["code"] == "markers"
    (Path(worktree) / "g.txt").write_text("".join(swap(LINES, 5, "another five\n")))
    done = ask("bump", "--json", "--continue", code=0)
    assert (done["patches"][0]["status"], done["patches"][0]["reason"]) == ("adapted", "resolved by hand")
    assert "  -+five" not in done["patches"][0]["interdiff"]
    assert "opencoti.toml" in done["written"]
    assert ask("bump", "--json", "--status", code=0)["session"] is None


def test_a_bump_without_a_patch(ask: Ask, small: Project, upstream: Path) -> None:
    both = swap(swap(LINES, 5, "five\n"), 20, "twenty\n")
    patches = {"0001-h.patch": _line("h.txt", 8, "another\n"), "0002-g.patch": HEAD + diff("g.txt", LINES, both)}
    small(patches, GIT)
    document = ask("bump", "v2", "--json", code=1)
    where = ask("bump", "--json", "--status", code=0)
    session = where["session"]
    assert where["answer"] == "session"
    assert session == {
        "value": "v2",
        "waits_for": "0001-h.patch",
        "worktree": document["worktree"],
        "files": ["h.txt"],
        "markers": [{"file": "h.txt", "line": 8}],
        "resolved": [],
        "skipped": [],
        "changed": False,
    }
    left = ask("bump", "--json", "--skip", "1", code=1)
    assert [row["status"] for row in left["patches"]] == ["conflict", "adapted"]
    assert (left["needs_acceptance"], left["skipped"]) == (["0002-g.patch"], ["0001-h.patch"])
    assert "waits_for" not in left
    session = ask("bump", "--json", "--status", code=0)["session"]
    assert (session["waits_for"], session["worktree"], session["skipped"]) == (None, None, ["0001-h.patch"])
    done = ask("bump", "--json", "--continue", "--accept-adapted", code=0)
    assert done["patches"] == left["patches"]
    assert set(done["written"]) == {"patches/0002-g.patch", "patches/series", "opencoti.toml"}


def test_a_bump_that_is_given_up(ask: Ask, stuck: Path) -> None:
    ask("bump", "v2", "--json", code=1)
    document = ask("bump", "--json", "--abort", code=0)
    assert document == {"schema": 1, "command": "bump", "ok": True, "answer": "aborted", "aborted": "v2", "kept": []}


def test_bump_of_a_folder(ask: Ask, small: Project) -> None:
    small({"0001-twenty.patch": CLEAN})
    document = ask("bump", "v2", "--json", code=2)
    assert (document["command"], document["error"]["code"]) == ("bump", "which-source")


def test_forecast(ask: Ask, small: Project, upstream: Path) -> None:
    small({"0001-f.patch": _line("f.txt", 20, "twenty\n"), "0002-g.patch": _line("g.txt", 5, "another five\n")}, GIT)
    document = ask("forecast", "v2", "--json", code=1)
    assert (document["rev"], document["commits"], document["looked_at"]) == ("v2", 1, 1)
    moved, broken = document["patches"]
    assert (moved["not_clean"]["status"], moved["not_applying"], moved["at_last"]) == ("offset", None, "offset")
    assert (broken["not_applying"]["commit"], broken["at_last"]) == (document["last"]["commit"], "failed")
    assert document["all_clean"] == document["all_apply"] == document["pinned"]
    assert ask("forecast", "v1", "--json", code=0)["commits"] == 0
    bare = ask("forecast", "v2", "--json", "--source", "2", code=2)
    assert (bare["command"], bare["error"]["code"]) == ("forecast", "which-source")
