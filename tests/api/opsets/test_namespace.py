"""The opset namespaces: arrays in, arrays out, checked; nodes in, a node out; names as in OpenVINO's Python API."""

from __future__ import annotations

import importlib
from typing import TypeAlias

import numpy as np
import pytest

import irexec
from irexec import IRError
from irexec.api.opsets.names import _types, python_name
from irexec.ops.spec import contents
from irexec.ops.spec.operator import REGISTRY
from irexec.ops.spec.tensors import AnyTensor

T: TypeAlias = AnyTensor
NUMBERS = range(1, contents.NEWEST + 1)


@pytest.mark.parametrize("number", NUMBERS)
def test_names_are_openvinos(number: int) -> None:
    own = set(dir(getattr(irexec, f"opset{number}")))
    if number in contents.BEGUN:  # An incomplete opset, for which OpenVINO has only some Python functions.
        assert own == {python_name(type) for type in contents.CONTENTS if contents.introduced(type, number)}
        return
    theirs = importlib.import_module(f"openvino.opset{number}")
    assert len(own) > 100
    if number == 1:  # OpenVINO's file reader has these in opset1; its Python API has them from opset2 on.
        own -= {"mvn", "reorg_yolo", "reverse", "rnn_cell", "roi_pooling", "shuffle_channels", "xor"}
    # Bodies are classes in OpenVINO; the other operators are in the opset but have no Python function.
    own -= {name for name in own if name.startswith("experimental_detectron_")}
    own -= {"tensor_iterator", "loop", "if_op", "assign"}
    assert sorted(name for name in own if not callable(getattr(theirs, name, None))) == []


@pytest.mark.parametrize("number", [n for n in NUMBERS if n not in contents.BEGUN])
def test_no_name_of_openvinos_is_missing(number: int) -> None:
    module = importlib.import_module(f"openvino.opset{number}")
    theirs = {name for name in dir(module) if not name.startswith("_") and callable(getattr(module, name))}
    assert sorted(name for name in theirs if not hasattr(module.__dict__[name], "__mro__")) != []
    functions = {name for name in theirs if not isinstance(getattr(module, name), type)}
    assert sorted(functions - set(dir(getattr(irexec, f"opset{number}")))) == []


def test_arrays_are_evaluated() -> None:
    result = irexec.opset1.add(np.float32([1, 2]), np.float32([[10], [20]]))
    np.testing.assert_array_equal(result, np.float32([[11, 12], [21, 22]]))
    assert result.dtype == np.float32


def test_numbers_and_lists_take_the_type_of_their_group() -> None:
    assert irexec.opset1.add(np.float16([1]), 2).dtype == np.float16
    assert irexec.opset1.add([1, 2], 3).dtype == np.int64
    assert irexec.opset1.add([1.5, 2], 3.0).dtype == np.float64
    assert irexec.opset8.gather(np.float64([1, 2, 3]), [2], 0).tolist() == [3.0]


def test_inputs_by_name() -> None:
    result = irexec.opset15.scatter_nd_update(data=np.zeros(3, "f4"), updates=np.float32([5]), indices=[[1]])
    assert result.tolist() == [0, 5, 0]


def test_a_variadic_operator_takes_a_list_or_not() -> None:
    a, b = np.float32([1]), np.float32([2])
    assert irexec.opset1.concat([a, b], axis=0).tolist() == irexec.opset1.concat(a, b, axis=0).tolist() == [1, 2]


def test_several_outputs_are_a_tuple() -> None:
    parts = irexec.opset1.split(np.arange(4.0), 0, num_splits=2)
    assert isinstance(parts, tuple | list)
    assert [p.tolist() for p in parts] == [[0, 1], [2, 3]]


def test_the_result_is_the_callers_own() -> None:
    data = np.float32([[1, 2]])
    result = irexec.opset1.reshape(data, [2, 1], special_zero=False)
    result[0] = 9
    assert data.tolist() == [[1, 2]]


def test_the_version_is_the_newest_at_or_before_the_opset() -> None:
    with pytest.raises(IRError) as refused:
        irexec.opset14.scatter_nd_update(np.zeros(3, "f4"), [[1]], np.float32([5]), reduction="sum")
    assert [d.code for d in refused.value.report] == ["D001"]
    assert irexec.opset16.scatter_nd_update(np.ones(3, "f4"), [[1]], np.float32([5]), reduction="sum")[1] == 6


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda o: o.add(np.float32([1, 2]), np.float32([1, 2, 3])), "O001"),
        (lambda o: o.add(np.float32([1]), np.int32([1])), "O003"),
        (lambda o: o.logical_not(np.float32([1])), "O002"),
        (lambda o: o.add(np.float32([1])), "P007"),
        (lambda o: o.add(1.0, 2.0, "numpy", "sum", 3.0), "P007"),
        (lambda o: o.elu(np.float32([1])), "D002"),
        (lambda o: o.elu(np.float32([1]), alpha="x"), "D010"),
        (lambda o: o.elu(np.float32([1]), alpha=1.0, beta=2), "D001"),
        (lambda o: o.gather_nd(np.float32([1, 2]), [[5]]), "O001"),
    ],
)
def test_what_is_wrong_is_an_irerror(call, code: str) -> None:
    with pytest.raises(IRError) as refused:
        call(irexec.opset15)
    assert code in [d.code for d in refused.value.report.errors]


def test_nodes_build_a_graph() -> None:
    o = irexec.opset15
    x = o.parameter([-1, 3], np.float32, name="x")
    y = o.relu(o.add(x, [1.0, 2.0, 3.0]))
    assert str(y.outputs[0].partial_shape) == "[?,3]"
    assert y.outputs[0].element_type.name == "f32"
    model = irexec.Model([y], [x], "m")
    assert [n.get_type_name() for n in model.get_ordered_ops()] == ["Parameter", "Constant", "Add", "Relu", "Result"]
    result = irexec.compile_model(model)([np.float32([[-5, 0, 1]])])[0]
    assert result.tolist() == [[0, 2, 4]]


def test_a_node_that_cannot_be_is_refused_when_it_is_built() -> None:
    o = irexec.opset15
    x = o.parameter("2,3", "f32")
    with pytest.raises(IRError) as refused:
        o.add(x, o.parameter("4", "f32"))
    assert [d.code for d in refused.value.report] == ["O001"]


def test_a_node_that_openvino_makes_can_be_made_and_no_valid_model_of_it() -> None:
    o = irexec.opset8
    x = o.parameter([1, 125, 13, 13], "f32")
    yolo = o.region_yolo(x, 4, 80, 1, False, [6, 7, 8], 0, 3)
    w, r, b = (np.zeros(shape, np.float32) for shape in ([1, 4, 2], [1, 4, 4], [1, 4]))
    y, h = o.parameter([1, 3, 2], "f32"), o.parameter([1, 1, 4], "f32")
    rnn = o.rnn_sequence(y, h, np.int32([3]), w, r, b, 4, "forward", ["relu", "tanh"])
    for node, inputs in ((yolo, [x]), (rnn, [y, h])):
        model = irexec.Model(node.outputs, inputs)
        assert [d.code for d in irexec.validate(model)] == ["O001"]
        arrays = [np.zeros(i.outputs[0].shape, np.float32) for i in inputs]
        with pytest.raises(IRError, match=r"expected|require"):
            irexec.compile_model(model)(arrays)


def test_parameters_are_given_by_shape_and_type() -> None:
    o = irexec.opset1
    assert str(o.parameter("1..4,?", "bf16").outputs[0].type) == "bf16[1..4,?]"
    assert str(o.parameter("...", np.int8).outputs[0].type) == "i8[...]"
    assert str(o.parameter([], irexec.ElementType.by_name["u4"]).outputs[0].type) == "u4[]"
    parameter = o.parameter([2], np.float32, name="in")
    assert (parameter.friendly_name, parameter.outputs[0].names) == ("in", set())
    irexec.Model([parameter], [parameter])
    assert parameter.outputs[0].any_name == "in"


def test_constants() -> None:
    node = irexec.opset1.constant([[1, 2]], np.int32, name="c")
    assert (str(node.outputs[0].type), node.friendly_name) == ("i32[1,2]", "c")
    assert irexec.opset1.constant(["a", "b"]).outputs[0].element_type.name == "string"


def test_a_node_with_several_outputs_needs_one_to_be_named() -> None:
    o = irexec.opset15
    halves = o.split(o.parameter([4], "f32"), 0, num_splits=2)
    with pytest.raises(ValueError, match="2 outputs"):
        o.relu(halves)
    assert str(o.relu(halves.output(1)).outputs[0].partial_shape) == "[2]"


def test_namespaces_that_are_none() -> None:
    for name in ("opset0", f"opset{contents.NEWEST + 1}", "opset", "opset1x", "opset٣", "onnx99", "opsetonnx1"):
        with pytest.raises(AttributeError):
            getattr(irexec, name)
    with pytest.raises(AttributeError, match="opset3 has no operator 'relux': did you mean relu"):
        _ = irexec.opset3.relux


def test_a_users_own_operator_has_a_namespace_of_its_opset() -> None:
    try:

        @irexec.operator("Twice", "opset1")
        def twice(x: T, /) -> T:
            """Return the input twice."""
            return x + x

        assert irexec.opset1.twice(np.float32([2])).tolist() == [4]
        assert irexec.opset1.twice.__doc__ == "Return the input twice."
    finally:
        REGISTRY.pop(("Twice", "opset1"), None)
        _types.cache_clear()  # The cache depends on the number of operators, which only tests reduce.


def test_functions_of_two_names_are_called_as_openvinos() -> None:
    names = ("abs", "absolute", "ceil", "ceiling", "cumsum", "cum_sum", "relu")
    theirs = importlib.import_module("openvino.opset13")
    assert [getattr(irexec.opset13, n).__name__ for n in names] == [getattr(theirs, n).__name__ for n in names]
