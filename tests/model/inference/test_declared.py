"""Types declared at output ports, compared with the inferred ones: P004 and P005, each with its location."""

from __future__ import annotations

import pytest
from support.nets import iterating

import irexec


def model(port: str, shape: str = "2,3") -> str:
    return f"""<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="{shape}" element_type="f32"/>
<output><port id="0" precision="FP32"/></output></layer>
<layer id="1" name="s" type="ShapeOf" version="opset3"><data output_type="i32"/>
<input><port id="0" precision="FP32"/></input>
<output>
{port}
</output></layer>
<layer id="2" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
</edges></net>"""


def findings(text: str, mode: str = "strict") -> list[tuple[str, str, int | None, int | None]]:
    report = irexec.validate(text.encode(), mode=mode)  # type: ignore[arg-type]
    return [(d.code, str(d.severity), d.line, d.column) for d in report]


@pytest.mark.parametrize(
    "port",
    [
        '<port id="1" precision="I32"><dim>2</dim></port>',
        '<port id="1" precision="i32"><dim> 2 </dim></port>',
        '<port id="1" precision="I32"><dim>-1</dim></port>',
        '<port id="1" precision="I32"/>',
        '<port id="1" precision="UNSPECIFIED"><dim>2</dim></port>',
    ],
)
def test_a_port_without_contradiction_has_no_finding(port: str) -> None:
    assert findings(model(port)) == []


@pytest.mark.parametrize(
    ("port", "code", "column"),
    [
        ('<port id="1" precision="I64"><dim>2</dim></port>', "P004", 25),
        ('<port id="1" precision="I32"><dim>3</dim></port>', "P005", 35),
        ('<port id="1" precision="I32"><dim>2</dim><dim>1</dim></port>', "P005", 1),
    ],
)
def test_what_differs(port: str, code: str, column: int) -> None:
    assert findings(model(port)) == [(code, "error", 7, column)]
    assert findings(model(port), "openvino") == [(code, "warning", 7, column)]


def test_both_together() -> None:
    port = '<port id="1" precision="I64"><dim>3</dim></port>'
    assert findings(model(port)) == [("P004", "error", 7, 25), ("P005", "error", 7, 35)]


def test_found_and_allowed_are_reported() -> None:
    (finding,) = irexec.validate(model('<port id="1" precision="I64"><dim>2</dim></port>').encode())
    assert (finding.found, finding.allowed, finding.port) == ("I64", "I32", "1")
    (finding,) = irexec.validate(model('<port id="1" precision="I32"><dim>5</dim></port>').encode())
    assert (finding.found, finding.allowed) == ("[5]", "[2]")


def test_a_number_against_an_interval() -> None:
    def relu(dim: str) -> list[str]:
        text = model(f'<port id="1" precision="FP32"><dim>{dim}</dim><dim>3</dim></port>', "2..4,3")
        text = text.replace("ShapeOf", "ReLU").replace("opset3", "opset1").replace('<data output_type="i32"/>', "")
        return [d.code for d in irexec.validate(text.encode())]

    assert relu("-1") == relu("2") == relu("4") == []
    assert relu("1") == relu("5") == ["P005"]


def test_of_an_operator_that_is_refused_only_what_its_inputs_cannot_change_is_compared() -> None:
    text = model('<port id="1" precision="I64"><dim>9</dim></port>').replace('<data output_type="i32"/>', "")
    text = text.replace('"ShapeOf" version="opset3"', '"LogicalNot" version="opset1"')
    assert [code for code, *_ in findings(text)] == ["O002", "P005", "P004"]


def test_what_was_declared_wrongly_does_not_go_on() -> None:
    """Layers after a wrongly declared port are inferred from the operator's result."""
    port = '<port id="1" precision="I64"><dim>2</dim></port>'
    report = irexec.validate(model(port).encode(), mode="openvino")
    assert [d.code for d in report] == ["P004"]
    with pytest.warns(UserWarning, match="declared as I64"):
        read = irexec.read_model(model(port).encode(), mode="openvino")
    assert str(read.outputs[0].type) == "i32[2]"


def test_what_a_body_declares_hides_nothing_of_the_layer_around_it() -> None:
    text = iterating().text.replace('<port id="1" precision="FP32">', '<port id="1" precision="FP16">')
    assert text.count("FP16") == 2
    found = [finding for finding in irexec.validate(text.encode()) if finding.code == "P004"]
    assert {finding.layer.type for finding in found if finding.layer} == {"Abs", "TensorIterator"}


def compressed(info: str) -> str:
    """Return a constant of f16 converted to f32, at a port that declares FP16."""
    return f"""<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f16"/>
<output><port id="0" precision="FP16"/></output></layer>
<layer id="1" name="w" type="Convert" version="opset1"><data destination_type="f32"/><rt_info>{info}</rt_info>
<input><port id="0" precision="FP16"/></input><output>
<port id="1" precision="FP16"/></output></layer>
<layer id="2" name="y" type="Result" version="opset1"><input><port id="0" precision="FP16"/></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
</edges></net>"""


def test_a_compressed_constant_may_declare_what_is_stored() -> None:
    assert findings(compressed('<attribute name="decompression" version="0"/>')) == []
    assert findings(compressed("")) == [("P004", "error", 6, 25)]
