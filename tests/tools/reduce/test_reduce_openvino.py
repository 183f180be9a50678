"""Reducing with OpenVINO: known wrong results of its CPU plugin, each reduced to one or two layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.waiting import PATIENCE

import irexec
from irexec import Node
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.tools.compare.compare import compare
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.reduce.reduce import begin, guesses, reduce
from irexec.tools.reduce.verdict import ByRuntime
from irexec.tools.run.record import Reference

Make = Callable[[Node], Node]


def padded(x: Node) -> Node:
    """Pad with a computed value: the CPU plugin pads zeros."""
    return ops.pad(x, [0, 1], [0, 1], "constant", ops.reduce_mean(x, [0, 1]))


def divided(x: Node) -> Node:
    """Divide integers: the page rounds to minus infinity, the CPU plugin to zero."""
    return ops.convert(ops.divide(ops.convert(x, "i32"), np.int32(3)), "f32")


def saturated(x: Node) -> Node:
    """Add 8-bit integers: sums wrap on the page; the CPU plugin saturates."""
    return ops.convert(ops.add(ops.convert(x, "i8"), np.int8(120)), "f32")


def doubles(x: Node) -> Node:
    """Compute in f64, which has the range of f32 in the CPU plugin."""
    large = ops.multiply(ops.convert(x, "f64"), np.float64(1e300))
    return ops.convert(ops.divide(large, np.float64(1e300)), "f32")


def long_integers(x: Node) -> Node:
    """Compute in i64, of which the CPU plugin keeps 32 bits."""
    large = ops.multiply(ops.convert(x, "i64"), np.int64(1 << 33))
    return ops.convert(ops.divide(large, np.int64(1 << 33)), "f32")


def compared(x: Node) -> Node:
    """Compare NaN, which is not greater than anything; in the CPU plugin it is."""
    nothing = ops.log(ops.subtract(ops.minimum(x, np.float32(0)), np.float32(1)))
    return ops.convert(ops.greater(nothing, np.float32(0)), "f32")


def exponential(x: Node) -> Node:
    """Compute the exponential of NaN, which is infinite in the CPU plugin."""
    return ops.convert(ops.is_nan(ops.exp(nans(x))), "f32")


def nans(x: Node) -> Node:
    return ops.log(ops.subtract(ops.minimum(x, np.float32(0)), np.float32(1)))


def truth_of_nan(x: Node) -> Node:
    """Convert NaN to boolean: it is not zero, and so true; in the CPU plugin it is false."""
    return ops.convert(ops.convert(nans(x), "boolean"), "f32")


def unsigned(x: Node) -> Node:
    """Compute in u32, which has the range of i32 in the CPU plugin. Add is off as well, but only Greater changes the
    result: it is true for what Add computes there.
    """
    large = ops.add(ops.convert(ops.abs(x), "u32"), np.uint32(3_000_000_000))
    return ops.convert(ops.greater(large, np.uint32(5)), "f32")


def scattered_whole(x: Node) -> Node:
    """Scatter with indices of no axis, which select the whole tensor; the CPU plugin leaves it unchanged."""
    return ops.scatter_nd_update(x, np.zeros((1, 0), np.int64), ops.unsqueeze(ops.multiply(x, np.float32(2)), [0]))


def scattered_mean(x: Node) -> Node:
    """Compute the mean of integers, rounded to minus infinity on the page, to zero in the CPU plugin."""
    whole = ops.convert(ops.multiply(x, np.float32(3)), "i32")
    updates = ops.add(ops.gather(whole, [0], 0), np.int32(-1))
    mean = ops.scatter_elements_update(whole, np.zeros((1, 8), np.int32), updates, 0, reduction="mean")
    return ops.convert(mean, "f32")


def fractional_clamp(x: Node) -> Node:
    """Clamp integers: the least integer not below 0.5 is 1; the CPU plugin keeps 0."""
    return ops.convert(ops.clamp(ops.convert(x, "i8"), 0.5, 4.0), "f32")


def tiny(x: Node) -> Node:
    """Test denormal numbers, which are finite, but not in the CPU plugin."""
    return ops.convert(ops.is_finite(ops.multiply(x, np.float32(1e-40))), "f32")


KNOWN: dict[str, tuple[Make, str]] = {
    "pad value": (padded, "Pad"),
    "division": (divided, "Divide"),
    "saturation": (saturated, "Add"),
    "f64": (doubles, "Multiply"),
    "i64": (long_integers, "Multiply"),
    "NaN": (compared, "Greater"),
    "exponential of NaN": (exponential, "Exp"),
    "NaN as boolean": (truth_of_nan, "Convert"),
    "u32": (unsigned, "Greater"),
    "scatter of everything": (scattered_whole, "ScatterNDUpdate"),
    "mean of integers": (scattered_mean, "ScatterElementsUpdate"),
    "fractional clamp": (fractional_clamp, "Clamp"),
    "denormal": (tiny, "IsFinite"),
}


def hidden(make: Make) -> Reference:
    """Return the layers in the middle of a longer model."""
    x = ops.parameter([4, 8], np.float32, name="x")
    before = ops.multiply(ops.tanh(ops.add(x, np.float32(0.5))), np.float32(9), name="before")
    wrong = make(before)
    after = ops.softmax(
        ops.matmul(ops.sigmoid(wrong), np.arange(30, dtype=np.float32).reshape(10, 3)[: 10 if make is padded else 8]),
        -1,
    )
    model = irexec.Model([ops.add(after, ops.reduce_max(before, [1], True))], [x], "hidden")
    return Reference(model, [[np.random.default_rng(1).normal(0, 2, (4, 8)).astype(np.float32)]])


# OpenVINO's code for instructions other than AVX-512 computes these correctly.
OF_SOME_PROCESSORS = {"NaN", "denormal"}


@pytest.fixture(scope="module")
def runtime() -> OpenVINO:
    return OpenVINO("CPU", {"INFERENCE_PRECISION_HINT": "f32"}, limit=PATIENCE)


@pytest.mark.parametrize("name", [*KNOWN][: amount(len(KNOWN), 5)])
def test_a_known_wrong_result_is_reduced_to_its_layer(name: str, runtime: OpenVINO) -> None:
    make, culprit = KNOWN[name]
    run = hidden(make)
    if name in OF_SOME_PROCESSORS and compare(run, runtime).agrees:
        pytest.skip("OpenVINO computes this right on this processor")
    judge = ByRuntime(runtime)
    found: Any = begin(judge, guesses(run, runtime))
    assert found is not None
    reduce(found, judge)
    assert found.case.size <= 2, [node.type for node in found.case.layers]
    assert culprit in [node.type for node in found.case.layers]


def test_the_rounding_of_a_narrow_type_is_not_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Applies where the device computes in bf16; elsewhere OpenVINO computes in f32, and nothing differs."""
    x = ops.parameter([4, 64], np.float32, name="x")
    weights = ops.constant(np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32))
    irexec.save_model(irexec.Model([ops.matmul(x, weights, False, False)], [x], "m"), tmp_path / "m.xml")
    narrow = ["--config", "INFERENCE_PRECISION_HINT=bf16"]
    assert main(["reduce", str(tmp_path / "m.xml"), "--with", "openvino", *narrow, "-o", str(tmp_path / "r.xml")]) == 2
    assert "nothing to reduce" in capsys.readouterr().err
