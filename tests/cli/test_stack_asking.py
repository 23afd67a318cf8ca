"""``deps``, ``annotate``, ``find``: what stands on what, and whose is which line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.documents import HEAD, LINES, OTHER, Ask, Project, diff, swap
from cli.stacks import FIVE, LAST, NAMES, STACK, tip

if TYPE_CHECKING:
    from e2e.forked import Forked

MADE = "diff --git a/n.c b/n.c\nnew file mode 100644\n--- /dev/null\n+++ b/n.c\n@@ -0,0 +1,2 @@\n+int n;\n+int m;\n"
MOVED = "diff --git a/n.c b/o.c\nsimilarity index 100%\nrename from n.c\nrename to o.c\n"
EDITED = diff("o.c", ["int n;\n", "int m;\n"], ["int n;\n", "long m;\n"])


def needs(document: dict[str, list[dict[str, list[dict[str, str]]]]]) -> dict[str, list[str]]:
    """By number of a patch, the numbers of those that it stands on."""
    return {str(p["name"])[:4]: [o["name"][:4] for o in p["on"]] for p in document["patches"]}


def test_what_stands_on_what(ask: Ask, small: Project) -> None:
    small(STACK)
    found = ask("deps", "--json", code=0)
    assert needs(found) == {"0001": [], "0002": [], "0003": ["0002"], "0004": [], "0005": [], "0006": ["0002", "0003"]}
    assert ask("deps", "--json", code=0) == found  # from the store
    row = ask("deps", "2", "--json", code=0)["patches"][0]
    assert row["above"] == [NAMES[2], "0006-again.patch"]
    assert found["patches"][2]["on"][0]["files"] == [{"file": "f.txt", "lines": [10], "why": ""}]


def test_files_made_and_moved(ask: Ask, small: Project, forked: Forked) -> None:
    small({"0001-made.patch": HEAD + MADE, "0002-moved.patch": HEAD + MOVED, "0003-edited.patch": HEAD + EDITED})
    found = ask("deps", "--json", code=0)
    assert needs(found) == {"0001": [], "0002": ["0001"], "0003": ["0001", "0002"]}
    assert found["patches"][1]["on"][0]["files"] == [{"file": "n.c", "lines": [], "why": "makes the file"}]
    refused = forked("drop", "1")
    assert refused.code == 1
    assert "0001-made.patch makes n.c" in refused.out


def test_the_same_lines_elsewhere_are_no_place(ask: Ask, small: Project) -> None:
    block = ["void f(void)\n", "{\n", "    call();\n", "}\n", "\n", "\n"]
    once = [*LINES[:5], *block, *LINES[5:20], *LINES[20:]]
    twice = [*LINES[:5], *block, *LINES[5:20], *block, *LINES[20:]]
    into = [*LINES[:5], *block, *LINES[5:20], *block[:3], "    more();\n", *block[3:], *LINES[20:]]
    small(
        {
            "0001-one.patch": HEAD + diff("f.txt", LINES, once),
            "0002-two.patch": HEAD + diff("f.txt", once, twice),
            "0003-into.patch": HEAD + diff("f.txt", twice, into),
        }
    )
    # without the second it would go into the first: git takes it there, and it is not what was meant
    assert needs(ask("deps", "--json", code=0))["0003"] == ["0002"]


def test_the_lines_a_patch_takes_out_count(ask: Ask, small: Project) -> None:
    gone = [*LINES[:9], *LINES[10:]]
    joined = [*gone[:8], "in between\n", *gone[8:]]
    beside = swap(joined, 25, "beside\n")
    names = ["0001-gone.patch", "0002-joined.patch", "0003-beside.patch"]
    patches = [HEAD + diff("f.txt", a, b) for a, b in ((LINES, gone), (gone, joined), (joined, beside))]
    small(dict(zip(names, patches, strict=True)))
    assert needs(ask("deps", "--json", code=0)) == {"0001": [], "0002": ["0001"], "0003": []}


def test_deps_for_people_and_for_graphviz(small: Project, forked: Forked) -> None:
    small(STACK)
    text = forked("deps").out
    assert "0003-eleven.patch stands on:\n    0002-ten.patch: f.txt:10\n" in text
    assert text.endswith("6 patches, 3 dependencies, 4 on the base alone\n")
    assert "no patch stands on it" in forked("deps", "5").out
    dot = forked("deps", "--format", "dot").out
    assert dot.startswith("digraph patches {\n")
    assert '  "0006-again.patch" -> "0002-ten.patch" [tooltip="f.txt"];\n' in dot
    assert dot.count(" -> ") == 3
    assert forked("deps", "--json", "--format", "dot").code == 2
    assert forked("deps", "2", "--format", "dot").code == 2


def test_deps_of_a_series_that_does_not_apply(small: Project, forked: Forked) -> None:
    small({"0001-x.patch": STACK["0006-again.patch"]})
    assert forked("deps", "--json").json["error"]["code"] == "does-not-apply"


def test_annotate(ask: Ask, small: Project, forked: Forked) -> None:
    small(FIVE)
    tip(forked)
    found = ask("annotate", "f.txt", "--json", code=0)
    assert [row["text"] for row in found["lines"]] == [x.rstrip("\n") for x in LAST]
    owned = {row["line"]: row["patch"] for row in found["lines"] if row["patch"]}
    assert owned == {2: NAMES[0], 10: NAMES[1], 11: NAMES[2], 20: NAMES[3], 28: NAMES[4]}
    early = ask("annotate", "f.txt", "--to", "2", "--json", code=0)
    assert {row["line"] for row in early["lines"] if row["patch"]} == {2, 10}
    assert not any(row["patch"] for row in ask("annotate", "g.txt", "--json", code=0)["lines"])
    assert ask("annotate", "no.txt", "--json", code=2)["error"]["code"] == "no-file"
    text = forked("annotate", "f.txt").out.splitlines()
    assert (text[0], text[1]) == ("       1  the line number 1", "0001   2  two")


def test_annotate_of_what_has_no_lines(small: Project, forked: Forked) -> None:
    binary = (
        "diff --git a/b.bin b/b.bin\nnew file mode 100644\nindex 0000000000000000000000000000000000000000"
        "..f76dd238ade08917e6712764a16a22005a50573d\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n\n"
        "literal 0\nHcmV?d00001\n\n"
    )
    small({"0001-b.patch": HEAD + binary})
    assert forked("annotate", "b.bin", "--json").json["error"]["code"] == "no-lines"


def test_quiet_leaves_the_answer_as_it_is_but_where_a_program_reads_it(small: Project, forked: Forked) -> None:
    small(FIVE)
    for args in (["check"], ["status"], ["deps"], ["lint"], ["rename", "2", "x", "--dry-run"]):
        loud = forked(*args)
        quiet = forked(*args, "-q")
        assert (quiet.code, quiet.out, quiet.err) == (loud.code, loud.out, "")
        assert quiet.out
    for args, answer in ((["list"], NAMES), (["find", "twice"], []), (["find", "two"], NAMES[:1])):
        assert forked(*args, "-q").out.split() == answer
    assert forked("show", "1", "-q").out.replace("\n", "") == FIVE[NAMES[0]].replace("\n", "")


def test_find(ask: Ask, small: Project, forked: Forked) -> None:
    small({**STACK, "0007-other.patch": HEAD + diff("g.txt", OTHER, swap(OTHER, 3, "ten, too\n"))})
    found = ask("find", "ten", "--json", code=0)["hits"]
    assert [(h["patch"][:4], h["does"], h["line"]) for h in found] == [
        ("0002", "adds", 10),
        ("0006", "removes", 10),
        ("0006", "adds", 10),
        ("0007", "adds", 3),
    ]
    raw = (forked.root / "patches" / NAMES[1]).read_text().splitlines()
    assert raw[found[0]["patch_line"] - 1] == "+ten"
    assert len(ask("find", "ten", "--removed", "--json", code=0)["hits"]) == 1
    assert len(ask("find", r"^t(e|w)", "--regex", "--added", "--json", code=0)["hits"]) == 4
    assert ask("find", "nowhere", "--json", code=1)["hits"] == []
    assert ask("find", "(", "--regex", "--json", code=2)["error"]["code"] == "bad-regex"
    assert forked("-q", "find", "ten").out.split() == [NAMES[1], "0006-again.patch", "0007-other.patch"]
