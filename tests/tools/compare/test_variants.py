"""Equally correct variants of a computation: weights decompressed in f32, values between layers rounded differently."""

from __future__ import annotations

from typing import Any

import numpy as np
from ml_dtypes import bfloat16

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.ops.spec.operator import rounded
from irexec.tools.compare.compare import compare
from irexec.tools.compare.culprit import function_of
from irexec.tools.compare.judge import judged, measured
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.compare.variants import decompressed as in_f32
from irexec.tools.run.record import Reference

RNG = np.random.default_rng(0)
STORED = RNG.integers(0, 255, (16, 8)).astype(np.uint8)
SCALES = RNG.uniform(0.001, 0.002, (1, 8))
X = RNG.normal(0, 1, (4, 16)).astype(np.float32)


def decompressed(kind: str, shift: int = 0) -> Model:
    """Return a product with 8-bit weights, as NNCF writes it: zero point and scale are applied in `kind`."""
    dtype = np.float16 if kind == "f16" else np.float32
    x = ops.parameter([4, 16], np.float32, name="x")
    weights: Any = ops.convert(ops.constant(STORED), destination_type=kind)
    weights = ops.subtract(weights, np.full((1, 8), 128 + shift, dtype))
    weights = ops.multiply(weights, SCALES.astype(dtype))
    if kind == "f16":
        weights = ops.convert(weights, destination_type="f32")
    return irexec.Model([ops.matmul(x, weights, name="product")], [x], "decompressed")


def test_weights_may_be_decompressed_in_f32() -> None:
    model = decompressed("f16")
    wide = in_f32(model)
    assert wide is not None
    exact = SCALES.astype(np.float16).astype(np.float32) * (STORED.astype(np.float32) - 128)
    (right,) = function_of(wide)([X])
    np.testing.assert_allclose(right, X @ exact, rtol=1e-5, atol=1e-6)
    assert not measured(function_of(model)([X]), [right], rounded(64))[1]
    assert judged(model, [[X]], [right], rounded(64))[1]
    assert in_f32(decompressed("f32")) is None


def test_other_weights_are_wrong_in_either_way() -> None:
    run = Reference(decompressed("f16"), [[X]])
    assert not compare(run, OtherModel("other.xml", decompressed("f32", shift=1))).agrees


def quantized() -> Model:
    """Return the sum of two values rounded to levels: a tie may be rounded in either direction."""
    limits = [np.float32(value) for value in (0, 255, 0, 255)]
    x = ops.parameter([4], np.float32, name="x")
    inner = ops.add(ops.multiply(x, np.float32(1.5)), np.float32(1))
    return irexec.Model([ops.fake_quantize(inner, *limits, levels=256, name="levels")], [x], "quantized")


def test_a_tie_inside_may_fall_to_either_side() -> None:
    model, x = quantized(), np.float32([0, 1, 3, 7])
    (right,) = function_of(model)([x])
    other = np.float32([1, 3, 5, 12])
    assert np.abs(right - other).max() == 1
    assert judged(model, [[x]], [other], rounded(8))[1]
    assert not judged(model, [[x]], [other + 1], rounded(8))[1]


def test_values_of_16_bits_may_differ_by_a_unit_between_layers() -> None:
    """The neighbour of -11.0625 in bf16 is -11, beside a pole of the tangent."""
    x = ops.parameter([1], "bf16", name="x")
    model = irexec.Model([ops.tan(ops.multiply(x, np.ones(1, bfloat16)))], [x], "tangent")
    given, right, beside = (np.array([value], bfloat16) for value in (-11.0625, np.tan(-11.0625), np.tan(-11.0)))
    (found,) = function_of(model)([given])
    assert found == right and abs(float(beside[0])) > 10 * abs(float(right[0]))
    assert judged(model, [[given]], [beside], rounded(4))[1]
    assert not judged(model, [[given]], [beside + beside], rounded(4))[1]


def test_a_level_of_zero_may_be_off_by_a_rounding_error() -> None:
    """Its formula subtracts numbers of the size of the limits; the function that follows has a step at 0."""
    x = ops.parameter([3], np.float32, name="x")
    limits = [np.float32(value) for value in (-3.67188, 3.67188, -3.67188, 3.67188)]
    model = irexec.Model([ops.floor(ops.fake_quantize(x, *limits, levels=255))], [x], "steps")
    given = np.float32([0, 1.5, -1.5])
    (right,) = function_of(model)([given])
    assert right.tolist() == [0, 1, -2]
    for first, agrees in ((-1, True), (-2, False)):
        assert judged(model, [[given]], [np.float32([first, 1, -2])], rounded(4))[1] == agrees
    assert not judged(model, [[given]], [np.float32([0, 0, -2])], rounded(4))[1]


def test_one_exact_layer_does_not_round() -> None:
    """An index that is exact is not moved, even if two values tie."""
    x = ops.parameter([2], np.float32, name="x")
    model = irexec.Model([ops.bucketize(x, np.float32([1, 2, 3]))], [x], "one")
    given = np.float32([0.5, 2.0])
    assert judged(model, [[given]], [np.int64([0, 1])], rounded(0))[1]
    assert not judged(model, [[given]], [np.int64([0, 2])], rounded(0))[1]


def test_what_to_ask_next(tmp_path: Any) -> None:
    """For two different files, the hint is to list their differences with `irexec diff`."""
    one, two = tmp_path / "one.xml", tmp_path / "two.xml"
    irexec.save_model(decompressed("f32"), one)
    irexec.save_model(decompressed("f32", shift=1), two)
    found = compare(Reference(irexec.read_model(one), [[X]]), OtherModel(str(two)))
    assert found.hints == [f"irexec diff {one} {two} lists the differences between the files"]
    assert found.to_dict()["hints"] == found.hints
    found.other = "OpenVINO 2026.4.1 CPU"
    (hint,) = found.hints
    assert "--config DYNAMIC_QUANTIZATION_GROUP_SIZE=0" in hint
    found.other += " (DYNAMIC_QUANTIZATION_GROUP_SIZE=0)"
    assert found.hints == []
