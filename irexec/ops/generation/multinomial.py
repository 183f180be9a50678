"""Multinomial: random classes drawn with given probabilities.

Source: operation page Multinomial-13. The page does not define the generator; irexec uses the generator of OpenVINO's
CPU plugin: MT19937 seeded by C++'s `std::seed_seq{global_seed, op_seed}`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import INDICES, Array, ElementType, PartialShape, TensorType
from irexec.ops.rules.axes import first_known, in_range, integer, one_element
from irexec.ops.rules.shapes import dimension_of, has_rank
from irexec.ops.spec.attributes import NonNegative
from irexec.ops.spec.operator import Check, Elements, TypeFrom, operator, require
from irexec.ops.spec.tensors import FloatInput
from irexec.ops.spec.traits import Random

T_SAMPLES: TypeAlias = Annotated[Array, Elements("T_SAMPLES", INDICES)]


@operator("Multinomial", "opset13", Random)
def multinomial_13(
    probs: FloatInput,
    num_samples: T_SAMPLES,
    /,
    *,
    convert_type: Literal["i32", "i64"],
    with_replacement: bool,
    log_probs: bool,
    global_seed: NonNegative = 0,
    op_seed: NonNegative = 0,
) -> Annotated[Array, TypeFrom("convert_type")]:
    """Return classes [batch, num_samples], drawn from `probs` [batch, classes] or their logarithms.

    Each random number selects the first class whose cumulative probability is not below it. If both seeds are 0, each
    call draws new numbers.

    C1: probs is [batch_size, class_size]. C2: num_samples is a scalar or has one element, not negative. C3: without
    replacement there are at least num_samples classes. C4: probabilities are finite, not negative, and not all zero.
    """
    count = integer(num_samples)
    batch, classes = probs.shape
    _check_count(require, count, None if with_replacement else classes)
    weights = probs.astype(np.float64)
    if log_probs:
        weights = np.exp(weights - weights.max(axis=1, keepdims=True, initial=-np.inf))
    proper = bool(np.isfinite(weights).all() and (weights >= 0).all() and (weights.sum(axis=1) > 0).all())
    require(
        "C4",
        proper or count == 0,
        "probs has a row with a negative or infinite value, NaN, or only zeros",
        port="probs",
    )
    numbers = uniform(global_seed, op_seed, batch * count).reshape(batch, count)
    return draw(weights, numbers, with_replacement).astype(ElementType.by_name[convert_type].dtype)


def uniform(global_seed: int, op_seed: int, count: int) -> Array:
    """Return random numbers in [0, 1], with the precision of f32."""
    generator = np.random.MT19937()
    if global_seed or op_seed:
        key = np.array(seed_sequence((global_seed, op_seed), 624), np.uint32)
        generator.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": 624}}
    return generator.random_raw(count).astype(np.float32).astype(np.float64) / 2.0**32


@lru_cache(maxsize=16)
def seed_sequence(seeds: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the `count` (at least 624) 32-bit numbers that C++'s `std::seed_seq` generates."""
    size, shift = len(seeds), (count - 11) // 2
    last = shift + 11
    words = [0x8B8B8B8B] * count
    for k in range(count):
        mixed = words[k] ^ words[(k + shift) % count] ^ words[k - 1]
        first = 1664525 * (mixed ^ (mixed >> 27)) & 0xFFFFFFFF
        second = first + (size if k == 0 else k + seeds[k - 1] if k <= size else k)
        words[(k + shift) % count] = (words[(k + shift) % count] + first) & 0xFFFFFFFF
        words[(k + last) % count] = (words[(k + last) % count] + second) & 0xFFFFFFFF
        words[k] = second & 0xFFFFFFFF
    for k in range(count):
        mixed = (words[k] + words[(k + shift) % count] + words[k - 1]) & 0xFFFFFFFF
        first = 1566083941 * (mixed ^ (mixed >> 27)) & 0xFFFFFFFF
        second = (first - k) & 0xFFFFFFFF
        words[(k + shift) % count] ^= first
        words[(k + last) % count] ^= second
        words[k] = second
    return tuple(words)


def draw(weights: Array, numbers: Array, with_replacement: bool) -> Array:
    """Return the class [batch, count] for each number in [0, 1]; without replacement, at most once per row."""
    drawn = np.zeros(numbers.shape, np.int64)
    if not numbers.size:
        return drawn
    if with_replacement:
        for row, cumulative in enumerate(np.cumsum(weights, axis=1)):
            first = np.flatnonzero(weights[row])[0]
            drawn[row] = np.maximum(np.searchsorted(cumulative, numbers[row] * cumulative[-1]), first)
        return drawn
    weights, rows = weights.copy(), np.arange(len(weights))
    for sample in range(numbers.shape[1]):
        cumulative = np.cumsum(weights, axis=1)
        share = numbers[:, sample, None] * cumulative[:, -1:]
        drawn[:, sample] = np.argmax((cumulative >= share) & (weights > 0), axis=1)
        weights[rows, drawn[:, sample]] = 0
    return drawn


@multinomial_13.shapes
def _(check: Check, probs: TensorType, num_samples: TensorType, *, with_replacement: bool) -> PartialShape:
    has_rank(check, "C1", probs, 2, "probs")
    one_element(check, "C2", num_samples, "num_samples")
    batch, classes = probs.shape if probs.rank == 2 else PartialShape.dynamic(2)
    count = first_known(num_samples)
    if isinstance(count, int) and not _check_count(check, count, None if with_replacement else classes.max):
        return PartialShape([batch, dimension_of(None)])
    return PartialShape([batch, dimension_of(count)])


def _check_count(check: Check, count: int, most: int | None) -> bool:
    """Check C2 and C3; return False if one fails. `most`: the number of classes, or None with replacement."""
    if not in_range(check, "C2", "num_samples", count, 0):
        return False
    message = f"num_samples is {count}, expected at most {most}, the number of classes, without replacement"
    check("C3", most is None or count <= most, message, port="probs")
    return True


@multinomial_13.oracle.draw("probs")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    kind = types[port]
    return rng.uniform(0.1, 1, kind.shape.to_shape()).astype(kind.element_type.dtype)
