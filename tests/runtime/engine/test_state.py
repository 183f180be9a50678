"""Variables: read, assigned at the end of an inference, kept per request, reset, unchanged by a failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.nets import Net

import irexec
from irexec import Model

ops: Any = irexec.opset15


def summing(init: bool = True, shape: str = "1,2") -> irexec.CompiledModel:
    """Return a model of total += x, whose results are the new total, and x gathered at i, which may fail."""
    net = Net("summing")
    x, start = net.parameter("x", shape), net.parameter("start", shape)
    i, axis = net.parameter("i", "1", "i64"), net.parameter("axis", "", "i64")
    known = f'variable_id="total" variable_type="f32" variable_shape="{shape.replace("-1", "?")}"'
    read = net.layer("ReadValue", [start] if init else [], shape, name="read", version="opset6", data=known)
    total = net.layer("Add", [read, x], shape, name="add", data='auto_broadcast="numpy"')
    net.layer("Assign", [total], shape, name="assign", version="opset6", data='variable_id="total"')
    net.result(total)
    net.result(net.layer("Gather", [x, i, axis], "1,2", name="pick", version="opset7", data='batch_dims="0"'))
    return irexec.compile_model(irexec.read_model(net.text.encode(), mode="openvino"))


def infer(request: irexec.InferRequest, x: float, *, start: float = 0, index: int = 0) -> float:
    arrays = {
        "x": np.full((1, 2), x, np.float32),
        "start": np.full((1, 2), start, np.float32),
        "i": np.array([index]),
        "axis": np.array(0),
    }
    return float(request.infer(arrays)[0][0, 0])


def test_a_variable_continues_from_one_inference_to_the_next() -> None:
    request = summing().create_infer_request()
    assert [infer(request, x, start=100) for x in (1, 2, 3)] == [101, 103, 106]
    (state,) = request.query_state()
    assert state.name == "total"
    np.testing.assert_array_equal(state.state, [[106, 106]])


def test_without_a_first_value_it_starts_at_zero() -> None:
    request = summing(init=False).create_infer_request()
    np.testing.assert_array_equal(request.query_state()[0].state, [[0, 0]])
    assert [infer(request, x) for x in (1, 2)] == [1, 3]


def test_reset() -> None:
    request = summing().create_infer_request()
    infer(request, 1, start=10)
    request.reset_state()
    assert infer(request, 1, start=20) == 21
    request.query_state()[0].reset()
    assert infer(request, 1, start=30) == 31


def test_a_state_can_be_set() -> None:
    request = summing().create_infer_request()
    (state,) = request.query_state()
    state.state = np.array([[5, 5]])
    assert state.state.dtype == np.float32
    assert infer(request, 1) == 6


def test_a_state_of_another_shape_is_refused_and_changes_nothing() -> None:
    request = summing().create_infer_request()
    with pytest.raises(RuntimeError, match=r"variable 'total' is f32\[1,2\]; the tensor has shape \[3, 3\]"):
        request.query_state()[0].state = np.zeros((3, 3))
    assert infer(request, 1) == 1


def test_requests_have_variables_of_their_own() -> None:
    compiled = summing()
    one, other = compiled.create_infer_request(), compiled.create_infer_request()
    assert (infer(one, 1), infer(other, 5), infer(one, 1)) == (1, 5, 2)
    assert [infer(compiled.create_infer_request(), 1) for _ in range(2)] == [1, 1]


def test_a_failure_leaves_every_variable_as_it_was() -> None:
    request = summing().create_infer_request()
    infer(request, 1)
    with pytest.raises(irexec.IRError):
        infer(request, 50, index=9)
    np.testing.assert_array_equal(request.query_state()[0].state, [[1, 1]])
    assert infer(request, 1) == 2


def test_a_variable_keeps_its_value_when_the_callers_array_changes() -> None:
    net = Net("passing")
    x = net.parameter("x", "2")
    data = 'variable_id="v" variable_type="f32" variable_shape="2"'
    read = net.layer("ReadValue", [x], "2", name="read", version="opset6", data=data)
    net.layer("Assign", [x], "2", name="assign", version="opset6", data='variable_id="v"')
    net.result(read)
    request = irexec.compile_model(irexec.read_model(net.text.encode(), mode="openvino")).create_infer_request()
    x_array = np.array([1, 2], np.float32)
    request.infer(x_array)
    x_array[:] = 7
    first = request.infer(np.zeros(2, np.float32))[0]
    np.testing.assert_array_equal(first, [1, 2])
    first[:] = 9
    np.testing.assert_array_equal(request.infer(np.zeros(2, np.float32))[0], [0, 0])


def test_a_state_may_grow() -> None:
    net = Net("growing")
    x = net.parameter("x", "-1,2")
    data = 'variable_id="past" variable_type="f32" variable_shape="?,2"'
    past = net.layer("ReadValue", [], "-1,2", name="past", version="opset6", data=data)
    both = net.layer("Concat", [past, x], "-1,2", name="both", data='axis="0"')
    net.layer("Assign", [both], "-1,2", name="assign", version="opset6", data='variable_id="past"')
    net.result(both)
    request = irexec.compile_model(irexec.read_model(net.text.encode(), mode="openvino")).create_infer_request()
    shapes = [request.infer(np.full((1, 2), n, np.float32))[0].shape for n in range(4)]
    assert shapes == [(1, 2), (2, 2), (3, 2), (4, 2)]
    np.testing.assert_array_equal(request.query_state()[0].state[:, 0], [0, 1, 2, 3])


def test_a_constant_first_value_is_not_taken_for_the_value() -> None:
    """Inference knows the initial value of the variable, not its later values."""
    x = ops.parameter([2], np.int64, name="x")
    read = ops.read_value(ops.constant(np.array([1, 2])), variable_id="v", variable_type="i64", variable_shape="2")
    doubled = ops.add(read, read)
    assign = ops.assign(ops.add(read, x), variable_id="v")
    request = irexec.compile_model(Model([doubled], [x], sinks=[assign])).create_infer_request()
    results = [request.infer([np.array([10, 20])])[0].tolist() for _ in range(3)]
    assert results == [[2, 4], [22, 44], [42, 84]]
