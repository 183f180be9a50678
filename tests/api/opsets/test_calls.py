"""Calls of opset functions: OpenVINO's order and names for all operators, and the operator's own names."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

openvino = pytest.importorskip("openvino")

from support.waiting import PATIENCE

import irexec
from irexec.api.opsets.calls import parameters
from irexec.api.opsets.names import types_of
from irexec.ops.spec import contents

ops: Any = irexec.opset13
f = np.float32

# Functions whose arguments OpenVINO takes in another form: bodies, variables, values, and two that are not attributes.
OTHERS = {"constant", "if_op", "loop", "tensor_iterator", "assign", "read_value", "parameter", "result"}
# For these opsets OpenVINO's functions create Interpolate-1, irexec's the version of the opset.
OLDER = {("interpolate", number) for number in range(4, 10)}

NUMBERS = [number for number in contents.OPSETS.values() if number not in contents.BEGUN]


def functions() -> list[tuple[str, int]]:
    found = []
    for number in NUMBERS:
        module = importlib.import_module(f"openvino.opset{number}")
        for name in types_of(f"opset{number}"):
            theirs = getattr(module, name, None)
            if inspect.isfunction(theirs) and name not in OTHERS and (name, number) not in OLDER:
                found.append((name, number))
    return found


@pytest.mark.parametrize("number", NUMBERS)
def test_parameters_stand_in_openvinos_order(number: int) -> None:
    module = importlib.import_module(f"openvino.opset{number}")
    wrong = []
    for name in [name for name, own in functions() if own == number]:
        theirs = list(inspect.signature(getattr(module, name)).parameters.values())
        wanted = [p.name for p in theirs if p.kind is not p.KEYWORD_ONLY and p.name not in ("name", "args", "kwargs")]
        operator = contents.find(types_of(f"opset{number}")[name], f"opset{number}")
        mine = [p.name for p in parameters(operator) if not p.keyword_only]
        if mine[: len(wanted)] != wanted:
            wrong.append((name, wanted, mine))
    assert wrong == []


def test_the_signature_is_shown() -> None:
    shown = inspect.signature(irexec.opset13.softmax).parameters
    assert [(name, each.default) for name, each in shown.items()][1:] == [("axis", 1), ("name", None)]
    assert shown["data"].default is inspect.Parameter.empty
    assert "`data`" in irexec.opset13.pad.__doc__
    assert list(inspect.signature(irexec.opset8.avg_pool).parameters)[:3] == ["data_batch", "strides", "pads_begin"]


def test_names_of_both_and_any_case() -> None:
    x, ones = np.zeros((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    pads = {
        "strides": [1, 1],
        "pads_begin": np.array([1, 1]),
        "pads_end": (1, 1),
        "dilations": openvino.Strides([1, 1]),
    }
    by_own = irexec.opset1.convolution(x, kernel=ones, auto_pad="explicit", **pads)
    by_theirs = irexec.opset1.convolution(data=x, filters=ones, auto_pad="EXPLICIT", **pads)
    np.testing.assert_array_equal(by_own, by_theirs)
    with pytest.raises(irexec.IRError, match="given twice"):
        irexec.opset1.convolution(x, ones, filters=ones, **pads)


def test_all_inputs_may_come_first() -> None:
    picture, sizes = np.zeros((1, 1, 2, 2), np.float32), [4, 4]
    first = irexec.opset11.interpolate(picture, sizes, [2, 3], mode="nearest", shape_calculation_mode="sizes")
    assert first.shape == irexec.opset11.interpolate(picture, sizes, "nearest", "sizes", axes=[2, 3]).shape


def test_a_name_after_the_attributes() -> None:
    node = irexec.opset13.relu(irexec.opset13.parameter([2]), "mine")
    assert node.friendly_name == "mine"
    assert irexec.opset13.concat([node, node], 0, "joined").friendly_name == "joined"


def test_attributes_in_a_dict() -> None:
    data, grid = np.zeros((1, 1, 2, 2), np.float32), np.zeros((1, 1, 1, 2), np.float32)
    attributes = {"align_corners": True, "mode": "nearest", "padding_mode": "border"}
    assert irexec.opset9.grid_sample(data, grid, attributes).shape == (1, 1, 1, 1)


def test_types_as_attributes() -> None:
    for kind in ("i8", np.int8, irexec.Type.i8):
        assert irexec.opset1.convert(np.float32([1.5]), kind).dtype == np.int8


def test_a_computed_array_is_an_array_and_a_node() -> None:
    total = irexec.opset1.add(np.float32([1, 2]), 3)
    assert isinstance(total, np.ndarray) and isinstance(total, irexec.Node)
    assert (total.tolist(), total.get_type_name(), total.get_input_size()) == ([4, 5], "Add", 2)
    parameter = irexec.opset1.parameter([2])
    node = irexec.opset1.multiply(parameter, total)
    assert [n.get_type_name() for n in irexec.Model([node], [parameter]).nodes][-2:] == ["Multiply", "Result"]
    assert not isinstance(total[:1], irexec.Node) and not isinstance(np.exp(total), irexec.Node)
    assert ((total + 1).tolist(), (total + 1).get_type_name()) == ([5, 6], "Add")
    halves = irexec.opset1.split(np.arange(4.0), 0, 2)
    assert [h.tolist() for h in halves] == [[0, 1], [2, 3]] and halves.get_output_size() == 2


def test_opsets_are_modules() -> None:
    code = (
        "import irexec.opset13 as ops\nfrom irexec.opset8 import relu\nimport irexec.op.util\nimport irexec\n"
        "from irexec.preprocess import PrePostProcessor\nassert ops is irexec.opset13 and irexec.opset8.relu is relu\n"
        "import irexec.api.openvino.op.util as real\nassert irexec.op.util is real\n"
        "assert 'opset13' in dir(irexec) and 'softmax' in dir(ops) and 'Core' in dir(irexec)\n"
        "try:\n    import irexec.opset99\nexcept ModuleNotFoundError as error:\n    assert 'opset1 to' in str(error)\n"
        "else:\n    raise SystemExit('found')"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE).returncode == 0


def test_names_in_a_list_are_taken_in_any_case() -> None:
    def cell(activations: list[str]) -> Any:
        x, h, w = np.ones((1, 3), f), np.zeros((1, 2), f), np.full((6, 3), 0.1, f)
        return ops.gru_cell(x, h, w, np.full((6, 2), 0.1, f), np.zeros(6, f), 2, activations)

    np.testing.assert_array_equal(cell(["Sigmoid", "TANH"]), cell(["sigmoid", "tanh"]))
    with pytest.raises(irexec.IRError, match="activations"):
        cell(["sigmoid", "tan"])


def test_a_list_of_one_is_one() -> None:
    data = np.arange(64, dtype=f).reshape(1, 4, 4, 4)
    np.testing.assert_array_equal(ops.reorg_yolo(data, [2]), ops.reorg_yolo(data, 2))
    with pytest.raises(irexec.IRError, match="stride"):
        ops.reorg_yolo(data, [2, 2])


def test_pythons_types_of_numbers_are_openvinos() -> None:
    assert ops.constant([1, 2], float).get_element_type() == irexec.Type.f32
    assert ops.constant([1, 2], int).get_element_type() == irexec.Type.i32
    assert ops.parameter([2], float).get_element_type() == irexec.Type.f32


def test_a_second_input_is_not_a_name() -> None:
    for other in (np.ones(1, f), ops.parameter([1], np.float32), np.float32(1)):
        with pytest.raises(irexec.IRError, match="the node's name, which is a text"):
            ops.relu(np.ones(1, f), other)


def test_attributes_that_openvino_has_as_a_list() -> None:
    data, box = np.ones((1, 3, 8, 8), f), np.float32([[0, 0, 0, 5, 5]])
    expected = ops.roi_pooling(data, box, pooled_h=2, pooled_w=3, spatial_scale=1.0, method="max")
    assert expected.shape == (1, 3, 2, 3)
    np.testing.assert_array_equal(ops.roi_pooling(data, box, [2, 3], 1.0, "Max"), expected)
    np.testing.assert_array_equal(ops.roi_pooling(data, box, output_roi=[2, 3], spatial_scale=1.0), expected)
    with pytest.raises(irexec.IRError, match="pooled_w"):
        ops.roi_pooling(data, box, [2], 1.0)


@pytest.mark.parametrize(("opset", "version"), [(3, 1), (4, 1), (11, 1), (12, 4)])
def test_range_is_the_operator_that_openvinos_function_makes(opset: int, version: int) -> None:
    mine, theirs = (importlib.import_module(f"{library}.opset{opset}").range for library in ("irexec", "openvino"))
    arguments = (0, 3, 1) if version == 1 else (0, 3, 1, "i64")
    found = [made(*arguments).get_type_info().version_id for made in (mine, theirs)]
    assert found == [f"opset{version}"] * 2
    if opset > 3:
        assert mine(0, 3, 1, output_type="f32").dtype == f


def test_a_name_by_position_and_by_name() -> None:
    with pytest.raises(TypeError, match="'name' is given twice"):
        ops.relu(np.ones(1, f), "first", name="second")
