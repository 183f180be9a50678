"""The report of a documentation page: each example as printed, next to its differences."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from irexec.cli.main import main
from irexec.tools.render.report.examples import examples_page

SAMPLES = Path(__file__).parents[3] / "samples" / "scatter_nd_update"


class Page(HTMLParser):
    """The tags and the texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data.strip())


def test_an_example_stands_beside_what_was_computed() -> None:
    text = examples_page(SAMPLES / "example_2.xml", (SAMPLES / "example_2.xml").read_bytes())
    page = Page(text)
    printed = (SAMPLES / "example_2.xml").read_text("utf-8").rstrip().split("\n")
    assert [line for line in printed if line.strip() and line.strip() not in page.texts] == []
    for word in ("inputs", "computed", "[61, 72, 23, 4]", "✖ contains errors", "✖ error O001", "repaired", "verified"):
        assert word in page.texts or any(word in said for said in page.texts), word
    marked = re.findall(r'<tr class="marked"><td class="code">([^<]*)</td><td class="number">(\d+)', text)
    assert ("6", True) in {(line, "O001" in codes) for codes, line in marked}


def test_values_in_prose_end_with_the_last_of_them(tmp_path: Path) -> None:
    path = tmp_path / "page.rst"
    path.write_text(
        "ScatterNDUpdate\n===============\n\n**Versioned name**: *ScatterNDUpdate-15*\n\nAn example::\n\n"
        "    data = [1, 2, 3, 4]\n    indices = [[0], [2]]\n    updates = [9, 8]\n    output = [9, 2, 8, 5]\n\n"
        "Something else that is long.\n",
        "utf-8",
    )
    page = Page(examples_page(path, path.read_bytes()))
    assert "output = [9, 2, 8, 5]" in page.texts and "[9, 2, 8, 4]" in page.texts
    assert not [text for text in page.texts if "Something else" in text]
    # A documented result is not compared with what is allowed.
    assert not {"found", "allowed"} & set(page.texts)


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "</pre></td><img src=x>", "]]>&lt;b&gt;\u202e"])
def test_texts_of_the_page_stay_texts(hostile: str, tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    path.write_text(f'<layer name="{hostile}" type="ReLU"> {hostile}\n<input><port id="0"/></input></layer>', "utf-8")
    page = Page(examples_page(path, path.read_bytes()))
    assert {"script", "img", "b"} & set(page.tags) == set()


def test_a_page_without_an_example_reports_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = tmp_path / "page.md", tmp_path / "out.html"
    path.write_text("# Nothing here\n", "utf-8")
    assert main(["report", str(path), "-o", str(output)]) == 0
    assert "no example" in output.read_text("utf-8")


def test_loose_layers_are_a_page(tmp_path: Path) -> None:
    output = tmp_path / "out.html"
    assert main(["report", str(SAMPLES / "example_1.xml"), "-o", str(output)]) == 0
    assert "documented" in output.read_text("utf-8")
