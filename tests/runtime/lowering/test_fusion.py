"""Fusion: layers that compiled code computes together with the one before have the same results as alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.amounts import amount
from support.lowering import groups, kernels, lowered

import irexec
from irexec import Model
from irexec.core.types import F32, PartialShape, TensorType
from irexec.ops.quantization.fake_quantize import quantize
from irexec.ops.spec.operator import NodeTypes
from irexec.runtime.lowering import follow, followers
from irexec.runtime.lowering.fusion import MOST_LINKS, seen_in
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.elementwise import write_elementwise

ops: Any = irexec.opset15
SHAPE = [2, 6, 19, 21]
rng = np.random.default_rng(0)


def constant(*shape: int) -> Any:
    return ops.constant(rng.standard_normal(shape).astype(np.float32))


def convolved(x: Any, channels: int = 6) -> Any:
    return ops.convolution(x, constant(channels, channels, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])


def swish(x: Any) -> Any:
    return ops.swish(x, ops.constant(np.float32(1.5)))


def batch_norm(x: Any) -> Any:
    return ops.batch_norm_inference(x, constant(6), constant(6), constant(6), ops.abs(constant(6)), 0.1)


def multiplied(x: Any) -> Any:
    return ops.matmul(x, constant(21, 33), False, False)


def reshaped(x: Any, *shape: int) -> Any:
    return ops.reshape(x, ops.constant(np.array(shape)), False)


CHAINS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "bias": (1, lambda x: ops.add(convolved(x), constant(1, 6, 1, 1))),
    "bias without batch": (1, lambda x: ops.add(constant(6, 1, 1), convolved(x))),
    "scalar": (1, lambda x: ops.multiply(convolved(x), constant())),
    "bias and relu": (2, lambda x: ops.relu(ops.add(convolved(x), constant(1, 6, 1, 1)))),
    "clamp": (2, lambda x: ops.clamp(ops.add(convolved(x), constant(1, 6, 1, 1)), 0.0, 6.0)),
    "swish": (2, lambda x: swish(ops.add(convolved(x), constant(1, 6, 1, 1)))),
    "swish of 1": (1, lambda x: ops.swish(convolved(x))),
    "sigmoid": (1, lambda x: ops.sigmoid(convolved(x))),
    "input added": (1, lambda x: ops.add(convolved(x), x)),
    "residual": (3, lambda x: ops.relu(ops.add(ops.exp(x), ops.add(convolved(x), constant(1, 6, 1, 1))))),
    "made later": (1, lambda x: ops.multiply(ops.relu(convolved(x)), ops.exp(x))),
    "slopes by channel": (2, lambda x: ops.prelu(ops.add(convolved(x), constant(1, 6, 1, 1)), constant(6))),
    "normalized by channel": (2, lambda x: ops.relu(batch_norm(convolved(x)))),
    "limits by channel": (
        2,
        lambda x: ops.fake_quantize(
            ops.relu(convolved(x)), *(ops.constant(np.full((1, 6, 1, 1), n, np.float32)) for n in (0, 2, 0, 2)), 16
        ),
    ),
    "not of channels": (0, lambda x: ops.add(convolved(x), constant(19, 21))),
    "columns": (1, lambda x: ops.add(multiplied(x), constant(33))),
    "columns and gelu": (2, lambda x: ops.gelu(ops.add(multiplied(x), constant(1, 1, 33)), approximation_mode="erf")),
    "columns and gelu by tanh": (
        2,
        lambda x: ops.gelu(ops.add(constant(33), multiplied(x)), approximation_mode="tanh"),
    ),
    "columns and residual": (
        2,
        lambda x: ops.add(
            ops.exp(ops.gather(x, ops.constant(np.arange(33) % 21), ops.constant(3))),
            ops.add(multiplied(x), constant(33)),
        ),
    ),
    "columns in another shape": (
        2,
        lambda x: ops.hswish(
            reshaped(ops.multiply(reshaped(multiplied(x), -1, 33), constant(1, 33)), 2, 3, 2, 19, 33),
        ),
    ),
    "residual in another shape": (
        2,
        lambda x: ops.add(
            reshaped(ops.exp(ops.gather(x, ops.constant(np.arange(33) % 21), ops.constant(3))), 228, 33),
            ops.add(reshaped(multiplied(x), 228, 33), constant(33)),
        ),
    ),
    "columns divided": (0, lambda x: ops.add(reshaped(multiplied(x), 2, 6, 19, 3, 11), constant(3, 1))),
    "channels of flat planes": (
        2,
        lambda x: ops.relu(
            ops.squeeze(
                ops.add(
                    ops.unsqueeze(reshaped(convolved(x), 2, 6, 399), ops.constant(np.int64([0]))), constant(1, 6, 1)
                ),
                ops.constant(np.int64([0])),
            )
        ),
    ),
    "groups of channels": (0, lambda x: ops.add(reshaped(convolved(x), 2, 3, 2, 399), constant(2, 1))),
    "one window": (
        3,
        lambda x: ops.sigmoid(
            ops.add(
                ops.add(
                    ops.convolution(x, constant(700, 6, 19, 21), [1, 1], [0, 0], [0, 0], [1, 1]), constant(1, 700, 1, 1)
                ),
                constant(700, 1, 1),
            )
        ),
    ),
    "a number that is computed": (
        3,
        lambda x: ops.add(
            ops.relu(ops.multiply(ops.reduce_max(x, np.arange(4), keep_dims=False), convolved(x))), constant(1)
        ),
    ),
    "a number that is computed, times rows": (
        2,
        lambda x: ops.tanh(ops.multiply(ops.reduce_max(x, np.arange(4), keep_dims=True), multiplied(x))),
    ),
    "grouped": (
        2,
        lambda x: ops.relu(
            ops.add(
                ops.group_convolution(x, constant(6, 1, 1, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1]),
                constant(1, 6, 1, 1),
            )
        ),
    ),
}


def taken(compiled: Any) -> int:
    """Return the number of layers that are computed with a preceding layer."""
    return sum(len(group.following) for group in groups(compiled))


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_computes_what_its_layers_do(name: str) -> None:
    count, build = CHAINS[name]
    x = ops.parameter(SHAPE, np.float32, name="x")
    model = Model([ops.exp(build(x))], [x])
    compiled, plain = lowered(model), kernels(model)
    assert taken(compiled) == count
    for _ in range(3):
        given = [rng.standard_normal(SHAPE).astype(np.float32)]
        np.testing.assert_allclose(compiled(given)[0], plain(given)[0], rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("seed", range(amount(300, 60)))
def test_an_operand_is_seen_in_another_shape(seed: int) -> None:
    """Elements in one shape or another have the same results."""
    draw = np.random.default_rng(seed)
    factors = [int(n) for n in draw.choice([1, 2, 3, 5], draw.integers(0, 5))]

    def grouped() -> tuple[int, ...]:
        cuts = sorted(draw.integers(0, len(factors) + 1, draw.integers(0, 5)).tolist())
        return tuple(prod(factors[a:b]) for a, b in zip([0, *cuts], [*cuts, len(factors)], strict=True))

    shape, target = grouped(), grouped()
    whole = tuple(n if draw.random() < 0.5 else 1 for n in shape)
    own = whole[draw.integers(0, len(whole)) :] if draw.random() < 0.3 else whole
    x, y = draw.standard_normal(shape), draw.standard_normal(own)
    extents = seen_in(target, shape, own)
    expected = x + y
    if extents is not None:
        assert np.array_equal((x.reshape(target) + y.reshape(extents)).reshape(shape), expected)
    else:
        # Every choice of axes along which the operand varies gives another operand.
        numbers = np.broadcast_to(np.arange(y.size).reshape(y.shape), shape).reshape(target)
        choices = product(*[sorted({1, n}) for n in target])
        fitting = [one for one in choices if prod(one) == y.size]
        assert not any(np.array_equal(np.broadcast_to(np.arange(y.size).reshape(e), target), numbers) for e in fitting)


def test_what_another_layer_reads_ends_the_chain() -> None:
    x = ops.parameter(SHAPE, np.float32, name="x")
    sums = convolved(x)
    compiled = lowered(Model([ops.exp(ops.add(ops.relu(sums), ops.exp(sums)))], [x]))
    assert taken(compiled) == 0


@pytest.mark.by_hand(0)
def test_a_long_chain_is_divided_into_groups() -> None:
    """Compiling one function for all layers would take minutes."""
    x = ops.parameter([64], np.float32, name="x")
    last = x
    for number in range(400):
        last = ops.relu(ops.add(last, constant(1))) if number % 2 else ops.abs(last)
    model = Model([ops.exp(last)], [x])
    compiled = lowered(model)
    assert max(len(group.following) for group in groups(compiled)) == MOST_LINKS
    given = [rng.standard_normal(64).astype(np.float32)]
    np.testing.assert_allclose(compiled(given)[0], kernels(model)(given)[0], rtol=1e-5)


def test_a_result_ends_the_chain() -> None:
    x = ops.parameter(SHAPE, np.float32, name="x")
    biased = ops.add(convolved(x), constant(1, 6, 1, 1))
    compiled = lowered(Model([biased, ops.relu(biased)], [x]))
    assert taken(compiled) == 1
    for _ in range(5):
        first, second = compiled([np.ones(SHAPE, np.float32)]).to_tuple()
        assert np.array_equal(np.maximum(first, 0), second)


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (ops.swish, lambda x: x / (1 + np.exp(-x))),
        (ops.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
        (ops.relu, lambda x: np.maximum(x, 0)),
        (ops.tanh, np.tanh),
        (ops.mish, lambda x: x * np.tanh(np.logaddexp(0, x))),
        (lambda x: ops.maximum(x, ops.constant(np.float32([[1]]))), lambda x: np.maximum(x, 1)),
        (ops.abs, np.abs),
        (ops.sqrt, np.sqrt),
        (ops.hsigmoid, lambda x: np.clip(x + 3, 0, 6) / 6),
        (lambda x: ops.clamp(x, -1.0, 88.0), lambda x: np.clip(x, -1, 88)),
    ],
    ids=["swish", "sigmoid", "relu", "tanh", "mish", "maximum", "abs", "sqrt", "hsigmoid", "clamp"],
)
def test_extremes(function: Callable[[Any], Any], exact: Callable[[np.ndarray], np.ndarray]) -> None:
    """Very large, very small and infinite values, and NaN."""
    magnitudes = np.float32([0, 1e-45, 1e-20, 0.5, 1, 17, 80, 87.4, 88.8, 89, 95, 103, 104.5, 120, 1e10, 3e38, np.inf])
    values = np.concatenate([magnitudes, -magnitudes, np.float32([np.nan] * 30), np.linspace(-110, 95, 64 * 64)])
    values = np.resize(values.astype(np.float32), (1, 4, 8, 160))
    x = ops.parameter(values.shape, np.float32, name="x")
    kernel = ops.constant(np.ones((4, 1, 1, 1, 1), np.float32))
    same = ops.group_convolution(x, kernel, [1, 1], [0, 0], [0, 0], [1, 1])
    model = Model([ops.add(function(same), ops.constant(np.float32([[0]])))], [x])
    compiled = lowered(model)
    found, expected = compiled([values])[0], kernels(model)([values])[0]
    assert taken(compiled) >= 1
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    with np.errstate(all="ignore"):
        exactly = exact(values.astype(np.float64))
    finite = np.isfinite(exactly) & np.isfinite(values)
    spacing = np.spacing(np.abs(exactly[finite].astype(np.float32)))
    assert (np.abs(found[finite] - exactly[finite]) <= 8 * spacing).all()
    infinite = np.isinf(values)
    np.testing.assert_array_equal(found[infinite], expected[infinite])


@pytest.mark.parametrize("mode", ["erf", "tanh"])
def test_gelu_is_as_right_as_the_plain_kernel(mode: str) -> None:
    """Far below 0 the argument of the power, and so the result, has fewer correct digits, in both forms alike."""
    values = np.resize(np.linspace(-14, 14, 40_000).astype(np.float32), (1, 4, 100, 100))
    values[0, 0, 0, :6] = [np.nan, np.inf, -np.inf, -0.0, 3e38, -3e38]
    x = ops.parameter(values.shape, np.float32, name="x")
    same = ops.group_convolution(x, ops.constant(np.ones((4, 1, 1, 1, 1), np.float32)), [1, 1], [0, 0], [0, 0], [1, 1])
    last = ops.add(ops.gelu(same, approximation_mode=mode), ops.constant(np.float32([[0]])))
    model = Model([last], [x])
    compiled = lowered(model)
    found, expected = compiled([values])[0], kernels(model)([values])[0]
    assert taken(compiled) == 1
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-37)


def test_every_effect_is_known_to_the_compiler() -> None:
    attributes = {"auto_broadcast": "numpy", "min": 0, "max": 1, "levels": 256, "epsilon": 0.1, "mode": "half_to_even"}
    vector = TensorType(F32, PartialShape([1, 2]))
    compiled = set()
    for (operator, describe), mode, size in product(followers._EFFECTS.items(), ("erf", "tanh"), (1, 2)):
        constants = (None, *[np.full(size, number, np.float32) for number in (2, 3, 4, 5)])
        types = NodeTypes((vector,) * 5, (vector,), constants, attributes | {"approximation_mode": mode})
        for effect in filter(None, (describe(port, types) for port in (0, 1))):
            compiled.add(operator)
            steps = follow.Steps(None)
            known = follow.numbers_of(effect) if effect.operand is None else effect.constant
            steps.add(effect.formula, "numbers" if effect.operand is None else "row", known)
            assert compiler().written(write_elementwise, tuple(steps.after)).address
    assert compiled == set(followers._EFFECTS)


def quantized(x: Any, levels: int = 256, *limits: float) -> Any:
    return ops.fake_quantize(x, *(ops.constant(np.float32(limit)) for limit in limits or (-1, 2.5, -1, 2.5)), levels)


@pytest.mark.parametrize("levels", [2, 16, 255, 256])
def test_fake_quantize_gives_the_bits_of_its_kernel(levels: int) -> None:
    """After an exact elementwise layer, for values at, between and beyond the limits, and NaN."""
    low, high = np.float32(-1.7), np.float32(2.3)
    halves = low + (high - low) * (np.arange(4 * levels, dtype=np.float32) / np.float32(2 * (levels - 1)))
    values = np.concatenate([halves, rng.uniform(-3, 4, 5000), [low, high, np.nan, np.inf, -np.inf, 0.0, -0.0]])
    values = np.resize(values.astype(np.float32), (2, 3, 40, 50))
    x = ops.parameter(values.shape, np.float32, name="x")
    model = Model([ops.exp(quantized(ops.negative(x), levels, low, high, -1.25, 3.5))], [x])
    compiled = lowered(model)
    assert taken(compiled) == 1
    np.testing.assert_array_equal(compiled([values])[0], kernels(model)([values])[0])


@pytest.mark.parametrize(("low", "high", "is_kept"), [(0, 6, 0), (0, 3.9, 1), (0.5, 6, 1), (-1, np.inf, 0), (0, 4, 0)])
def test_limits_before_fake_quantize_that_change_nothing_are_left_out(low: float, high: float, is_kept: int) -> None:
    x = ops.parameter((3, 2000), np.float32, name="x")
    model = Model([ops.negative(quantized(ops.clamp(ops.negative(x), low, high), 256, 0, 4, 0, 4))], [x])
    values = rng.uniform(-8, 2, (3, 2000)).astype(np.float32)
    values[0, :5] = np.nan, np.inf, -np.inf, 0.0, -0.0
    np.testing.assert_array_equal(lowered(model)([values])[0], kernels(model)([values])[0])
    steps = follow.Steps(None)
    for formula, numbers in ((np.clip, (low, high)), (quantize, (0, 4, 255, 4 / 255, 0))):
        steps.add(formula, "numbers", follow.numbers_of(follow.Follow(formula, numbers=numbers)))
    assert len(steps.after) == len(steps.operands) == len(steps.ways) == 1 + is_kept


LIMITS = {
    "by channel": ((1, 6, 1, 1), (1, 6, 1, 1)),
    "by channel without batch": ((6, 1, 1), (1, 1, 1)),
    "one input range": ((1,), (1, 6, 1, 1)),
    "by image": ((2, 1, 1, 1), (1, 1, 1, 1)),
    "by row": ((1, 6, 19, 1), (1,)),
}


@pytest.mark.parametrize("shapes", LIMITS.values(), ids=LIMITS)
def test_limits_that_differ_give_the_bits_of_the_kernel(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    given, made = ([-rng.uniform(0.5, 2, shape), rng.uniform(0.5, 2, shape)] for shape in shapes)
    x = ops.parameter(SHAPE, np.float32, name="x")
    limits = [ops.constant(limit.astype(np.float32)) for limit in (*given, *made)]
    model = Model([ops.exp(ops.fake_quantize(ops.negative(x), *limits, 32))], [x])
    values = (rng.standard_normal(SHAPE) * 2).astype(np.float32)
    values[0, :, 3, 4:7] = np.nan, np.inf, -np.inf
    compiled = lowered(model)
    assert taken(compiled) == 1
    np.testing.assert_array_equal(compiled([values])[0], kernels(model)([values])[0])


@pytest.mark.parametrize("shape", [(21,), (2, 6, 19, 21)])
def test_limits_along_a_row_keep_the_kernel(shape: tuple[int, ...]) -> None:
    x = ops.parameter(SHAPE, np.float32, name="x")
    limits = [ops.constant(np.full(shape, limit, np.float32)) for limit in (-1, 2, -1, 2)]
    model = Model([ops.exp(ops.fake_quantize(ops.relu(ops.negative(x)), *limits, 32))], [x])
    compiled = lowered(model)
    values = rng.standard_normal(SHAPE).astype(np.float32)
    np.testing.assert_array_equal(compiled([values])[0], kernels(model)([values])[0])
    assert taken(compiled) == 1


def test_fake_quantize_after_a_convolution() -> None:
    """A sum that is rounded in another way may fall on the other side of the middle between two levels."""
    x = ops.parameter(SHAPE, np.float32, name="x")
    model = Model([ops.negative(quantized(ops.relu(ops.add(convolved(x), constant(1, 6, 1, 1)))))], [x])
    given = rng.standard_normal(SHAPE).astype(np.float32)
    compiled = lowered(model)
    assert taken(compiled) == 4
    found, expected = compiled([given])[0], kernels(model)([given])[0]
    step = 3.5 / 255
    assert np.abs(found - expected).max() <= step * 1.01
    assert np.mean(np.abs(found - expected) > step / 2) < 0.01
