"""Texts inside Markdown are shown literally: a CommonMark parser returns the plain text."""

from __future__ import annotations

import re
from html import unescape

import pytest
from markdown_it import MarkdownIt

from irexec.core.diagnostics.render.characters import visible_text
from irexec.core.diagnostics.render.markdown import code, fenced, prose

READER = MarkdownIt("commonmark").enable("table")
TEXTS = [
    "a|b",
    "*bold* _soft_ ~~no~~ `code`",
    "``two``",
    "<script>alert(1)</script>",
    "[text](javascript:alert(1))",
    "![picture](http://example.org/x.png)",
    "[text]: http://example.org",
    "back\\slash",
    "&lt;b&gt; &#x41;",
    "\x1b[31mred",
    "right\u202eleft",
    "not UTF-8 \udcff",
    "model/layer_1/in_put",
]


def shown(html: str) -> str:
    return unescape(re.sub(r"</?(p|li|ul|h1|code)>", "", html)).strip()


@pytest.mark.parametrize("text", TEXTS)
def test_prose_is_read_as_the_text(text: str) -> None:
    assert shown(READER.render(f"- {prose(text)}")) == visible_text(text)
    assert shown(READER.render(f"# {prose(text)}")) == visible_text(text)
    row = READER.render(f"| a | b |\n|---|---|\n| {prose(text)} | c |")
    assert row.count("<td>") == 2
    assert visible_text(text) in unescape(row)


@pytest.mark.parametrize("text", TEXTS)
def test_a_code_span_is_read_as_the_text(text: str) -> None:
    assert shown(READER.render(f"by {code(text)}.")) == f"by {visible_text(text)}."


@pytest.mark.parametrize("text", ["a\n\nb", "a\n```\nb", "a\n# b"])
def test_lines_stay_where_they_are(text: str) -> None:
    assert READER.render(f"by {code(text)}").count("<p>") == 1
    assert READER.render(f"- {prose(text)}").count("<") == READER.render("- a").count("<")
    assert READER.render("\n".join(fenced(text))).count("<") == READER.render("```text\na\n```").count("<")
