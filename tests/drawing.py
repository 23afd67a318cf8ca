"""Small random trees, and patches between them in the many ways in which people write and damage them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from conftest import File, Git
from hypothesis import strategies as st

Tree = dict[bytes, File]

# Few names, many collisions: each folder is a file or a symlink in some other tree.
NAMES = [b"a", b"b", b"a/x", b"a/y", b"b/x", b"d", b"d/e", b"d/e/f", b"l", b"a/x/deep/er"]
STRAY = b"diff --git a/x b/x\nno, this is no header.\n\n"  # git gives its name to the file that follows
WORDS = [b"{\n", b"}\n", b"\n", b"int f(void)\n", b"\treturn 1;\n", b"\xe9t\xe9\n", b"one\r\n"]


@dataclass(frozen=True)
class Change:
    """One patch of a series, as it stands in its file and in the series."""

    raw: bytes
    strip: int
    reverse: bool


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """A text, some of its lines often repeated; sometimes without its last newline, rarely no text."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.sampled_from([b"", b"\0bin\x01\n", b"\0other"]))
    own = b"".join(b"line %d\n" % i for i in range(draw(st.integers(0, 12))))
    often = b"".join(draw(st.lists(st.sampled_from(WORDS), max_size=4)))
    text = draw(st.sampled_from([own + often, often + own, often * 4 + own, own + often + own]))
    return text[:-1] if draw(st.integers(0, 5)) == 0 else text


@st.composite
def files(draw: st.DrawFn) -> File:
    """Any file or symlink."""
    if draw(st.integers(0, 5)) == 0:
        return "120000", draw(st.sampled_from([b"a", b"d", b"d/e", b"../up"]))
    return draw(st.sampled_from(["100644", "100644", "100755"])), draw(contents())


def put(tree: Tree, path: bytes, file: File) -> None:
    """Put a file into a tree, in place of what is in its way."""
    for other in list(tree):
        if other.startswith(path + b"/") or path.startswith(other + b"/"):
            del tree[other]
    tree[path] = file


@st.composite
def edited(draw: st.DrawFn, before: Tree) -> Tree:
    """A tree a few changes later."""
    tree = dict(before)
    for _ in range(draw(st.integers(1, 3))):
        names = sorted(tree)
        what = draw(st.sampled_from(["edit", "edit", "edit", "new", "delete", "move", "copy", "mode"]))
        if what == "new" or not names:
            put(tree, draw(st.sampled_from(NAMES)), draw(files()))
            continue
        path = draw(st.sampled_from(names))
        mode, content = tree[path]
        if what == "delete":
            del tree[path]
        elif what in ("move", "copy"):
            if what == "move":
                del tree[path]
            put(tree, draw(st.sampled_from(NAMES)), (mode, content))
        elif what == "mode" and mode != "120000":
            tree[path] = ("100755" if mode == "100644" else "100644", content)
        elif mode == "120000":
            tree[path] = (mode, content + b"2")
        else:
            lines = content.split(b"\n")
            at = draw(st.integers(0, len(lines)))
            out, into = draw(st.sampled_from([(0, 1), (1, 1), (1, 0), (0, 3), (2, 1)]))
            lines[at : at + out] = [b"new %d" % draw(st.integers(0, 9))] * into
            tree[path] = (mode, b"\n".join(lines))
    return tree


@st.composite
def bases(draw: st.DrawFn) -> Tree:
    """A small tree to begin with."""
    tree: Tree = {}
    for path in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5)):
        put(tree, path, draw(files()))
    return tree


@st.composite
def changes(draw: st.DrawFn, git: Git, states: Sequence[Tree]) -> Change:
    """A patch between two of the states, in one of the many ways to write it; now and then damaged."""
    at = draw(st.integers(0, len(states) - 2))
    other = draw(st.integers(0, len(states) - 1)) if draw(st.integers(0, 4)) == 0 else at + 1
    old, new = git.tree(states[at]), git.tree(states[other])
    reverse = draw(st.integers(0, 5)) == 0
    strip, prefixes = draw(
        st.sampled_from(
            [
                (1, ["--src-prefix=a/", "--dst-prefix=b/"]),
                (1, ["--src-prefix=a/", "--dst-prefix=b/"]),
                (0, ["--no-prefix"]),
                (2, ["--src-prefix=x/old/", "--dst-prefix=x/new/"]),
            ]
        )
    )
    options = [
        f"-U{draw(st.sampled_from([3, 3, 3, 1, 0, 10]))}",
        draw(st.sampled_from(["--no-renames", "-M40", "-C40"])),
        draw(st.sampled_from(["--binary", "--abbrev=7"])),
    ]
    pair = (new, old) if reverse else (old, new)
    raw = git("diff-tree", "-p", "-r", "--find-copies-harder", *options, *prefixes, *pair)
    return Change(draw(damaged(raw)), strip, reverse)


@st.composite
def damaged(draw: st.DrawFn, raw: bytes) -> bytes:
    """The patch as it is, most of the time; else as mail, editors and other diffs leave it."""
    how = draw(st.integers(0, 15))
    lines = raw.split(b"\n")
    if how == 0:
        keep = (b"diff --git", b"index ", b"new file", b"deleted file", b"old mode", b"new mode", b"similarity")
        lines = [x for x in lines if not x.startswith(keep)]
    elif how == 1 and draw(st.booleans()):
        lines = lines[: draw(st.integers(0, len(lines)))]
    elif how == 2:
        return raw.removesuffix(b"\n")
    elif how == 3:
        return raw.replace(b"\n", b"\r\n")
    elif how == 4:
        return re.sub(rb"@@ -(\d+)(.*) \+(\d+)", lambda m: b"@@ -%d%s +%d" % (int(m[1]) + 3, m[2], int(m[3]) + 3), raw)
    elif how == 5:
        return b"From: x\nSubject: y\n\ndiff of it:\n---\n a | 2 +-\n\n" + raw + b"-- \n2.39.5\n"
    elif how == 6:
        lines = [x for x in lines if not x.startswith(b"diff --git")]
    elif how == 7:
        lines = [x.rstrip(b" ") if not x.strip() else x for x in lines]
    elif how == 8 and draw(st.booleans()):
        return STRAY + raw
    return b"\n".join(lines)


@st.composite
def series(draw: st.DrawFn, git: Git, most: int) -> tuple[str, list[Change]]:
    """A base tree, and patches on it that apply or do not."""
    states = [draw(bases())]
    for _ in range(draw(st.integers(1, most))):
        states.append(draw(edited(states[-1])))
    patches = [draw(changes(git, states)) for _ in range(draw(st.integers(1, most + 1)))]
    return git.tree(states[0]), patches
