"""GroupNormalization in compiled code: the results of its kernel, for any groups, and with the layers after it."""

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
from irexec.runtime.lowering.group_normalization import Grouped

ops: Any = irexec.opset15
rng = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("small_layers_too")


def layer(x: Any, channels: int, groups: int, dtype: Any = np.float32) -> Any:
    scale, bias = (ops.constant(rng.standard_normal(channels).astype(dtype)) for _ in range(2))
    return ops.group_normalization(x, scale, bias, groups, 1e-5)


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float16, marks=needs_half)])
@pytest.mark.parametrize(
    ("shape", "number"),
    [((2, 6, 3, 5), 1), ((2, 6, 3, 5), 6), ((3, 8, 17), 4), ((1, 64, 5, 7), 32), ((2, 4, 2, 3, 5), 2)],
)
def test_groups_of_any_extent(shape: tuple[int, ...], number: int, dtype: Any) -> None:
    x = ops.parameter(shape, dtype, name="x")
    model = Model([layer(x, shape[1], number, dtype)], [x])
    compiled = lowered(model)
    assert len(forms(compiled)) == 1
    values = (rng.standard_normal(shape) * 4 + 1).astype(dtype)
    found, expected = compiled([values])[0], kernels(model)([values])[0]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=2e-3 if dtype == np.float16 else 5e-5, atol=2e-5)


@pytest.mark.parametrize("shape", [(2, 6), (1, 8, 7), (0, 6, 4, 4), (2, 6, 0)])
def test_small_planes_and_empty_data_keep_the_kernel(shape: tuple[int, ...]) -> None:
    """The groups of these shapes have no compiled form; the results are those of the kernel."""
    x = ops.parameter(shape, np.float32, name="x")
    model = Model([layer(x, shape[1], 2)], [x])
    values = rng.standard_normal(shape).astype(np.float32)
    assert np.array_equal(lowered(model)([values])[0], kernels(model)([values])[0])


def test_layers_that_follow_are_computed_with_it_for_any_number_of_threads() -> None:
    shape = (2, 32, 24, 24)
    x = ops.parameter(shape, np.float32, name="x")
    gate = ops.parameter((2, 32, 1, 1), np.float32, name="gate")
    last = ops.exp(ops.multiply(ops.swish(layer(x, 32, 8)), gate))
    model = Model([last], [x, gate])
    compiled = lowered(model)
    (following,) = [group.following for group in groups(compiled) if isinstance(group.form, Grouped)]
    assert len(following) == 2
    values = [rng.standard_normal(own).astype(np.float32) for own in (shape, (2, 32, 1, 1))]
    found = compiled(values)[0]
    np.testing.assert_allclose(found, kernels(model)(values)[0], rtol=5e-5, atol=2e-5)
    try:
        for threads in (1, 2, 8):
            parallel.set_num_threads(threads)
            assert np.array_equal(compiled(values)[0], found)
    finally:
        parallel.set_num_threads(None)


def test_the_results_for_open_sizes_are_those_for_given_sizes() -> None:
    x = ops.parameter([-1, 8, -1, -1], np.float32, name="x")
    model = Model([layer(x, 8, 4)], [x])
    compiled = lowered(model)
    for _ in range(2):
        for shape in ((1, 8, 9, 9), (3, 8, 4, 7)):
            values = rng.standard_normal(shape).astype(np.float32)
            first = compiled([values])[0]
            np.testing.assert_allclose(first, kernels(model)([values])[0], rtol=5e-5, atol=2e-5)
            assert np.array_equal(compiled([values])[0], first)
    with np.errstate(all="ignore"):
        values[0, 0, 0, 0] = np.nan
        assert np.array_equal(np.isnan(compiled([values])[0]), np.isnan(kernels(model)([values])[0]))
