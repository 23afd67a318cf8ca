"""A change stays in the block that it was made in: what is as deep as it is tells where that ends."""

from __future__ import annotations

import pytest
from e2e.one_file import added, carried, contents

from opencoti_patches.carry.contents import Contents

__all__ = ["contents"]

LOOP = "def f(xs):\n    total = 0\n    for x in xs:\n        total += x\n    return total\n"
STEPS = "build:\n  steps:\n    - one\n    - two\n  timeout: 5\n  env: x\n"
CASES = "switch (n) {\ncase 1:\n    go_on(a);\ncase 3:\n    run(c);\n}\n"
BRANCH = "if (n > 1) {\n    go_on(a);\n} else {\n    run(c);\n}\n"


@pytest.mark.parametrize(
    ("old", "line", "next_", "new"),
    [
        (
            LOOP,
            "    audit(xs)\n",
            "    return total\n",
            LOOP.replace("    return total\n", "        if total > 9:\n            break\n    return int(total)\n"),
        ),
        (STEPS, "  retry: 2\n", "  timeout: 5\n", STEPS.replace("  timeout: 5\n", "    - three\n  timeout: 10\n")),
    ],
)
def test_what_stands_behind_a_block_does_not_part_it(
    contents: Contents, old: str, line: str, next_: str, new: str
) -> None:
    """The line before is unchanged, but deeper; upstream's go on with its block."""
    found = carried(contents, old, old.replace(next_, line + next_), new)
    at = next(i for i, x in enumerate(added(found)) if x[0] == "+")
    assert added(found)[at : at + 2] == [
        "+" + line.rstrip(),
        " " + new.splitlines()[new.count("\n") - old.count("\n") + old[: old.index(next_)].count("\n")],
    ]
    assert found.doubts == ("f.c, hunk 1: upstream goes on with the block before it; put behind that",)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (CASES, CASES.replace("go_on(a);\n", "go_on(a, b);\n    break;\ncase 2:\n    walk(d);\n")),
        (BRANCH, BRANCH.replace("go_on(a);\n", "go_on(a, b);\n} else if (n < 0) {\n    walk(d);\n")),
    ],
)
def test_what_ends_a_block_does_not_come_into_the_next_one(contents: Contents, old: str, new: str) -> None:
    """The line behind is unchanged, but less deep; upstream ends the block and begins another."""
    found = carried(contents, old, old.replace("    go_on(a);\n", "    go_on(a);\n    trace(a);\n"), new)
    at = next(i for i, x in enumerate(added(found)) if x[0] == "+")
    assert added(found)[at - 1 : at + 1] == ["     go_on(a, b);", "+    trace(a);"]
    assert found.doubts == ("f.c, hunk 1: upstream ends the block that it is in; put before that",)


TRY = "def f(p):\n    start(p)\n    try:\n        work(p)\n    except OSError:\n        fail(p)\n    finish_it(p)\n"
IF = "start(n);\nif (legacy_mode)\n    legacy_one(ctx);\nmodern_one(ctx);\n"


@pytest.mark.parametrize(
    ("old", "ours", "new"),
    [
        (IF, IF.replace("modern", "else\n    legacy_two(ctx);\nmodern"), "start(n);\nmodern_one(ctx);\n"),
        (IF, IF.replace("modern", "    other(ctx);\nmodern"), "start(n);\nmodern_one(ctx);\n"),
        (
            TRY,
            TRY.replace("    finish", "    except ValueError:\n        bad(p)\n    finish"),
            "def f(p):\n    start(p)\n    work(p)\n    finish_it(p)\n",
        ),
    ],
)
def test_what_goes_on_with_a_statement_that_went_is_a_doubt(contents: Contents, old: str, ours: str, new: str) -> None:
    (doubt,) = carried(contents, old, ours, new).doubts
    assert "put before the one after; what it was a part of may be gone" in doubt


def test_a_line_of_its_own_is_none(contents: Contents) -> None:
    ours = IF.replace("modern", "between(ctx);\nmodern")
    assert carried(contents, IF, ours, "start(n);\nmodern_one(ctx);\n").doubts == ()


def test_an_else_of_the_preprocessor_wants_its_if(contents: Contents) -> None:
    old = "int z;\n#ifdef FEAT\nint one(void);\n#endif\nint last(void);\n"
    ours = old.replace("#endif", "#else\nint ours(void);\n#endif")
    (doubt,) = carried(contents, old, ours, "int z;\nint one(void);\nint last(void);\n").doubts
    assert "put behind the one before; what it was a part of may be gone" in doubt


@pytest.mark.parametrize("wider", ["", "    "])
def test_the_last_line_of_a_block_is_indented_as_that_is(contents: Contents, wider: str) -> None:
    """The line before it is deeper, the one behind less deep: neither tells, what is as deep above does."""
    body = "    for x in a:\n        one(x)\n        if x:\n            two(x)\n"
    deeper = "".join(f"    {line}\n" for line in body.splitlines()).replace("    two", f"    {wider}two")
    old = f"def f(a):\n{body}    finish(a)\n"
    found = carried(
        contents,
        old,
        old.replace("    fin", "        ours(x)\n    fin"),
        f"def f(a):\n    if a:\n{deeper}    finish(a)\n",
    )
    assert [x for x in added(found) if x[0] == "+"] == ["+            ours(x)"]
    assert "follows the new indentation" in found.doubts[0]


def test_behind_a_line_that_upstream_moved_and_edited_is_a_doubt(contents: Contents) -> None:
    old = "start(n);\nbuffer = alloc(n);\nlog_start(n);\nuse(buffer);\nend(n);\n"
    new = "start(n);\nlog_start(n);\nbuffer = alloc(n, 4);\nuse(buffer);\nend(n);\n"
    (doubt,) = carried(contents, old, old.replace("log", "check(buffer);\nlog"), new).doubts
    assert doubt == "f.c, hunk 1: the line before it is gone; put before the one after"


def test_what_replaces_unchanged_lines_keeps_its_depth_whatever_is_above(contents: Contents) -> None:
    old = "f() {\n    if (a)\n        one(a);\n  // old\n    if (b)\n        two(b);\n}\n"
    new = old.replace("    if (a)\n        one(a);\n", "    if (x) {\n        if (a)\n            one(a);\n    }\n")
    found = carried(contents, old, old.replace("  // old\n    if (b)\n", "    // new\n    if (c)\n"), new)
    assert [x for x in added(found) if x[0] == "+"] == ["+    // new", "+    if (c)"]
    assert found.doubts == ()


def test_nor_does_the_block_above_speak_between_lines_that_stayed(contents: Contents) -> None:
    old = "class A:\n    def get(self):\n        return 1\n\n@fixture\ndef make():\n    use(1)\n"
    new = old.replace("class A:\n    def get(self):\n        return 1\n", "def get(self):\n    return 1\n")
    found = carried(contents, old, old.replace("\n@fix", "\n    KEY = 1\n\n@fix"), new)
    assert [x for x in added(found) if x[0] == "+" and x[1:].strip()] == ["+    KEY = 1"]
