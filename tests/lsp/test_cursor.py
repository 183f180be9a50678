"""The element, attribute and value at a position while the text is being typed. A `|` marks the position."""

from __future__ import annotations

import re

import pytest

from irexec.lsp.cursor import cursor_at

pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")
from irexec.lsp.units import Units, offset_before

LAYER = '<layer id="1" type="SoftMax" version="opset8">\n'


@pytest.mark.parametrize(
    ("text", "element", "attribute", "in_name", "there"),
    [
        ('<layer id="1" ty|pe="ReLU"/>', "layer", "type", True, "type"),
        ('<layer id="1" type="Re|LU"/>', "layer", "type", False, "ReLU"),
        ("<layer id='1' type='|'/>", "layer", "type", False, ""),
        ('<layer id="1" type="|', "layer", "type", False, ""),
        ('<layer id="1" type="Re|\n<data/>', "layer", "type", False, "Re"),
        ("<layer |", "layer", None, True, ""),
        ("<layer na|", "layer", "na", True, "na"),
        ("<lay|er>", "layer", None, True, "layer"),
        (f"{LAYER}<data |/>", "data", None, True, ""),
        (f'{LAYER}<data axis="1|"/>', "data", "axis", False, "1"),
    ],
)
def test_in_a_tag(text: str, element: str, attribute: str | None, in_name: bool, there: str) -> None:
    offset, text = text.index("|"), text.replace("|", "")
    cursor = cursor_at(text, offset)
    assert cursor is not None
    assert (cursor.element, cursor.attribute, cursor.in_name) == (element, attribute, in_name)
    assert text[cursor.span.start : cursor.span.stop] == there


@pytest.mark.parametrize("text", ["|", "<net>|", "<dim>1|</dim>", "<!-- <layer type='|' -->", "</layer|>", "a < | b"])
def test_outside_tags(text: str) -> None:
    assert cursor_at(text.replace("|", ""), text.index("|")) is None


def test_the_layer_around_is_known() -> None:
    text = f"{LAYER}<data "
    cursor = cursor_at(text, len(text))
    assert cursor is not None and cursor.layer == {"id": "1", "type": "SoftMax", "version": "opset8"}
    text = f"{LAYER}</layer>\n<data "
    cursor = cursor_at(text, len(text))
    assert cursor is not None and cursor.layer == {}


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("abcdef", "abXcdef", [0, 1, None, 2, 3, 4, 5]),
        ("abcdef", "abef", [0, 1, 4, 5]),
        ("aaaa", "aaa", [0, 1, 2]),
        ("abc", "abc", [0, 1, 2]),
        ("", "a", [None]),
    ],
)
def test_where_a_place_was_before_a_change(old: str, new: str, places: list[int | None]) -> None:
    assert [offset_before(old, new, offset) for offset in range(len(new))] == places


@pytest.mark.parametrize("text", ["", "a", "a\nb", "a\nb\n", "a\r\nb\rc\n", "\n\n"])
def test_lines_begin_after_every_line_end(text: str) -> None:
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text))]
    assert [Units(text).start(line) for line in range(1, len(starts) + 1)] == starts
