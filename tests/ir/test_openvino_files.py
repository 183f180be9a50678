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


@pytest.mark.parametrize(
    "make",
    [lstm_cell_of_opset1, constants_at_odd_places, names_and_information, preprocessing],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("compress", [False, True])
def test_nothing_is_said(make: Callable[[], Any], compress: bool, tmp_path: Path) -> None:
    ov.save_model(make(), tmp_path / "m.xml", compress_to_fp16=compress)
    assert irexec.validate(tmp_path / "m.xml").diagnostics == []
