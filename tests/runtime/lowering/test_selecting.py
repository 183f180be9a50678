"""Compiled layers that select elements of their data: bit-identical to their kernels, and when they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.lowering import entries, forms, kernels, lowered, lowered_engine

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering.selecting import Selecting

ops: Any = irexec.opset15


def resized(x: Any, scales: list[float], axes: list[int], **more: Any) -> Any:
    return ops.interpolate(x, np.array(scales, np.float32), "nearest", "scales", axes=np.array(axes), **more)


def padded(x: Any, mode: str, *pads: int) -> Any:
    return ops.pad(x, np.array([0, 0, *pads]), np.array([0, 0, *pads]), mode)


LAYERS: dict[str, Callable[[Any], Any]] = {
    "twice": lambda x: resized(x, [2, 2], [2, 3], coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
    "smaller": lambda x: resized(x, [0.5, 0.75], [2, 3]),
    "an axis": lambda x: resized(x, [3], [2]),
    "channels": lambda x: resized(x, [1.5], [1], nearest_mode="ceil"),
    "the batch": lambda x: resized(x, [2], [0]),
    "blocks to space": lambda x: ops.depth_to_space(x, "depth_first", 2),
    "blocks to channels": lambda x: ops.space_to_depth(x, "blocks_first", 2),
    "shuffled": lambda x: ops.shuffle_channels(x, 1, 4),
    "rolled": lambda x: ops.roll(x, np.array([1, -3]), np.array([2, 1])),
    "edge": lambda x: padded(x, "edge", 2, 3),
    "reflected": lambda x: padded(x, "reflect", 1, 4),
    "mirrored": lambda x: padded(x, "symmetric", 3, 0),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_elements_are_those_of_the_kernel(name: str, threads: int) -> None:
    x = ops.parameter([2, 16, 6, 8], np.float32, name="x")
    model = Model([LAYERS[name](x)], [x])
    compiled = lowered(model)
    assert isinstance(next(iter(forms(compiled).values())), Selecting)
    data = np.random.default_rng(0).standard_normal((2, 16, 6, 8), dtype=np.float32)
    data[0, 1, 2] = np.nan
    expected = kernels(model)([data])[0]
    parallel.set_num_threads(threads)
    try:
        for _ in range(2):
            assert compiled([data])[0].tobytes() == expected.tobytes()
    finally:
        parallel.set_num_threads(None)


@pytest.mark.parametrize(
    "layer",
    [
        lambda x: resized(x, [2, 2], [2, 3], pads_begin=[0, 0, 1, 0], pads_end=[0, 0, 0, 0]),
        lambda x: padded(x, "constant", 1, 1),
        lambda x: ops.interpolate(x, np.array([2.0, 2], np.float32), "linear_onnx", "scales", axes=np.array([2, 3])),
    ],
    ids=["a padded image", "constant padding", "linear"],
)
def test_other_layers_keep_their_kernels(layer: Callable[[Any], Any]) -> None:
    x = ops.parameter([1, 2, 6, 8], np.float32, name="x")
    assert not forms(lowered(Model([layer(x)], [x])))


def test_layers_without_memory_of_the_plan_are_part_of_a_sequence() -> None:
    """Neither an Interpolate nor a MaxPool with two outputs uses memory of the plan."""
    x = ops.parameter([1, 4, 12, 16], np.float32, name="x")
    image = resized(ops.relu(x), [2, 2], [2, 3])
    windows = {"strides": [1, 1], "pads_begin": [2, 2], "pads_end": [2, 2], "kernel": [5, 5]}
    pooled = irexec.opset14.max_pool(image, dilations=[1, 1], **windows).output(0)
    model = Model([ops.sigmoid(ops.concat([image, pooled], 1))], [x])
    request = lowered_engine(model).create_infer_request()
    for seed in range(3):
        data = np.random.default_rng(seed).standard_normal((1, 4, 12, 16), dtype=np.float32)
        np.testing.assert_allclose(request.infer([data])[0], kernels(model)([data])[0], rtol=1e-6)
    assert "Interpolate" not in entries(request)
    assert "MaxPool" not in entries(request)
