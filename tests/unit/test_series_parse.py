"""What is read in a patch file is what git reads in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import File, Git, examples
from drawing import STRAY, bases, changes, edited
from hypothesis import assume, given
from hypothesis import strategies as st

from opencoti_patches.core.model import FilePatch, encode
from opencoti_patches.plan.replay import Replay
from opencoti_patches.series.names import is_epoch, named, names_of, unquote
from opencoti_patches.series.parse import Parsed, parse

ODD_NAMES = [b"plain", b"a b", b"tab\tbed", b'quo"ted', b"back\\slash", b"new\nline", "grüße".encode(), b"caf\xe9"]
Row = tuple[bytes, bytes, bytes]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Git:
    """A repository to make patches in, and to ask what git reads in them."""
    return Git(tmp_path_factory.mktemp("parse") / "judge.git")


def _numstat(git: Git, raw: bytes, strip: int, reverse: bool) -> list[Row] | None:
    """(added, removed, path) of every file, as ``git apply`` reads them; None if it cannot."""
    file = git.path / "one.patch"
    file.write_bytes(raw)
    done = git.run("apply", "--numstat", "-z", f"-p{strip}", *(["-R"] * reverse), "--", file)
    if done.returncode or b"error: corrupt binary" in done.stderr:  # for which it drops a file, and exits with 0
        return None
    rows = [row.split(b"\t", 2) for row in done.stdout.split(b"\0")[:-1]]
    return [(a, r, path) for a, r, path in rows]


def _read(parsed: Parsed) -> list[Row]:
    return [(*_counts(f), encode(f.path)) for f in parsed.files]


def _counts(f: FilePatch) -> tuple[bytes, bytes]:
    if f.binary:
        return b"-", b"-"
    added, removed = (sum(len(getattr(h, what)) for h in f.hunks) for what in ("added", "removed"))
    return b"%d" % added, b"%d" % removed


@examples(50)
@given(data=st.data())
def test_files_and_counts_are_those_that_git_reads(judge: Git, data: st.DataObject) -> None:
    """Under any strip level, direction and damage. What git cannot read has a defect, or no file."""
    states = [data.draw(bases())]
    states.append(data.draw(edited(states[0])))
    change = data.draw(changes(judge, states))
    assume(not change.raw.startswith(STRAY))
    parsed = parse(change.raw, change.strip, change.reverse)
    rows = _numstat(judge, change.raw, change.strip, change.reverse)
    if rows is None:
        nameless = any("" in (f.old, f.new) or not f.path for f in parsed.files)
        assert not parsed.files or any(d.fatal for d in parsed.defects) or nameless
    else:
        assert _read(parsed) == (rows[::-1] if change.reverse else rows)


@st.composite
def odd_trees(draw: st.DrawFn) -> dict[bytes, File]:
    """Files with names that need quotes."""
    names = draw(st.lists(st.sampled_from(ODD_NAMES), min_size=1, max_size=3, unique=True))
    folder = draw(st.sampled_from([b"", b"dir/", b"o d/d/"]))
    return {folder + n: ("100644", b"".join(b"%d\n" % draw(st.integers(0, 3)) for _ in range(6))) for n in names}


@examples(20)
@given(data=st.data(), quoted=st.booleans(), style=st.sampled_from(["-M", "--no-renames", "-C"]))
def test_names_survive_their_quotes(judge: Git, data: st.DataObject, quoted: bool, style: str) -> None:
    old, new = judge.tree(data.draw(odd_trees())), judge.tree(data.draw(odd_trees()))
    assume(old != new)
    raw = judge("-c", f"core.quotePath={str(quoted).lower()}", "diff-tree", "-p", "-r", style, old, new)
    assert _read(parse(raw)) == _numstat(judge, raw, 1, False)


@examples(30)
@given(data=st.data(), style=st.sampled_from(["-M30", "--no-renames", "-C30"]), context=st.sampled_from([1, 3, 9]))
def test_hunks_make_the_new_files_of_the_old(judge: Git, data: st.DataObject, style: str, context: int) -> None:
    before = data.draw(bases())
    after = data.draw(edited(before))
    raw = judge("diff-tree", "-p", "-r", style, f"-U{context}", judge.tree(before), judge.tree(after))
    parsed = parse(raw)
    binary = {encode(f.path) for f in parsed.files if f.binary}
    paths = {p.decode() for p in before.keys() | after.keys()}
    replay = Replay(lambda path: before[path.encode()][1] if path.encode() in before else None, paths)
    replay.apply(parsed, {})
    # a symlink that becomes a file, and the like, is two parts: out with the old, in with the new
    for path in (before.keys() | after.keys()) - binary:
        lines = replay.lines(path.decode())
        assert (None if lines is None else b"".join(lines)) == (after[path][1] if path in after else None), path


@examples(20)
@given(data=st.data())
def test_header_files_and_trailer_are_all_of_the_patch(judge: Git, data: st.DataObject) -> None:
    """Every byte belongs somewhere, in order, and reading twice the other way round changes nothing."""
    states = [data.draw(bases())]
    states.append(data.draw(edited(states[0])))
    raw = data.draw(changes(judge, states)).raw
    parsed = parse(raw)
    spans = [f.span for f in parsed.files]
    assert spans == sorted(spans) and all(a <= b for a, b in spans)
    assert raw.startswith(parsed.header) and raw.endswith(parsed.trailer)
    for f in parsed.files:
        for hunk in f.hunks:
            assert f.span[0] < hunk.span[0] < hunk.span[1] <= f.span[1]
            assert raw[hunk.span[0] :].startswith(b"@@ -")
            assert raw[: hunk.span[0]].count(b"\n") == hunk.at_line - 1
    back = parse(raw, reverse=True)
    assert [(f.old, f.new) for f in back.files] == [(f.new, f.old) for f in parsed.files]
    assert [h.old for f in back.files for h in f.hunks] == [h.new for f in parsed.files for h in f.hunks]


def test_the_header_ends_before_the_lines_that_lead_in_a_file() -> None:
    raw = b"Subject: x\n\nWhy.\n\nIndex: a\n=====\ndiff -u a b\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n-- \n2.39\n"
    parsed = parse(raw)
    assert parsed.header == b"Subject: x\n\nWhy.\n\n"
    assert parsed.trailer == b"-- \n2.39\n"
    assert not parsed.defects


@pytest.mark.parametrize(
    ("rest", "strip", "names"),
    [
        (b"a/x b/x", 1, (b"a/x", b"b/x", True)),
        (b"a/x y b/x y", 1, (b"a/x y", b"b/x y", True)),
        (b"old/x new-tree/x", 1, (b"old/x", b"new-tree/x", True)),
        (b"x x x x", 0, (b"x x", b"x x", True)),
        (b"a/x b/x", 0, (b"a/x", b"b/x", False)),
        (b'"a/\\303\\244" "b/\\303\\244"', 1, ("a/ä".encode(), "b/ä".encode(), True)),
        (b'a/x "b/y\\tz"', 1, (b"a/x", b"b/y\tz", False)),
        (b"no names at all", 1, (b"", b"", False)),
    ],
)
def test_names_of_a_git_header(rest: bytes, strip: int, names: tuple[bytes, bytes, bool]) -> None:
    assert names_of(rest, strip) == names


@pytest.mark.parametrize(
    ("stamp", "epoch"),
    [
        (b"x\t1970-01-01 00:00:00.000000000 +0000", True),
        (b"x\t1970-01-01 05:30:00 +0530", True),
        (b"x\t1969-12-31 16:00:00 -0800", True),
        (b"x\t1970-01-01 01:00:00 +0000", False),
        (b"x\t2024-01-01 00:00:00 +0000", False),
        (b"x 1970-01-01 00:00:00 +0000", False),
    ],
)
def test_the_time_of_no_file(stamp: bytes, epoch: bool, judge: Git, tmp_path: Path) -> None:
    assert is_epoch(stamp + b"\n") is epoch
    patch = tmp_path / "p"
    patch.write_bytes(b"--- a/%s\n+++ b/x\t2024-05-05 00:00:00 +0000\n@@ -0,0 +1 @@\n+1\n" % stamp)
    judge("read-tree", judge.tree({b"x": ("100644", b"")}))  # in the way only of a patch that says "no file"
    assert (judge.run("apply", "--cached", "--check", patch).returncode != 0) is epoch


def test_a_name_ends_where_git_ends_it() -> None:
    assert named(b"a/x y\t2024-05-05 00:00:00 +0000\n", dated=True) == b"a/x y"
    assert named(b"a/x y  2024-05-05 00:00:00 +0000\n", dated=True) == b"a/x y"
    assert named(b"a/x 2024-05-05 00:00:00\n", dated=False) == b"a/x 2024-05-05 00:00:00"
    assert named(b"a/x\r\n", dated=True) == b"a/x"
    assert named(b'"a/\\tx"\tand more\n', dated=False) == b"a/\tx"
    assert unquote(b'"\\101\\n\\\\"') == b"A\n\\"
