"""The text of a file: rejections before any element is read, and positions."""

from __future__ import annotations

import random
import re
from xml.parsers import expat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irexec.core.diagnostics.findings import At
from irexec.ir.xml.events import Span
from irexec.ir.xml.positions import Positions
from irexec.ir.xml.source import Limits, Source

NET = '<net name="m" version="11"/>'

REFUSED = [
    (b"", "X008", 1, 1),
    (b" \n\n ", "X008", 3, 1),
    (b"this is not xml", "X008", 1, 1),
    (b"\n  plain", "X008", 2, 3),
    (b"PK\x03\x04", "X008", 1, 1),
    (b"<?xml version='1.0'?>\n<!-- only -->", "X008", 2, 13),
    (b"<!DOCTYPE html><html><body>404</body></html>", "X008", 1, 1),
    (b"<html><body>404</body></html>", "X008", 1, 1),
    (b'<?xml version="1.0"?>\n<!DOCTYPE net [<!ENTITY a "b">]>\n<net/>', "X002", 2, 1),
    (b'<?xml version="1.0"?><!-- c -->\n <!DOCTYPE net SYSTEM "file:///etc/passwd"><net/>', "X002", 2, 2),
    (b'<!DOCTYPE net [<!ENTITY % p SYSTEM "file:///etc/hostname"> %p;]><net/>', "X002", 1, 1),
    (b"<!doctype net><net/>", "X002", 1, 1),
    (b"<net>\n  &x;</net>", "X002", 2, 6),
    (b'<net a="&x;"/>', "X002", 1, 12),
    (b"<net>&#1;</net>", "X007", 1, 10),
    (b"<net a='\x00'/>", "X007", 1, 9),
    (b"<net>\n\x0b</net>", "X007", 2, 1),
    (b"<a>\xff</a>", "X006", 1, 4),
    (b"<a>\n\xc3\xa4 \xc3</a>", "X006", 2, 3),
    (b'<?xml version="1.0" encoding="UTF-7"?><net/>', "X006", 1, 31),
    (b'<?xml version="1.0" encoding="UTF-16"?><net/>', "X006", 1, 31),
    (b'<?xml version="1.0" encoding="windows-1252"?><net/>', "X006", 1, 31),
    ('<?xml version="1.0" encoding="us-ascii"?><net a="ä"/>'.encode(), "X006", 1, 50),
    (NET.encode("utf-32"), "X006", 1, 1),
    (NET.encode("utf-32-le"), "X006", 1, 1),
    ("\ufeff".encode("utf-16-be") + b"\0<\0n\xd8\x00", "X006", 1, 3),
    (b"<net>", "X001", 1, 5),
    (b"<net>\n<a></b>\n</net>", "X001", 2, 4),
    (b"<net a=1/>", "X001", 1, 8),
    (b"<net a='1' b='<'/>", "X001", 1, 15),
    (b"<net " + b"<a " * 1000, "X001", 1, 6),
    (b"<net/><!--", "X001", 1, 11),
]


@pytest.mark.parametrize(("data", "code", "line", "column"), REFUSED)
def test_refused(data, code, line, column, read_ir) -> None:
    outcome = read_ir(data)
    assert outcome.places[0] == (code, line, column)
    assert all(str(finding.severity) == "error" for finding in outcome.found)


def test_every_parser_error_is_reported(read_ir) -> None:
    outcome = read_ir('<net>\n<a b="1" b="2"/>\n<c d=3/>\n</net>')
    assert {(code, line) for code, line, _ in outcome.places} >= {("X003", 2), ("X001", 3)}
    assert outcome.document is None


def test_entities_are_never_expanded(read_ir) -> None:
    bomb = '<!DOCTYPE n [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    outcome = read_ir(bomb + "]>\n<net>&i;</net>")
    assert outcome.places == [("X002", 1, 1)]


def test_predefined_entities_are_decoded() -> None:
    elements = Source('<net name="&lt;&amp;&#228;&quot;&apos;&gt;"/>').elements()
    assert dict(elements.attributes)["name"] == "<&ä\"'>"


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\xef\xbb\xbf" + '<net name="ä" version="11"/>'.encode(), "ä"),
        ('<net name="ä" version="11"/>'.encode("utf-16"), "ä"),
        ('<?xml version="1.0" encoding="UTF-16"?><net name="ä"/>'.encode("utf-16-le"), "ä"),
        ('<net name="ä"/>'.encode("utf-16-be"), "ä"),
        (b"<?xml version='1.0' encoding='ISO-8859-1'?><net name='\xe4'/>", "ä"),
        (b"\n \t<!-- c --><?pi?>\n<net name='a' version='11'/>\n<!-- end -->\n", "a"),
    ],
)
def test_encodings_that_are_read(data, name) -> None:
    source = Source.from_bytes(data)
    assert source.problems == []
    assert dict(source.elements().attributes)["name"] == name


def test_a_default_namespace_is_ignored_and_a_prefix_is_not(model, read_ir) -> None:
    assert read_ir(model.replace("<net ", '<net xmlns="urn:any" ')).codes == []
    prefixed = model.replace("<net ", '<i:net xmlns:i="urn:any" ').replace("</net>", "</i:net>")
    assert read_ir(prefixed).codes == ["N001"]
    undeclared = read_ir(model.replace("<rt_info/>", "<rt_info>\n<a:b value='1'/></rt_info>"), "openvino")
    assert [(finding.code, finding.line, str(finding.severity)) for finding in undeclared.found] == [
        ("X010", 26, "warning")
    ]


def test_openvino_mode_continues_where_openvino_does(model, read_ir, openvino_agrees) -> None:
    twice = model.replace('name="a"', 'name="a"\n name="b"')
    outcome = read_ir(twice, "openvino")
    assert outcome.places == [("X003", 9, 8)]
    assert outcome.found[0].related[0].place.line == 8
    assert outcome.document.net.layers[1].name == "a"
    after = read_ir(model + "<b>&lt;</b> text", "openvino")
    assert [(f.code, f.line, f.column, str(f.severity)) for f in after.found] == [("X004", 27, 1, "warning")]
    assert len(after.document.net.layers) == 3
    late = read_ir(" " + model, "openvino")
    assert [(finding.code, str(finding.severity)) for finding in late.found] == [("X011", "warning")]
    assert read_ir(model + "<b/>").codes == ["X004"]
    assert openvino_agrees(twice)
    assert openvino_agrees(model + "<b/> text")
    assert openvino_agrees(" " + model)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("<net>" + "<a>" * 300 + "</a>" * 300 + "</net>", Limits()),
        ("<net>" + "<a/>" * 11 + "</net>", Limits(elements=10)),
        ("<net " + " ".join(f'a{n}="1"' for n in range(11)) + "/>", Limits(attributes=10)),
        (NET + " " * 100, Limits(size=100)),
        ('<net a="' + "x" * 10_000_001 + '"/>', Limits()),
        ("<net><a>" + "x" * 10_000_001 + "</a></net>", Limits()),
    ],
    ids=["depth", "elements", "attributes", "size", "attribute length", "text length"],
)
def test_limits(text, limits, read_ir) -> None:
    (finding,) = read_ir(text, limits=limits).found
    assert finding.code == "X005"
    assert finding.line == 1


def test_a_file_that_cannot_be_read(tmp_path, read_ir) -> None:
    for path in (tmp_path / "missing.xml", tmp_path):
        source = Source.from_path(path)
        assert not source.readable
        assert [problem.code for problem in source.problems] == ["U001"]
        assert source.place(source.problems[0].span).file == str(path)
    (tmp_path / "m.xml").write_text(NET)
    assert dict(Source.from_path(tmp_path / "m.xml").elements().attributes)["name"] == "m"


PLACES = '<a\n  b = "1>2"\n\tc=\'x"y\'>\n<!-- <z> --><d e="é" f="g"/>\n  <h><![CDATA[t]]></h><i> <j/> u </i></a>'


@pytest.mark.parametrize(
    ("at", "line", "column", "length"),
    [
        (At(0), 1, 1, 2),
        (At(0, "b"), 2, 8, 3),
        (At(0, "c"), 3, 5, 3),
        (At(0, "none"), 1, 1, 2),
        (At(1), 4, 13, 16),
        (At(1, "e"), 4, 19, 1),
        (At(1, "f"), 4, 25, 1),
        (At(1, "#text"), 4, 13, 16),
        (At(2, "#text"), 5, 15, 1),
        (At(3, "#text"), 5, 32, 1),
        (At(4), 5, 27, 4),
        (At(99), 1, 1, 1),
    ],
)
def test_places(at, line, column, length) -> None:
    place = Source(PLACES, file="f").locate(at)
    assert (place.line, place.column, place.length) == (line, column, length)
    assert place.source_line == PLACES.split("\n")[line - 1]


def test_places_in_a_text_that_was_repaired() -> None:
    original = "a line more\n<net ... name='m'/>"
    source = Source("<net name='m'/>", remap=lambda span: Span(span.start + 16, span.length), display_text=original)
    place = source.locate(At(0, "name"))
    assert (place.line, place.column, place.source_line) == (2, 16, "<net ... name='m'/>")


def test_comments_and_their_neighbours() -> None:
    text = "<!--0--><a><!--1--><b><c/><!--2--></b><!--3--><d>5<!--4--></d></a><!--5-->"
    found = [(c.text, c.parent, c.previous, c.latest) for c in Source(text).positions.comments()]
    assert found == [
        ("0", -1, -1, -1),
        ("1", 0, -1, 0),
        ("2", 1, 2, 2),
        ("3", 0, 1, 2),
        ("4", 3, -1, 3),
        ("5", -1, 0, 3),
    ]


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw well-formed texts with constructs that make tags hard to find."""
    rng = random.Random(draw(st.integers(0, 2**32)))

    def element(depth: int) -> str:
        values = ["", ">", "a='b'", "/>", "&lt;", "é", "\n", "]]", "--"]
        attributes = "".join(
            f'{rng.choice([" ", chr(10)])}k{n} = "{rng.choice(values)}"' for n in range(rng.randint(0, 3))
        )
        if depth == 0 or rng.random() < 0.3:
            return f"<e{attributes}{rng.choice(['/>', ' />', '></e>'])}"
        extra = ["", "text", "<!-- <x> -- ", "<![CDATA[<y>]]>", "<?pi <z> ?>", "\n"]
        parts = [rng.choice(extra).replace(" -- ", " -->") + element(depth - 1) for _ in range(rng.randint(0, 3))]
        return f"<e{attributes}>{''.join(parts)}</e>"

    return element(4)


@given(documents())
def test_positions_are_those_of_another_parser(text) -> None:
    starts: list[int] = []
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = lambda name, attributes: starts.append(parser.CurrentByteIndex)
    parser.Parse(text.encode(), True)
    positions = Positions(text)
    data = text.encode()
    assert [len(data[:start].decode()) for start in starts] == [positions.tag(n).start for n in range(len(starts))]
    assert positions.tag(len(starts)) is None
    for number in range(len(starts)):
        for name, span, _ in positions.attributes(number):
            assert re.fullmatch(r"k\d", name)
            assert text[span.start - 1] == text[span.start + span.length] == '"'


def test_lines_and_offsets() -> None:
    positions = Positions("ab\n\ncd")
    assert [positions.line_column(offset) for offset in (0, 2, 3, 4, 6)] == [(1, 1), (1, 3), (2, 1), (3, 1), (3, 3)]
    assert [positions.offset(*place) for place in ((1, 1), (3, 2), (9, 9), (0, 0))] == [0, 5, 6, 0]
    assert positions.tag(0) is None
    assert Span(0, 1).length == 1


@pytest.mark.parametrize(
    ("text", "message", "place", "opened"),
    [
        (
            "<net>\n <layers>\n  <layer>\n </layers>\n</net>",
            "<layer> is not closed before </layers>",
            (4, 2),
            3,
        ),
        ("<net>\n <layers>\n", "<layers> is not closed before the end of the text", (2, 9), 2),
        ("<net>\n <a/>\n </b>\n</net>", "</b> does not match an open element", (3, 2), 1),
    ],
)
def test_an_element_that_is_not_closed_is_named_once(text, message, place, opened) -> None:
    (problem,) = Source(text).problems
    assert (problem.code, problem.message) == ("X001", message)
    source = Source(text)
    assert (source.place(problem.span).line, source.place(problem.span).column) == place
    assert source.place(problem.related[0][1]).line == opened


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"PK\x03\x04\x14", "a ZIP archive"),
        (b"\x7fELF\x02\x01", "an ELF file"),
        (b"\x08\x08\x12\x07pytorch\x1a\x032.1", "a protobuf file, possibly an ONNX model"),
        (b"\x1f\x8b\x08", "a gzip archive"),
        (b"\x93NUMPY\x01\x00", "a NumPy array"),
        (b"\x1c\x00\x00\x00TFL3", "a TensorFlow Lite model"),
        (b"\xcd\xcc\xcc=", "a binary file"),
    ],
)
def test_what_is_not_text_is_called_by_its_name(data, name) -> None:
    (problem,) = Source.from_bytes(data + bytes(20)).problems
    assert problem.code == "X008"
    assert name in problem.message
