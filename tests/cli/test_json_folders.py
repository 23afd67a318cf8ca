"""``init``, ``bootstrap`` and ``apply`` in JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from e2e.trees import plain_git

from cli.documents import CLEAN, MADE, Ask, Project

if TYPE_CHECKING:
    from e2e.forked import Forked


def test_init(ask: Ask, forked: Forked) -> None:
    document = ask("init", "--json", "fork", code=0)
    assert document["project"] == str(forked.root / "fork")
    assert document["written"] == ["opencoti.toml", "patches/series", ".gitignore"]
    assert (document["kept"], document["listed"], document["patches"]) == ([], True, 0)


def test_init_around_patches(ask: Ask, forked: Forked) -> None:
    forked.write("patches/0001-twenty.patch", CLEAN)
    forked.write(".gitignore", "/tree/\n/.opencoti/\n/WORK/\n")
    document = ask("init", "--json", code=0)
    assert (document["written"], document["kept"]) == (["opencoti.toml"], [".gitignore"])
    assert (document["listed"], document["patches"]) == (False, 1)
    assert ask("init", "--json", code=2)["error"]["code"] == "exists"


def test_bootstrap(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN})
    document = ask("bootstrap", "--json", code=0)
    assert document["base"]["sources"] == [str(folder / "base")]
    assert document.keys() == {"schema", "command", "ok", "base"}
    bare = ask("bootstrap", "--json", "WORK", code=0)
    assert (bare["dir"], bare["to"], bare["tree"]) == (str(folder / "WORK"), None, bare["base"]["tree"])
    (folder / "WORK/f.txt").write_text("mine\n")
    after = ask("bootstrap", "--json", "--force", "--to", "1", "WORK", code=0)
    assert after["to"] == "0001-twenty.patch"
    assert after["tree"] == ask("check", "--json", code=0)["tip"]["tree"]
    (saved,) = after["saved"]
    assert "+mine" in Path(saved).read_text()


def test_apply_fresh_and_again(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN})
    fresh = ask("apply", "--json", code=0)
    assert (fresh["from"], fresh["to"], fresh["patches"]) == (None, "0001-twenty.patch", 1)
    assert (fresh["written"], fresh["commit"]) == (["f.txt", "g.txt", "twice.c"], None)
    (folder / "patches/series").write_text("")
    back = ask("apply", "--json", code=0)
    assert (back["from"], back["to"], back["written"], back["kept"]) == (fresh["tree"], None, ["f.txt"], 2)


def test_apply_deletes_saves_and_commits(ask: Ask, small: Project) -> None:
    folder = small({"0001-twenty.patch": CLEAN, "0002-more.patch": MADE})
    there = ask("apply", "--json", "--commits", code=0)
    assert there["written"] == ["f.txt", "g.txt", "more.c", "twice.c"]
    (folder / "tree/twice.c").write_text("mine\n")
    assert ask("apply", "--json", "--to", "1", code=1)["error"]["code"] == "local-edits"
    back = ask("apply", "--json", "--to", "1", "--force", code=0)
    assert (back["from"], back["to"]) == (there["tree"], "0001-twenty.patch")
    assert (back["written"], back["deleted"], back["kept"]) == (["twice.c"], ["more.c"], 2)
    assert "+mine" in Path(back["saved"][0]).read_text()
    assert plain_git(folder / "tree", "rev-parse", "opencoti").strip() == back["commit"]
