"""Operators inside of OpenVINO's compiler are read only in dumps of its passes."""

from __future__ import annotations

import numpy as np
import pytest

import irexec
from irexec.frontends.reading import read
from irexec.ir.xml.source import Source
from irexec.ops.spec.contents import INSIDE
from irexec.runtime.engine import CompiledModel

NET = """
<net name="m" version="11">
    <layers>
        <layer id="0" name="x" type="Parameter" version="opset1">
            <data shape="2,3" element_type="{kind}"/>
            <output><port id="0" precision="{port}"><dim>2</dim><dim>3</dim></port></output>
        </layer>
        <layer id="1" name="op" type="{type}" version="{version}">
            <data {data}/>
            <input><port id="0" precision="{port}"><dim>2</dim><dim>3</dim></port></input>
            <output><port id="1" precision="UNSPECIFIED"><dim>2</dim><dim>3</dim></port></output>
        </layer>
        <layer id="2" name="y" type="Result" version="{result}">
            <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
        </layer>
    </layers>
    <edges>
        <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
        <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
    </edges>
</net>
"""
POWER = {
    "type": "PowerStatic",
    "version": "cpu_plugin_opset",
    "data": 'scale="2" power="1" shift="0" out-type="dynamic"',
}
RELAXED = {
    "type": "ReLU",
    "version": "type_relaxed_opset1",
    "data": 'type_relax="true" input_data_types="f32" output_data_types="u8"',
}


def net(kind: str = "f32", port: str = "FP32", result: str = "opset1", **layer: str) -> str:
    return NET.format(kind=kind, port=port, result=result, **layer)


@pytest.mark.parametrize("layer", [POWER, RELAXED, {**POWER, "type": "FullyConnected", "version": "ie_internal_opset"}])
def test_a_file_that_names_them_is_refused(layer: dict[str, str]) -> None:
    report = irexec.validate(net(**layer).encode())
    (found,) = [finding for finding in report.errors if finding.code == "L005"]
    assert "only dumps of its passes contain" in found.message
    assert found.openvino == "rejects the file"


def run(text: str, *inputs: np.ndarray) -> np.ndarray:
    reading = read(Source.from_bytes(text.encode()), internal=True)
    assert reading.model is not None and reading.report.ok, reading.report
    return CompiledModel(reading.model)(list(inputs)).to_tuple()[0]


def test_a_dump_with_a_hyphenated_attribute_and_a_port_without_precision() -> None:
    x = np.float32([[1, -2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(run(net(**POWER), x), 2 * x)


def test_a_relaxed_operator_computes_in_its_own_types() -> None:
    x = np.int8([[1, -2, 3], [4, 5, 6]])
    found = run(net("i8", "I8", "SnippetsOpset", **RELAXED), x)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, np.maximum(x, 0))


def test_a_dump_with_an_operator_that_is_not_included() -> None:
    text = net(**{**POWER, "type": "Unheard"})
    report = read(Source.from_bytes(text.encode()), internal=True).report
    assert [finding.code for finding in report.errors] == ["L004"]


def test_an_operator_of_no_opset_is_refused_outside_of_dumps() -> None:
    """Dumps give it the version of an extension; OpenVINO has no extension that reads it."""
    text = net(**{**POWER, "type": "GatedDeltaNet", "version": "extension"}).encode()
    read(Source.from_bytes(text), internal=True)
    (found,) = [finding for finding in irexec.validate(text).errors if finding.code == "L004"]
    assert "only dumps of its passes contain" in found.message
    assert found.openvino == "rejects the file"


@pytest.mark.parametrize("type", sorted(INSIDE))
def test_every_operator_of_no_opset_is_found_in_dumps(type: str) -> None:
    text = net(**{**POWER, "type": type, "version": "extension", "data": ""})
    report = read(Source.from_bytes(text.encode()), internal=True).report
    assert "L004" not in [finding.code for finding in report.errors]
