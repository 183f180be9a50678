"""Reducing with OpenVINO, live: results of its CPU that are known to be wrong, each down to one or two layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.graph.model import Node
from irexec.trust.openvino_runtime import OpenVINO
from irexec.trust.record import Reference
from irexec.trust.reduce import begin, guesses, reduce
from irexec.trust.verdict import ByRuntime

Make = Callable[[Node], Node]


def padded(x: Node) -> Node:
    """A pad value that is no constant: the CPU pads zeros."""
    return ops.pad(x, [0, 1], [0, 1], "constant", ops.reduce_mean(x, [0, 1]))


def divided(x: Node) -> Node:
    """Whole numbers: the page rounds to minus infinity, the CPU to zero."""
    return ops.convert(ops.divide(ops.convert(x, "i32"), np.int32(3)), "f32")


def saturated(x: Node) -> Node:
    """8-bit sums wrap on the page; the CPU saturates."""
    return ops.convert(ops.add(ops.convert(x, "i8"), np.int8(120)), "f32")


def doubles(x: Node) -> Node:
    """f64 has the range of f32 on the CPU."""
    large = ops.multiply(ops.convert(x, "f64"), np.float64(1e300))
    return ops.convert(ops.divide(large, np.float64(1e300)), "f32")


def long_integers(x: Node) -> Node:
    """i64 keeps 32 bits on the CPU."""
    large = ops.multiply(ops.convert(x, "i64"), np.int64(1 << 33))
    return ops.convert(ops.divide(large, np.int64(1 << 33)), "f32")


def compared(x: Node) -> Node:
    """NaN is not greater than anything; on the CPU it is."""
    nothing = ops.log(ops.subtract(ops.minimum(x, np.float32(0)), np.float32(1)))
    return ops.convert(ops.greater(nothing, np.float32(0)), "f32")


KNOWN: dict[str, tuple[Make, str]] = {
    "pad value": (padded, "Pad"),
    "division": (divided, "Divide"),
    "saturation": (saturated, "Add"),
    "f64": (doubles, "Multiply"),
    "i64": (long_integers, "Multiply"),
    "NaN": (compared, "Greater"),
}


def hidden(make: Make) -> Reference:
    """The layers in the middle of a longer model."""
    x = ops.parameter([4, 8], np.float32, name="x")
    before = ops.multiply(ops.tanh(ops.add(x, np.float32(0.5))), np.float32(9), name="before")
    wrong = make(before)
    after = ops.softmax(
        ops.matmul(ops.sigmoid(wrong), np.arange(30, dtype=np.float32).reshape(10, 3)[: 10 if make is padded else 8]),
        -1,
    )
    model = irexec.Model([ops.add(after, ops.reduce_max(before, [1], True))], [x], "hidden")
    return Reference(model, [[np.random.default_rng(1).normal(0, 2, (4, 8)).astype(np.float32)]])


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_wrong_result_comes_down_to_its_layer(name: str) -> None:
    make, culprit = KNOWN[name]
    run = hidden(make)
    runtime = OpenVINO("CPU", {"INFERENCE_PRECISION_HINT": "f32"}, limit=60.0)
    judge = ByRuntime(runtime)
    found: Any = begin(judge, guesses(run, runtime))
    assert found is not None
    reduce(found, judge)
    assert found.case.size <= 2, [node.type for node in found.case.layers]
    assert culprit in [node.type for node in found.case.layers]
