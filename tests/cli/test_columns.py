"""Every line of text fits 80 columns where names are ordinary; commands to paste stay in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from cli.documents import CONFIG, HEAD, LINES, Project, diff, swap
from opencoti_patches.report.wrapping import wrapped

if TYPE_CHECKING:
    from e2e.forked import Forked

FILE = "llama.cpp/examples/speculative-simple/speculative-simple.cpp"
FIRST, SECOND = "0030-kv-cache-ctx-per-stream-of-each-device.patch", "0031-kv-cache-head-split-of-each-device.patch"
ONE = swap(LINES, 5, "five\n")
TWO = swap(ONE, 15, "fifteen\n")
_PASTED = re.compile(r" *(?:\w+: )?'?(?:opencoti-patches|git) ")


def test_every_command(small: Project, forked: Forked) -> None:
    upstream = 'upstream = "af6528e6df5d798f7f1363ec1141699be0f638e2 (b9445)"\n'
    root = small({FIRST: HEAD + diff(FILE, LINES, ONE), SECOND: HEAD + diff(FILE, ONE, TWO)}, CONFIG + upstream)
    forked.write(f"base/{FILE}", "".join(LINES))
    forked.write(f"incoming/{SECOND}", HEAD + diff(FILE, TWO, swap(TWO, 20, "twenty\n")))
    work = "WORK-on-the-head-split-of-the-cache"
    seen: set[str] = set()

    def ran(*args: str) -> None:
        seen.add(args[0])
        done = forked(*args)
        assert done.code in (0, 1), (args, done.err)
        assert done.out or done.err, args
        wide = [line for line in (done.out + done.screen).splitlines() if len(line) > 80 and not _PASTED.match(line)]
        assert not wide, (args, wide)

    ran("init", "a-new-project-in-a-folder-of-its-own/with-a-long-name")
    ran("bootstrap")
    ran("lock")
    ran("check", "-v")
    ran("apply")
    ran("apply")
    ran("bootstrap", "--to", "30", work)
    forked.write(f"{work}/{FILE}", "".join(swap(ONE, 25, "twenty-five\n")))
    ran("bootstrap", "--force", "--to", "30", work)
    ran("edit", "30", work)
    forked.write(f"{work}/{FILE}", "".join(swap(ONE, 25, "twenty-five\n")))
    ran("refresh", "30", work, "--dry-run")
    ran("refresh", "30", work)
    ran("undo")
    ran("undo", "--list")
    ran("redo")
    ran("edit", "31", "--force", work)
    forked.write(f"{work}/llama.cpp/examples/speculative-simple/more-of-it.cpp", "more\n")
    ran("new", "a-new-patch-with-a-long-name-for-the-cache", "--from", work)
    ran("import", f"incoming/{SECOND}", "--after", "30", "--renumber")
    ran("list")
    ran("status")
    ran("deps")
    ran("deps", "31")
    ran("find", "fif")
    ran("compare", "incoming")
    ran("upstreamed", "-v")
    ran("rename", "30", "kv-cache-ctx-per-stream-of-each-device-and-host")
    ran("renumber", "--step", "10")
    ran("split", "30", "--hunks", f"{FILE}:1", "--name", "one-half-of-the-patch-with-a-long-name", "--renumber")
    ran("export", "a-folder-for-mails-with-a-name-that-is-long/or-longer", "--format", "git")
    ran("export", "a-folder-for-quilt-with-a-name-that-is-long/or-longer")
    for name in (p.name for p in (root / "patches").glob("*new-patch*")):
        ran("disable", name)
        ran("enable", name)
        ran("drop", name)
    forked.write(f"base/{FILE}", "".join(swap(LINES, 5, "upstream's five\n")))
    ran("check")
    ran("regen")
    ran("lock")
    ran("apply")
    assert len(seen) == 25


def test_errors_and_hints(small: Project, forked: Forked) -> None:
    """On stderr too, piped or not, and with the folder that was given; what is there to be pasted is whole."""
    small({FIRST: HEAD + diff(FILE, LINES, ONE), SECOND: HEAD + diff(FILE, ONE, TWO)})
    forked.write(f"base/{FILE}", "".join(LINES))
    assert forked("disable", "31").code == 0
    said = forked("deps", SECOND).screen.splitlines()
    assert said == [f"error: {SECOND} is disabled", f"hint: opencoti-patches enable {SECOND}"]
    folder = "/".join([f"../{forked.root.name}"] * 7)  # the same one, the long way round
    for args, command in (
        (["bump", "--continue"], "bump REV-OR-VERSION"),
        (["absorb", "no-such-folder-with-a-name-that-is-long"], "edit PATCH DIR"),
        (["undo", "99"], "undo --help"),
        (["chekc"], "--help"),
    ):
        rows = forked("-C", folder, *args).screen.splitlines()
        assert sum(command in row for row in rows) == 1, rows
        assert all(len(row) <= 80 or "opencoti-patches -C" in row for row in rows), rows
        assert [row for row in rows if not row.startswith(("error: ", "hint: ", "  "))] == []


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("run it again with 'opencoti-patches bump --continue', or give it up", "'opencoti-patches bump --continue',"),
        (
            "take it in with opencoti-patches new a-slug --from WORK, then lint",
            "opencoti-patches new a-slug --from WORK,",
        ),
        ("it is 'opencoti-patches bump --skip 'a b'' that leaves it out", "'opencoti-patches bump --skip 'a b''"),
        ("it is opencoti-patches -C 'a, b' check that says it", "opencoti-patches -C 'a, b' check that says it"),
    ],
)
def test_a_command_is_never_broken(line: str, whole: str) -> None:
    for lead in range(70):
        rows = wrapped(f"{'x' * lead} {line}", 0, 2)
        assert sum(whole in row for row in rows) == 1, rows
        assert all(len(row) <= 80 for row in rows)
