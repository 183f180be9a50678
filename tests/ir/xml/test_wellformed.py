"""expat and libxml2 agree on well-formed texts; libxml2 explains errors."""

from __future__ import annotations

import random
import sys

import pytest

from irexec.core.diagnostics.findings import Findings
from irexec.ir.reader import read_document, read_layers
from irexec.ir.xml import wellformed
from irexec.ir.xml.elements import DEEPEST
from irexec.ir.xml.source import Source

TEXTS = [
    '<?xml version="1.0"?>\n<r a="1" b="x">\n  <b>text</b> <b/><c d="é" e="1"><b a="2" /></c >\n</r>\n',
    "<?xml version='1.0' encoding='UTF-8' ?><r><b/></r>",
    "<r><!-- what --><b a='1'>&lt;&#65;</b><![CDATA[<]]></r>",
    "<r/>",
]
PIECES = [
    *"<>/\"'&= \t\r\n\u00a0\x85\u2003é-:x1?!;", "<!-- c -->", "<!-- -- -->", "<![CDATA[x]]>", "]]>", "<?pi x?>",
    '<?xml version="1.0"?>', "&lt;", "&#65;", "&#0;", "&#x110000;", "&foo;", "&amp", 'xmlns="a"', 'xmlns:a="b"',
    ' a:b="c"', ' xml:space="x"', ' xml:id="1"', ' xml:lang="1"', "<a:b/>", "<:b/>", "<b:/>", "<a:b:c/>", ' :a=""',
    ' a:=""', ' a:b:c=""', "</b>", "<b>", "<b/>", ' a="2"', ' b="é"', "<1/>", "<x a='1'/>", '<x a="<"/>',
    '<x a=">"/>', '<x a="1"b="2"/>', '<x\u00a0a="1"/>', "</b\u00a0>", "<!DOCTYPE r>", "<_a.b-c />", "<xml/>",
    "<é/>", "<\u0130\u0660/>", "<a\u0660/>", "<a\u00b7/>", "<\u00d7/>", "<\ud7ff/>", "<\U00010000/>", "<a\u0300/>",
    "<" + "y" * 40_000 + "/>", f'<x a="{"y" * 70_000}"/>', "<d>" * 80 + "</d>" * 80,
    *["", " ", "<b/>", "\n", "<b> é</b>", ' f="é"'] * 5,
]  # fmt: skip


def mutants(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        text = rng.choice(TEXTS)
        for _ in range(rng.choice([1, 1, 2, 3])):
            begin = rng.randrange(len(text) + 1)
            end = begin + rng.choice([0, 0, 0, 1, 4])
            text = text[:begin] + rng.choice(PIECES) + text[end:]
        found.append(text)
    return found


def test_what_expat_accepts_libxml2_accepts(count: int = 4000) -> None:
    accepted = [text for text in mutants(7, count) if wellformed.is_plain(text)]
    assert count // 20 < len(accepted) < count // 2
    for text in accepted:
        assert list(wellformed.faults(text)) == [], text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<r a="1>', "the text ends inside an attribute value"),
        ("<r a=1/>", "an attribute value is not quoted"),
        ('<r a="1"b="2"/>', "white space is missing between attributes"),
        ("<r", "the text ends inside a tag"),
        ("<r a/>", "an attribute has no value"),
        ('<r =""/>', "the text between attributes is not a valid attribute name"),
        ("<r>< </r>", "'<' does not start an element; write &lt; for the character itself"),
        ("<r>a & b</r>", "'&' does not start an entity; write &amp; for the character itself"),
        ("<r>&lt</r>", "an entity does not end with ';'; write &amp; for the character '&' itself"),
        ("<r><!-- ", "a comment does not end with '-->'"),
        ("<r><!-- -- --></r>", "'--' is not allowed inside a comment"),
        ("<?pi <r/>", "a processing instruction does not end with '?>'"),
        ("<r>" * 1000, "more than 256 elements are nested"),
    ],
)
def test_errors_of_libxml2_are_reported_in_plain_words(text: str, message: str) -> None:
    assert next(wellformed.faults(text)).message == message


@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[1], TEXTS[3]])
def test_libxml2_is_not_asked_about_usual_texts(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    assert Source(text).readable


@pytest.mark.parametrize("piece", ['<b xmlns="a"/>', '<b xmlns:a="b"/>', "<?pi x?>", '<b xml:space="preserve"/>'])
def test_libxml2_is_asked_about_namespaces_and_instructions(piece: str) -> None:
    assert not wellformed.is_plain(f"<r>{piece}</r>")
    assert wellformed.is_plain(f"<r><!-- {piece} --></r>") == ("xml:" not in piece)
    assert Source(f"<r>{piece}</r>").readable


def deep(depth: int) -> str:
    inner = "<attribute>" * (depth - 2) + "</attribute>" * (depth - 2)
    return f'<net name="m" version="11"><rt_info>{inner}</rt_info></net>'


@pytest.mark.parametrize("plain", [True, False])
def test_nested_elements(plain: bool) -> None:
    for depth in (DEEPEST, DEEPEST + 1, 10_000):
        text = deep(depth) if plain else deep(depth).replace("<rt_info>", "<rt_info><!-- c -->")
        findings = Findings((source := Source(text)).locate)
        document = read_document(source, findings)
        assert (document is None) == (depth > DEEPEST)
        found = [finding for finding in findings.report if finding.code == "X005"]
        assert len(found) == (depth > DEEPEST)
        assert all(finding.line == 1 for finding in found)


def test_nested_layers() -> None:
    layer = '<layer id="0" name="a" type="If" version="opset8"><body><layers>'
    for depth in (20, 200):
        text = layer * depth + "</layers></body></layer>" * depth
        findings = Findings((source := Source(text)).locate)
        assert bool(read_layers(source, findings)) == (depth == 20)
        assert any(finding.code == "X005" for finding in findings.report) == (depth == 200)
