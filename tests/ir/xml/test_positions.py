"""Look-ups of elements in a text: names, children, and elements that contain only a text."""

from __future__ import annotations

import pytest

from irexec.ir.xml.positions import Positions


def test_children_and_their_names() -> None:
    positions = Positions("<a><b><c/></b><!-- <d/> --><b/>text<e></a>")
    assert positions.children(0) == [1, 3, 4]
    assert [positions.name_text(child) for child in (0, 1, 2, 3, 4, 5)] == ["a", "b", "c", "b", "e", ""]
    assert positions.children(1) == [2]
    assert positions.children(4) == []


@pytest.mark.parametrize(
    ("element", "is_plain"),
    [
        ("<dim>2</dim>", True),
        ("<dim >\n 2\n</dim >", True),
        ("<dim><![CDATA[2]]></dim>", True),
        ("<dim></dim>", True),
        ("<dim/>", False),
        ("<dim>2", False),
        ('<dim a="1">2</dim>', False),
        ("<dim>2<!-- two --></dim>", False),
        ("<dim>2<?two?></dim>", False),
        ("<dim>2<b/></dim>", False),
    ],
)
def test_elements_that_contain_only_a_text(element: str, is_plain: bool) -> None:
    assert Positions(f"<port>{element}</port>").is_plain(1) == is_plain
