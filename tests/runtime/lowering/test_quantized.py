"""Convolutions of quantized data and weights: exact sums of bytes, and f32 if values are not on a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.amounts import amount
from support.lowering import forms, kernels, lowered, lowered_engine

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering import tasks
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.quantized import FoldedConvolver

ops: Any = irexec.opset15
UNSIGNED, SIGNED, ASYMMETRIC = (0.0, 255.0), (-128.0, 127.0), (-28.0, 227.0)


def quantized(x: Any, limits: tuple[float, float], levels: int = 256) -> Any:
    low, high = (ops.constant(np.float32(limit)) for limit in limits)
    return ops.fake_quantize(x, low, high, low, high, levels=levels)


def stored(numbers: np.ndarray, scales: np.ndarray, as_half: bool = False) -> Any:
    """Return weights as they are stored: i8, converted and multiplied by a scale for each output channel."""
    factor = ops.constant(scales.astype(np.float16) if as_half else scales)
    factor = ops.convert(factor, "f32") if as_half else factor
    return ops.multiply(ops.convert(ops.constant(numbers.astype(np.int8)), "f32"), factor)


def compare(model: Model, x: np.ndarray, is_exact: bool = False) -> Any:
    """Compare the lowered model with its kernels; return the compiled code of its convolution."""
    expected, found = kernels(model)([x])[0], lowered(model)([x])[0]
    if is_exact:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max(initial=0))
    compiled = lowered_engine(model)
    compiled([x])
    form: Any = next((form for type, form in forms(compiled).items() if type.endswith("Convolution")), None)
    return None if form is None else form._sized(x.shape).compiled


def is_of_bytes(compiled: Any) -> bool:
    """Return whether a convolution is computed in bytes, or would be on another machine."""
    return isinstance(compiled, FoldedConvolver) == compiler().has_bytes


@pytest.mark.parametrize("seed", range(amount(60, 24)))
def test_the_results_are_those_of_the_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))

    def numbers(low: int, high: int) -> list[int]:
        return [int(n) for n in rng.integers(low, high, axes)]

    extents, kernel = numbers(3, 30 if axes < 3 else 9), [int(n) for n in rng.integers(1, 4, axes)]
    groups, outputs, inputs = (int(rng.integers(low, most)) for low, most in ((1, 4), (1, 40), (2, 11)))
    x = ops.parameter([2, groups * inputs, *extents], np.float32, name="x")
    data = quantized(x, (UNSIGNED, SIGNED, ASYMMETRIC)[seed % 3])
    shape = (groups, outputs, inputs, *kernel) if groups > 1 else (outputs, inputs, *kernel)
    lead = shape[:2] if groups > 1 else shape[:1]
    scales = rng.uniform(0.01, 0.1, (*lead, *[1] * (len(shape) - len(lead)))).astype(np.float32)
    weights = stored(rng.integers(-128, 128, shape), scales, as_half=seed % 2 == 0)
    convolve = ops.group_convolution if groups > 1 else ops.convolution
    placed = numbers(1, 4), numbers(0, 3), numbers(0, 3), [1] * axes
    found = convolve(data, weights, *placed)
    bias = ops.constant(rng.standard_normal((1, groups * outputs, *[1] * axes)).astype(np.float32))
    model = Model([ops.relu(ops.add(found, bias)) if seed % 4 else found], [x])
    given = (rng.standard_normal(tuple(x.shape)) * 150).astype(np.float32)
    assert is_of_bytes(compare(model, given))


@pytest.mark.parametrize("limits", [UNSIGNED, SIGNED, ASYMMETRIC], ids=["unsigned", "signed", "asymmetric"])
@pytest.mark.parametrize(
    ("inputs", "extent", "size"), [(3, 40, 7), (16, 30, 3), (64, 17, 1), (30, 7, 7), (5, 1, 1), (520, 4, 3)]
)
def test_sums_of_integers_are_exact(limits: tuple[float, float], inputs: int, extent: int, size: int) -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([1, inputs, extent, extent], np.float32, name="x")
    numbers = rng.integers(-9, 10, (70, inputs, size, size))
    pads = [0 if size == extent else size // 2] * 2
    weights = stored(numbers, np.ones((70, 1, 1, 1), np.float32))
    model = Model([ops.convolution(quantized(x, limits), weights, [1, 1], pads, pads, [1, 1])], [x])
    given = (rng.standard_normal(tuple(x.shape)) * 150).astype(np.float32)
    # All partial sums of f32 are exact as well.
    assert np.abs(numbers).sum(axis=(1, 2, 3)).max() * 255 < 1 << 24
    assert is_of_bytes(compare(model, given, is_exact=True))


def convolved(data: Any, weights: Any, pads: int = 1) -> Any:
    return ops.convolution(data, weights, [1, 1], [pads] * 2, [pads] * 2, [1, 1])


def drawn_weights(steps: Any = 0.25) -> Any:
    numbers = np.random.default_rng(2).integers(-127, 128, (20, 8, 3, 3))
    return stored(numbers, np.broadcast_to(np.float32(steps), (20, 1, 1, 1)).copy())


def test_weights_that_pass_fake_quantize_themselves() -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([1, 8, 12, 12], np.float32, name="x")
    raw = rng.standard_normal((20, 8, 3, 3)).astype(np.float32)
    most = np.abs(raw).max(axis=(1, 2, 3), keepdims=True)
    limits = [ops.constant(limit) for limit in (-most, most, -most, most)]
    weights = ops.fake_quantize(ops.constant(raw), *limits, levels=255)
    model = Model([convolved(quantized(x, (0.0, 3.7)), weights)], [x])
    assert is_of_bytes(compare(model, rng.standard_normal((1, 8, 12, 12)).astype(np.float32)))


def test_values_stay_on_their_grid_through_layers_that_compute_nothing() -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([1, 2, 4, 24, 24], np.float32, name="x")
    data = ops.reshape(quantized(x, (-1.0, 127 / 128)), np.array([1, 8, 24, 24]), False)
    data = ops.max_pool(data, [2, 2], [1, 1], [1, 1], [1, 1], [3, 3]).output(0)
    model = Model([convolved(data, drawn_weights())], [x])
    expected = rng.standard_normal(tuple(x.shape)).astype(np.float32)
    compiled = lowered_engine(model)
    np.testing.assert_allclose(compiled([expected])[0], kernels(model)([expected])[0], rtol=1e-5, atol=1e-4)
    form: Any = forms(compiled)["Convolution"]
    assert is_of_bytes(form._sized((1, 8, 12, 12)).compiled)


@pytest.mark.parametrize(
    ("limits", "levels", "pads", "weights"),
    [
        ((-1.0, 1.0), 256, 1, 0.25),
        ((0.5, 3.05), 256, 1, 0.25),
        ((0.0, 8.0), 1025, 1, 0.25),
        ((0.0, 3.0), 256, 1, None),
    ],
    ids=["0 is between two levels", "padding has no level", "more levels", "weights on no grid"],
)
def test_other_values_are_summed_in_f32(limits: Any, levels: int, pads: int, weights: Any) -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([1, 8, 12, 12], np.float32, name="x")
    raw = rng.standard_normal((20, 8, 3, 3)).astype(np.float32)
    kernel = ops.constant(raw) if weights is None else drawn_weights(weights)
    model = Model([convolved(quantized(x, limits, levels), kernel, pads)], [x])
    given = (rng.standard_normal(tuple(x.shape)) * 2).astype(np.float32)
    assert not isinstance(compare(model, given), FoldedConvolver)


@pytest.mark.parametrize(("dtype", "zero"), [(np.uint8, 0), (np.uint8, 255), (np.int8, -3)])
@pytest.mark.parametrize(("inputs", "extent", "size"), [(16, 30, 3), (66, 9, 1), (5, 7, 7), (520, 4, 3)])
def test_integers_in_f64(dtype: Any, zero: int, inputs: int, extent: int, size: int) -> None:
    """As in ONNX's ConvInteger: bytes minus a zero point, with sums of more bits than f32 has."""
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    x = ops.parameter([2, inputs, extent, extent], dtype, name="x")
    data = ops.subtract(ops.convert(x, "f64"), ops.convert(ops.constant(dtype(zero)), "f64"))
    numbers = rng.integers(-128, 128, (30, inputs, size, size)).astype(np.int8)
    numbers[0] = -128
    pads = [0 if size == extent else size // 2] * 2
    weights = ops.convert(ops.constant(numbers), "f64")
    model = Model([ops.convolution(data, weights, [1, 1], pads, pads, [1, 1])], [x])
    given = rng.integers(limits.min, limits.max + 1, tuple(x.shape)).astype(dtype)
    given[0] = limits.max
    assert is_of_bytes(compare(model, given, is_exact=True))


def test_levels_without_a_zero_need_no_padding() -> None:
    x = ops.parameter([1, 8, 12, 12], np.float32, name="x")
    model = Model([convolved(quantized(x, (0.5, 3.05)), drawn_weights(), pads=0)], [x])
    given = np.random.default_rng(0).standard_normal(tuple(x.shape)).astype(np.float32)
    assert is_of_bytes(compare(model, given))


@pytest.mark.usefixtures("threads")
def test_results_are_the_same_for_any_number_of_threads_and_in_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "WORTH_PRODUCTS", 1)
    x = ops.parameter([1, 8, 33, 33], np.float32, name="x")
    model = Model([convolved(quantized(x, (0.0, 3.7)), drawn_weights())], [x])
    given = np.random.default_rng(0).standard_normal(tuple(x.shape)).astype(np.float32)
    results = []
    for count in (1, 2, 8):
        parallel.set_num_threads(count)
        compiled = lowered(model)
        results += [compiled([given])[0].copy() for _ in range(3)]
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_a_dynamic_batch() -> None:
    x = ops.parameter([-1, 8, 12, 12], np.float32, name="x")
    model = Model([convolved(quantized(x, (0.0, 3.7)), drawn_weights())], [x])
    compiled, plain = lowered(model), kernels(model)
    for batch in (1, 3, 1, 3, 3):
        given = np.random.default_rng(batch).standard_normal((batch, 8, 12, 12)).astype(np.float32)
        np.testing.assert_allclose(compiled([given])[0], plain([given])[0], rtol=1e-5, atol=1e-3)
