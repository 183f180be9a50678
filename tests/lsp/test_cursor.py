"""What a place in a text is, while the text is being typed. A `|` marks the place."""

from __future__ import annotations

import pytest

from irexec.lsp.cursor import cursor_at

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
