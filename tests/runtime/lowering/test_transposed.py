"""Transposed convolutions in compiled code: phases of convolutions, as the kernel computes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.halves import needs_half
from support.lowering import forms, groups, kernels, lowered

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering.transposed import Transposed

ops: Any = irexec.opset15
rng = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("small_layers_too")


def layer(x: Any, kernel: tuple[int, ...], dtype: Any = np.float32, **settings: Any) -> Any:
    rank = len(kernel) - 2 - settings.pop("grouped", False)
    shape = settings.pop("output_shape", None)
    strides, begins, ends = (settings.pop(name, [default] * rank) for name, default in (("s", 1), ("b", 0), ("e", 0)))
    make = ops.convolution_backprop_data if len(kernel) == rank + 2 else ops.group_convolution_backprop_data
    weights = ops.constant(rng.standard_normal(kernel).astype(dtype))
    given = [] if shape is None else [ops.constant(np.int64(shape))]
    return make(x, weights, *given, strides=strides, pads_begin=begins, pads_end=ends, **settings)


LAYERS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "twice as large": ((2, 5, 7, 9), {"kernel": (5, 6, 4, 4), "s": [2, 2], "b": [1, 1], "e": [1, 1]}),
    "parts without overlap": ((1, 5, 7, 9), {"kernel": (5, 3, 2, 2), "s": [2, 2]}),
    "an odd kernel": ((1, 5, 7, 9), {"kernel": (5, 3, 3, 3), "s": [2, 2], "b": [1, 1], "e": [1, 1]}),
    "output padding": (
        (2, 4, 6, 5),
        {"kernel": (4, 3, 3, 3), "s": [2, 2], "b": [1, 1], "e": [1, 1], "output_padding": [1, 1]},
    ),
    "an output shape": ((2, 4, 6, 5), {"kernel": (4, 3, 3, 4), "s": [2, 3], "output_shape": [12, 16]}),
    "same_lower": (
        (2, 4, 6, 5),
        {"kernel": (4, 3, 3, 3), "s": [2, 2], "output_shape": [12, 10], "auto_pad": "same_lower"},
    ),
    "same_upper": (
        (2, 4, 6, 5),
        {"kernel": (4, 3, 5, 4), "s": [2, 2], "output_shape": [12, 10], "auto_pad": "same_upper"},
    ),
    "stride 1": ((2, 4, 9, 8), {"kernel": (4, 3, 3, 3), "b": [1, 1], "e": [1, 1]}),
    "other strides": ((1, 4, 9, 8), {"kernel": (4, 3, 5, 4), "s": [3, 1], "b": [2, 1], "e": [1, 0]}),
    "one pixel": ((1, 4, 1), {"kernel": (4, 3, 3), "s": [3], "b": [1]}),
    "an axis": ((2, 8, 33), {"kernel": (8, 5, 16), "s": [8], "b": [4], "e": [4]}),
    "three axes": ((1, 3, 4, 5, 6), {"kernel": (3, 4, 2, 3, 4), "s": [2, 2, 2], "b": [0, 1, 1], "e": [0, 0, 1]}),
    "groups": ((2, 6, 7, 9), {"kernel": (3, 2, 4, 4, 4), "grouped": True, "s": [2, 2], "b": [1, 1], "e": [1, 1]}),
    "depthwise": ((2, 6, 7, 9), {"kernel": (6, 1, 1, 4, 4), "grouped": True, "s": [2, 2], "b": [1, 1], "e": [1, 1]}),
}


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float16, marks=needs_half)])
@pytest.mark.parametrize("name", LAYERS)
def test_compiled_code_computes_the_same_as_the_kernel(name: str, dtype: Any) -> None:
    shape, settings = LAYERS[name]
    x = ops.parameter(shape, dtype, name="x")
    model = Model([layer(x, dtype=dtype, **settings)], [x])
    compiled = lowered(model)
    values = rng.standard_normal(shape).astype(dtype)
    (form,) = forms(compiled).values()
    assert getattr(form, "first", form).shape(values, None) == tuple(compiled.output(0).shape)
    found, expected = compiled([values])[0], kernels(model)([values])[0]
    assert found.dtype == dtype
    scale = np.abs(expected.astype(np.float32)).max()
    assert np.abs(found.astype(np.float32) - expected.astype(np.float32)).max() <= scale * (
        2e-3 if dtype == np.float16 else 2e-6
    )
    for threads in (1, 2, 8):
        parallel.set_num_threads(threads)
        assert np.array_equal(compiled([values])[0], found)
    parallel.set_num_threads(None)


UNSUITED: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "mostly padding": ((4, 10, 1, 1), {"kernel": (10, 8, 4, 4)}),
    "gaps between the kernels": ((1, 4, 5, 5), {"kernel": (4, 3, 1, 1), "s": [2, 2]}),
    "dilations": ((1, 4, 5, 5), {"kernel": (4, 3, 3, 3), "dilations": [2, 2]}),
    "cut off": ((1, 4, 9, 9), {"kernel": (4, 3, 3, 3), "s": [2, 2], "b": [5, 5], "e": [0, 0]}),
    "cut off at the end": ((1, 4, 9, 9), {"kernel": (4, 3, 3, 3), "s": [2, 2], "b": [0, 0], "e": [6, 6]}),
    "zeros at the end": ((1, 4, 5, 5), {"kernel": (4, 3, 3, 3), "s": [2, 2], "output_shape": [31, 31]}),
    "no image": ((0, 4, 5, 5), {"kernel": (4, 3, 3, 3), "s": [2, 2]}),
}


@pytest.mark.parametrize("name", UNSUITED)
def test_others_keep_the_kernel(name: str) -> None:
    shape, settings = UNSUITED[name]
    x = ops.parameter(shape, np.float32, name="x")
    model = Model([layer(x, **settings)], [x])
    values = rng.standard_normal(shape).astype(np.float32)
    compiled = lowered(model)
    assert all(group.form.shape(values, None) is None for group in groups(compiled))
    assert np.array_equal(compiled([values])[0], kernels(model)([values])[0])


def test_a_network_with_open_sizes() -> None:
    x = ops.parameter([-1, 6, -1, -1], np.float32, name="x")
    up = ops.relu(
        ops.add(layer(x, (6, 4, 4, 4), s=[2, 2], b=[1, 1], e=[1, 1]), ops.constant(np.ones((1, 4, 1, 1), "f4")))
    )
    model = Model([ops.concat([up, up], 1)], [x])
    compiled = lowered(model)
    assert any(isinstance(form, Transposed) for form in forms(compiled).values())
    for _ in range(2):
        for shape in ((1, 6, 8, 8), (2, 6, 5, 9)):
            values = rng.standard_normal(shape).astype(np.float32)
            first = compiled([values])[0]
            np.testing.assert_allclose(first, kernels(model)([values])[0], rtol=2e-5, atol=2e-5)
            assert np.array_equal(compiled([values])[0], first)
