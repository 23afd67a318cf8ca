"""A page of ``report --html`` taken apart, and a series that tries to break out of one."""

from __future__ import annotations

from collections.abc import Mapping
from html.parser import HTMLParser

from cli.documents import CLEAN, FAILED, LINES, OTHER, STANDS_ON_IT, diff, swap

_VOID = {"meta", "link", "input", "br"}
_EVIL = "</pre></template></script><script>window.pwned=1</script><img src=x onerror=pwned=1>{{ 7*7 }}{% x %}&amp;\"'"
_BEFORE = swap(LINES, 20, "twenty\n")
_LOOKALIKES = ["-- a\n", "++ b\n", "@@ -1 +1 @@\n"]
_BYTES = "bytes \udcff\udc80, \x1b[31m red, turned \u202e round\r\n"
_AFTER = [*_BEFORE[:9], f"{_EVIL}\n", *_LOOKALIKES, _BYTES, *_BEFORE[10:]]
_ODD = "a<b>&\"'.c"
_FOUR = diff("g.txt", OTHER, swap(OTHER, 4, "four\n"))
NAME = "0003-<i>&lt;\"'{{7*7}}.patch"
HOSTILE: Mapping[str, bytes] = {
    name: text.encode("utf-8", "surrogateescape")
    for name, text in {
        "0001-twenty.patch": f"Twenty\n\nBecause.\n\n{CLEAN}",
        "0002-four.patch": f"Four\n\nBecause.\n\n{_FOUR}",
        NAME: f"{_EVIL}\n\nWhy: {_EVIL}\nUpstream-Status: {_EVIL}\n\n{diff('f.txt', _BEFORE, _AFTER)}",
        "0004-made.patch": f"Made\n\nBecause.\n\ndiff --git a/{_ODD} b/{_ODD}\nnew file mode 100644\n"
        f"--- /dev/null\n+++ b/{_ODD}\n@@ -0,0 +1 @@\n+needle in a diff\n",
        "0005-bad.patch": FAILED,
        "0006-blocked.patch": STANDS_ON_IT,
    }.items()
}
SERIES = "".join(f"{name}\n" for name in HOSTILE)


class Taken(HTMLParser):
    """A page's elements in order, each with its attributes and all the text in it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[tuple[str, dict[str, str], list[str]]] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = (tag, {k: v or "" for k, v in attrs}, list[str]())
        assert len(element[1]) == len(attrs), f"an attribute twice in {element}"
        self.elements.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {k: v or "" for k, v in attrs}, []))

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1][0] == tag, f"</{tag}> closes {self._open[-1:]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for _, _, texts in self._open:
            texts.append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        """Attributes and text of every such element."""
        return [(attrs, "".join(texts)) for name, attrs, texts in self.elements if name == tag]
