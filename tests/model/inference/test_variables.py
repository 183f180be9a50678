"""Operations on one variable agree on its type and shape, wherever they are."""

from __future__ import annotations

import pytest

import irexec


def model(read: str, assigned: str, kind: str = "f32") -> bytes:
    port = {"f32": "FP32", "i64": "I64"}[kind]
    return f"""<net name="m" version="11"><layers>
        <layer id="0" name="x" type="Parameter" version="opset1">
            <data shape="{assigned}" element_type="{kind}"/>
            <output><port id="0" precision="{port}"/></output>
        </layer>
        <layer id="1" name="read" type="ReadValue" version="opset6">
            <data variable_id="v" variable_type="f32" variable_shape="{read}"/>
            <output><port id="0" precision="FP32"/></output>
        </layer>
        <layer id="2" name="write" type="Assign" version="opset6">
            <data variable_id="v"/>
            <input><port id="0" precision="{port}"/></input>
            <output><port id="1" precision="{port}"/></output>
        </layer>
        <layer id="3" name="y" type="Result" version="opset1"><input><port id="0" precision="FP32"/></input></layer>
    </layers><edges>
        <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
        <edge from-layer="1" from-port="0" to-layer="3" to-port="0"/>
    </edges></net>""".encode()


CASES = [
    ("2,3", "2,3", "f32", True),
    ("2,?", "2,3", "f32", True),
    ("...", "2,3", "f32", True),
    ("2,3", "?,3", "f32", True),
    ("1..4,3", "2,3", "f32", True),
    ("2,3", "2,4", "f32", False),
    ("2,3", "2,3,1", "f32", False),
    ("1..4,3", "5,3", "f32", False),
    ("2,3", "2,3", "i64", False),
]


@pytest.mark.parametrize(("read", "assigned", "kind", "agree"), CASES)
def test_what_is_assigned_fits_the_variable(read: str, assigned: str, kind: str, agree: bool) -> None:
    found = irexec.validate(model(read, assigned, kind))
    assert [(d.code, d.line, d.layer and d.layer.name) for d in found] == ([] if agree else [("V003", 10, "write")])


# The CPU plugin does not support dynamic ranks.
@pytest.mark.parametrize(("read", "assigned", "kind", "agree"), [case for case in CASES if case[0] != "..."])
def test_openvino_compiles_the_same_models(read: str, assigned: str, kind: str, agree: bool) -> None:
    openvino = pytest.importorskip("openvino")
    try:
        openvino.Core().compile_model(openvino.Core().read_model(model(read, assigned, kind), b""), "CPU")
        accepted = True
    except RuntimeError:
        accepted = False
    assert accepted is agree


def test_two_reads_that_disagree() -> None:
    text = model("2,3", "2,3").decode()
    second = text.split("<layer ")[2].replace('id="1"', 'id="4"').replace('"read"', '"again"').replace("f32", "f16")
    result = text.split("<layer ")[4].split("</layers>")[0].replace('id="3"', 'id="5"').replace('"y"', '"z"')
    text = text.replace(
        "</layers>", f"<layer {second.replace('FP32', 'FP16')}<layer {result.replace('FP32', 'FP16')}</layers>"
    )
    text = text.replace("</edges>", '<edge from-layer="4" from-port="0" to-layer="5" to-port="0"/></edges>')
    found = irexec.validate(text.encode())
    assert [(d.code, d.layer and d.layer.name) for d in found] == [("V003", "again")]
    assert "is f32[2,3]" in found.diagnostics[0].message
