"""``forecast`` on an upstream made of trees in order: where each patch stops being clean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import Diff, Ran, Sandbox
from .test_bump import git

if TYPE_CHECKING:
    from e2e.forked import Forked


Files = Mapping[str, str]
Upstream = Callable[..., Sandbox]


def text(name: str, lines: int = 30) -> str:
    return "".join(f"line {i} of {name}\n" for i in range(1, lines + 1))


A, B, C, D, E = (text(name) for name in "ABCDE")
BASE = {"a.c": A, "b.c": B, "src/c.c": C, "d.c": D, "e.c": E, "other.c": "0\n"}


def commit(folder: Path, files: Files, message: str) -> None:
    """One more commit that holds exactly these files."""
    git(folder, "rm", "-r", "-q", "-f", "--ignore-unmatch", ".")
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


@pytest.fixture
def sandbox(forked: Forked) -> Sandbox:
    """The program in a process that has it imported already: every test here runs it several times."""
    return forked


@pytest.fixture
def upstream(sandbox: Sandbox) -> Upstream:
    """Makes a repository of trees in order, the first of them tagged ``base``, and a project on that."""

    def make(trees: Sequence[Files], patches: Mapping[str, str], more: str = "") -> Sandbox:
        folder = sandbox.root / "upstream"
        folder.mkdir()
        git(folder, "init", "-q")
        for number, files in enumerate(trees):
            commit(folder, files, f"commit {number}")
            if number == 0:
                git(folder, "tag", "base")
        sandbox.write(
            "opencoti.toml",
            f'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "git"\nurl = "upstream"\nrev = "base"\n{more}',
        )
        for name, patch in patches.items():
            sandbox.write(f"patches/{name}", patch)
        sandbox.write("patches/series", "".join(f"{name}\n" for name in patches))
        return sandbox

    return make


def row(ran: Ran, name: str) -> Any:
    return next(p for p in ran.json["patches"] if p["name"].startswith(name))


def turn(found: Any) -> tuple[int, str] | None:
    return None if found is None else (found["number"], found["status"])


def swap(content: str, line: int, to: str) -> str:
    lines = content.splitlines(keepends=True)
    return "".join([*lines[: line - 1], to, *lines[line:]])


@pytest.fixture
def five(upstream: Upstream, diff: Diff) -> Sandbox:
    """A series of five on seven commits: each patch meets another fate."""
    patches = {
        "0001-a.patch": diff("a.c", A, swap(A, 10, "ours in a\n")),
        "0002-b.patch": diff("b.c", B, swap(B, 10, "ours in b\n")),
        "0003-c.patch": diff("src/c.c", C, swap(C, 20, "ours in c\n")),
        "0004-d.patch": diff("d.c", D, swap(D, 10, "ours in d\n")),
        "0005-e.patch": diff("e.c", E, swap(E, 10, "ours in e\n")),
    }
    one = BASE | {"other.c": "1\n"}
    two = one | {"src/c.c": "new\n" + C}  # an offset
    three = two | {"b.c": swap(B, 11, "theirs\n")}  # broken
    four = three | {"other.c": "4\n", "d.c": swap(D, 30, "theirs\n")}  # touched, and still clean
    five = four | {"a.c": swap(A, 10, "theirs\n")}
    six = {k: v for k, v in five.items() if k != "e.c"} | {"lib/e.c": E}  # renamed
    seven = six | {"other.c": "7\n"}
    return upstream([BASE, one, two, three, four, five, six, seven], patches)


def test_the_first_commit_at_which_each_stops_being_clean(five: Sandbox) -> None:
    ran = five("forecast", "--json")
    assert ran.code == 1, ran.err
    turns = {p["name"][:4]: (turn(p["not_clean"]), turn(p["not_applying"]), p["at_last"]) for p in ran.json["patches"]}
    assert turns == {
        "0001": ((5, "failed"), (5, "failed"), "failed"),
        "0002": ((3, "failed"), (3, "failed"), "failed"),
        "0003": ((2, "offset"), None, "offset"),
        "0004": (None, None, "clean"),
        "0005": ((6, "failed"), (6, "failed"), "failed"),
    }
    assert (ran.json["commits"], ran.json["looked_at"]) == (7, 5)
    assert (ran.json["all_clean"]["number"], ran.json["all_apply"]["number"]) == (1, 2)
    assert row(ran, "0003")["not_clean"]["why"] == "src/c.c, hunk 1 moves by +1 lines"
    assert row(ran, "0005")["not_clean"]["why"] == "upstream renamed e.c to lib/e.c"
    upstream = five.root / "upstream"
    assert row(ran, "0002")["not_clean"]["commit"] == git(upstream, "rev-parse", "HEAD~4").strip()
    assert row(ran, "0002")["not_clean"]["subject"] == "commit 3"
    assert five("forecast", "--json").raw == ran.raw


def test_the_verdicts_are_those_of_check_there(five: Sandbox) -> None:
    """At each commit in turn: the forecast up to it ends as ``check`` on it does."""
    config = (five.root / "opencoti.toml").read_text()
    for back in range(7, -1, -1):
        rev = git(five.root / "upstream", "rev-parse", f"HEAD~{back}").strip()
        ahead = five("forecast", rev, "--json")
        (five.root / "opencoti.toml").write_text(config.replace('"base"', f'"{rev}"'))
        there = five("check", "--json")
        (five.root / "opencoti.toml").write_text(config)
        assert {p["name"]: p["at_last"] for p in ahead.json["patches"]} == {
            p["name"]: p["status"] for p in there.json["patches"]
        }
        assert ahead.code == there.code


def test_the_text(five: Sandbox) -> None:
    ran = five("forecast")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "0002-b.patch: failed at the end" in lines
    assert "0004-d.patch: stays clean" not in lines
    assert any(line.startswith("    offset from 2: ") and line.endswith(" commit 2") for line in lines)
    assert any(line.startswith("all clean up to: 1: ") for line in lines)
    assert any(line.startswith("all apply up to: 2: ") for line in lines)
    assert "5 patches over 7 commits, 5 of which touch the series" in ran.out.replace("\n    ", " ")
    assert "0004-d.patch: stays clean" in five("forecast", "-v").out
    assert lines[-1] == "next: opencoti-patches bump HEAD --dry-run  # which of them it carries"
    assert five("bump", "HEAD", "--dry-run", "--json").json["answer"] == "carried"
    assert "next: " not in five("forecast", "HEAD~6").out  # there all apply


def test_nothing_in_the_project_changes(five: Sandbox) -> None:
    before = five.files()
    five("forecast")
    assert five.files() == before


def test_broken_and_whole_again(upstream: Upstream, diff: Diff) -> None:
    """What a search by halves would miss: broken in the middle alone, and all is clean at the end."""
    run = upstream(
        [BASE, BASE | {"a.c": swap(A, 10, "theirs\n")}, BASE | {"other.c": "2\n"}, BASE | {"other.c": "3\n"}],
        {"0001-a.patch": diff("a.c", A, swap(A, 10, "ours\n"))},
    )
    ran = run("forecast", "--json")
    assert ran.code == 0
    assert turn(row(ran, "0001")["not_applying"]) == (1, "failed")
    assert row(ran, "0001")["at_last"] == "clean"
    assert (ran.json["all_clean"]["number"], ran.json["all_apply"]["number"]) == (3, 3)


def test_what_stands_on_a_broken_patch_is_blocked(upstream: Upstream, diff: Diff) -> None:
    ours = swap(A, 10, "a line of ours\n")
    upon = swap(ours, 11, "another line of ours\n")
    patches = {"0001-a.patch": diff("a.c", A, ours), "0002-a.patch": diff("a.c", ours, upon)}
    ran = upstream([BASE, BASE | {"a.c": swap(A, 10, "theirs\n")}], patches)("forecast", "--json")
    assert turn(row(ran, "0001")["not_clean"]) == (1, "failed")
    assert turn(row(ran, "0002")["not_clean"]) == (1, "blocked")
    assert "0001-a.patch" in row(ran, "0002")["not_clean"]["why"]


def test_an_offset_on_the_base_itself(upstream: Upstream, diff: Diff) -> None:
    moved = diff("a.c", "x\n" + A, "x\n" + swap(A, 10, "ours\n"))
    ran = upstream([BASE, BASE | {"a.c": "x\n" + A}], {"0001-a.patch": moved})("forecast", "--json")
    assert ran.code == 0
    assert turn(row(ran, "0001")["not_clean"]) == (0, "offset")
    assert row(ran, "0001")["at_last"] == "clean"
    assert (ran.json["all_clean"]["number"], ran.json["all_apply"]["number"]) == (1, 1)


def test_a_file_in_the_way_of_one_that_a_patch_makes(upstream: Upstream, diff: Diff) -> None:
    patches = {"0001-new.patch": diff("lib/new/x.c", "", "x\n"), "0002-new.patch": diff("lib2", "", "y\n")}
    trees = [BASE, BASE | {"lib/old.c": "z\n"}, BASE | {"lib": "a file\n"}, BASE | {"lib2/z.c": "z\n"}]
    ran = upstream(trees, patches)("forecast", "--json")
    assert turn(row(ran, "0001")["not_clean"]) == (2, "failed")
    assert row(ran, "0001")["at_last"] == "clean"
    assert turn(row(ran, "0002")["not_clean"]) == (3, "failed")


def test_a_subfolder_of_the_repository_under_a_name_of_the_base(upstream: Upstream, diff: Diff) -> None:
    patch = diff("vendor/c.c", C, swap(C, 10, "ours\n"))
    trees = [BASE, BASE | {"vendor/c.c": "not it\n"}, BASE | {"src/c.c": swap(C, 10, "theirs\n")}]
    ran = upstream(trees, {"0001-c.patch": patch}, 'subdir = "src"\ninto = "vendor"\n')("forecast", "--json")
    assert ran.json["looked_at"] == 1
    assert turn(row(ran, "0001")["not_clean"]) == (2, "failed")


def test_a_merge_counts_as_one_commit(upstream: Upstream, diff: Diff) -> None:
    run = upstream([BASE], {"0001-a.patch": diff("a.c", A, swap(A, 10, "ours\n"))})
    folder = run.root / "upstream"
    git(folder, "checkout", "-q", "-b", "side")
    commit(folder, BASE | {"a.c": swap(A, 10, "theirs\n")}, "on the side")
    git(folder, "checkout", "-q", "-")
    commit(folder, BASE | {"other.c": "1\n"}, "on the main line")
    git(folder, "merge", "-q", "--no-ff", "-m", "the merge", "side")
    ran = run("forecast", "--json")
    assert ran.json["commits"] == 2
    assert row(ran, "0001")["not_clean"]["subject"] == "the merge"


def test_no_commit_lies_ahead(upstream: Upstream, diff: Diff) -> None:
    ran = upstream([BASE], {"0001-a.patch": diff("a.c", A, swap(A, 10, "ours\n"))})("forecast", "base", "--json")
    assert ran.code == 0
    assert (ran.json["commits"], ran.json["pinned"]) == (0, ran.json["last"])


def test_a_branch_that_moved_on_is_still_pinned_where_it_was(upstream: Upstream, diff: Diff) -> None:
    """The base stays what was fetched, so the way begins there and not where the branch is now."""
    run = upstream([BASE], {"0001-a.patch": diff("a.c", A, swap(A, 10, "ours\n"))})
    branch = git(run.root / "upstream", "symbolic-ref", "--short", "HEAD").strip()
    config = (run.root / "opencoti.toml").read_text()
    (run.root / "opencoti.toml").write_text(config.replace('"base"', f'"{branch}"'))
    assert run("check").code == 0
    commit(run.root / "upstream", BASE | {"a.c": swap(A, 10, "theirs\n")}, "later")
    ran = run("forecast", "--json")
    assert turn(row(ran, "0001")["not_clean"]) == (1, "failed")


def test_a_submodule_that_moves_is_said(upstream: Upstream, diff: Diff) -> None:
    run = upstream([BASE], {})
    folder, inner = run.root / "upstream", run.root / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    commit(inner, {"m.c": A}, "inner")
    allow = ("-c", "protocol.file.allow=always")
    git(folder, *allow, "submodule", "add", "-q", str(inner), "mod")
    git(folder, "commit", "-q", "-m", "with a submodule")
    git(folder, "tag", "-f", "base")
    commit(inner, {"m.c": swap(A, 10, "theirs\n")}, "inner moves")
    git(folder / "mod", *allow, "pull", "-q")
    git(folder, "commit", "-q", "-a", "-m", "the submodule moves")
    run.write("patches/0001-m.patch", diff("mod/m.c", A, swap(A, 10, "ours\n")))
    run.write("patches/series", "0001-m.patch\n")
    ran = run("forecast", "--json")
    assert ran.json["notes"] == ["the submodule mod moves at commit 1; its files are judged as the base has them"]
    assert row(ran, "0001")["at_last"] == "clean"


def far(run: Sandbox, *, filters: bool) -> None:
    """Let the project name its upstream by a URL that the user's git configuration leads to the folder."""
    config = (run.root / "opencoti.toml").read_text()
    (run.root / "opencoti.toml").write_text(config.replace('"upstream"', '"far:upstream"'))
    (run.root / ".gitconfig").write_text(f'[url "{run.root}/"]\n\tinsteadOf = "far:"\n')
    if filters:
        git(run.root / "upstream", "config", "uploadpack.allowFilter", "true")


def kinds(run: Sandbox) -> dict[str, int]:
    """How many objects of each kind the fetched history holds."""
    repos = (run.root / ".opencoti/history").iterdir()  # that of the folder itself holds no object
    every = [git(r, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split() for r in repos]
    (held,) = filter(None, every)
    return {kind: held.count(kind) for kind in ("commit", "tree", "blob")}


@pytest.mark.parametrize("filters", [True, False])
def test_a_far_repository_gives_only_what_is_needed(five: Sandbox, filters: bool) -> None:
    near = five("forecast", "--json")
    far(five, filters=filters)
    ran = five("forecast", "--json")
    assert ran.raw == near.raw, ran.err
    held = kinds(five)
    assert held["commit"] == 8
    assert (held["blob"] == 0) is filters  # the contents are in the store already


def test_contents_of_a_far_repository_are_fetched_when_they_are_needed(five: Sandbox) -> None:
    far(five, filters=True)
    ran = five("forecast", "--json")
    assert ran.code == 1, ran.err
    assert turn(row(ran, "0001")["not_clean"]) == (5, "failed")
    assert kinds(five) == {"commit": 8, "tree": kinds(five)["tree"], "blob": 4}
    five.root.joinpath("upstream").rename(five.root / "gone")  # a second time nothing is asked of it
    last = row(ran, "0005")["not_clean"]["commit"]
    assert five("forecast", last, "--json").json["all_clean"] == ran.json["all_clean"]
    assert five("forecast", "--json").json["error"]["code"] == "no-repository"


def test_a_partial_clone_lacks_contents(five: Sandbox) -> None:
    git(five.root / "upstream", "config", "uploadpack.allowFilter", "true")
    clone = five.root / "clone"
    git(five.root, "clone", "-q", "--bare", "--filter=blob:none", f"file://{five.root}/upstream", str(clone))
    assert five("check").code == 0  # the base is in the store
    config = (five.root / "opencoti.toml").read_text()
    (five.root / "opencoti.toml").write_text(config.replace('"upstream"', '"clone"'))
    ran = five("forecast", "--json")
    assert ran.code == 3
    assert ran.json["error"]["code"] in ("no-contents", "git")


def test_a_commit_that_is_not_ahead_is_refused(five: Sandbox) -> None:
    upstream = five.root / "upstream"
    git(upstream, "checkout", "-q", "--orphan", "apart")
    git(upstream, "commit", "-q", "-m", "apart")
    ran = five("forecast", "apart", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "not-ahead")


def test_a_shallow_clone_says_what_to_do(five: Sandbox) -> None:
    clone = five.root / "clone"
    git(five.root, "clone", "-q", "--depth=3", f"file://{five.root}/upstream", str(clone))
    five("check")
    git(clone, "fetch", "-q", "--depth=1", "origin", "tag", "base")
    config = (five.root / "opencoti.toml").read_text()
    (five.root / "opencoti.toml").write_text(config.replace('"upstream"', '"clone"'))
    ran = five("forecast", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "not-ahead")
    assert "fetch deeper" in ran.json["error"]["hint"]


def test_which_source(five: Sandbox) -> None:
    wrong = five("forecast", "--source", "2", "--json")
    assert (wrong.code, wrong.json["error"]["code"]) == (2, "which-source")
    assert five("forecast", "--source", "1", "--json").code == 1
    config = (five.root / "opencoti.toml").read_text()
    more = '[[base.source]]\nkind = "git"\nurl = "upstream"\nrev = "base"\ninto = "again"\n'
    (five.root / "opencoti.toml").write_text(config + more)
    assert five("forecast", "--json").json["error"]["code"] == "which-source"
    (five.root / "base").mkdir()
    (five.root / "opencoti.toml").write_text(
        'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "directory"\npath = "base"\n'
    )
    none = five("forecast", "--json")
    assert (none.code, none.json["error"]["code"]) == (2, "which-source")


def test_help_has_an_example(sandbox: Sandbox) -> None:
    ran = sandbox("forecast", "--help")
    assert "opencoti-patches forecast b9467 --json" in ran.out
    assert all(len(line) <= 80 for line in ran.out.splitlines())
