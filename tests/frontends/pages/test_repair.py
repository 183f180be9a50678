"""Repairs: each error of a printed example is corrected by a general rule and reported at its place."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from lxml import etree

from irexec.frontends.pages.reader import Snippet, read_snippet
from irexec.frontends.pages.repairs.names import known_type, version_from_name

TYPES = {"Abs", "Relu", "ReLU", "NonMaxSuppression", "MulticlassNms", "MatrixNms", "ScatterNDUpdate", "GRUCell", "Atan"}


def read(text: str, **options: object) -> Snippet:
    return read_snippet(text, known_types=TYPES, choose_version=lambda _: "opset1", **options)  # type: ignore[arg-type]


def codes(snippet: Snippet) -> set[str]:
    """Return the repairs except those that nearly every example needs: id, name, version, precision."""
    return {finding.code for finding in snippet.findings.report} - {"Q018", "Q019", "Q020", "Q021"}


def dims(snippet: Snippet) -> list[list[list[str]]]:
    return [
        [[text.strip() for text in port.port.dims] for port in side]
        for layer in snippet.layers
        for side in (layer.inputs, layer.outputs)
    ]


CLEAN = """<layer id="0" name="a" type="Abs" version="opset1">
    <data axis="1"/>
    <input>
        <port id="0" precision="FP32">
            <dim>2</dim>
            <dim>5</dim>
        </port>
        <port id="1" precision="I64"/>
    </input>
    <output>
        <port id="2" precision="FP32">
            <dim>2</dim>
            <dim>5</dim>
        </port>
    </output>
</layer>
"""


class Slip(NamedTuple):
    """The wrong text in place of a part of CLEAN, and the expected place of the finding."""

    code: str
    clean: str
    printed: str
    at: str


SLIPS = [
    Slip("Q001", "<layer ", "<layer ... ", "..."),
    Slip("Q001", 'type="Abs"', 'type="Abs"…', "…"),
    Slip("Q001", "<data ", "<data ... ", "..."),
    Slip("Q001", "<layer ", "<layer... ", "..."),
    Slip("Q002", "<layer ", "<... ", "<..."),
    Slip("Q005", "    </input>\n", "", "<input>"),
    Slip("Q005", "</layer>", "", "<layer"),
    Slip("Q005", "        </port>\n    </output>", "    </output>", '<port id="2"'),
    Slip(
        "Q005",
        '<dim>2</dim>\n            <dim>5</dim>\n        </port>\n        <port id="1"',
        '<dim>2\n<dim>5</dim></port><port id="1"',
        "<dim>2",
    ),
    Slip("Q005", '<data axis="1"/>', '<data axis="1">', "<data"),
    Slip("Q005", "    <output>\n", "", '<port id="2"'),
    Slip("Q006", "<dim>5</dim>", "<dim>5</xdim>", "</xdim>"),
    Slip("Q006", "    </input>", "    </inptu>", "</inptu>"),
    Slip("Q006", "    </input>", "    </output>", "</output>"),
    Slip("Q006", "    </input>", "    <input>", "    <input>\n    <output>"),
    Slip("Q006", "<dim>5</dim>", "<dim>5<dim>", "<dim>\n"),
    Slip("Q006", "</layer>", "</layer></layer>", "</layer>\n"),
    Slip("Q007", "<dim>5</dim>", "<dim>5/dim>", "/dim>\n        </port>\n        <port"),
    Slip("Q007", "<dim>5</dim>", "dim>5</dim>", "dim>5"),
    Slip("Q007", "<dim>5</dim>", "<dim>5</dim", "</dim\n"),
    Slip("Q007", '<port id="1" precision="I64"/>', 'port id="1" precision="I64"/>', 'port id="1"'),
    Slip("Q008", '<port id="0" precision="FP32">', '<port id="0" precision="FP32"/>', '<port id="0"'),
    Slip("Q009", 'id="0" name="a"', 'id="0", name="a"', ", name"),
    Slip("Q009", 'id="0" name="a"', 'id="0" foo name="a"', "foo"),
    Slip("Q010", 'axis="1"', "axis=1", "1/>"),
    Slip("Q010", 'axis="1"', "axis=“1”", "“1”"),
    Slip("Q010", 'id="0" name="a"', 'id="0 name="a"', '"0 name'),
    Slip("Q010", 'axis="1"', 'axis "1"', "axis"),
    Slip("Q011", "<input>", "<input>< !-- note -->", "< !--"),
    Slip("Q011", "<input>", "<input><!-- note", "<!-- note"),
    Slip("Q012", "<layer ", '<xml version="1.0">\n<layer ', "<xml"),
    Slip("Q012", "<layer ", '<?xml version="1.0">\n<layer ', "<?xml"),
    Slip("Q034", "    <output>", "    <output>\n    <output>", "<output>\n        <port"),
    Slip("Q013", '<port id="0" precision="FP32">', '<port id="0" precision="FP32">>', ">\n            <dim>2"),
    Slip("Q014", '<data axis="1"/>', '<data>axis="1"</data>', 'axis="1"'),
    Slip("Q016", '</port>\n        <port id="1"', '</port></input><input><port id="1"', '<input><port id="1"'),
    Slip(
        "Q017",
        '<layer id="0" name="a" type="Abs" version="opset1">\n    <data axis="1"/>',
        '<layer id="0" name="a" type="Abs" version="opset1" axis="1">',
        '1">',
    ),
    Slip("Q022", 'type="Abs"', 'type="abs"', 'abs"'),
    Slip(
        "Q023",
        'id="2"',
        'id="0"',
        '0" precision="FP32">\n            <dim>2</dim>\n            <dim>5</dim>\n        </port>\n    </output>',
    ),
    Slip("Q024", 'id="2"', 'id="7"', '7"'),
    Slip("Q025", "<input>", "<input> some words", "some words"),
    Slip("Q026", "<input>", "<Input>", "<Input>"),
    Slip("Q026", "<output>", "<ouput>", "<ouput>"),
    Slip("Q027", 'axis="1"', 'axis="1" axis="2"', '2"/>'),
    Slip("Q030", '<port id="2" ', "<port ", "<port precision"),
    Slip("Q031", 'id="2" precision="FP32"', 'id="2" precision="F32"', 'F32"'),
]


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.code}-{slip.printed[:20]!r}")
def test_a_slip_is_fixed_and_reported(slip: Slip) -> None:
    assert CLEAN.count(slip.clean) >= 1
    printed = CLEAN.replace(slip.clean, slip.printed, 1)
    snippet = read(printed)
    assert codes(snippet) >= {slip.code}
    offset = printed.index(slip.at)
    line = printed.count("\n", 0, offset) + 1
    column = offset - (printed.rfind("\n", 0, offset) + 1) + 1
    found = [(f.line, f.column) for f in snippet.findings.report if f.code == slip.code]
    blanks = len(slip.at) - len(slip.at.lstrip())
    assert (line, column + blanks) in found
    # the clean example is the intended one
    (layer,) = snippet.layers
    assert dims(snippet) == dims(read(CLEAN))
    assert (layer.layer.type, layer.layer.data) == ("Abs", {"axis": "1"})
    assert [port.port.id for port in (*layer.inputs, *layer.outputs)] == ["0", "1", "2"]
    etree.fromstring(snippet.written.encode())


def test_a_clean_layer_needs_no_repair() -> None:
    snippet = read(CLEAN)
    assert not snippet.repairs
    assert len(snippet.findings.report) == 0
    assert snippet.layers[0].layer.name == "a"


def test_what_is_left_out_is_completed_and_reported() -> None:
    snippet = read('<layer type="Abs"><input><port id="0"/></input><output><port id="1"/></output></layer>')
    layer = snippet.layers[0].layer
    assert (layer.id, layer.name, layer.version) == ("0", "Abs", "opset1")
    assert {f.code for f in snippet.findings.report} == {"Q018", "Q019", "Q020", "Q021"}
    assert {str(f.severity) for f in snippet.findings.report} == {"warning"}


def test_strict_makes_repairs_errors() -> None:
    snippet = read(CLEAN.replace("<layer", "<layer ..."), strict=True)
    assert [(f.code, str(f.severity)) for f in snippet.findings.report] == [("Q001", "error")]


def test_several_layers_get_ids_and_names_of_their_own() -> None:
    snippet = read('<layer id="1" type="Abs"/><layer id="1" type="Abs"/>\n<layer type="Relu"/>')
    assert [(item.layer.id, item.layer.name) for item in snippet.layers] == [
        ("1", "Abs"),
        ("0", "Abs_1"),
        ("2", "Relu"),
    ]
    assert "Q004" in codes(snippet)


def test_an_ellipsis_for_content_leaves_the_shape_open() -> None:
    snippet = read('<layer type="Abs"><input><port id="0">...</port></input><output> … </output></layer>')
    (layer,) = snippet.layers
    assert layer.inputs[0].elided
    assert layer.elided == {"output"}
    assert "Q003" in codes(snippet)


def test_the_precision_of_an_old_layer_goes_to_its_outputs() -> None:
    snippet = read(CLEAN.replace('id="2" precision="FP32"', 'id="2"').replace("<layer", '<layer precision="FP16"'))
    assert snippet.layers[0].outputs[0].port.precision == "FP16"
    assert codes(snippet) == {"Q017"}


def test_a_text_that_is_cut_off_keeps_what_is_there() -> None:
    snippet = read(CLEAN[: CLEAN.index("<dim>5</dim>")])
    assert codes(snippet) == {"Q015"}
    assert dims(snippet) == [[["2"]], []]


def test_layers_in_a_body_are_completed_but_keep_their_ids() -> None:
    body = """<layer type="TensorIterator"><output><port id="5" precision="FP32"/></output>
        <port_map><output external_port_id="0" internal_layer_id="9"/></port_map>
        <body><layers>
            <layer id="4" type="Parameter"><data element_type="f32" shape=""/><output><port id="3"/></output></layer>
            <layer id="9" type="Result"><input><port id="8"/></input></layer>
        </layers><edges><edge from-layer="4" from-port="3" to-layer="9" to-port="8"/></edges></body></layer>"""
    snippet = read(body)
    layer = snippet.layers[0].layer
    assert layer.body is not None and layer.port_map is not None
    assert [(inner.id, inner.name, inner.version) for inner in layer.body.layers] == [
        ("4", "Parameter", "opset1"),
        ("9", "Result", "opset1"),
    ]
    assert layer.port_map[0].external_port_id == layer.outputs[0].id == "5"
    assert codes(snippet) >= {"Q032"}
    assert not {code for code in codes(snippet) if code.startswith("E")}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Abs", "Abs"),
        ("abs", "Abs"),
        ("relu", "ReLU"),
        ("ScatterNdUpdate", "ScatterNDUpdate"),
        ("ScaterNDUpdate", "ScatterNDUpdate"),
        ("MulticlassNonMaxSuppression", "MulticlassNms"),
        ("MatrixNonMaxSuppression", "MatrixNms"),
        ("AUGRUCell", None),
        ("Atan2", None),
        ("Convolution", None),
        ("", None),
    ],
)
def test_the_nearest_known_type(written: str, meant: str | None) -> None:
    assert known_type(written, TYPES) == meant


@pytest.mark.parametrize(
    ("path", "operator", "version"),
    [
        ("ScatterNDUpdate_3.md", "ScatterNDUpdate", "3"),
        ("pages/slice-scatter-15/2.xml", "SliceScatter", "15"),
        ("scatter-nd-update-15.page.txt", "ScatterNDUpdate", "15"),
        ("scatter-nd-update-15@ab12.rst", "ScatterNDUpdate", "15"),
        ("001_ScatterNDUpdate-15/5.xml", "ScatterNDUpdate", "15"),
        ("matrix-non-max-suppression-8.rst", "MatrixNms", "8"),
        ("atan2-17.rst", "Atan2", "17"),
        ("atan2-17.rst", "Atan", None),
        ("ReduceL1_4/3.xml", "ReduceL1", "4"),
        ("scatter_nd_update/example_2.xml", "ScatterNDUpdate", None),
        ("add-1/c.xml", "Multiply", None),
        ("", "Abs", None),
    ],
)
def test_the_version_that_a_name_gives(path: str, operator: str, version: str | None) -> None:
    assert version_from_name(path, operator) == version
