"""Snippets: an example as printed becomes layers whose places and values are those of the original text."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict

import pytest
from support.amounts import amount
from support.nets import PASSING
from support.work import MOST, Work

import irexec
from irexec.frontends.pages import listed, notes
from irexec.frontends.pages.listed import ListedValue
from irexec.frontends.pages.reader import Snippet, SnippetPort, read_snippet
from irexec.frontends.pages.repairs import scanner, tree
from irexec.ir.xml import positions, source
from irexec.ir.xml.source import Source

EXAMPLE = """<layer ... reduction="sum" type="ScatterNdUpdate">
    <input>
        <port id="0" precision="FP32">  <!-- data -->
            <dim>4</dim>  <!-- values: [1, 2, 3, 4] -->
        </port>
        <port id="1" precision="I32">  <!-- indices -->
            <dim>5</dim>  <!-- values: [0, 2, -3, -3, 0] -->
        </port>
        <port id="2" precision="FP32">  <!-- updates -->
            <dim>5</dim>  <!-- values: [10, 20, 30, 40, 50] -->
        </port>
    </input>
    <output>
        <port id="3" precision="FP32">
            <dim>4</dim>  <!-- values: [61, 72, 23, 4] -->
        </port>
    </output>
</layer>
"""

MODEL = '<?xml version="1.0"?>\n' + PASSING


def read(text: str | bytes) -> Snippet:
    return read_snippet(
        text, file="page.xml", known_types={"ScatterNDUpdate", "OneHot"}, choose_version=lambda _: "opset15"
    )


def in_port(text: str) -> SnippetPort:
    """Return the first input port of a layer whose input section contains `text`."""
    snippet = read(f'<layer type="OneHot">\n<input>\n{text}\n</input>\n</layer>')
    return snippet.layers[0].inputs[0]


def value_of(port: SnippetPort) -> ListedValue | None:
    return port.listed.value if port.listed is not None else None


def test_an_example_as_printed() -> None:
    snippet = read(EXAMPLE)
    (layer,) = snippet.layers
    assert layer.layer.type == "ScatterNDUpdate" and layer.written_type == "ScatterNdUpdate"
    assert layer.layer.version == "opset15" and layer.written_version is None
    assert layer.layer.data == {"reduction": "sum"}
    assert [port.role for port in layer.inputs] == ["data", "indices", "updates"]
    assert [value_of(port) for port in layer.inputs] == [[1, 2, 3, 4], [0, 2, -3, -3, 0], [10, 20, 30, 40, 50]]
    assert value_of(layer.outputs[0]) == [61, 72, 23, 4]
    place = layer.inputs[1].place
    assert place is not None
    assert (place.file, place.line, place.column) == ("page.xml", 7, 27)
    assert snippet.document is not None and snippet.document.net.layers == (layer.layer,)


def test_findings_of_later_rooms_are_placed_in_the_original_text() -> None:
    snippet = read(EXAMPLE.replace("<dim>5</dim>", "<dim>5x</dim>", 1))
    (finding,) = [f for f in snippet.findings.report if f.code == "P006"]
    assert (finding.line, finding.column) == (7, 18)
    assert snippet.document is not None
    layer = snippet.layers[0].layer
    from irexec.core.diagnostics.findings import At

    type_place = snippet.document.source.locate(At(layer.at, "type"))
    assert (type_place.line, type_place.column, type_place.length) == (1, 34, len("ScatterNdUpdate"))
    moved = snippet.document.source.locate(At(layer.data_at, "reduction"))
    assert (moved.line, moved.column, moved.length) == (1, 23, len("sum"))
    missing = snippet.document.source.locate(At(layer.at, "version"))
    assert (missing.line, missing.column) == (1, 1)
    port = snippet.document.source.locate(At(layer.inputs[1].at))
    assert (port.line, port.column, port.length) == (6, 9, len('<port id="1" precision="I32">'))


@pytest.mark.parametrize(
    ("ports", "value"),
    [
        ('<port id="0"><dim>2</dim> <!-- [1, 2] --></port>', [1, 2]),
        ('<port id="0"> <!-- value: 3 -->\n</port>', 3),
        ('<port id="0"/> <!-- value: 3 -->', 3),
        ('<port id="0">\n<!-- k = 3 -->\n</port>', 3),
        ('<port id="0">\n<dim>2</dim>\n</port> <!-- [1, 2] -->', [1, 2]),
        ('<!-- x: [1, 2] -->\n<port id="0"><dim>2</dim></port>', [1, 2]),
        (
            '<port id="0"> <!-- v: [[1, 2], -->\n<dim>2</dim> <!--     [3, 4]] -->\n<dim>2</dim></port>',
            [[1, 2], [3, 4]],
        ),
        ('<port id="0"><dim>2</dim> <!-- {{1.0f}, -->\n<dim>1</dim>\n</port> <!-- {2.0f}} -->', [[1.0], [2.0]]),
        ('<port id="0">\n<dim>2</dim>\n</port>\n<!-- [1, -->\n<!-- 2] -->', None),
        ('<port id="0"> <!-- [1, -->\n<dim>2</dim>\n</port>\n<!-- 2] -->', [1, 2]),
        ('<port id="0"><dim>2</dim> <!-- {1, 1} -->\n<dim>2</dim> <!-- {1, 2} --></port>', [[1, 1], [1, 2]]),
        ('<port id="0"/> <!-- num: 1 -->\n<dim>4</dim> <!-- [1, 2, 3, 4] -->\n</port>', 1),
        ('<port id="0"><dim>2</dim> <!-- 2 --></port>', None),
        ('<port id="0"><dim>1</dim> <!-- N = 1 --></port>', None),
        ('<port id="0"><dim>1</dim> <!-- axis: 1 --></port>', 1),
        ('<port id="0"><dim>2</dim> <!-- shape: [1, 2] --></port>', [1, 2]),
        ('<port id="0"><dim>2</dim><dim>3</dim> <!-- shape: [2, 3] --></port>', None),
        ('<port id="0"/>\n<port id="1"/> <!-- value: 3 -->', None),
        ('<port id="0" precision="U8"><dim>2</dim> <!-- s = "ab" --></port>', [97, 98]),
        ('<port id="0" precision="STRING"><dim>1</dim> <!-- s = ["ab"] --></port>', ["ab"]),
        ('<port id="0"><dim>2</dim> <!-- values: [[1, 2], [3 --></port>', [[1, 2], [3]]),
    ],
)
def test_the_place_of_a_comment_determines_its_port(ports: str, value: ListedValue | None) -> None:
    assert value_of(in_port(ports)) == value


def test_other_comments_are_remarks() -> None:
    port = in_port('<port id="0"> <!-- `X` input data -->\n<dim>2</dim> <!-- batch -->\n</port>')
    assert port.role == "X"
    assert port.remarks == ("`X` input data", "batch")


def test_brackets_that_do_not_match_are_reported() -> None:
    snippet = read(EXAMPLE.replace("[1, 2, 3, 4]", "[1, 2, 3, 4])"))
    assert value_of(snippet.layers[0].inputs[0]) == [1, 2, 3, 4]
    assert [(f.line, f.column) for f in snippet.findings.report if f.code == "Q028"] == [(4, 27)]


def test_a_well_formed_model_is_not_touched() -> None:
    snippet = read(MODEL)
    assert snippet.written == MODEL and not snippet.repairs and not snippet.layers
    assert snippet.document is not None and len(snippet.document.net.layers) == 2
    assert snippet.findings.report.ok


def test_a_broken_model_is_fixed_but_not_completed() -> None:
    snippet = read(MODEL.replace("<dim>2</dim></port></output>", "<dim>2/dim></port>").replace(' name="x"', ""))
    assert snippet.document is not None and len(snippet.document.net.layers) == 2
    found = {f.code: f.line for f in snippet.findings.report}
    assert found["Q007"] == 6
    assert found["L001"] == 4


def test_words_around_the_layers_are_passed_over() -> None:
    page = f"OneHot-15\n\nFor i <data.rank . . ., x > 0 ...\n\nif a <b.\n\n*Example*\n\n{EXAMPLE}\n<p>The end</p>\n"
    snippet = read(page)
    assert [layer.layer.data for layer in snippet.layers] == [{"reduction": "sum"}]
    assert value_of(snippet.layers[0].outputs[0]) == [61, 72, 23, 4]
    around = [f for f in snippet.findings.report if f.line is not None and not 9 <= f.line <= 25]
    assert {f.code for f in around} == {"Q025"}


def test_bytes_are_decoded() -> None:
    encoded, plain = (read(text).layers for text in (EXAMPLE.encode("utf-16"), EXAMPLE))
    assert [asdict(layer) for layer in encoded] == [asdict(layer) for layer in plain]
    assert [f.code for f in read(b"\xff\xff\xff").findings.report] == ["X006"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "Q029"),
        ("just words", "Q029"),
        ("<port id='0'/>", "Q029"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><layer type="OneHot"/>', "X002"),
        ('<layer type="OneHot"><!ENTITY b "c"></layer>', "X002"),
        ("<rt_info>" * 1000, "X005"),
    ],
)
def test_what_is_not_an_example_is_refused(text: str, code: str) -> None:
    snippet = read(text)
    assert snippet.document is None
    assert code in [f.code for f in snippet.findings.report.errors]


def test_reading_the_written_text_again_changes_nothing() -> None:
    first = read(EXAMPLE)
    second = read(first.written)
    assert not second.repairs
    for a, b in zip(first.layers, second.layers, strict=True):
        assert [value_of(port) for port in (*a.inputs, *a.outputs)] == [
            value_of(port) for port in (*b.inputs, *b.outputs)
        ]
        assert a.layer.data == b.layer.data


@pytest.mark.by_hand(0)
def test_mutants_never_raise_and_every_finding_has_a_place() -> None:
    pieces = [
        *"<>/\"'=!-.… \n[]{}&;0",
        "<!--",
        "-->",
        "<dim>",
        "</port>",
        "<layer",
        "...",
        "<![CDATA[",
        "<xml>",
        "\x00",
    ]
    rng = random.Random(20)
    for _ in range(amount(1500, 400)):
        text = rng.choice((EXAMPLE, MODEL))
        for _ in range(rng.choice((1, 1, 2, 4))):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(pieces) + text[at + rng.choice((0, 1, 5, 40)) :]
        snippet = read(text)
        assert all(f.line and f.column for f in snippet.findings.report), text
        assert snippet.document is not None or snippet.findings.report.errors, text


LAYER = "<layer type='OneHot'><input>{}</input></layer>"
HOSTILE: dict[str, Callable[[int], str]] = {
    "layers": lambda n: '<layer type="OneHot">' * n,
    "blanks": lambda n: "<" + " " * n,
    "comments that do not end": lambda n: "<!--\n" * n,
    "quotes that do not end": lambda n: "<layer " + 'a="' * n,
    "words": lambda n: LAYER.format("<port id='0'/><!-- " + "is " * n + "-->"),
    "brackets": lambda n: LAYER.format("<port id='0'/><!-- values: " + "[" * n + "-->"),
    "lists that do not end": lambda n: LAYER.format("<port id='0'/>" + "<!-- [[1, -->" * n),
    "a list over many lines": lambda n: LAYER.format("<port id='0'/>\n<!-- [1, -->\n" + "<!-- 2, -->\n" * n),
    "a list over many comments": lambda n: LAYER.format("<port id='0'><!-- [1, -->" + "<!-- 2, -->" * n + "</port>"),
    "text": lambda n: "dim " * n,
}


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("text", HOSTILE)
def test_work_grows_no_faster_than_hostile_text(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, [scanner, tree, listed, notes, source, positions])
    assert work.growth(lambda size: lambda: read(HOSTILE[text](size)), 150) < MOST


def test_a_snippet_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = Source._parse

    def counting(source: Source) -> None:
        parsed.append(source.text)
        parse(source)

    monkeypatch.setattr(Source, "_parse", counting)
    port = '<port id="0" precision="FP32"><dim>2</dim></port>'
    text = f'<layer type="ReLU"><input>{port}</input><output>{port.replace("0", "1", 1)}</output></layer>'
    assert irexec.validate(text.encode()).ok
    assert len(parsed) == 1
