"""The site, built by Sphinx: without a warning, without a dead link, with a page for every operator and code."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support.browser import NO_BROWSER, PROGRAM, Browser
from support.waiting import PATIENCE

from irexec.cli.main import COMMANDS
from irexec.core.diagnostics.codes import CODES
from irexec.ops.spec import contents

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.any_python,
    pytest.mark.in_ci("builds the site"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo", reason="pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    assert built.returncode == 0, built.stderr
    return folder


class Links(HTMLParser):
    """The links of a page, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.fetched: set[str] = set()
        self.anchors = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors.add(given.get("id") or "")
        if tag == "a" and (target := given.get("href")):
            self.links.add(target)
        if target := given.get("src") or (given.get("href") if tag == "link" else None):
            self.fetched.add(target)


def test_every_link_leads_somewhere_and_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    pages = {path: Links(path.read_text("utf-8")) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        assert not [target for target in page.fetched if urlsplit(target).netloc], path
        for link in page.links | page.fetched:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = target.is_file() and (target not in pages or unquote(parts.fragment) in pages[target].anchors)
            if not known and path.name not in ("genindex.html", "search.html"):
                dead.append(f"{path.relative_to(site)}: {link}")
    assert dead == []
    assert len(pages) > 300


def test_there_is_a_page_for_everything(site: Path) -> None:
    assert not [type for type in contents.CONTENTS if not (site / f"reference/operators/{type}.html").exists()]
    documented = {path.stem for path in (site / "codes").glob("*.html")}
    assert documented >= {path.stem for path in (ROOT / "docs" / "codes").glob("*.md")}
    assert set(CODES) >= documented
    commands = {path.stem for folder in ("commands", "reference/commands") for path in (site / folder).glob("*.html")}
    assert commands >= set(COMMANDS)


def test_every_operator_has_an_example_that_was_run(site: Path) -> None:
    pages = [p for p in (site / "reference" / "operators").glob("*.html") if p.stem != "index"]
    assert [page.stem for page in pages if "highlight-pycon" not in page.read_text("utf-8")] == []


def test_an_operators_page_gives_all_that_is_known_of_it(site: Path) -> None:
    pages = {p.stem: p.read_text("utf-8") for p in (site / "reference" / "operators").glob("*.html")}
    del pages["index"]
    for part in ("element types", "Tolerance of a comparison", "OpenVINO’s page", "irexec/ops/", "highlight-python"):
        assert [name for name, text in pages.items() if part not in text] == [], part
    # Operators on graphs and states are compared in models, and OpenVINO has no kernel for some.
    assert len([name for name, text in pages.items() if "Comparison with OpenVINO" not in text]) < 15
    assert "OpenVINO’s CPU plugin leaves the result uninitialized" in pages["MatMul"]
    assert "tests/ops/matrix/matmul.rows" in pages["MatMul"]
    assert "<li><p>C5: the kernel, dilated, fits into the padded data.</p></li>" in pages["Convolution"]


def test_the_search_knows_operators_and_codes(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    for word in ("scatterndupdate", "d001", "doctest"):
        assert re.search(rf'"?{word}', index, re.IGNORECASE)


@pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)
def test_the_search_finds_a_page_in_a_browser(site: Path, tmp_path: Path) -> None:
    assert PROGRAM is not None
    browser = Browser(PROGRAM, tmp_path)
    try:
        browser.open(site / "index.html")
        browser.run("document.querySelector('.sidebar-search').value = 'ScatterNDUpdate'")
        browser.run("document.querySelector('.sidebar-search-container').submit()")
        found = "[...document.querySelectorAll('#search-results li a')].map((link) => link.textContent)"
        assert browser.until(f"({found})[0]") == "ScatterNDUpdate"
    finally:
        browser.close()


@pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)
def test_pages_fit_a_narrow_screen(site: Path, tmp_path: Path) -> None:
    """Written pages, the lists, and some operators: no page is wider than a phone, and no table of up to four columns;
    larger tables scroll in their frame.
    """
    assert PROGRAM is not None
    operators = sorted((site / "reference" / "operators").glob("*.html"))[::15]
    pages = [*site.glob("*.html"), *(site / "commands").glob("*.html"), site / "reference" / "codes.html", *operators]
    pages = [page for page in pages if page.stem not in ("genindex", "search", "classifier", "transformer", "example")]
    assert len(pages) > 35
    wide = """[...document.querySelectorAll('article table, article img')].filter((e) =>
        e.getBoundingClientRect().right > 391 && !(e.rows?.[0].cells.length > 4
        && getComputedStyle(e.closest('.table-wrapper')).overflowX === 'auto'))"""
    browser = Browser(PROGRAM, tmp_path, width=390, height=800)
    try:
        for page in pages:
            browser.open(page)
            assert browser.run("document.documentElement.scrollWidth") <= 390, page
            assert browser.run(f"{wide}.map((e) => e.textContent.slice(0, 60))") == [], page
            assert browser.errors == [], page
    finally:
        browser.close()
