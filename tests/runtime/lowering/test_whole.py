"""Layers of integers, as ONNX's QLinearConv is stored: computed in bytes, with the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.lowering import entries, groups, kernels, lowered, lowered_engine

import irexec
from irexec import Model
from irexec.runtime.engine import CompiledModel
from irexec.runtime.lowering.checked import CheckedBackend
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.whole import Quantized, Whole

pytestmark = pytest.mark.any_python

ops: Any = irexec.opset15
WEIGHTS = np.dtype(np.int8)


def centred(x: Any, zero: Any, shape: list[int] | None = None) -> Any:
    """Return bytes minus a zero point, in f64."""
    wide = ops.convert(x, "f64")
    if zero is None:
        return wide
    return ops.subtract(wide, ops.constant(np.reshape(np.float64(zero), shape if shape is not None else [])))


def quantized(sums: Any, factors: Any, zero: int, dtype: Any) -> Any:
    """Return sums in f64 times factors, as bytes with a zero point, in the layers of QLinearConv."""
    x = ops.multiply(ops.convert(sums, "f32"), ops.constant(np.asarray(factors, np.float32)))
    x = ops.round(ops.divide(x, ops.constant(np.float32(1))), "half_to_even")
    limits = np.iinfo(dtype)
    x = ops.clamp(ops.add(x, ops.constant(np.float32(zero))), float(limits.min), float(limits.max))
    return ops.convert(x, "u8" if dtype == np.uint8 else "i8")


def image(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def is_whole(model: Model, given: np.ndarray) -> bool:
    """Compare the bits of the lowered model with those of its kernels, in several calls and in the mode that checks
    each layer; return whether all its layers are one group.
    """
    (expected,) = kernels(model)([given]).to_tuple()
    compiled = lowered(model)
    for _ in range(3):
        (found,) = compiled([given]).to_tuple()
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    checked = CompiledModel(model, CheckedBackend()).create_infer_request()
    np.testing.assert_array_equal(checked.infer([given]).to_tuple()[0], expected)
    engine = lowered_engine(model)
    engine([given])
    own = groups(engine)
    steps = len(engine._plans.general.steps)
    return [type(group.form) for group in own] == [Whole] and len(own[0].absorbed) == steps - 1


@pytest.mark.parametrize("seed", range(amount(24, 12)))
def test_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = np.dtype(np.uint8 if seed % 2 else np.int8)
    rows, depth, columns = int(rng.integers(1, 50)), 4 * int(rng.integers(1, 60)), int(rng.integers(1, 90))
    given = image(rng, dtype, *[[], [1], [2]][seed % 3], rows, depth)
    x = ops.parameter(list(given.shape), dtype, name="x")
    zero = None if seed % 5 == 0 else int(rng.integers(0, 256)) if dtype == np.uint8 else int(rng.integers(-128, 128))
    matrix = ops.convert(ops.constant(image(rng, WEIGHTS, depth, columns)), "f64")
    sums = ops.matmul(centred(x, zero), matrix, False, False)
    factors = rng.uniform(1e-4, 1e-2, columns if seed % 2 else ())
    ends = [
        lambda: ops.convert(sums, "i32"),
        lambda: quantized(sums, factors, 117, np.uint8),
        lambda: quantized(sums, factors, -3, np.int8),
        lambda: ops.add(
            ops.multiply(ops.convert(ops.convert(sums, "i32"), "f32"), ops.constant(np.float32(factors))),
            ops.constant(rng.standard_normal(columns).astype(np.float32)),
        ),
    ]
    assert is_whole(Model([ends[seed % 4]()], [x]), given) == compiler().has_bytes


@pytest.mark.parametrize("seed", range(amount(24, 12)))
def test_convolutions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = np.dtype(np.uint8 if seed % 2 else np.int8)
    inputs, outputs, size = int(rng.integers(1, 20)), int(rng.integers(2, 40)), int(rng.integers(5, 20))
    given = image(rng, dtype, 1 + seed % 2, inputs, size, size + 3)
    x = ops.parameter(list(given.shape), dtype, name="x")
    extent, stride = [1, 3, 3][seed % 3], 1 + seed % 2
    weights = ops.convert(ops.constant(image(rng, WEIGHTS, outputs, inputs, extent, extent)), "f64")
    pads = [extent // 2] * 2
    zero = int(rng.integers(0, 200)) if dtype == np.uint8 else int(rng.integers(-100, 100))
    sums = ops.convolution(centred(x, zero), weights, [stride] * 2, pads, pads, [1, 1])
    if seed % 4:
        sums = ops.add(sums, ops.constant(rng.integers(-9999, 9999, (1, outputs, 1, 1)).astype(np.float64)))
    factors = rng.uniform(1e-4, 1e-2, (1, outputs, 1, 1) if seed % 3 else ())
    made = ops.convert(sums, "i32") if seed % 5 == 4 else quantized(sums, factors, 9, [np.uint8, np.int8][seed % 2])
    assert is_whole(Model([made], [x]), given) == compiler().has_bytes


@pytest.mark.skipif(not compiler().has_bytes, reason="the processor has no instructions for products of bytes")
def test_layers_in_a_row_are_sequences() -> None:
    """The result of each layer may be in the memory of its input."""
    rng = np.random.default_rng(0)
    x = ops.parameter([1, 8, 40, 40], np.uint8, name="x")
    y = x
    for _ in range(4):
        weights = ops.convert(ops.constant(image(rng, WEIGHTS, 8, 8, 3, 3)), "f64")
        sums = ops.convolution(centred(y, 100), weights, [1, 1], [1, 1], [1, 1], [1, 1])
        y = quantized(sums, 3e-3, 100, np.uint8)
    model = Model([y], [x])
    expected = kernels(model)
    engine = lowered_engine(model)
    request = engine.create_infer_request()
    for _ in range(30):
        given = image(rng, np.uint8, 1, 8, 40, 40)
        np.testing.assert_array_equal(request.infer([given]).to_tuple()[0], expected([given])[0])
    assert entries(request) == ["sequence", "Convert"]


def dynamic(x: Any, weights: Any, dtype: Any, *, numbers: int = 1) -> Any:
    """Return the layers of ONNX's DynamicQuantizeLinear and MatMulInteger, and those that scale its sums."""
    limits, one = np.iinfo(dtype), ops.constant(np.float32(1))
    axes = np.array(range(len(x.shape)))
    high, low = ops.reduce_max(x, axes, keep_dims=False), ops.reduce_min(x, axes, keep_dims=False)
    step = ops.divide(ops.subtract(high, low), ops.constant(np.float32(255)))
    shift = ops.round(ops.subtract(ops.constant(np.float32(limits.min)), ops.divide(low, step)), "half_to_even")
    point = ops.convert(ops.clamp(shift, float(limits.min), float(limits.max)), irexec.Type(np.dtype(dtype)))
    level = ops.add(ops.round(ops.divide(x, step), "half_to_even"), ops.convert(point, "f32"))
    level = ops.convert(ops.clamp(level, float(limits.min), float(limits.max)), irexec.Type(np.dtype(dtype)))
    wide = ops.subtract(ops.convert(level, "f64"), ops.convert(point, "f64"))
    sums = ops.convert(ops.convert(ops.matmul(wide, ops.convert(weights, "f64"), False, False), "i32"), "f32")
    for _ in range(numbers):
        sums = ops.multiply(sums, ops.multiply(step, one))
    return sums


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("shape", [(1, 64), (5, 256), (2, 17, 128)])
def test_zero_points_that_are_computed(dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(shape[-1])
    x = ops.parameter(list(shape), np.float32, name="x")
    weights, more = (ops.constant(image(rng, WEIGHTS, *size)) for size in ((shape[-1], 72), (72, 48)))
    y = ops.relu(ops.add(dynamic(x, weights, dtype), ops.constant(rng.standard_normal(72).astype(np.float32))))
    model = Model([dynamic(y, more, dtype, numbers=2)], [x])
    compiled, expected = lowered(model), kernels(model)
    checked = CompiledModel(model, CheckedBackend()).create_infer_request()
    for scale in (1, 100, 0.01, 3):
        given = (rng.standard_normal(shape) * scale + scale).astype(np.float32)
        found = expected([given])[0].copy()
        np.testing.assert_array_equal(compiled([given])[0], found)
        np.testing.assert_array_equal(checked.infer([given]).to_tuple()[0], found)
    engine = lowered_engine(model)
    engine([given])
    own = [group for group in groups(engine) if isinstance(group.form, Whole)]
    assert len(own) == 2 * compiler().has_bytes
    assert all(len(group.absorbed) >= 4 for group in own)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_elementwise_layers_that_end_in_bytes(dtype: Any) -> None:
    limits, rng = np.iinfo(dtype), np.random.default_rng(0)
    for size in (1, 15, 4099):
        x = ops.parameter([3, size], np.float32, name="x")
        y = ops.divide(x, ops.constant(rng.uniform(0.01, 0.1, (3, 1)).astype(np.float32)))
        y = ops.add(ops.round(y, "half_to_even"), ops.constant(np.float32(7)))
        y = ops.convert(ops.clamp(y, float(limits.min), float(limits.max)), irexec.Type(np.dtype(dtype)))
        model = Model([y], [x])
        given = (rng.standard_normal((3, size)) * 5).astype(np.float32)
        given[0, 0], given[1, 0], given[2, 0] = np.nan, np.inf, -np.inf
        compiled = lowered_engine(model)
        np.testing.assert_array_equal(compiled([given]).to_tuple()[0], kernels(model)([given])[0])
        assert [type(group.form) for group in groups(compiled)] == [Quantized]


def test_a_number_that_another_layer_reads_later() -> None:
    """The memory of the value is free before the last of the layers: they are not one group, or read it in time."""
    rng = np.random.default_rng(0)
    for size in (2, 3000):
        x = ops.parameter([5, size], np.float32, name="x")
        step = ops.add(ops.reduce_max(x, np.array([0, 1]), keep_dims=False), ops.constant(np.float32(0.5)))
        level = ops.round(ops.divide(ops.abs(x), step), "half_to_even")
        shift = ops.exp(ops.negative(step))
        model = Model([ops.convert(ops.clamp(ops.add(level, shift), 0.0, 255.0), "u8")], [x])
        compiled, expected = lowered(model), kernels(model)
        for _ in range(4):
            given = (rng.standard_normal((5, size)) * 50).astype(np.float32)
            np.testing.assert_array_equal(compiled([given])[0], expected([given])[0])


def test_other_readers_and_other_numbers_keep_their_layers() -> None:
    rng = np.random.default_rng(0)
    given = image(rng, np.uint8, 6, 64)
    matrix = ops.convert(ops.constant(image(rng, WEIGHTS, 64, 30)), "f64")

    def model(zero: float = 3, bias: float = 5, low: float = 0, again: bool = False) -> Model:
        x = ops.parameter([6, 64], np.uint8, name="x")
        sums = ops.add(ops.matmul(centred(x, zero), matrix, False, False), ops.constant(np.full((1, 30), float(bias))))
        scaled = ops.clamp(ops.multiply(ops.convert(sums, "f32"), ops.constant(np.float32(0.01))), low, 255.0)
        made = ops.convert(scaled, "u8")
        return Model([ops.add(made, ops.convert(ops.clamp(sums, 0.0, 9.0), "u8")) if again else made], [x])

    assert is_whole(model(), given) == compiler().has_bytes
    assert not is_whole(model(zero=0.5), given)
    assert not is_whole(model(bias=0.25), given)
    assert not is_whole(model(bias=2.0**33), given)
    assert not is_whole(model(low=-1.0), given)
    assert not is_whole(model(again=True), given)


def test_a_failure_is_reported_for_the_last_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ops.parameter([6, 64], np.uint8, name="x")
    matrix = ops.convert(ops.constant(np.ones((64, 30), np.int8)), "f64")
    model = Model([ops.convert(ops.matmul(centred(x, 3), matrix, False, False), "i32")], [x])

    def fail(*_: Any) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(Whole, "tasks", fail)
    if compiler().has_bytes:
        with pytest.raises(irexec.IRError, match=r"Convert.*memory"):
            lowered(model)([np.ones((6, 64), np.uint8)])
