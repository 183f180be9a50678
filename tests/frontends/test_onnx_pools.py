"""Pools of ONNX with auto_pad, by the specification's formulas; docs/onnx.md lists ONNX Runtime's deviations."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")


def pool(type: str, extents: list[int], folder: Path, **attributes: Any) -> Any:
    """Return the path of a model of one pool."""
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(type, ["x"], ["y"], **attributes)], "g", [info("x", 1, [1, 1, *extents])],
        [info("y", 1, None)],
    )  # fmt: skip
    opset = [onnx.helper.make_opsetid("", 19)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "pool.onnx")
    return folder / "pool.onnx"


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 2, 2), (2, 5, 2), (1, 4, 1), (5, 3, 2), (4, 1, 1)])
@pytest.mark.parametrize("type", ["MaxPool", "AveragePool"])
def test_same_gives_the_extent_by_the_stride(
    type: str, kernel: int, stride: int, dilation: int, auto_pad: str, tmp_path: Path
) -> None:
    extents = [7, 5]
    path = pool(
        type, extents, tmp_path, kernel_shape=[kernel] * 2, strides=[stride] * 2, dilations=[dilation] * 2,
        auto_pad=auto_pad,
    )  # fmt: skip
    x = np.random.default_rng(0).standard_normal((1, 1, *extents)).astype(np.float32)
    shape = [math.ceil(n / stride) for n in extents]
    found = irexec.compile_model(path)([x])[0]
    assert found.shape == (1, 1, *shape)
    spans = [max(0, (m - 1) * stride + (kernel - 1) * dilation + 1 - n) for m, n in zip(shape, extents, strict=True)]
    begins = [s // 2 if auto_pad == "SAME_UPPER" else s - s // 2 for s in spans]
    for place in product(*map(range, shape)):
        taps = [
            [at for t in range(kernel) if 0 <= (at := place[axis] * stride - begins[axis] + t * dilation) < n]
            for axis, n in enumerate(extents)
        ]
        part = x[0, 0][np.ix_(*taps)]
        wanted = part.max(initial=-np.inf) if type == "MaxPool" else part.mean() if part.size else None
        if wanted is not None:
            np.testing.assert_allclose(found[0, 0][place], wanted, rtol=1e-5, atol=1e-6)


def test_a_kernel_larger_than_the_image_is_refused(tmp_path: Path) -> None:
    path = pool("MaxPool", [5, 4], tmp_path, kernel_shape=[3, 5], auto_pad="VALID")
    assert [finding.code for finding in irexec.validate(path).errors] == ["O001"]
