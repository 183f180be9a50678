"""Files that OpenVINO writes are valid and have no findings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

ov = pytest.importorskip("openvino")
from openvino import opset1, opset13


def lstm_cell_of_opset1() -> Any:
    x, h, c = (opset13.parameter([1, n], np.float32) for n in (4, 3, 3))
    weights = [opset13.constant(np.ones(shape, np.float32)) for shape in ((12, 4), (12, 3), (12,))]
    cell = opset1.lstm_cell(x, h, c, *weights, 3)
    return ov.Model([cell.output(0), cell.output(1)], [x, h, c])


def constants_at_odd_places() -> Any:
    x = opset13.parameter([3], np.float32)
    as_bytes = opset13.convert(opset13.constant(np.int8([1, 2, 3])), "f32")
    return ov.Model(
        [opset13.add(opset13.multiply(x, as_bytes), opset13.constant(np.float32([1, 2, 3]))).output(0)], [x]
    )


def names_and_information() -> Any:
    x = opset13.parameter([2, 3], np.float32, name="x")
    x.set_layout(ov.Layout("NC"))
    y = opset13.relu(x)
    y.output(0).set_names({"a", "b,c"})
    y.get_rt_info()["mine"] = "v"
    model = ov.Model([y.output(0)], [x], "named")
    model.set_rt_info("q", ["z", "deep"])
    return model


def preprocessing() -> Any:
    from openvino.preprocess import PrePostProcessor

    x = opset13.parameter([1, 3, 8, 8], np.float32)
    steps = PrePostProcessor(ov.Model([opset13.relu(x).output(0)], [x]))
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32).mean([1.0, 2.0, 3.0])
    return steps.build()


def empty_lists_and_masks() -> Any:
    x = opset13.parameter([2, 3], np.float32)
    total = opset13.reduce_sum(x, opset13.constant(np.zeros(0, np.int64)), keep_dims=False)
    mask = opset13.constant(np.triu(np.full((3, 3), -np.inf, np.float32), 1))
    weights = opset13.constant(np.linspace(0, 9, 64 * 3, dtype=np.float32).reshape(3, 64))
    return ov.Model([total, opset13.matmul(opset13.matmul(x, mask, False, False), weights, False, False)], [x])


def empty_tensors() -> Any:
    x, y = opset13.parameter([0, 3], np.float32), opset13.parameter(ov.PartialShape("0,..3"), np.float32)
    return ov.Model([opset13.concat([x, y], 0)], [x, y])


def mixed_types_of_indices() -> Any:
    x = opset13.parameter([4, 4], np.float32)
    narrow, wide = opset13.constant(np.int32([0, 1])), opset13.constant(np.int64([2, 1]))
    return ov.Model(
        [
            opset13.slice(x, narrow, wide, opset13.constant(np.int64([1, 1])), narrow),
            opset13.strided_slice(x, narrow, wide, wide, [0], [0]),
            opset13.pad(x, narrow, wide, "constant"),
            opset13.space_to_batch(x, opset13.constant(np.int64([1, 2])), narrow, opset13.constant(np.int64([0, 1]))),
        ],
        [x],
    )


def constants_as_results() -> Any:
    x = opset13.parameter([64], np.float32)
    shared, alone = (opset13.constant(np.linspace(0, end, 64, dtype=np.float32)) for end in (1, 2))
    return ov.Model([opset13.add(x, shared), shared, alone], [x])


def loops() -> Any:
    x, start = opset13.parameter([4, 2], np.float32), opset13.parameter([1, 2], np.float32)
    row, total = opset13.parameter([1, 2], np.float32), opset13.parameter([1, 2], np.float32)
    sum = opset13.add(row, total)
    unread = opset13.relu(sum)
    iterator = opset13.tensor_iterator()
    iterator.set_function(ov.Model([sum, unread], [row, total]))
    iterator.set_sliced_input(row, x.output(0), 0, 1, 1, -1, 0)
    iterator.set_merged_input(total, start.output(0), sum.output(0))
    last = iterator.get_iter_value(sum.output(0), -1)

    turn, value, go = opset13.parameter([], np.int64), opset13.parameter([1, 2], np.float32), opset13.constant(True)
    grown = opset13.add(value, opset13.convert(turn, "f32"))
    loop = opset13.loop(opset13.constant(np.int64(3)), opset13.constant(True))
    loop.set_function(ov.Model([go, grown], [turn, value]))
    loop.set_special_body_ports([0, 0])
    loop.set_merged_input(value, last, grown.output(0))
    return ov.Model([loop.get_iter_value(grown.output(0), -1)], [x, start])


def control_flow_and_state() -> Any:
    x, more = opset13.parameter([-1, 3], np.float32, name="x"), opset13.parameter([], bool, name="more")
    inner = [opset13.parameter([-1, 3], np.float32) for _ in range(2)]
    choice = opset13.if_op(more)
    bodies = [ov.Model([opset13.relu(inner[0])], [inner[0]]), ov.Model([opset13.exp(inner[1])], [inner[1]])]
    choice.set_then_body(bodies[0])
    choice.set_else_body(bodies[1])
    choice.set_input(x.output(0), *inner)
    chosen = choice.set_output(*(body.results[0] for body in bodies))
    kept = opset13.read_value(opset13.constant(np.zeros((1, 3), np.float32)), "v", np.float32, [-1, 3])
    total = opset13.add(chosen, kept)
    return ov.Model(
        results=[opset13.result(total)], sinks=[opset13.assign(total, "v")], parameters=[x, more], name="stateful"
    )


@pytest.mark.parametrize(
    "make",
    [
        lstm_cell_of_opset1,
        constants_at_odd_places,
        names_and_information,
        preprocessing,
        empty_lists_and_masks,
        control_flow_and_state,
        constants_as_results,
        empty_tensors,
        mixed_types_of_indices,
        loops,
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("how", ["serialized", "saved", "compressed"])
def test_nothing_is_reported(make: Callable[[], Any], how: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    if how == "serialized":
        ov.serialize(make(), path)
    else:
        ov.save_model(make(), path, compress_to_fp16=how == "compressed")
    assert irexec.validate(path).diagnostics == []
