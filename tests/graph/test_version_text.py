"""`version` of a layer names an opset, or nothing: every other text is a located finding."""

from __future__ import annotations

import pytest

import irexec

MODEL = """<net name="m" version="11">
    <layers>
        <layer id="0" name="x" type="Parameter" version="opset1">
            <data shape="2" element_type="f32"/>
            <output><port id="0" precision="FP32"><dim>2</dim></port></output>
        </layer>
        <layer id="1" name="y" type="Result" version="VERSION">
            <input><port id="0" precision="FP32"><dim>2</dim></port></input>
        </layer>
    </layers>
    <edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>
</net>
"""


@pytest.mark.parametrize(
    "version", ["opset0", "opset18", "opset01", "opset²", "opset" + "9" * 5000, "OPSET1", "opset", "onnx13", "mine"]
)
def test_a_version_that_names_no_opset(version: str) -> None:
    report = irexec.validate(MODEL.replace("VERSION", version).encode())
    assert [(d.code, d.line, d.column) for d in report] == [("L005", 7, 55)]


def test_a_later_opset_still_has_the_operator() -> None:
    report = irexec.validate(MODEL.replace("VERSION", "opset8").encode())
    assert report.ok
    assert [(d.code, d.line) for d in report] == [("L007", 7)]
