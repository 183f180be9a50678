"""Numbers that avoid a division by zero: their pages require positive numbers, OpenVINO computes with any number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.cases import the
from support.oracle import openvino

import irexec

LAYER = """<layer id="0" name="layer" type="{type}" version="opset12">
    <data {data}/>
    <input>{inputs}</input>
    <output><port id="9" precision="FP32"><dim>1</dim><dim>4</dim></port></output>
</layer>"""
DATA = '<port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port>'
CHANNELS = "".join(f'<port id="{number}" precision="FP32"><dim>4</dim></port>' for number in (1, 2))
AXES = '<port id="1" precision="I64"><dim>1</dim></port>'
CASES = {
    "MVN": ('eps="{}" eps_mode="inside_sqrt" normalize_variance="true"', DATA + AXES),
    "NormalizeL2": ('eps="{}" eps_mode="add"', DATA + AXES),
    "GRN": ('bias="{}"', DATA),
    "GroupNormalization": ('num_groups="2" epsilon="{}"', DATA + CHANNELS),
    "LRN": ('alpha="1" beta="{}" bias="1" size="3"', DATA + AXES),
}


@pytest.mark.parametrize("type", CASES)
def test_a_number_that_is_not_positive_is_an_error_unless_openvino_decides(type: str) -> None:
    data, inputs = CASES[type]
    for text, code in (("0", "D005"), ("-1", "D007")):
        layer = LAYER.format(type=type, data=data.format(text), inputs=inputs).encode()
        strict, lenient = (irexec.validate(layer, mode=mode) for mode in ("strict", "openvino"))
        assert [(f.code, str(f.severity)) for f in strict if f.code[0] == "D"] == [(code, "error")]
        assert [(f.code, str(f.severity)) for f in lenient if f.code[0] == "D"] == [(code, "warning")]
    right = LAYER.format(type=type, data=data.format("1e-9"), inputs=inputs).encode()
    assert not [finding for finding in irexec.validate(right) if finding.code[0] == "D"]


def test_further_errors_of_the_layer_are_reported_as_well() -> None:
    """The number is used as it is, also beside an attribute whose correction is assumed."""
    data, inputs = CASES["MVN"]
    for wrong, others in (({}, []), ({"inside_sqrt": "inside_sqr"}, ["D005"])):
        text = LAYER.replace('"FP32"><dim>1</dim><dim>4<', '"FP16"><dim>1</dim><dim>5<')
        text = text.format(type="MVN", data=data.format("-1"), inputs=inputs)
        for right, written in wrong.items():
            text = text.replace(right, written)
        codes = [finding.code for finding in irexec.validate(text.encode()) if finding.code[0] in "DP"]
        assert sorted(codes) == sorted(["D007", "P004", "P005", *others])


def test_a_model_with_zero_runs_as_in_openvino(tmp_path: Path) -> None:
    array, kernel = np.float32([[3, 4]]), the("NormalizeL2", 1)
    expected = openvino(kernel, array, np.array([1]), fixed=[1], eps=0.0, eps_mode="add")[0]
    x = irexec.opset13.parameter([1, 2], np.float32, name="x")
    model = irexec.Model([irexec.opset13.normalize_l2(x, [1], eps=1.0, eps_mode="add")], [x], "model")
    irexec.save_model(model, tmp_path / "model.xml")
    text = (tmp_path / "model.xml").read_text("utf-8")
    assert 'eps="1"' in text
    (tmp_path / "model.xml").write_text(text.replace('eps="1"', 'eps="0"'), "utf-8")
    np.testing.assert_allclose(irexec.compile_model(tmp_path / "model.xml")([array])[0], expected, rtol=1e-6)
