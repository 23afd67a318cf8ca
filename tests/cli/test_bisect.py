"""``bisect`` on a toy project: by a command, by the smoke test, by the canary; with trees that cannot be tested."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.documents import checked
from cli.served import CMAKE, Served, project, state

if TYPE_CHECKING:
    from conftest import Cli

__all__ = ["project"]
pytestmark = pytest.mark.skipif(not shutil.which("cmake"), reason="needs cmake")
BROKEN = "message(FATAL_ERROR broken)\n"


def steps(document: Any) -> list[tuple[str, str]]:
    """What was tried, by the patch's number."""
    return [(s["patch"][:4], s["outcome"]) for s in document["steps"]]


@pytest.mark.parametrize("bad", [1, 5])
def test_a_command_finds_the_patch(cli: Cli, project: Served, bad: int) -> None:
    root = project(*[{"n": state(n + 10 * (n >= bad))["notes"]} for n in range(8)])
    ran = cli("-C", root, "bisect", "--run", "grep -q '^number .$' n", "--json")
    document = checked(ran.out, 0)
    assert document["first"] == f"{bad:04}-step.patch"
    assert (document["from"], document["to"], document["profile"]) == ("base", "0007-step.patch", None)
    assert steps(document)[:2] == [("base", "pass"), ("0007", "fail")]
    assert len(document["steps"]) <= 5
    assert not (root / "tree").exists()


def test_ends_that_do_not_fit_are_said(cli: Cli, project: Served) -> None:
    root = project(*[{"n": state(n)["notes"]} for n in range(4)])
    for line, why in (("true", "the end of the range passes"), ("false", "the beginning of the range fails already")):
        ran = cli("-C", root, "bisect", "--run", line, "--json")
        document = checked(ran.out, 1)
        assert (document["first"], document["why"]) == (None, why)
    assert (
        "There is nothing to look for: the end of the range passes.\n" in cli("-C", root, "bisect", "--run", "true").out
    )
    ran = cli("-C", root, "bisect", "--run", "true", "--from", "2", "--to", "1", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "bad-range")
    for args in ([], ["--run", "true", "--smoke"], ["--smoke"], ["cpu", "--smoke"]):
        assert cli("-C", root, "bisect", *args).code == 2
    ran = cli("-C", root, "bisect", "--run", "no-such-command-anywhere", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (3, "no-tool")


def test_what_a_command_cannot_test_is_gone_around(cli: Cli, project: Served) -> None:
    root = project(*[{"n": state(n)["notes"]} for n in range(8)])
    script = root / "try.sh"

    def tried(skipped: str) -> Any:
        script.write_text(f'read _ n < "$OPENCOTI_TREE/n"\ncase $n in {skipped}) exit 125;; [5-7]) exit 1;; esac\n')
        script.chmod(0o755)
        return cli("-C", root, "bisect", "--run", f"sh {script}", "--json")

    ran = tried("3")
    assert checked(ran.out, 0)["first"] == "0005-step.patch"
    assert ("0003", "skip") in steps(ran.json)
    ran = tried("[45]")
    document = checked(ran.out, 1)
    assert (document["first"], document["between"]) == (None, [f"000{n}-step.patch" for n in (4, 5, 6)])


def test_smoke_finds_the_patch_that_changed_the_answer(cli: Cli, project: Served) -> None:
    good, bad = [state(n) for n in range(3)], [state(n, WORD='" London"') for n in range(3, 6)]
    root = project(*good, *bad)
    ran = cli("-C", root, "bisect", "cpu", "--smoke", "--model", "toy.gguf")
    assert ran.code == 0
    *_, found, log = ran.out.splitlines()
    assert found == "0003-step.patch is the first at which it fails."
    assert "0003-step.patch: fails: expect 1: 'Paris' is not in ' London'" in ran.out
    assert log.strip().endswith("logs/0003.log")
    assert not (root / "tree").exists()
    assert not (root / ".opencoti/build").exists()


def test_canary_finds_the_patch_that_forgets(cli: Cli, project: Served) -> None:
    root = project(*[state(n, REACH="100000" if n < 2 else "50") for n in range(4)])
    asked = ["--canary", "--model", "toy.gguf", "--context", "200", "--samples", "2"]
    document = checked(cli("-C", root, "bisect", "cpu", *asked, "--json").out, 0)
    assert (document["how"], document["first"]) == ("canary", "0002-step.patch")
    assert document["steps"][1]["why"] == "context 200, f16: 1 of 2"


def test_a_tree_that_does_not_build_fails_or_is_skipped(cli: Cli, project: Served) -> None:
    trees = [state(), state(1), state(2, cmake=BROKEN), state(3, cmake=CMAKE), state(4, WORD='" London"')]
    root = project(*trees)
    asked = ["-C", root, "bisect", "cpu", "--smoke", "--model", "toy.gguf", "--json"]
    document = checked(cli(*asked).out, 0)
    assert document["first"] == "0002-step.patch"
    assert "no build: CMake Error" in document["steps"][2]["why"]
    document = checked(cli(*asked, "--skip").out, 0)
    assert (document["first"], steps(document)[2]) == ("0004-step.patch", ("0002", "skip"))


def test_each_build_is_warm_and_edits_of_the_command_are_kept(cli: Cli, project: Served) -> None:
    """The command sees what was built; what it changes in the tree is put aside, not carried along."""
    root = project(*[state(n, WORD='" Paris"' if n < 2 else '" London"') for n in range(4)])
    test = root / "try.sh"
    test.write_text('grep -q \'^WORD = " Paris\' "$OPENCOTI_BUILD/bin/llama-server" || exit 1\necho edited >> notes\n')
    document = checked(cli("-C", root, "bisect", "cpu", "--run", f"sh {test}", "--json").out, 0)
    assert document["first"] == "0002-step.patch"
    assert list((root / ".opencoti/saved").glob("*.patch"))
    (log,) = root.glob(".opencoti/projects/*/bench/cpu/.opencoti/build/cpu/build.log")
    assert "cmake -S" not in log.read_text()  # configured once
    assert Path(document["steps"][0]["log"]).read_text().startswith(f"+ sh {test}\n")
