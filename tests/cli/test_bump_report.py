"""What ``bump`` prints: next commands, counts, the summary for a pull request; and what it says of a base
that is there already, or of an sdist's commit."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shlex
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from opencoti_patches.report.wrapping import cut

from .conftest import HEADER, Diff, Ran, Sandbox
from .documents import checked
from .test_bump import CODE, CONFLICT, Carry, carry, edit, git, stuck

__all__ = ["carry", "stuck"]

CHECK = "opencoti-patches check  # or opencoti-patches undo, which takes it back"
APPLY = "opencoti-patches apply  # and build it: no compiler has seen what was adapted"
FULL = "210a6570ceda20c5d6439172c09ada08c3754cc9"


def plain(run: Sandbox, text: str) -> str:
    """A report without what differs from run to run: the folder, the upstream's commits."""
    text = text.replace(str(run.root), "ROOT").replace(str(run.root).replace("_", "\\_"), "ROOT")
    for tag in ("old", "new"):
        text = text.replace(git(run.root / "upstream", "rev-parse", tag)[:12], tag.upper())
    return text


def test_a_conflict_says_what_to_run_next(stuck: Sandbox) -> None:
    tried = stuck("bump", "new", "--dry-run")
    assert "\n    next: opencoti-patches bump new\n" in tried.out
    shown = stuck("bump", "new").out
    assert "\n    next: opencoti-patches bump --continue  # once it is resolved\n" in shown
    ways = [line.strip() for line in shown.splitlines()[-3:]]
    assert ways == [
        "opencoti-patches bump --continue",
        "opencoti-patches bump --skip 0001-three.patch",
        "opencoti-patches bump --abort",
    ]
    assert "1 renumbered, 1 conflict, 1 blocked. Nothing was written.\n" in shown
    assert stuck(*shlex.split(ways[1])[1:]).code == 1
    assert stuck(*shlex.split(ways[2])[1:]).code == 0


def test_a_skipped_patch_is_not_counted_as_a_conflict(stuck: Sandbox) -> None:
    stuck("bump", "new")
    stuck("bump", "--skip", "1")
    done = stuck("bump", "--skip", "2")
    assert done.code == 0
    assert done.out.startswith("0001-three.patch: skipped: the series leaves it out\n")
    assert "1 renumbered, 2 skipped. Written: " in done.out
    assert "conflict" not in done.out


def test_what_waits_for_a_yes_says_how_to_give_it(carry: Carry, diff: Diff) -> None:
    patch = diff("a.c", CODE, edit(CODE, ("    check(y);\n", "    log_it(2 * y);\n    check(y);\n")))
    run = carry({"a.c": CODE}, {"a.c": CODE.replace("log_it(", "log_value(")}, {"0001-log.patch": patch})
    last = run("bump", "new").out.splitlines()[-1]
    assert last == "next: opencoti-patches bump new --accept-adapted"
    done = run(*shlex.split(last.removeprefix("next: "))[1:])
    assert done.code == 0
    up, *then = done.out.splitlines()[-3:]
    assert up.startswith("upstream: ")
    assert then == [f"next: {CHECK}", f"then: {APPLY}"]


def test_a_finished_bump_says_what_to_run_next(carry: Carry, diff: Diff) -> None:
    patch = diff("a.c", CODE, edit(CODE, ("    check(y);\n", "    check(2 * y);\n")))
    run = carry({"a.c": CODE}, {"a.c": f"// one more\n{CODE}"}, {"0001-log.patch": patch})
    tried = run("bump", "new", "--dry-run").out + run("bump", "new", "--dry-run", "--format", "markdown").out
    assert "next: " not in tried
    assert "opencoti-patches" not in tried
    assert run("bump", "new").out.splitlines()[-1] == f"next: {CHECK}"
    assert run("undo").code == 0
    assert f"Next:\n\n```sh\n{CHECK}\n```\n" in run("bump", "new", "--format", "markdown").out
    assert run("undo").code == 0
    assert "next: " not in run("bump", "new", "-q").out
    assert run("undo").code == 0
    done = checked(run("bump", "new", "--json").raw, 0)
    assert done["next"] == [CHECK]
    assert run(*shlex.split(CHECK, comments=True)[1:]).code == 0


def test_its_markdown_names_the_folder(stuck: Sandbox) -> None:
    there = ("-C", "../work")
    ours = "opencoti-patches -C ../work bump"
    assert f"```sh\n{ours} new\n```" in stuck("bump", "new", "--dry-run", "--format", "markdown", *there).out
    waits = stuck("bump", "new", "--format", "markdown", *there).out
    assert f"```sh\n{ours} --continue  # once it is resolved\n```" in waits
    state = stuck("bump", "--status", "--format", "markdown", *there).out
    assert f"\n    {ours} --skip 0001-three.patch\n" in state
    stuck("bump", "--skip", "1")
    done = stuck("bump", "--skip", "2", "--format", "markdown", *there).out
    assert "<code>opencoti-patches -C ../work enable NAME</code> brings one back" in done
    assert "opencoti-patches -C ../work check  # or opencoti-patches -C ../work undo, which takes it back" in done
    assert "opencoti-patches " not in done.replace("opencoti-patches -C ../work ", "")


def test_all_files_that_have_markers_left_are_named(carry: Carry, diff: Diff) -> None:
    names = ("a.c", "b.c", "d.c")
    patch = "".join(diff(p, CODE, edit(CODE, ("x * 2", "x * 3"))) for p in names)
    run = carry(dict.fromkeys(names, CODE), dict.fromkeys(names, CONFLICT), {"0001-three.patch": patch})
    work = Path(run("bump", "new", "--json").json["worktree"])
    left = run("bump", "--continue", "--json").json["error"]["message"]
    assert left == "a.c line 10 still has a conflict marker; so have b.c, d.c"
    (work / "a.c").write_text(edit(CONFLICT, ("x * 5", "x * 15")))
    left = run("bump", "--continue", "--json").json["error"]["message"]
    assert left == "b.c line 10 still has a conflict marker; so has d.c"


def test_what_is_to_be_looked_at_and_cut_is_whole_with_v(carry: Carry, diff: Diff) -> None:
    calls = "".join(f"    log_it({n});\n" for n in range(20))
    ours = edit(CODE, ("    check(y);\n", f"    check(y);\n{calls}"))
    run = carry(
        {"a.c": CODE}, {"a.c": CODE.replace("log_it(", "log_value(")}, {"0001-log.patch": diff("a.c", CODE, ours)}
    )
    assert "more lines; -v shows them\n" in run("bump", "new").out
    whole = run("bump", "new", "-v").out
    assert "more line" not in whole and "++    log_value(19);" in whole


def test_the_counts_are_words_of_one_and_of_many(carry: Carry, diff: Diff) -> None:
    patch = diff("a.c", CODE, edit(CODE, ("x - 3", "x - 4")))
    run = carry({"a.c": CODE}, {"a.c": "// new\n" + CODE}, {"0001-four.patch": patch})
    row = run("bump", "new", "--dry-run", "--json").json["patches"][0]
    assert row["hunks"][0]["how"] == "moved by +1 line"
    assert "1 renumbered. 2 files would be written.\n" in run("bump", "new", "--dry-run").out
    bare = carry_nothing(run)
    assert "1 kept. 1 file would be written.\n" in bare("bump", "new", "--dry-run").out


def carry_nothing(run: Sandbox) -> Sandbox:
    """The same project with a patch that upstream's change does not touch."""
    run.write(
        "patches/0001-four.patch",
        HEADER + "diff --git a/n.c b/n.c\nnew file mode 100644\n--- /dev/null\n+++ b/n.c\n@@ -0,0 +1 @@\n+x\n",
    )
    return run


def test_a_conflict_is_shown_where_nothing_lays_it_out(stuck: Sandbox) -> None:
    """Clipped for people; whole, and of every patch in conflict, for machines."""
    long = [f"    step({n}, y); // ~~~~~~~\n" for n in range(9)]
    git(stuck.root / "upstream", "checkout", "-q", "old")
    (stuck.root / "upstream/b.c").write_text("one\ntwo\n")
    git(stuck.root / "upstream", "add", "b.c")
    git(stuck.root / "upstream", "commit", "-qm", "before")
    before = git(stuck.root / "upstream", "rev-parse", "HEAD").strip()
    (stuck.root / "upstream/b.c").write_text("one\n2\n")
    (stuck.root / "upstream/a.c").write_text(CONFLICT)
    git(stuck.root / "upstream", "commit", "-qam", "after")
    after = git(stuck.root / "upstream", "rev-parse", "HEAD").strip()
    config = (stuck.root / "opencoti.toml").read_text()
    stuck.write("opencoti.toml", config.replace('rev = "old"', f'rev = "{before}"'))
    hunk = "Say\n\nWhy\n\ndiff --git a/b.c b/b.c\n--- a/b.c\n+++ b/b.c\n@@ -1,2 +1,10 @@\n one\n-two\n"
    stuck.write("patches/0004-long.patch", hunk + "".join(f"+{x}" for x in long))
    with (stuck.root / "patches/series").open("a") as series:
        series.write("0004-long.patch\n")
    document = stuck("bump", after, "--dry-run", "--json")
    first, second, *_, last = checked(document.raw, document.code)["patches"]
    assert (first["status"], second["status"], last["status"]) == ("conflict", "blocked", "conflict")
    ours = ["    int y = x * 3;"]
    assert first["conflicts"] == [
        {"file": "a.c", "line": 10, "upstream": ["    int y = x * 5;"], "before": ["    int y = x * 2;"], "ours": ours}
    ]
    assert last["conflicts"][0]["ours"] == [x.rstrip("\n") for x in long]
    shown = stuck("bump", after, "--dry-run").out
    block = "    b.c, line 2:\n      <<<<<<< upstream\n      2\n      ||||||| before\n      two\n      =======\n"
    assert block + "".join(f"      {x}" for x in long[:4]) + "      … 5 more lines\n      >>>>>>> the patch\n" in shown
    opened = stuck("bump", after).out
    assert "<<<<<<<" not in opened  # it lies in the worktree
    assert "<<<<<<<" in stuck("bump", "--skip", "1", "-v").out


def test_each_thing_is_said_once(carry: Carry, diff: Diff) -> None:
    """One change says how it went where the patch is named; several do below it, and there they are counted."""
    new = edit(CODE.replace("log_it(", "log_value("), ("x * 2", "x * 5"), ("x - 3", "x - 9"))
    one = edit(CODE, ("    check(y);\n", "    log_it(2 * y);\n    check(y);\n"))
    two = edit(CODE, ("x * 2", "x * 6"), ("x - 3", "x - 4"))
    both = edit(
        CODE,
        ("    check(y);\n", "    log_it(2 * y);\n    check(y);\n"),
        ("    int y = x + 1;\n", "    int y = x + 1;\n    log_it(x);\n"),
    )
    texts = {"1-one.patch": one, "2-two.patch": two, "3-both.patch": both}
    files = {f"{name[0]}.c": CODE for name in texts}
    run = carry(files, dict.fromkeys(files, new), {name: diff(f"{name[0]}.c", CODE, t) for name, t in texts.items()})
    shown, document = run("bump", "new", "--dry-run"), run("bump", "new", "--dry-run", "--json").json
    flat = " ".join(shown.out.split())
    for place in ("1.c, hunk 1: ", "2.c, hunk 1: ", "3.c, hunk 1: ", "3.c, hunk 2: "):
        assert flat.count(place) == 1, shown.out
    assert "2-two.patch: conflict: 2 of its changes find no place 2.c, hunk 1: conflict: " in flat
    assert "3-both.patch: adapted: 2 of its changes want a look; its lines use log_it, which upstream took out " in flat
    assert [row["reason"].count("hunk") for row in document["patches"]] == [1, 0, 0]
    summary = run("bump", "new", "--dry-run", "--format", "markdown").out
    assert summary.count("1.c") == 2  # the table, the interdiff
    assert summary.count("<code>2.c</code>, hunk 1: conflict: ") == 1


def test_no_line_is_longer_than_a_screen_but_for_what_is_pasted(stuck: Sandbox) -> None:
    long = "a_rather_long_name_of_a_thing_" * 3
    patch = (stuck.root / "patches/0003-four.patch").read_text()
    stuck.write(f"patches/0003-{long}.patch", patch.replace("x - 4;", f"x - 4; // {long * 2}"))
    series = (stuck.root / "patches/series").read_text()
    stuck.write("patches/series", series.replace("0003-four.patch", f"0003-{long}.patch"))
    for args in (("new", "--dry-run"), ("new", "-v"), ("--status",), ("--skip", "1"), ("--abort",)):
        for line in stuck("bump", *args).out.splitlines():
            words = line.split()
            assert len(line) <= 80 or len(words) == 1 or "opencoti-patches" in words, line
    asked = stuck("bump", "new", "--dry-run").out
    assert asked.splitlines()[0] == "0001-three.patch: conflict: a.c, hunk 1: upstream edited the very words that it"


def test_regen_says_what_to_run_next_too(stuck: Sandbox) -> None:
    config = (stuck.root / "opencoti.toml").read_text()
    stuck.write("opencoti.toml", config.replace('rev = "old"', 'rev = "new"'))
    ran = stuck("regen")
    assert ran.code == 1
    command = next(line.partition("next: ")[2] for line in ran.out.splitlines() if "    next: " in line)
    assert stuck("regen", "2", "--json").json["patches"][0]["status"] == "blocked"
    stuck(*shlex.split(command)[1:])
    assert "<<<<<<< " in (stuck.root / "WORK/a.c").read_text()


def test_a_base_that_is_there_already_is_one_line(carry: Carry, diff: Diff) -> None:
    patch = diff("a.c", CODE, edit(CODE, ("x + 1", "x + 9")))
    run = carry({"a.c": CODE}, {"a.c": CODE + "\n"}, {"0001-nine.patch": patch})
    same = run("bump", "old")  # a name may mean another commit by now, so it is pinned
    assert same.code == 0
    rev = git(run.root / "upstream", "rev-parse", "old").strip()
    assert rev in (run.root / "opencoti.toml").read_text()
    before = run.files()
    again = run("bump", "old", "-q")
    assert (again.code, again.out.count("\n")) == (0, 1)
    assert again.out.startswith("already on old")
    os.rename(run.root / "upstream", run.root / "away")  # by its id nothing is asked
    for value in (rev, rev[:10]):
        ran = run("bump", value, "--json")
        assert (ran.code, ran.json["answer"], ran.json["value"]) == (0, "already", value)
    os.rename(run.root / "away", run.root / "upstream")
    assert run.files() == before


HEAD = """## upstream old → new

| | before | after |
|---|---|---|
| base | old | new |
| upstream | old | NEW (new) |
| tree | <code>TREE-1</code> | <code>TREE-2</code> |
"""


def test_a_summary_for_a_pull_request(carry: Carry, diff: Diff) -> None:
    old = {"a.c": CODE, "b.c": CODE, "c.c": "one\n"}
    new = {"a.c": CONFLICT, "b.c": CODE.replace("log_it(", "log_value("), "c.c": "two\n"}
    patches = {
        "0001-three.patch": diff("a.c", CODE, edit(CODE, ("x * 2", "x * 3"))),
        "0002-log.patch": diff("b.c", CODE, edit(CODE, ("    check(y);\n", "    log_it(2 * y);\n    check(y);\n"))),
        "0003-new.patch": diff("n.c", "", "x\n"),
        "0004-two.patch": diff("c.c", "one\n", "two\n"),
    }
    run = carry(old, new, patches)
    ran = run("bump", "new", "--format", "markdown", "--dry-run")
    assert ran.code == 1
    head, _, rest = plain(run, ran.out).partition("\n**")
    trees = re.findall(r"<code>([0-9a-f]{12})</code>", head)
    assert head == HEAD.replace("TREE-1", trees[0]).replace("TREE-2", trees[1])
    assert run("check", "--json", "--to", "3").json["base"]["tree"].startswith(trees[0])
    assert "**" + rest == GOLDEN
    assert run("bump", "new", "--format", "markdown", "--json").code == 2
    assert run("bump", "new").code == 1
    given_up = run("bump", "--abort", "--format", "markdown").out
    assert given_up == "```\nthe bump to new is given up; nothing was changed\n```\n"


GOLDEN = """**1 kept, 1 adapted, 1 upstreamed, 1 conflict.** Nothing was written: it was a trial.

| patch | status | reason |
|---|---|---|
| <code>0001-three.patch</code> | conflict | a.c, hunk 1: upstream edited the very words that it changes |
| <code>0002-log.patch</code> | adapted | b.c, hunk 1: between lines that upstream edited; follows the renaming of log\\_it to log\\_value; its lines use log\\_it, which upstream took out of these files |
| <code>0003-new.patch</code> | kept |  |
| <code>0004-two.patch</code> | upstreamed | upstream has all of it |

### To be looked at

<details><summary><code>0002-log.patch</code></summary>

What changed of its lines (first column: `-` the old patch, `+` the new one):

```
b.c
  -+    log_it(2 * y);
  ++    log_value(2 * y);
```

</details>

### In conflict

<code>0001-three.patch</code>

<details><summary><code>a.c</code>, line 10</summary>

```
<<<<<<< upstream
    int y = x * 5;
||||||| before
    int y = x * 2;
=======
    int y = x * 3;
>>>>>>> the patch
```

</details>

```sh
opencoti-patches bump new
```
"""


def test_the_summary_takes_nothing_from_patches_for_markdown(carry: Carry, diff: Diff) -> None:
    name = "0001-a|b`c`<img/src=x>&amp;_d_.patch"
    path = "x|`y`<b>@all.c"
    ours = edit(CODE, ("    check(y);\n", "    log_it(y); // ```` @all see #12 |a|b| </details>\n    check(y);\n"))
    new = CODE.replace("log_it(", "log_value(")
    patches = {name: diff(path, CODE, ours), "0002-three.patch": diff("a.c", CODE, edit(CODE, ("x * 2", "x * 3")))}
    run = carry({path: CODE, "a.c": CODE}, {path: new, "a.c": CONFLICT}, patches)
    document = run("bump", "new", "--dry-run", "--json").json
    assert [row["status"] for row in document["patches"]] == ["adapted", "conflict"]
    out = run("bump", "new", "--dry-run", "--format", "markdown").out
    rows = [line for line in out.splitlines() if line.startswith("| ")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows if "<code>0" in row] == [4, 4]
    sentences: list[str] = []
    fences: list[str] = []
    fence = ""
    for line in out.splitlines():
        if not fence and (m := re.match("`{3,}", line)):
            fence = m[0]
        elif fence and line == fence:
            fence = ""
        else:
            (fences if fence else sentences).append(line)
    assert fence == ""
    assert any("````" in line for line in fences) and any("</details>" in line for line in fences)
    own = re.sub(r"</?(?:code|details|summary)>", "", "\n".join(sentences))
    assert "<" not in own
    assert "`" not in own.replace("`-` the old patch, `+` the new one", "").replace("\\`", "")
    assert not re.search(r"[@#]\w", re.sub(r"&#\d+;", "", own).replace("@all.c", ""))


Index = Callable[[Mapping[str, Mapping[str, str]]], Sandbox]


@pytest.fixture
def index(sandbox: Sandbox) -> Index:
    """A project on version 1.0 of a package whose sdists lie in a folder that pip is told of."""

    def make(versions: Mapping[str, Mapping[str, str]]) -> Sandbox:
        (sandbox.root / "links").mkdir()
        for version, files in versions.items():
            with tarfile.open(sandbox.root / f"links/holds_it-{version}.tar.gz", "w:gz") as t:
                for name, text in files.items():
                    info = tarfile.TarInfo(f"holds_it-{version}/{name}")
                    info.size = len(text.encode())
                    t.addfile(info, io.BytesIO(text.encode()))
        first = next(iter(versions))
        sha = hashlib.sha256((sandbox.root / f"links/holds_it-{first}.tar.gz").read_bytes()).hexdigest()
        sandbox.write(
            "opencoti.toml",
            f'schema = 1\nname = "small"\n\n[[base.source]]\nkind = "pypi-sdist"\npackage = "holds-it"\n'
            f'version = "{first}"\nsha256 = "{sha}"\nsubdir = "vendor/up.cpp"\nupstream = "abcdef1 (b1)"  # ours\n\n[tree]\ndir = "tree"\n',
        )
        sandbox.write("patches/series", "")
        return sandbox

    return make


def test_the_label_is_the_commit_that_the_sdist_names(index: Index) -> None:
    log = "## [1.1]\n\n- feat: Update up.cpp to owner/up.cpp@210a6570c\n\n## [1.0]\n\n- first\n"
    files = {"vendor/up.cpp/a.c": "x\n", "CHANGELOG.md": log}
    head = {".git/modules/vendor/up.cpp/HEAD": f"{FULL}\n"}
    run = index({"1.0": files, "1.1": files | head, "1.2": files, "1.1.post1": files})
    links = str(run.root / "links")

    def bump(*args: str) -> Ran:
        return run("bump", *args, PIP_NO_INDEX="1", PIP_FIND_LINKS=links)

    assert bump("1.0", "--json").json["answer"] == "already"
    assert not (run.root / ".opencoti/downloads").exists()
    assert bump("1.0.0").out == "already on 1.0.0 (abcdef1 (b1)): nothing to do\n"
    done = bump("1.1", "--json")
    assert (done.code, done.json["base"]["upstream"], done.json["notes"]) == (0, FULL, [])
    config = (run.root / "opencoti.toml").read_text()
    assert f'upstream = "{FULL}"  # ours\n\n[tree]\n' in config
    gone = bump("1.2")
    said = " ".join(gone.out.split())
    assert (
        f"note: the label upstream = '{FULL}' is taken out, and no other is known: CHANGELOG.md has no section for 1.2"
        in said
    )
    config = (run.root / "opencoti.toml").read_text()
    assert 'version = "1.2"' in config and "upstream" not in config
    back = bump("1.1", "--json")
    assert (back.code, back.json["notes"]) == (0, [])
    config = (run.root / "opencoti.toml").read_text()
    assert f'upstream = "{FULL}"\n' in config.partition("[tree]")[0]
    assert run("check").code == 0


def test_lines_that_differ_behind_the_edge_begin_shortly_before_that() -> None:
    long = "ggml_tensor * cur = build_attention_of_heads(q, k, v, mask, sinks, "
    rows = cut([f"  --    {long}v_mla, scale, il);", f"  -+    {long}v_mla, 0, scale, il);", "  ++    int other;"])
    assert rows == [
        "  --    … v, mask, sinks, v_mla, scale, il);",
        "  -+    … v, mask, sinks, v_mla, 0, scale, il);",
        "  ++    int other;",
    ]
    assert cut(["  -- " + "x" * 90, "  -+ " + "x" * 90]) == [f"  -{s} " + "x" * 74 + "…" for s in "-+"]
    assert max(map(len, cut([f"+ {'a' * 100}{c}{'b' * 100}" for c in "xyz"]))) == 80
    assert len(set(cut([f"+ {'a' * 100}{c}{'b' * 100}" for c in "xyz"]))) == 3
