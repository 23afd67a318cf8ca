"""docs/why-did-my-patch-fail.md: every cause that ``check`` names has a section, and what it shows is what comes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import pytest

from cli.documents import CONFIG, DOCS, HEAD
from opencoti_patches.report.ci import RULES

if TYPE_CHECKING:
    from e2e.forked import Forked

PAGE = (DOCS / "why-did-my-patch-fail.md").read_text("utf-8")
CODE = """#include "cache.h"

static int limit(int n) {
    if (n > 10) {
        return 10;
    }
    return n;
}

int cache(int n) {
    log_it(n);
    int size = limit(n);
    check(size);
    return size;
}

int drop(int n) {
    log_it(n);
    forget(n);
    return 0;
}
"""
LIMIT = CODE.replace("return 10;", "return 12;")
WIDER = CODE.replace("n > 10", "n >= 10")
FUNCTION = CODE.split("\n\n")[1] + "\n"
THRICE = "".join(f"static void f{i}(void) {{\n    a();\n    b();\n    c();\n    d();\n}}\n\n" for i in range(3))
MADE = (
    "diff --git a/src/new.c b/src/new.c\nnew file mode 100644\n--- /dev/null\n+++ b/src/new.c\n@@ -0,0 +1 @@\n+int x;\n"
)
LOGO = (
    "diff --git a/logo.png b/logo.png\nindex 1111111..2222222 100644\nBinary files a/logo.png and b/logo.png differ\n"
)


def change(old: str, new: str, path: str = "src/cache.c", context: int = 3) -> str:
    """A patch of one file."""
    rows = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}", n=context
    )
    return f"{HEAD}diff --git a/{path} b/{path}\n{''.join(rows)}"


P = change(CODE, LIMIT)


class Scene(NamedTuple):
    """Files of the base, patches that fail on them in order."""

    base: Mapping[str, str]
    patches: Mapping[str, str]


def one(base: str | Mapping[str, str], patch: str = P, name: str = "0001-limit.patch") -> Scene:
    """A scene of one patch."""
    return Scene({"src/cache.c": base} if isinstance(base, str) else base, {name: patch})


SCENES = {
    "whitespace": one(CODE.replace("    if (n > 10) {", "\tif (n > 10) {")),
    "eol": one(CODE.replace("\n", "\r\n")),
    "context-changed": one(WIDER),
    "moved": one({"src/cache.c": CODE.replace(FUNCTION, ""), "src/limit.c": FUNCTION}),
    "already-applied": one(LIMIT),
    "missing-file": one({"src/other.c": "int x;\n"}),
    "renamed-file": one({"src/kv-cache.c": CODE}),
    "exists": one({"src/new.c": "int y;\n"}, HEAD + MADE, "0001-new.patch"),
    "mode": one(
        {"src/cache.c": "-> kv-cache.c", "src/kv-cache.c": CODE},
        P.replace("--- a", "index 1111111..2222222 100644\n--- a"),
    ),
    "binary": one(CODE, HEAD + LOGO, "0001-logo.patch"),
    "zero-context": one(CODE, change(CODE, LIMIT, context=0)),
    "wrong-strip": one(CODE, P.replace("a/src", "old/fork/src").replace("b/src", "new/fork/src")),
    "corrupt": one(CODE, P.replace("@@ -2,7 +2,7 @@", "@@ -2,9 +2,9 @@")),
    "missing-newline": one(CODE, P[:-1]),
    "unsafe-path": one(CODE, P.replace("a/src", "a/../src").replace("b/src", "b/../src")),
    "empty": one(CODE, HEAD),
    "blocked": Scene(
        {"src/cache.c": WIDER},
        {"0001-limit.patch": P, "0002-more.patch": change(LIMIT, LIMIT.replace("return 12;", "return 14;"))},
    ),
    "offset": one(f"// a line more\n{CODE}"),
    "ambiguous": one(
        {"src/x.c": "// a line more\n" * 7 + THRICE},
        change(THRICE, THRICE.replace("b();\n    c();", "b();\n    more();\n    c();", 1), "src/x.c", 2),
        "0001-more.patch",
    ),
    "function-changed": one(
        f"// a line more\n{CODE.replace('int drop(', 'int lose(')}",
        change(CODE, CODE.replace("    forget(n);", "    more(n);\n    forget(n);"), context=1).replace(
            " @@\n", " @@ int drop(int n) {\n"
        ),
        "0001-more.patch",
    ),
    "stale-lock": Scene({"src/cache.c": CODE}, {"0001-limit.patch": P, "0002-more.patch": HEAD + MADE}),
    "conflict-marker": one(CODE, P.replace(HEAD, f"<<<<<<< HEAD\n{HEAD}=======\n{HEAD}>>>>>>> theirs\n")),
    "not-listed": Scene({"src/cache.c": CODE}, {"0001-limit.patch": P, "0002-more.patch": HEAD + MADE}),
    "no-series": one(CODE, P),
}


def shown(cause: str, forked: Forked) -> list[str]:
    """What ``check`` prints of a scene, without its last line, which names the base."""
    base, patches = SCENES[cause]
    for path, content in base.items():
        if content.startswith("-> "):
            (forked.root / "base" / path).parent.mkdir(parents=True, exist_ok=True)
            (forked.root / "base" / path).symlink_to(content[3:])
        else:
            forked.write(f"base/{path}", content)
    forked.write("opencoti.toml", CONFIG)
    for name, patch in patches.items():
        forked.write(f"patches/{name}", patch)
    names = list(patches)
    if cause == "stale-lock":
        forked.write("patches/series", f"{names[0]}\n")
        assert forked("lock", cwd=None).code == 0
    if cause != "no-series":
        forked.write("patches/series", "".join(f"{n}\n" for n in names[: 1 if cause == "not-listed" else None]))
    text = forked("check", cwd=None).out
    return re.split(r"(?m)^\d+ patch(?:es)? on\b", text)[0].splitlines()


def section(cause: str) -> str:
    """The page's section about a cause."""
    return PAGE.partition(f"\n## {cause}\n")[2].partition("\n## ")[0]


def test_every_cause_has_a_section_and_no_other() -> None:
    heads = re.findall(r"(?m)^## ([a-z-]+)$", PAGE)
    assert len(heads) == len(set(heads))
    assert set(heads) == RULES.keys() == SCENES.keys()


@pytest.mark.parametrize("cause", SCENES)
def test_what_the_page_shows_is_what_comes(forked: Forked, cause: str) -> None:
    came = [f"    {line}".rstrip() for line in shown(cause, forked)]
    text = section(cause)
    assert "\n".join(came) in text, "\n".join(came)
    assert "**Why.**" in text
    assert "**Next.**" in text
