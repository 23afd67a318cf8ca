"""``upstreamed``: which patches, or hunks of them, a base has already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from e2e.trees import plain_git

from cli.documents import HEAD, LINES, STRANGE, Ask, Project, diff, swap

if TYPE_CHECKING:
    from e2e.forked import Forked

ADDED = [*LINES[:9], "an added line\n", "and another one\n", *LINES[9:]]  # lines 10 and 11
BOTH = swap(ADDED, 27, "the line number twenty-five\n")  # two hunks
GONE = [*LINES[:19], *LINES[20:]]
MADE = "diff --git a/more.c b/more.c\nnew file mode 100644\n--- /dev/null\n+++ b/more.c\n@@ -0,0 +1 @@\n+more\n"
DROPPED = "diff --git a/twice.c b/twice.c\ndeleted file mode 100644\n--- a/twice.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"


def shares(document: Any) -> dict[str, str]:
    return {p["name"][:4]: p["share"] for p in document["patches"]}


def hunks(document: Any, at: int) -> list[tuple[int, int, bool]]:
    return [(h["hunk"], h["line"], h["whole"]) for h in document["patches"][at]["hunks"]]


def drifted(lines: list[str]) -> list[str]:
    """Upstream has more at the top, and edited what stands right beside line 10."""
    edits = {"the line number 9\n": "the line number 9 (nine)\n", "the line number 10\n": "the line is number 10\n"}
    return ["a new head\n", "of two lines\n", *(edits.get(x, x) for x in lines)]


PATCHES = {
    "0001-added.patch": HEAD + diff("f.txt", LINES, ADDED),
    "0002-both.patch": HEAD + diff("f.txt", LINES, BOTH),
    "0003-gone.patch": HEAD + diff("f.txt", LINES, GONE),
    "0004-made.patch": HEAD + MADE,
    "0005-other.patch": HEAD + diff("g.txt", LINES, swap(LINES, 4, "four\n")),
}


@pytest.fixture
def upstream(forked: Forked) -> Any:
    """A project on the tag ``old`` of an upstream that has a tag ``new``."""

    def make(old: Mapping[str, str], new: Mapping[str, str], patches: Mapping[str, str]) -> Path:
        plain_git(forked.root, "init", "-q", "up")
        for tag, files in (("old", old), ("new", new)):
            for name, content in files.items():
                forked.write(f"up/{name}", content)
            plain_git(forked.root / "up", "add", "-A")
            plain_git(forked.root / "up", "commit", "-q", "--allow-empty", "-m", tag)
            plain_git(forked.root / "up", "tag", tag)
        source = '[[base.source]]\nkind = "git"\nurl = "./up"\nrev = "old"\n'
        forked.write("opencoti.toml", f'schema = 1\nname = "small"\n\n{source}')
        forked.write("patches/series", "".join(f"{p}\n" for p in patches))
        for name, content in patches.items():
            forked.write(f"patches/{name}", content)
        return forked.root

    return make


@pytest.mark.parametrize("change", [lambda x: x, drifted], ids=["as it was", "drifted"])
def test_another_revision(ask: Ask, forked: Forked, upstream: Any, change: Any) -> None:
    old = {"f.txt": "".join(LINES), "g.txt": "".join(LINES)}
    one = {n: PATCHES[n] for n in ("0001-added.patch", "0004-made.patch", "0005-other.patch")}
    later = HEAD + diff("f.txt", ADDED, swap(swap(ADDED, 20, "eighteen\n"), 29, "twenty-seven\n"))
    new = swap(ADDED, 20, "eighteen\n")
    root = upstream(old, {"f.txt": "".join(change(new)), "more.c": "more\n"}, {**one, "0006-later.patch": later})
    before = {p: p.read_bytes() for p in (root / "patches").iterdir()}
    found = ask("upstreamed", "--rev", "new", "--json", code=0)
    assert shares(found) == {"0001": "all", "0004": "all", "0005": "none", "0006": "some"}
    moved = 2 * (change is drifted)
    assert hunks(found, 0) == [(1, 10 + moved, True)]
    assert hunks(found, 1) == [(0, 0, True)]
    assert hunks(found, 3) == [(1, 20 + moved, True)]
    assert found["base"]["name"] == "new"
    assert {p: p.read_bytes() for p in (root / "patches").iterdir()} == before
    assert ask("upstreamed", "6", "1", "--rev", "new", "--json", code=0)["patches"] == [
        p for p in found["patches"] if p["name"][:4] in ("0001", "0006")
    ]
    assert shares(ask("upstreamed", "--rev", "old", "--json", code=0)) == dict.fromkeys(shares(found), "none")
    assert ask("upstreamed", "--rev", "nope", "--json", code=3)["error"]["code"] == "no-rev"


@pytest.mark.parametrize("change", [lambda x: x, drifted], ids=["as it was", "drifted"])
def test_the_base_itself(ask: Ask, small: Project, forked: Forked, change: Any) -> None:
    root = small(PATCHES)
    (root / "base/f.txt").write_text("".join(change(ADDED)))
    (root / "base/more.c").write_text("more\n")
    (root / "base/g.txt").write_text("".join(LINES))
    found = ask("upstreamed", "--json", code=0)
    # the third applies: of it nothing is there. The second has one hunk in the base, one that is new
    assert shares(found) == {"0001": "all", "0002": "some", "0003": "none", "0004": "all", "0005": "none"}
    moved = 2 * (change is drifted)
    assert hunks(found, 0) == [(1, 10 + moved, True)]
    assert hunks(found, 1) == [(1, 10 + moved, True)]


def test_what_is_removed(ask: Ask, small: Project, forked: Forked) -> None:
    back = HEAD + diff("f.txt", swap(STRANGE, 11, "the line number 11\n"), STRANGE)
    patches = {
        "0001-gone.patch": PATCHES["0003-gone.patch"],
        "0002-dropped.patch": HEAD + DROPPED,
        "0003-b.patch": back,
    }
    root = small(patches)
    (root / "base/f.txt").write_text("".join(drifted(GONE)))
    (root / "base/twice.c").unlink()
    found = ask("upstreamed", "--json", code=0)
    assert shares(found) == {"0001": "all", "0002": "all", "0003": "none"}
    assert hunks(found, 0) == [(1, 22, True)]


def test_lines_that_only_another_patch_adds_are_not_gone_upstream(ask: Ask, small: Project) -> None:
    """The second takes out what the first, which finds no place, would have added: nothing of that is upstream."""
    more = [*LINES[:4], "brought in\n", *LINES[4:]]
    root = small(
        {
            "0001-in.patch": HEAD + diff("f.txt", LINES, swap(more, 25, "two dozen\n")),
            "0002-out.patch": HEAD + diff("f.txt", more, LINES),
        }
    )
    (root / "base/f.txt").write_text("".join([*LINES[:20], *STRANGE]))
    assert shares(ask("upstreamed", "--json", code=0)) == {"0001": "none", "0002": "none"}


def test_a_likely_place_is_not_enough(ask: Ask, small: Project) -> None:
    """The same lines stand there, in another place or with others between them: that is not this change."""
    for text in (
        [*LINES[:9], "an added line\n", "not the same\n", *LINES[9:]],
        [*LINES[:9], "an added line\n", "and another one\n", "and a third\n", *LINES[9:]],
        [*LINES[:8], "another nine\n", "the line number 10\n", "an added line\n", "and another one\n", *LINES[10:]],
    ):
        root = small({"0001-added.patch": PATCHES["0001-added.patch"]})
        (root / "base/f.txt").write_text("".join(text))
        assert shares(ask("upstreamed", "--json", code=0)) == {"0001": "none"}, text


def test_changes_with_but_a_blank_line_between_them(ask: Ask, forked: Forked, upstream: Any) -> None:
    """Where blank lines shift against each other, a diff may pair the wrong ones: the hunk as a whole tells."""

    def group(names: str, flags: str, deep: str = "") -> str:
        return "".join(f'    {deep}layer.{n} = create("{n}", {{n_embd, n_ff}}, {flags});\n' for n in names.split())

    ends = ("before\n\n", f"}}\n{''.join(LINES)}")
    parts = [group(n, "0") for n in ("qkv out", "freqs", "post qnorm knorm", "gate down up ffnorm")]
    now = [group(n, "flags") for n in ("qkv out", "post qnorm knorm", "gate down up ffnorm")]
    freqs, last = group("freqs", "flags", "    "), group("proj enorm hnorm shared", "flags", "    ")
    old = "\n".join(parts).join(ends)
    new = "\n".join([now[0], f"    if (!x) {{\n{freqs}    }}\n", *now[1:], f"    if (x) {{\n{last}    }}\n"]).join(ends)
    gone, come = (text.split("\n\n")[1:] for text in (old, new))  # git pairs the first blank line with the second one
    pairs = [(gone[0], f"{come[0]}\n\n{come[1]}"), (gone[1], come[2]), (gone[2], come[3])]
    body = [(gone[3].partition("\n}\n")[0], come[4].partition("\n}\n")[0])]
    rows = "\n \n".join("\n".join(f"{sign}{x}" for sign, side in zip("-+", pair, strict=True) for x in side.split("\n"))
                       for pair in [*pairs, *body])  # fmt: skip
    hunk = f" before\n \n{rows}\n }}\n {LINES[0]} {LINES[1]}"
    counts = [sum(x[:1] in kinds for x in hunk.splitlines()) for kinds in (" -", " +")]
    patch = f"{HEAD}--- a/f.txt\n+++ b/f.txt\n@@ -1,{counts[0]} +1,{counts[1]} @@\n{hunk}"
    root = upstream({"f.txt": old}, {"f.txt": f"one more\n{new}"}, {"0001-x.patch": patch})
    assert forked("check", cwd=None).code == 0
    assert shares(ask("upstreamed", "--rev", "new", "--json", code=0)) == {"0001": "all"}
    config = root / "opencoti.toml"
    config.write_text(config.read_text().replace('"old"', '"new"'))
    assert shares(ask("upstreamed", "--json", code=0)) == {"0001": "all"}


def test_what_is_shown(small: Project, forked: Forked) -> None:
    root = small({**PATCHES, "0006-bad.patch": HEAD + "--- a/f.txt\n+++ b/f.txt\n@@ -1,2 +1,3 @@\n one\n"})
    (root / "base/f.txt").write_text("".join(ADDED))
    (root / "base/g.txt").write_text("".join(LINES))
    ran = forked("upstreamed", cwd=None)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:6] == [
        "0001-added.patch: all is there",
        "    f.txt, hunk 1, line 10: upstream has it already",
        "0002-both.patch: some is there",
        "    f.txt, hunk 1, line 10: upstream has it already",
        "0006-bad.patch: not known: the patch file is damaged; see",
        "    'opencoti-patches check'",
    ]
    assert " ".join(ran.out.split()).endswith("base: 1 wholly there, 1 in part, 3 not, 1 not known.")
    assert forked("upstreamed", "--source", "1", cwd=None).code == 2
