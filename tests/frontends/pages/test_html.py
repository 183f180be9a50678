"""HTML pages: the visible text, every character at its place, and broken markup in linear time."""

from __future__ import annotations

import pytest

from irexec.frontends.pages.html import visible_text
from irexec.frontends.pages.page import read_page
from irexec.ir.xml.source import Source


def seen(html: str) -> str:
    excerpt, _ = visible_text(Source(html, file="x.html"))
    return excerpt.text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a<b>c</b>d", "acd"),
        ("<p>a</p><p>b</p>", "a\nb\n"),
        ("a &lt;dim&gt; &amp; &#65;&#x42;", "a <dim> & AB"),
        ("a<script>x < 3</script>b<style>p {}</style >c", "abc"),
        ("a<!-- <p> -->b", "ab"),
        ('a<i title="x > y" lang=en>b</i>', "ab"),
        ('a<i title="1 < 2">b</i>', "ab"),
        ("a<!DOCTYPE html>b<?xml version='1'?>c", "abc"),
        ("1 < 2", "1 < 2"),
        ("a<layer type='ReLU'><input/></layer>b", "a<layer type='ReLU'><input/></layer>b"),
        # An element without an end extends to the end of the page, as in a browser.
        ("a<script>b", "a"),
        ("a<script b", "a"),
        ("a<!-- b", "a"),
        ("a<![ b", "a"),
    ],
)
def test_what_a_reader_sees(html: str, text: str) -> None:
    assert seen(html) == text


def test_every_character_keeps_its_place() -> None:
    html = "<html><head><title>t</title></head>\n<p class='x'>data &lt;= 3</p>\n<pre>a<b>b</b>\n  c</pre>"
    excerpt, blocks = visible_text(Source(html, file="x.html"))
    for index, character in enumerate(excerpt.text):
        if character.isalnum():
            place = excerpt.place(index)
            assert place.source_line is not None and place.column is not None
            assert place.source_line[place.column - 1] == character
    ((start, end),) = blocks
    assert excerpt.text[start:end] == "ab\n  c\n"


BROKEN = ["<script ", "<script>", "<layer ", "<layer>", "<!-- ", "<a b='", '<a b="', "<![", "<!a", "<?", "</script "]
BROKEN += ["<pre>", "<pre><layer></pre>", "<pre><layer>", "</pre", "<a", "&#65;", "<title", "<p>[1, 2]</p>\n", "</"]


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("unit", BROKEN)
def test_200_kilobytes_of_broken_markup_are_a_page(unit: str) -> None:
    # Each of these took minutes when the work grew with the square of the text.
    page = read_page("x.html", (unit * (200_000 // len(unit))).encode())
    assert page.problem is None


@pytest.mark.parametrize("suffix", ["rst", "md", "txt"])
@pytest.mark.parametrize(
    "unit", ["`", "``", "* ", "::\n  ", "[[[", "x = [1, ", "values: [", "= [1]\n", "\n\n", "1, 2, ", "op("]
)
def test_50_kilobytes_of_open_brackets_and_marks_are_a_page(unit: str, suffix: str) -> None:
    page = read_page(f"x.{suffix}", (unit * (50_000 // len(unit))).encode())
    assert page.problem is None
