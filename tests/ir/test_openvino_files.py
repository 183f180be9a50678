"""What OpenVINO itself writes is right: nothing is said of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

ov = pytest.importorskip("openvino")
from openvino import opset1, opset13  # noqa: E402


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
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("how", ["serialized", "saved", "compressed"])
def test_nothing_is_said(make: Callable[[], Any], how: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    if how == "serialized":
        ov.serialize(make(), path)
    else:
        ov.save_model(make(), path, compress_to_fp16=how == "compressed")
    assert irexec.validate(path).diagnostics == []
