"""The beginning and end of elements in a text."""

from __future__ import annotations

import pytest

from irexec.ir.xml.events import Span
from irexec.ir.xml.positions import Positions

TEXT = """<?xml version="1.0"?>
<net name="a > b"><!-- <layer> -->
  <layer id="0"><data/><output><port/></output></layer>
  <layer id="1">text</layer>
</net>"""


def test_extents_are_those_of_the_elements_one_by_one() -> None:
    positions = Positions(TEXT)
    extents = positions.extents()
    for element in range(len(extents)):
        assert extents.tag(element) == positions.tag(element)
        assert extents.whole(element) == positions.extent(element)
    assert positions.tag(len(extents)) is None
    assert extents.parents == [-1, 0, 1, 1, 3, 0]


def test_the_elements_around_a_place() -> None:
    extents = Positions(TEXT).extents()
    assert extents.around(TEXT.index("<port/>") + 3) == [4, 3, 1, 0]
    assert extents.around(TEXT.index("text")) == [5, 0]
    assert extents.around(3) == []


@pytest.mark.parametrize(
    ("text", "wholes"),
    [
        ("<a><b></a>", ["<a><b></a>", "<b>"]),
        ("<a><b>", ["<a><b>", "<b>"]),
        ("</b><a></b></a>", ["<a></b></a>"]),
        ("<a><a><b/></a>", ["<a><a><b/></a>", "<a><b/></a>", "<b/>"]),
    ],
)
def test_what_is_never_closed_ends_with_what_is_around(text: str, wholes: list[str]) -> None:
    extents = Positions(text).extents()
    spans: list[Span] = [extents.whole(element) for element in range(len(extents))]
    assert [text[span.start : span.stop] for span in spans] == wholes
