"""The stream of events: every tag, comment and text with its position; the reader and the positions find the same
elements.
"""

from __future__ import annotations

from xml.parsers import expat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irexec.ir.xml.elements import Elements
from irexec.ir.xml.events import Span, attribute_texts, attributes, events, events_and_texts, next_tag
from irexec.ir.xml.positions import Positions

TEXT = """<?xml version="1.0"?>
<!-- first -->
<net name='a>b' version="11"><layers><layer id="0"/> some text
 <![CDATA[<dim>]]></layers ></net>"""


def test_the_events_of_a_text() -> None:
    assert [(kind, content) for kind, _, _, content in events_and_texts(TEXT)] == [
        ("instruction", '?xml version="1.0"'),
        ("comment", " first "),
        ("start", "net"),
        ("start", "layers"),
        ("empty", "layer"),
        ("text", "some text"),
        ("cdata", "<dim>"),
        ("end", "layers"),
        ("end", "net"),
    ]
    for kind, start, stop, content in events_and_texts(TEXT):
        written = TEXT[start:stop]
        assert content in written and (written == content if kind == "text" else written[0] + written[-1] == "<>")


def test_elements_that_are_not_closed_extend_to_the_end() -> None:
    for text, kind in (
        ("<a><!-- b", "comment"),
        ("<a><![CDATA[b", "cdata"),
        ("<a><?b", "instruction"),
        ("<a></b", "end"),
    ):
        assert list(events(text))[-1][:3] == (kind, 3, len(text))
    assert [event[0] for event in events('<a><b c="d>')] == ["start"]


def test_the_next_tag_is_after_comments() -> None:
    assert next_tag(TEXT, 0) == next(event for event in events(TEXT) if event[0] == "start")
    assert next_tag(TEXT, len(TEXT) - 3) is None


def test_attributes_as_they_are_written() -> None:
    _, start, stop, _ = next_tag(TEXT, 0) or pytest.fail("there is a tag")
    assert attribute_texts(TEXT, start, stop) == [("name", "a>b"), ("version", "11")]
    found = [(each.name, TEXT[each.value.start : each.value.stop]) for each in attributes(TEXT, start, stop)]
    assert found == attribute_texts(TEXT, start, stop)


def test_names_and_end_tags_of_elements() -> None:
    positions = Positions(TEXT)

    def written(span: Span | None) -> str | None:
        return None if span is None else TEXT[span.start : span.stop]

    assert [written(positions.name(element)) for element in range(4)] == ["net", "layers", "layer", None]
    assert [written(positions.end_tag(element)) for element in range(4)] == ["</net>", "</layers >", None, None]


PIECES = st.sampled_from(
    ["<a>", "</a>", "<b c='1'>", "</b>", "<d/>", '<d e="/>"/>', "<!-- <a> -->", "<![CDATA[</a>]]>", "<?p q?>", "t", " "]
)


@given(st.lists(PIECES, max_size=12).map(lambda pieces: f"<r>{''.join(pieces)}</r>"))
@settings(max_examples=300)
def test_a_text_has_the_elements_that_a_parser_finds(text: str) -> None:
    parser, found = expat.ParserCreate(), []
    parser.StartElementHandler = lambda name, _: found.append((parser.CurrentByteIndex, name))
    try:
        parser.Parse(text, True)
    except expat.ExpatError:
        return
    assert [(start, name) for kind, start, _, name in events(text) if kind in ("start", "empty")] == found
    elements, names = Elements(text, plain=False), []
    while elements._at < len(text):
        if elements.enter():
            names.append(elements.name)
    assert names == [name for _, name in found]
    assert Positions(text).extents().starts == [start for start, _ in found]
