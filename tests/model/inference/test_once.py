"""One cause is one finding, whichever room detects it first."""

from __future__ import annotations

import pytest

import irexec

X = """<layer id="0" name="x" type="Parameter" version="opset1">
    <data shape="2,3" element_type="f32"/>
    <output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
</layer>"""
RELU = """<layer id="1" name="relu" type="ReLU" version="opset1">
    <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
    <output><port id="1" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
</layer>"""
Y = """<layer id="2" name="y" type="Result" version="opset1">
    <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
</layer>"""
EDGES = """<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>"""
MODEL = f'<net name="m" version="11"><layers>{X}{RELU}{Y}</layers><edges>{EDGES}</edges></net>'

BODY = """<body><layers>
    <layer id="0" name="p" type="Parameter" version="opset1">
        <data shape="1,3" element_type="f32"/>
        <output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></output>
    </layer>
    <layer id="1" name="r" type="Result" version="opset1">
        <input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
    </layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></body>"""
ITERATOR = f"""<layer id="1" name="ti" type="TensorIterator" version="opset1">
    <port_map>
        <input axis="0" external_port_id="0" internal_layer_id="0" part_size="1" stride="1"/>
        <output axis="0" external_port_id="1" internal_layer_id="1" part_size="1" stride="1"/>
    </port_map>
    <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
    <output><port id="1" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
    {BODY}
</layer>"""
LOOPING = MODEL.replace(RELU, ITERATOR)


def codes(text: str) -> list[str]:
    return [f"{finding.code}:{finding.severity}" for finding in irexec.validate(text.encode())]


def test_what_the_cases_start_from_is_right() -> None:
    assert codes(MODEL) == []
    assert codes(LOOPING) == []


@pytest.mark.parametrize("axis", ["2", "-3"])
def test_an_axis_outside_the_rank(axis: str) -> None:
    output = '<output axis="0"'
    assert codes(LOOPING.replace('<input axis="0"', f'<input axis="{axis}"'))[:1] == ["B008:error"]
    assert codes(LOOPING.replace('<input axis="0"', f'<input axis="{axis}"')).count("B008:error") == 1
    assert codes(LOOPING.replace(output, output.replace("0", axis))).count("B008:error") == 1


def test_an_axis_outside_a_rank_that_the_ports_do_not_say() -> None:
    silent = LOOPING.replace("</layer>", "</layer>\n").split("<body>")
    bare = silent[0].replace(ITERATOR.split("<body>")[0], "")
    assert bare
    text = LOOPING.replace('<input axis="0"', '<input axis="2"')
    head, tail = text.split("</port_map>")
    ports, rest = tail.split("<body>")
    unsaid = ports.replace("<dim>2</dim><dim>3</dim>", "")
    assert codes(f"{head}</port_map>{unsaid}<body>{rest}").count("B008:error") == 1


def test_a_loop_without_condition() -> None:
    loop = ITERATOR.replace('type="TensorIterator" version="opset1"', 'type="Loop" version="opset5"')
    assert codes(MODEL.replace(RELU, loop)).count("B009:error") == 1


def test_branches_that_do_not_pair() -> None:
    condition = X.replace("2,3", "").replace("f32", "boolean").replace("FP32", "BOOL")
    condition = condition.replace("<dim>2</dim><dim>3</dim>", "")
    branch = """<{0}_body><layers>
        <layer id="0" name="p" type="Parameter" version="opset1">
            <data shape="" element_type="boolean"/><output><port id="0" precision="BOOL"/></output>
        </layer>
        <layer id="1" name="r" type="Result" version="opset1"><input><port id="0" precision="BOOL"/></input></layer>
    </layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></{0}_body>"""
    maps = """<{0}_port_map><input external_port_id="1" internal_layer_id="0"/>
        <output external_port_id="{1}" internal_layer_id="1"/></{0}_port_map>"""
    both = "".join((maps + branch).format(*names) for names in (("then", 2), ("else", 3)))
    layer = f"""<layer id="1" name="if" type="If" version="opset8">
        <input><port id="0" precision="BOOL"/><port id="1" precision="BOOL"/></input>
        <output><port id="2" precision="BOOL"/><port id="3" precision="BOOL"/></output>{both}</layer>"""
    edges = EDGES + '<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>'
    result = Y.replace("FP32", "BOOL").replace("<dim>2</dim><dim>3</dim>", "")
    text = MODEL.replace(X, condition).replace(RELU, layer).replace(Y, result)
    text = text.replace(EDGES, edges.replace('from-port="1"', 'from-port="2"'))
    assert codes(text).count("B010:error") == 1


@pytest.mark.parametrize("data", ["<data/>", "", '<data variable_id=""/>'])
@pytest.mark.parametrize("type", ["ReadValue", "Assign"])
def test_a_state_operation_without_variable(data: str, type: str) -> None:
    state = RELU.replace('type="ReLU" version="opset1">', f'type="{type}" version="opset3">{data}')
    found = codes(MODEL.replace(RELU, state))
    assert found.count("V001:error") == 1
    assert "D002:error" not in found


def test_an_empty_version() -> None:
    assert codes(MODEL.replace('"ReLU" version="opset1"', '"ReLU" version=""')) == ["L001:error"]


def test_an_empty_type() -> None:
    assert codes(MODEL.replace('"ReLU" version="opset1"', '"" version="opset1"')) == ["L001:error"]


def test_too_many_bytes_along_an_edge() -> None:
    text = MODEL.replace(">3<", ">4611686018427387903<").replace('shape="2,3"', 'shape="2,?"')
    assert codes(text) == ["P011:error"]
    # The shape that causes all errors is reported at the port or at the attribute, not at both.
    assert codes(text.replace('shape="2,?"', 'shape="2,4611686018427387903"')) == ["P011:error"]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ('<port id="1" precision="FP32">', '<port id="1" precision="I64">', "P004"),
        ('<port id="1" precision="FP32"><dim>2', '<port id="1" precision="FP32"><dim>5', "P005"),
        ('<port id="1" precision="FP32"><dim>2</dim>', '<port id="1" precision="FP32">', "P005"),
    ],
)
def test_a_producer_that_declares_something_else(old: str, new: str, code: str) -> None:
    assert codes(MODEL.replace(old, new)) == [f"{code}:error"]


def test_a_consumer_that_declares_something_else() -> None:
    assert codes(MODEL.replace(Y, Y.replace("FP32", "I64"))) == ["E007:error"]
    assert codes(MODEL.replace(Y, Y.replace(">3<", ">4<"))) == ["E008:error"]


def test_both_ends_wrong_in_their_own_ways() -> None:
    text = MODEL.replace(Y, Y.replace("FP32", "BOOL")).replace('"1" precision="FP32"', '"1" precision="I64"')
    assert codes(text) == ["P004:error", "E007:error"]


def test_a_constant_without_shape_is_reported_once() -> None:
    constant = """<layer id="0" name="x" type="Const" version="opset1">
        <data element_type="f32" offset="0" size="24"/>
        <output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
    </layer>"""
    report = irexec.validate(MODEL.replace(X, constant).encode(), weights=bytes(24))
    assert [(d.code, d.attribute) for d in report.errors] == [("C001", "shape")]


def test_where_the_two_ends_of_an_edge_differ() -> None:
    """The error is where the declaration differs from the inferred type."""
    port = Y.replace('<port id="0" precision="FP32">', '<port id="0" precision="I32">')
    (finding,) = irexec.validate(MODEL.replace(Y, port).encode())
    assert (finding.code, finding.line, finding.column, finding.found, finding.allowed) == (
        "E007",
        8,
        36,
        "I32",
        "FP32",
    )
    (related,) = finding.related
    assert (related.place.line, related.message) == (6, "the producer's port")
    (finding,) = irexec.validate(MODEL.replace(Y, Y.replace("<dim>3</dim>", "")).encode())
    assert (finding.code, finding.line, finding.found, finding.allowed) == ("E008", 8, "[2]", "[2,3]")


def test_a_wrong_declaration_that_continues_along_the_edge_is_one_finding() -> None:
    head, tail = MODEL.split('<port id="1" precision="FP32">')
    text = head + '<port id="1" precision="FP16">' + tail.replace("FP32", "FP16")
    assert codes(text) == ["P004:error"]
    assert codes(MODEL.replace('shape="2,3"', 'shape="2,4"')) == ["P005:error", "P005:error"]
