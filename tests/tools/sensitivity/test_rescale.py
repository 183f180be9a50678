"""Rescaling by powers of two: f16 no longer overflows, and in f32 the results are the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.core.types import F16, Array
from irexec.runtime.engine import CompiledModel
from irexec.tools.sensitivity.remedies import NoRemedy, rescaling

pytestmark = pytest.mark.any_python

RNG = np.random.default_rng(0)
X: Array = RNG.normal(0, 1, (2, 16)).astype(np.float32)


def weights(scale: float) -> Array:
    return RNG.normal(0, scale, (16, 16)).astype(np.float32)


def attention(x: Any) -> Any:
    scores = ops.matmul(ops.matmul(x, weights(300), name="query"), weights(300), name="scores")
    return ops.softmax(ops.divide(scores, np.float32(1e5), name="scaled"), -1)


def two_inputs(x: Any) -> Any:
    keys = ops.matmul(x, weights(500), name="keys")
    scores = ops.matmul(ops.multiply(keys, np.float32(3)), keys, False, True, name="scores")
    return ops.softmax(ops.multiply(scores, np.float32(1e-7), name="scaled"), -1)


def normalization(x: Any) -> Any:
    wide = ops.multiply(x, np.float32(2000), name="wide")
    mean = ops.reduce_mean(ops.power(wide, np.float32(2), name="squared"), np.int64([1]), True, name="mean")
    return ops.divide(wide, ops.sqrt(ops.add(mean, np.float32(1e-5), name="eps"), name="root"), name="normal")


def residual(x: Any) -> Any:
    wide = ops.matmul(x, weights(30000), name="wide")
    bent = ops.relu(ops.add(wide, ops.matmul(x, weights(3), name="other"), name="sum"), name="bent")
    return ops.matmul(bent, weights(1e-5), name="narrow")


@pytest.mark.parametrize("build", [attention, two_inputs, normalization, residual])
def test_an_overflow_is_gone_and_the_results_are_the_same_bits(build: Callable[[Any], Any]) -> None:
    x = ops.parameter([2, 16], np.float32, name="x")
    model = irexec.Model([build(x)], [x], "m")
    found = rescaling(model, F16, [[X], [3 * X]])
    assert found.powers
    for step in (X, 3 * X):
        mine, theirs = (CompiledModel(m)([step]).to_tuple()[0] for m in (model, found.model))
        assert mine.tobytes() == theirs.tobytes()
    assert found.score.snr > 35
    assert found.difference == 0


def test_where_no_factor_can_be_moved_the_layer_is_named() -> None:
    x = ops.parameter([2, 16], np.float32, name="x")
    wide = ops.matmul(x, weights(1e5), name="wide")
    model = irexec.Model([ops.tanh(wide, name="bent")], [x], "m")
    with pytest.raises(NoRemedy, match=r"bent \(Tanh\) is not linear, and its input wide overflows"):
        rescaling(model, F16, [[X]])
    model = irexec.Model([ops.log(ops.exp(ops.multiply(x, np.float32(20)), name="huge"))], [x], "m")
    with pytest.raises(NoRemedy, match=r"huge \(Exp\) overflows and is not linear"):
        rescaling(model, F16, [[X]])


def test_an_overflow_of_a_result_stays() -> None:
    x = ops.parameter([2, 16], np.float32, name="x")
    model = irexec.Model([ops.matmul(x, weights(1e6), name="wide")], [x], "m")
    with pytest.raises(NoRemedy, match="Result"):
        rescaling(model, F16, [[X]])
