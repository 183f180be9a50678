"""Elements in a text: the same names, attributes and texts as in the tree of another parser."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from irexec.ir.xml.elements import PLAIN, Elements, dereferenced
from irexec.ir.xml.source import Source

VALUES = ["", "1", "a b", ">", "/>", "a='b'", "&lt;&#65;&#x42;&amp;amp;&quot;", "é\t\n\r\nx\ry", "&#10;", "&#13;", "]]"]
TEXTS = [
    "",
    " \n",
    "text",
    "&lt;b>&#x20;",
    "<!-- <x a='1'> -->",
    "<![CDATA[<y>&lt;]]>",
    "<?pi <z> ?>",
    "a\r\nb\rc",
    "'\"",
]
Found = tuple[int, str, list[tuple[str, str]], str | None]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw well-formed texts with constructs that make elements hard to read."""
    rng = random.Random(draw(st.integers(0, 2**32)))

    def element(depth: int) -> str:
        name, attributes = rng.choice(["a", "b-c", "d.e", "ü"]), ""
        for number in range(rng.randint(0, 3)):
            quote = rng.choice("'\"")
            value = rng.choice(VALUES).replace(quote, "")
            attributes += f"{rng.choice([' ', chr(10), '  '])}k{number}{rng.choice(['=', ' = '])}{quote}{value}{quote}"
        if depth == 0 or rng.random() < 0.3:
            return f"<{name}{attributes}{rng.choice(['/>', ' />', f'></{name}>'])}"
        parts = [rng.choice(TEXTS) + element(depth - 1) + rng.choice(TEXTS) for _ in range(rng.randint(0, 3))]
        return f"<{name}{attributes}>{rng.choice(TEXTS)}{''.join(parts)}</{name} >"

    return rng.choice(["", "<?xml version='1.0'?>\n", "<!-- <a> -->"]) + element(4) + rng.choice(["", "\n<!-- e -->"])


def walked(elements: Elements) -> list[Found]:
    """Return every element: number, name, attributes, and the text before its first child."""
    own = (elements.number, elements.name, list(elements.attributes))
    below: list[Found] = []
    text = None
    inside = not elements.is_empty
    while inside:
        inside = elements.enter()
        text = elements.text() if not below else text
        below += walked(elements) if inside else []
    return [(*own, text), *below]


def parsed(text: str) -> list[Found]:
    parser = etree.XMLParser(remove_comments=True, remove_pis=True)
    found = []
    for number, element in enumerate(etree.fromstring(text.encode(), parser).iter()):
        inside = element.text if (element.text or "").strip() else None
        found.append((number, element.tag, element.items(), inside))
    return found


@given(documents())
def test_they_are_those_of_a_tree(text: str) -> None:
    source = Source(text)
    assert source.readable and not source.problems
    assert walked(source.elements()) == parsed(text)


@given(documents())
def test_the_short_way_is_the_long_way(text: str) -> None:
    short, long = Elements(text), Elements(text, plain=False)
    assert short.enter() and long.enter()
    assert walked(short) == walked(long)


def test_text_after_an_element_is_not_one_of_its_attributes() -> None:
    elements = Source('<a><b c="1" />d="2"/></a>').elements()
    assert elements.enter() and list(elements.attributes) == [("c", "1")]
    assert not elements.enter()
    assert elements.text() == 'd="2"/>'


def test_what_is_not_read_is_skipped() -> None:
    elements = Source("<a><b><c/>x<d><e/></d></b><!-- <f/> --><g/></a>").elements()
    found = []
    for name in elements.children():
        found.append((name, elements.number))
        elements.skip()
    assert found == [("b", 1), ("g", 5)]
    assert elements.number == 5


def test_whole_elements_are_taken_by_a_pattern() -> None:
    elements = Source('<a>\n <b c="1"/><b c="2"/>\n<b c="&gt;"/></a>').elements()
    pattern = re.compile(rf'\s*+<b c="({PLAIN})"/>')
    assert [elements.take(pattern)[1] for _ in range(2)] == ["1", "2"]
    # This element is not read as it is written.
    assert elements.take(pattern) is None
    assert elements.enter() and list(elements.attributes) == [("c", ">")]
    assert not elements.enter()


@pytest.mark.parametrize(
    ("inside", "may"),
    [("<b/>\n", False), ("<b/>text", True), ("<b><![CDATA[text]]></b>", True), ("<b>\xa0</b>", True)],
    ids=["blanks", "text", "character data", "a character that XML does not call a blank"],
)
def test_whether_there_may_be_text(inside: str, may: bool) -> None:
    elements = Source(f'<?xml version="1.0"?>\n<!-- text --><a>\n{inside}</a>').elements()
    elements.skip()
    assert elements.may_hold_text is may


@pytest.mark.parametrize(
    ("text", "name", "attributes"),
    [
        ('<a x="1" x="2"/>', "a", [("x", "1")]),
        ('<a xmlns="urn:u" xmlns:p="urn:v" p:x="1" x="2"/>', "a", [("p:x", "1"), ("x", "2")]),
        ('<p:a p:x="1"/>', "p:a", [("p:x", "1")]),
        (' <?xml version="1.0"?><a/>', "a", []),
        ("<a/><b/>", "a", []),
    ],
    ids=["repeated", "namespaces", "undeclared", "late declaration", "content after the root"],
)
def test_what_can_be_read_though_it_is_odd(text: str, name: str, attributes: list[tuple[str, str]]) -> None:
    source = Source(text)
    assert source.readable
    elements = source.elements()
    assert (elements.name, list(elements.attributes)) == (name, attributes)
    assert list(elements.children()) == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a &lt;&amp;lt; b", "a <&lt; b"),
        ("&#65;&#x41;&#x1F600;", "AA\U0001f600"),
        (f"&#{'0' * 9000}65;&#x{'0' * 9000}41;", "AA"),
        ("&#38;lt;", "&lt;"),
        ("&#0; &#xD800; &#x110000; &#99999999; &nbsp; &", "&#0; &#xD800; &#x110000; &#99999999; &nbsp; &"),
    ],
)
def test_references(written: str, meant: str) -> None:
    assert dereferenced(written) == meant
