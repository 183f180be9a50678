"""Compiled convolution: the sums of the plain kernel, for all geometries and numbers of threads, and when it is
used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.amounts import amount
from support.lowering import forms, kernels, lowered, ran

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.ops.convolution.blocks import convolver
from irexec.ops.rules.windows import Windowing, Windows
from irexec.ops.spec.prepared import Prepared
from irexec.runtime.lowering import convolution, tasks
from irexec.runtime.lowering.convolver import CompiledConvolver
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.convolution import TASK
from irexec.runtime.lowering.work import Work

ops: Any = irexec.opset15


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, Windows]:
    """Return data, weights `[G, O, I, *K]` and windows of 1 to 3 axes; some kernels extend beyond the padded data."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))

    def numbers(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(n) for n in rng.integers(low, high, axes))

    how = Windowing(strides=numbers(1, 4), pads_begin=numbers(0, 4), pads_end=numbers(0, 4), dilations=numbers(1, 3))
    extents = numbers(1, 40 if axes < 3 else 10)
    kernel = tuple(map(min, numbers(1, 6), extents))
    windows = Windows.over(extents, kernel, how).trimmed()
    batch, groups, outputs, inputs = (int(rng.integers(1, most)) for most in (3, 5, 40, 9))
    if seed % 3 == 2:
        groups, outputs, inputs = 7 * groups, 1, 1
    data = rng.standard_normal((batch, groups * inputs, *extents), dtype=np.float32)
    return data, rng.standard_normal((groups, outputs, inputs, *windows.kernel), dtype=np.float32), windows


@pytest.mark.parametrize("seed", range(amount(80, 30)))
def test_the_sums_are_those_of_the_plain_kernel(seed: int) -> None:
    data, weights, windows = drawn(seed)
    if 0 not in windows.counts and 0 not in windows.kernel:
        compare(data, weights, windows)


@pytest.mark.parametrize("outputs", [1, 7, 160])
@pytest.mark.parametrize("extent", [5, 7, 14])
@pytest.mark.parametrize("kernel", [1, 3])
def test_sums_of_many_products(kernel: int, extent: int, outputs: int) -> None:
    rng = np.random.default_rng(0)
    pads = (kernel // 2,) * 2
    how = Windowing(strides=(), pads_begin=pads, pads_end=pads, dilations=())
    data = rng.standard_normal((2, 1100, extent, extent), dtype=np.float32)
    weights = rng.standard_normal((1, outputs, 1100, kernel, kernel), dtype=np.float32)
    compare(data, weights, Windows.over((extent, extent), (kernel, kernel), how))


@pytest.mark.parametrize("outputs", [1, 40, 300])
@pytest.mark.parametrize("extents", [(1, 1), (7, 7), (5,)])
def test_one_window_over_everything(outputs: int, extents: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((3, 70, *extents), dtype=np.float32)
    weights = rng.standard_normal((1, outputs, 70, *extents), dtype=np.float32)
    how = Windowing(strides=(), pads_begin=(), pads_end=(), dilations=())
    compare(data, weights, Windows.over(extents, extents, how))


def compare(data: np.ndarray, weights: np.ndarray, windows: Windows) -> None:
    shape = (len(data), weights.shape[0] * weights.shape[1], *windows.counts)
    expected, found = np.empty(shape, np.float32), np.full(shape, np.nan, np.float32)
    convolver(len(data), weights, windows)(data, expected)
    ran(convolution.convolver(len(data), weights, windows, Prepared()), data, found)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.sqrt(weights[0, 0].size))


@pytest.mark.by_hand(2)
@pytest.mark.parametrize(
    ("groups", "outputs", "inputs", "extent", "kernel"),
    [(1, 64, 32, 56, 3), (1, 200, 600, 7, 3), (1, 96, 64, 40, 1), (256, 1, 1, 50, 3), (1, 24, 3, 96, 7)],
    ids=["rows", "channels", "pointwise", "depthwise", "few channels"],
)
@pytest.mark.usefixtures("threads")
def test_results_are_the_same_for_any_number_of_threads(
    groups: int, outputs: int, inputs: int, extent: int, kernel: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "WORTH_PRODUCTS", 1)
    rng = np.random.default_rng(0)
    how = Windowing(strides=(), pads_begin=(kernel // 2,) * 2, pads_end=(kernel // 2,) * 2, dilations=())
    windows = Windows.over((extent, extent), (kernel, kernel), how)
    data = rng.standard_normal((1, groups * inputs, extent, extent), dtype=np.float32)
    weights = rng.standard_normal((groups, outputs, inputs, kernel, kernel), dtype=np.float32)
    results = []
    for count in (1, 2, 8):
        parallel.set_num_threads(count)
        found = np.empty((1, groups * outputs, *windows.counts), np.float32)
        results.append(ran(convolution.convolver(1, weights, windows, Prepared()), data, found))
    assert all(np.array_equal(results[0], other) for other in results[1:])


def convolutional(element_type: Any) -> Model:
    x = ops.parameter([1, 8, 30, 30], element_type, name="x")
    kernel = np.random.default_rng(1).standard_normal((16, 8, 3, 3)).astype(element_type)
    return Model([ops.convolution(x, ops.constant(kernel), [1, 1], [1, 1], [1, 1], [1, 1])], [x])


@pytest.mark.parametrize("element_type", [np.float32, np.float16])
def test_a_lowered_model(element_type: Any) -> None:
    model = convolutional(element_type)
    x = np.random.default_rng(0).standard_normal((1, 8, 30, 30)).astype(element_type)
    compiled = lowered(model)
    expected = kernels(model)([x])[0].astype(np.float64)
    tolerance = 1e-5 if element_type is np.float32 else 2e-3
    for _ in range(3):
        found = compiled([x])[0]
        assert found.dtype == element_type
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance)
    assert isinstance(forms(compiled)["Convolution"]._sized(x.shape).compiled, CompiledConvolver)


def test_weights_are_laid_out_once_for_images_of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[CompiledConvolver] = []
    compiled = convolution.convolver
    monkeypatch.setattr(convolution, "convolver", lambda *given: made.append(compiled(*given)) or made[-1])
    x = ops.parameter([1, 8, -1, -1], np.float32, name="x")
    weights = [np.random.default_rng(seed).standard_normal((16, 8, 3, 3)).astype(np.float32) for seed in range(2)]
    rows = [ops.convolution(x, ops.constant(kernel), [1, 1], [1, 1], [1, 1], [1, 1]) for kernel in weights]
    model = lowered(Model(rows, [x]))
    for extent in (30, 40, 50):
        for _ in range(3):
            model([np.ones((1, 8, extent, extent), np.float32)])
    # The first run with a shape uses the general plan, the others a plan for the shape.
    assert len(made) == 12 and len({convolver.image for convolver in made}) == 3
    heights = {convolver.tile.height for convolver in made}
    assert len({id(convolver._parts[0].weights(Work())) for convolver in made}) == 2 * len(heights) < len(made)


def test_rows_are_divided_into_parts_that_fill_tiles(threads: None) -> None:
    parallel.set_num_threads(1)
    how = Windowing(strides=(2, 2), pads_begin=(1, 1), pads_end=(1, 1), dilations=(1, 1))
    windows = Windows.over((28, 28), (3, 3), how)
    made = CompiledConvolver(1, np.zeros((1, 256, 256, 3, 3), np.float32), windows, Prepared())
    computed = 0
    for row in made._parts[0].tasks.numbers:
        task = dict(zip(TASK, row.tolist(), strict=True))
        computed += task["tiles"] * made.step + (task["singles"] and made.step + task["singles"])
        computed += made.tile.narrow * compiler().lanes * (task["narrow"] >= 0)
    assert computed <= 1.1 * 14 * 14
