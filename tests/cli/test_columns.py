"""Every line of text fits 80 columns where names are ordinary; commands to paste stay in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cli.documents import CONFIG, HEAD, LINES, Project, diff, swap

if TYPE_CHECKING:
    from e2e.forked import Forked

FILE = "llama.cpp/examples/speculative-simple/speculative-simple.cpp"
FIRST, SECOND = "0030-kv-cache-ctx-per-stream-of-each-device.patch", "0031-kv-cache-head-split-of-each-device.patch"
ONE = swap(LINES, 5, "five\n")
TWO = swap(ONE, 15, "fifteen\n")
_PASTED = re.compile(r" *(?:next|then): (?:opencoti-patches|git) ")


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
        wide = [line for line in done.out.splitlines() if len(line) > 80 and not _PASTED.match(line)]
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
