"""The page of ``report --html``: whole, named, self-contained, and nothing of a patch is more than text on it."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cli.documents import CONFIG, Project
from cli.pages import HOSTILE, NAME, SERIES, Taken
from opencoti_patches.core.model import decode, printable
from opencoti_patches.report.page.arcs import arcs

if TYPE_CHECKING:
    from e2e.forked import Forked


@pytest.fixture
def page(small: Project, forked: Forked) -> str:
    """The page of a hostile series, in a project with a hostile name."""
    folder = small({}, CONFIG.replace('"small"', "'''</title><b>&\"'''"))
    for name, content in HOSTILE.items():
        forked.write(f"patches/{name}", content)
    forked.write("patches/series", SERIES)
    assert forked("report", "--html", "page.html", SOURCE_DATE_EPOCH="1796000000").code == 0
    first = (folder / "page.html").read_bytes()
    assert forked("report", "--html", "-", SOURCE_DATE_EPOCH="1796000000").raw == first
    return first.decode("utf-8")


def test_nothing_of_a_patch_is_more_than_text(page: str) -> None:
    taken = Taken(page)
    tags = {tag for tag, _, _ in taken.elements}
    assert not tags & {"b", "i", "img", "iframe", "object", "base", "form"}
    assert len(taken.all("script")) == len(taken.all("style")) == 1
    attributes = {name for _, attrs, _ in taken.elements for name in attrs}
    assert not [a for a in attributes if a.startswith("on") or a in ("style", "src", "srcset", "action")]
    assert "49" not in taken.all("h1")[0][1] + "".join(text for _, text in taken.all("h3"))
    diffs = {attrs["aria-label"]: text for attrs, text in taken.all("pre") if "aria-label" in attrs}
    for name, raw in HOSTILE.items():
        lines = [printable(line) for line in decode(raw[raw.index(b"diff --git") :]).removesuffix("\n").split("\n")]
        assert diffs[f"Diff of {printable(name)}"].lstrip("\n") == "\n".join(lines)
    hostile = diffs[f"Diff of {printable(NAME)}"]
    assert r"bytes \xff\x80, \x1b[31m red, turned \u202e round\r" in hostile
    assert not re.search(r"[^\n\t -~\u00a0-\U0010ffff]|[\u202a-\u202e\u2066-\u2069]", page)


def test_it_needs_nothing_but_itself(page: str) -> None:
    taken = Taken(page)
    links = [attrs["href"] for _, attrs, _ in taken.elements if "href" in attrs]
    assert all(re.fullmatch(r"#[a-z][a-z0-9]*|data:,", link) for link in links)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp|import\(|innerHTML|eval\(|document\.write", page.partition("</style>")[0] + taken.all("script")[0][1])  # fmt: skip
    policy = next(a["content"] for a, _ in taken.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert (rules["default-src"], rules["base-uri"], rules["form-action"]) == ("'none'", "'none'", "'none'")
    for kind in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(taken.all(kind)[0][1].encode()).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"


def test_everything_has_a_name_and_a_place(page: str) -> None:
    taken = Taken(page)
    ids = [attrs["id"] for _, attrs, _ in taken.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for _, a, _ in taken.elements if a.get("href", "").startswith("#")} <= set(ids)
    labels = {attrs.get("for"): text for attrs, text in taken.all("label")}
    around = [text for attrs, text in taken.all("label") if "for" not in attrs]
    for tag, attrs, texts in taken.elements:
        for reference in ("aria-labelledby", "aria-describedby", "for"):
            assert attrs.get(reference, ids[0]) in ids
        if tag == "input":
            assert labels.get(attrs["id"], "").strip() or (attrs["id"] == "keys" and around == [" single keys"])
        if tag in ("a", "summary", "button", "h1", "h2", "h3", "caption", "th", "title", "label"):
            assert "".join(texts).strip(), (tag, attrs)
        if "tabindex" in attrs and attrs["tabindex"] == "0":
            assert attrs.get("aria-label") and attrs.get("role")
        if tag == "svg":
            assert attrs.get("aria-hidden") == "true" or (attrs["role"] == "img" and attrs["aria-label"])
    headings = [tag for tag, _, _ in taken.elements if re.fullmatch("h[1-6]", tag)]
    assert headings == ["h1", "h2", *["h3"] * len(HOSTILE), "h2", "h2"]
    assert [len(taken.all(landmark)) for landmark in ("header", "nav", "main", "footer")] == [1, 1, 1, 1]
    assert taken.all("html")[0][0] == {"lang": "en"}


def test_a_long_patch_is_cut_and_says_so(small: Project, forked: Forked) -> None:
    lines = "".join(f"+{n}\n" for n in range(25_000))
    long = f"long\n\nSo.\n\n--- /dev/null\n+++ b/new.c\n@@ -0,0 +1,25001 @@\n{lines}+{'x' * 5000}\n"
    folder = small({"0001-long.patch": long})
    assert forked("report", "--html", "page.html").code == 0
    page = (folder / "page.html").read_text("utf-8")
    assert "5004 more lines: <code>opencoti-patches show 0001-long.patch</code>" in page
    assert "+19990\n" in page and "+20000\n" not in page


def test_the_page_of_an_empty_series(small: Project, forked: Forked) -> None:
    folder = small({})
    assert forked("report", "--html", "page.html").code == 0
    taken = Taken((folder / "page.html").read_text("utf-8"))
    assert "The series is empty." in taken.all("main")[0][1]


def test_arcs_stay_in_their_drawing() -> None:
    drawn = arcs([[], [0], [], [0, 1], [3]])
    assert drawn.rows == (0, 1, 3, 4)
    assert drawn.above == ((1, 3), (3,), (), (4,), ())
    assert [(a.on, a.to) for a in drawn.arcs] == [(0, 1), (0, 3), (1, 3), (3, 4)]
    for arc in drawn.arcs:
        x, top, handle, _, _, bottom, *_ = map(float, re.findall(r"-?[\d.]+", arc.path.replace("C", " ")))
        assert x - (x - handle) * 3 / 4 >= 0 and 0 < top < bottom < drawn.height
    assert arcs([]).arcs == arcs([[], []]).arcs == ()


def test_what_the_page_is_made_of_comes_with_the_package() -> None:
    """Beside the module, where the wheel takes everything from."""
    import opencoti_patches.report.page

    here = Path(opencoti_patches.report.page.__file__).parent
    assert {"page.html", "page.css", "page.js"} <= {f.name for f in here.iterdir()}
