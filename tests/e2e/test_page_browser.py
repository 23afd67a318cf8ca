"""The page of ``report --html`` in a real Chromium: opened from disk, clicked, searched, driven by keys."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli.documents import Project
from cli.pages import HOSTILE, SERIES

if TYPE_CHECKING:
    from e2e.forked import Forked

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: see 'make page-test'")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium: apt-get install chromium")

QUIET = ("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")  # fmt: skip
OPEN = "[...document.querySelectorAll('.patch')].filter(p => p.open).map(p => p.id)"
SHOWN = "[...document.querySelectorAll('.stack > li')].filter(r => !r.hidden).map(r => r.firstElementChild.id)"
# The contrast of every text that is seen, by WCAG's formula: the least one, and what it belongs to.
CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgb = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4).reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const back = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3]) return c; } };
  let least = [99, ''];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest('svg, script')) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(back(e))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < least[0]) least = [ratio, e.className + ' ' + e.textContent.slice(0, 40)];
  }
  return least;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One Chromium for all."""
    with playwright.sync_playwright() as started:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield started.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *sandbox])


Visit = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, small: Project, forked: Forked) -> Iterator[Visit]:
    """Opens the page of the hostile series; whatever the console says, or the page asks for, fails the test."""
    folder: Path = small({})
    for name, content in HOSTILE.items():
        forked.write(f"patches/{name}", content)
    forked.write("patches/series", SERIES)
    assert forked("report", "--html", "page.html").code == 0
    said: list[str] = []
    contexts = []

    def open_it(width: int = 1280, fragment: str = "", **options: Any) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else said.append(r.url))
        page.goto((folder / "page.html").as_uri() + fragment)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert said == []


def test_keys(visit: Visit) -> None:
    page = visit()
    focused = "document.activeElement.closest('.patch')?.id"
    for key in ("j", "j", "j", "k"):
        page.keyboard.press(key)
    assert page.evaluate(focused) == "p2"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#p3 .coloured")
    assert page.evaluate(OPEN) == ["p3"]
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Escape")
    assert page.evaluate(OPEN) == []
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type("jj")
    assert page.input_value("#query") == "jj"
    page.keyboard.press("Escape")
    assert page.input_value("#query") == ""
    page.uncheck("#keys")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "keys"
    page.keyboard.press("Tab")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") != "query"


def test_a_diff_is_coloured_and_keeps_its_text(visit: Visit) -> None:
    page = visit()
    raw = page.evaluate("[...document.querySelectorAll('.diff')].map(d => d.textContent.replace(/^\\n/, ''))")
    for summary in page.query_selector_all(".patch > summary"):
        summary.click()
    page.wait_for_selector("#p4 .coloured")
    for at, before in enumerate(raw, 1):
        pres = page.query_selector_all(f"#p{at} .coloured")
        assert "".join(pre.text_content() for pre in pres) == before + "\n"
    signs = page.evaluate(
        "[...document.querySelectorAll('#p3 .coloured span')].map(s => [s.className, s.textContent[0]])"
    )
    assert [kind for kind, _ in signs if kind in ("a", "d")] == ["d"] + ["a"] * 5
    assert all({"a": "+", "d": "-", "h": "@", "": " "}.get(kind, sign) == sign for kind, sign in signs)
    assert page.text_content("#p4 h4") == "a<b>&\"'.c"
    numbers = page.evaluate(
        "[...document.querySelectorAll('#p1 .coloured .a, #p1 .coloured .d')].map(s => s.dataset.n)"
    )
    assert numbers == ["20", "20"]
    assert page.evaluate("window.pwned") is None
    assert page.query_selector_all("main i, main img, main b") == []


def test_search(visit: Visit) -> None:
    page = visit()

    def found(text: str) -> tuple[list[str], str]:
        page.fill("#query", text)
        page.wait_for_timeout(150)
        return page.evaluate(SHOWN), page.text_content("#found")

    assert found("NEEDLE IN") == (["p4"], "1 of 6 patches")
    assert page.text_content("#p4 .hit") == "diff 1"
    assert found("0002-four") == (["p2"], "1 of 6 patches")
    assert found("because")[0] == ["p1", "p2", "p4"]
    assert found("g.txt") == (["p2"], "1 of 6 patches")
    assert page.text_content("#p2 .hit").startswith("files 1 · diff")
    assert found("<script>")[0] == ["p3"]
    assert found("nowhere") == ([], "0 of 6 patches")
    assert found("needle")[0] == ["p4"]
    page.focus("#query")
    page.keyboard.press("Enter")
    assert page.evaluate(OPEN) == ["p4"]
    page.wait_for_timeout(150)
    assert page.evaluate("CSS.highlights.get('found').size") == 1
    page.keyboard.press("Escape")
    assert page.evaluate(SHOWN) == ["p1", "p2", "p3", "p4", "p5", "p6"]
    assert page.text_content("#found") == ""


def test_links(visit: Visit) -> None:
    page = visit(fragment="#p2")
    assert page.evaluate(OPEN) == ["p2"]
    page.fill("#query", "needle")
    page.wait_for_timeout(150)
    page.click("#graph li[data-at='2'] > a")
    assert page.evaluate(OPEN) == ["p2", "p3"]
    assert page.evaluate("document.activeElement.closest('.patch').id") == "p3"
    page.click("#p3 summary")
    page.click("#graph li[data-at='2'] > a")  # the same address once more
    assert page.evaluate(OPEN) == ["p2", "p3"]
    page.hover("#graph li[data-at='0']")
    assert page.evaluate("document.querySelectorAll('.lit').length") == 1
    page.click(".heat tbody tr:first-child rect >> nth=0")
    assert "p1" in page.evaluate(OPEN)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_reads_well(visit: Visit, scheme: str, width: int) -> None:
    page = visit(width, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('.patch').forEach((p) => { p.open = true; })")
    page.wait_for_selector("#p4 .coloured")
    least, what = page.evaluate(CONTRAST)
    assert least >= 4.5, what
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((c) => c < 60)")
    assert dark == (scheme == "dark")


def test_without_its_script(visit: Visit) -> None:
    page = visit(java_script_enabled=False)
    assert not page.is_visible("#query")
    page.click("#p1 > summary")
    assert "+twenty\n" in page.text_content("#p1 .diff pre")
    assert page.is_visible("#p1 .diff pre")
