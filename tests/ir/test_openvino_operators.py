"""Every operator as OpenVINO's Python functions create it, written by OpenVINO: the file has no findings."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.calls import Call, calls

import irexec
from irexec.core.types import ElementType
from irexec.ops.spec.contents import CONTENTS

ov = pytest.importorskip("openvino")
from openvino import opset13
from openvino.utils.node_factory import NodeFactory

# Types whose name in a file is not the name of OpenVINO's class.
CLASSES = {"PReLU": "PRelu", "ReLU": "Relu", "SoftMax": "Softmax"}
# Operators with bodies or state, which tests/ir/test_openvino_files.py covers, and those that all models contain.
ELSEWHERE = {"If", "Loop", "TensorIterator", "ReadValue", "Assign", "Parameter", "Const", "Result"}
# OpenVINO's factory cannot set its attribute.
NOT_MADE = {"ReorgYolo-2"}
BY_TYPE = [(type, list(group)) for type, group in groupby(calls(), key=lambda call: call.operator.type)]


def parameter(array: np.ndarray, *, packed: bool) -> Any:
    return opset13.parameter(list(array.shape), ov.Type.u1 if packed else kind_of(array))


def constant(array: np.ndarray, *, packed: bool) -> Any:
    shape = ov.Shape(list(array.shape))
    if packed:
        return opset13.constant(ov.Tensor(np.packbits(array), shape, ov.Type.u1))
    if array.dtype.kind == "T":
        return opset13.constant(array.astype(str))
    if array.dtype.name in dir(np):
        return opset13.constant(array)
    raw = np.frombuffer(array.tobytes(), f"u{array.itemsize}").copy()
    return opset13.constant(ov.Tensor(raw, shape, kind_of(array)))


def kind_of(array: np.ndarray) -> Any:
    return getattr(ov.Type, ElementType.of(array.dtype).name)


def attribute(value: Any) -> Any:
    if isinstance(value, ElementType):
        return value.name
    return list(value) if isinstance(value, tuple) else value


def model(call: Call, *, constants: bool) -> Any:
    """Return a model of one operator; `constants`: its first input is a parameter, and the others are constants."""
    operator = call.operator
    values, problems = operator.parse_attributes(call.attributes)
    assert not problems
    names = {a.name: a.file_name for a in operator.attributes}
    attributes = {names[name]: attribute(value) for name, value in values.items() if value is not None}
    inputs = []
    for place, array in enumerate(call.arrays):
        if array is not None:
            # Values that are not finite have a finding, whatever their origin (C011).
            fixed = constants and place > 0 and (array.dtype.kind != "f" or np.isfinite(array).all())
            # NumPy has no type of one bit.
            packed = operator.type == "BinaryConvolution" and place == 1
            inputs.append((constant if fixed else parameter)(array, packed=packed))
    ends = [node.output(0) for node in inputs]
    made = NodeFactory(operator.opset).create(CLASSES.get(operator.type, operator.type), ends, attributes)
    return ov.Model(made.outputs(), [node for node in inputs if node.get_type_name() == "Parameter"])


def test_no_operator_is_left_out() -> None:
    assert set(CONTENTS) - {type for type, _ in BY_TYPE} == ELSEWHERE


@pytest.mark.parametrize(("type", "group"), BY_TYPE, ids=lambda value: value if isinstance(value, str) else "")
def test_nothing_is_reported(type: str, group: list[Call], tmp_path: Path) -> None:
    path, written = tmp_path / "one.xml", 0
    for call in group:
        for constants in (True, False):
            try:
                made = model(call, constants=constants)
            except RuntimeError as error:  # Some operators require known values, some check known values.
                assert "Check '" in str(error) or str(call.operator) in NOT_MADE
                continue
            ov.save_model(made, path, compress_to_fp16=constants)
            assert irexec.validate(path).diagnostics == [], str(call)
            written += 1
    assert written or str(call.operator) in NOT_MADE
