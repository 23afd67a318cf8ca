"""The plan's verdict is git's: on any tree, for any series, whatever was known before, on any machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from conftest import Git, examples
from drawing import Change, series
from hypothesis import event, given
from hypothesis import strategies as st

from opencoti_patches.base.store import Store
from opencoti_patches.core.model import Plan, Series, TreeId
from opencoti_patches.plan import judge
from opencoti_patches.plan.chain import Changes, Records, keys
from opencoti_patches.plan.strict import check
from opencoti_patches.series.order import load


@dataclass(frozen=True, slots=True)
class Bench:
    """A store, and a judge whose objects the store reads too."""

    store: Store
    git: Git

    def base(self, tree: str) -> TreeId:
        """Make a tree that the judge holds a base of the store."""
        (self.store.listings / tree).write_bytes(self.git("ls-tree", "-r", "-z", tree))
        return TreeId(tree)

    @contextmanager
    def series(self, patches: Sequence[Change]) -> Iterator[Series]:
        """A patches folder on the disk."""
        with tempfile.TemporaryDirectory(dir=self.store.root) as name:
            yield load(write_series(Path(name), patches))

    def judge(self, base: str, series: Series) -> tuple[list[bool], str]:
        """git's verdicts, one patch at a time on the full index."""
        return self.git.judge(base, [(e.path, e.strip, e.reverse) for e in series.entries])


def changes_after(series: Series, base: TreeId, store: Store) -> tuple[Plan, Changes]:
    """The verdict, and what differs from the base after the last patch (failed ones left out), from its record."""
    plan = check(series, base, store)
    known = Records(store.verdicts, keys(base, series.entries, store.objects)).longest()
    if known is None or len(known.verdicts) != len(series.entries):
        return plan, {}
    return plan, known.changes()


def write_series(folder: Path, patches: Sequence[Change]) -> Path:
    """Fill a patches folder."""
    for i, change in enumerate(patches):
        (folder / f"{i:04}.patch").write_bytes(change.raw)
    rows = [f"{i:04}.patch -p{c.strip}{' -R' * c.reverse}\n" for i, c in enumerate(patches)]
    (folder / "series").write_text("".join(rows))
    return folder


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """One store for all examples: trees and series tell them apart."""
    folder = tmp_path_factory.mktemp("bench")
    git = Git(folder / "judge.git")
    store = Store(folder / "store").open()
    (store.repo.path / "objects" / "info" / "alternates").write_text(f"{git.path / 'objects'}\n")
    store.listings.mkdir()
    return Bench(store, git)


@examples(40)
@given(data=st.data())
def test_the_verdict_is_that_of_a_full_index_one_patch_at_a_time(bench: Bench, data: st.DataObject) -> None:
    tree, patches = data.draw(series(bench.git, 5))
    with bench.series(patches) as drawn:
        base = bench.base(tree)
        plan = check(drawn, base, bench.store, fresh=True)
        verdicts, tip = bench.judge(tree, drawn)
        assert [v.applied for v in plan.verdicts] == verdicts
        again, after = changes_after(drawn, base, bench.store)
    assert again == plan
    assert bench.store.repo.tree_with(base, after) == tip
    assert plan.tip == (tip if all(verdicts) else None)
    for verdict in plan.verdicts:
        assert verdict.applied or verdict.problems
        assert verdict.cause or verdict.status == "clean"
        event(f"{verdict.status}: {verdict.cause}")


def test_the_tip_is_made_when_it_is_first_asked_for(bench: Bench) -> None:
    tree = bench.git.tree({b"tip.txt": ("100644", b"one\n")})
    diff = b"diff --git a/tip.txt b/tip.txt\n--- a/tip.txt\n+++ b/tip.txt\n@@ -1 +1 @@\n-one\n+two\n"
    with bench.series([Change(diff, 1, False)]) as drawn:
        base = bench.base(tree)
        unasked = check(drawn, base, bench.store, tip=False)
        assert (unasked.ok, unasked.tip) == (True, None)
        tip = bench.judge(tree, drawn)[1]
        assert check(drawn, base, bench.store).tip == tip
        assert check(drawn, base, bench.store, tip=False).tip == tip  # by now it is on record


@examples(12)
@given(data=st.data())
def test_what_is_known_changes_no_verdict(bench: Bench, data: st.DataObject) -> None:
    """A check of a series, of its beginnings, and after an edit, says what a fresh one says."""
    tree, patches = data.draw(series(bench.git, 4))
    base = bench.base(tree)
    with mock.patch.object(judge, "_SEGMENT", data.draw(st.integers(1, 3))):
        with bench.series(patches) as drawn:
            first = drawn.upto(data.draw(st.sampled_from([e.name for e in drawn.entries])))
            early = check(first, base, bench.store)
            whole = check(drawn, base, bench.store)
            assert check(drawn, base, bench.store) == whole
            assert check(drawn, base, bench.store, fresh=True) == whole
            assert check(first, base, bench.store) == early
            assert early.verdicts == whole.verdicts[: len(early.verdicts)]
        at = data.draw(st.integers(0, len(patches) - 1))
        patches[at] = data.draw(st.one_of(st.sampled_from(patches), st.just(Change(b"no patch\n", 1, False))))
        with bench.series(patches) as edited:
            plan = check(edited, base, bench.store)
            assert plan == check(edited, base, bench.store, fresh=True)
            assert [v.applied for v in plan.verdicts] == bench.judge(tree, edited)[0]
            assert plan.verdicts[:at] == whole.verdicts[:at]


HOSTILE = [
    "[apply]\n\twhitespace = fix\n\tignoreWhitespace = change\n",
    "[apply]\n\twhitespace = error-all\n",
    "[core]\n\tautocrlf = true\n\teol = crlf\n\tsafecrlf = true\n",
    "[core]\n\tquotePath = false\n\tignoreCase = true\n\tfileMode = false\n\tsymlinks = false\n",
    "[core]\n\twhitespace = cr-at-eol,tab-in-indent\n\tattributesFile = ~/attributes\n",
    "[diff]\n\tnoprefix = true\n\trenames = copies\n\tcontext = 0\n\tmnemonicPrefix = true\n",
    '[filter "x"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n\trequired = true\n',
    "[user]\n\tuseConfigOnly = true\n[commit]\n\tgpgSign = true\n[color]\n\tui = always\n",
    "[core]\n\tbare = true\n\tworktree = /nowhere\n\tabbrev = 4\n[index]\n\tversion = 4\n[i18n]\n\tcommitEncoding = latin1\n",
    "this is no configuration\n",
]
ATTRIBUTES = "* text=auto eol=crlf whitespace=fix ident filter=x -diff merge=ours working-tree-encoding=UTF-16\n"
VARIABLES = {
    "GIT_DIR": "/nowhere/.git",
    "GIT_WORK_TREE": "/nowhere",
    "GIT_INDEX_FILE": "/nowhere/index",
    "GIT_OBJECT_DIRECTORY": "/nowhere/objects",
    "GIT_NAMESPACE": "other",
    "GIT_PREFIX": "sub/",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "apply.whitespace",
    "GIT_CONFIG_VALUE_0": "fix",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TRACE": "1",
    "GIT_DEFAULT_HASH": "sha256",
    "GIT_TEMPLATE_DIR": "/nowhere",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "de:fr",
}


@examples(6)
@given(data=st.data(), config=st.sets(st.sampled_from(HOSTILE), min_size=1), inside=st.booleans())
def test_no_configuration_no_variable_no_repository_around_changes_it(
    bench: Bench, data: st.DataObject, config: set[str], inside: bool
) -> None:
    """The command line, in a process of its own, under a hostile home, environment and place."""
    tree, patches = data.draw(series(bench.git, 3))
    variables = data.draw(st.sets(st.sampled_from(sorted(VARIABLES))))
    with tempfile.TemporaryDirectory(dir=bench.store.root) as name:
        home, project = Path(name, "home"), Path(name, "outer", "project")
        home.mkdir()
        (home / ".gitconfig").write_text("".join(sorted(config)))
        (home / "attributes").write_text(ATTRIBUTES)
        (project / "patches").mkdir(parents=True)
        write_series(project / "patches", patches)
        _check_out(bench.git, tree, project / "base")
        source = '[[base.source]]\nkind = "directory"\npath = "base"\n'
        (project / "opencoti.toml").write_text(f'schema = 1\nname = "p"\n{source}')
        if inside:
            Git(project.parent / ".git")
            (project.parent / ".gitattributes").write_text(ATTRIBUTES)
            (project.parent / ".git" / "info").mkdir(exist_ok=True)
            (project.parent / ".git" / "info" / "attributes").write_text(ATTRIBUTES)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "OPENCOTI_"))}
        done = subprocess.run(
            [sys.executable, "-m", "opencoti_patches", "check", "--json"],
            cwd=project,
            env=clean | {"HOME": str(home), "XDG_CONFIG_HOME": str(home)} | {k: VARIABLES[k] for k in variables},
            capture_output=True,
            check=False,
        )
        verdicts, tip = bench.judge(tree, load(project / "patches"))
    said = json.loads(done.stdout)
    assert said["base"]["tree"] == tree, done.stderr
    assert [row["status"] in ("clean", "offset") for row in said["patches"]] == verdicts
    assert said["tip"]["tree"] == (tip if all(verdicts) else None)


def _check_out(git: Git, tree: str, folder: Path) -> None:
    """The tree's files on the disk, raw, with their modes, by git's plumbing."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    git("read-tree", tree)
    git("--work-tree", folder, "-c", "core.bare=false", "checkout-index", "-a", "-f", f"--prefix={folder}/")


def test_contents_that_the_store_happens_to_hold_are_not_in_the_patch(bench: Bench) -> None:
    """git takes "Binary files differ" where the new contents are among its objects: not on any machine."""
    old, new = bench.git.tree({b"x": ("100644", b"\0one")}), bench.git.tree({b"x": ("100644", b"\0two")})
    raw = bench.git("diff-tree", "-p", "--full-index", old, new)
    assert b"Binary files" in raw
    with bench.series([Change(raw, 1, False)]) as drawn:
        assert bench.judge(old, drawn)[0] == [True]  # the judge does hold them
        plan = check(drawn, bench.base(old), bench.store, fresh=True)
    assert [(v.status, v.cause) for v in plan.verdicts] == [("failed", "binary")]


def test_a_patch_with_an_unreadable_part_gets_no_verdict_of_a_neighbour(bench: Bench) -> None:
    """In one call git stops at the first bad patch file and says nothing of which: each is told apart."""
    tree = bench.git.tree({b"a": ("100644", b"1\n"), b"b": ("100644", b"1\n")})
    good = [f"--- a/{n}\n+++ b/{n}\n@@ -1 +1 @@\n-1\n+2\n".encode() for n in "ab"]
    bad = [b"", b"@@ -1 +1 @@\n-1\n+2\n", b"diff --git nothing here\n", b"--- a/b\n+++ b/b\n@@ -1,3 +1 @@\n-1\n"]
    patches = [Change(raw, 1, False) for raw in (good[0], *bad, good[1])]
    with bench.series(patches) as drawn:
        plan = check(drawn, bench.base(tree), bench.store, fresh=True)
        assert [v.applied for v in plan.verdicts] == bench.judge(tree, drawn)[0]
    assert [v.cause for v in plan.verdicts] == [None, "empty", "corrupt", "corrupt", "corrupt", None]
