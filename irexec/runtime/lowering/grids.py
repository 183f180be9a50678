"""Grids: sets of evenly spaced values, such as the results of FakeQuantize, which 8-bit integers can represent.

A value `(level + zero) * step` with a level from 0 to 255 can be read as a byte, and a weight that is an integer
from -128 to 127 times the step of its row as a signed byte: sums of products of such bytes are exact. The f32 values
may be a few units in the last place away from the grid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from irexec.core.records import record
from irexec.core.structure import CONVERT
from irexec.core.types import F32, I8, U8, Array
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.traits import Difference, KeepsElements, KeepsGrid, Product, Quantization
from irexec.runtime.engine.packed.matrix import PackedMatrix
from irexec.runtime.engine.step import Step

# The number of levels of a byte.
LEVELS = 256
# The maximum number of products (level + zero) * signed byte whose sum has at most 31 bits for any zero up to LEVELS.
MOST_PRODUCTS = (1 << 31) // (2 * LEVELS * 128) - 1
# The maximum distance of a number from its grid: about the error of f32 for 128 steps.
NEAR = 2.0**-14


class Grid(NamedTuple):
    """The values `(level + zero) * step` for the levels from 0 to `highest`."""

    step: np.float32
    zero: int
    highest: int

    @property
    def has_zero(self) -> bool:
        """Whether one of the 8-bit levels represents 0."""
        return 0 <= -self.zero < LEVELS


BYTES = {U8: Grid(np.float32(1), 0, LEVELS - 1), I8: Grid(np.float32(1), -128, LEVELS - 1)}


def grids_of(steps: Sequence[Step], template: Sequence[Any]) -> Mapping[int, Grid]:
    """Return, by slot, the grids of f32 values, and of f64 values that are bytes minus a zero point."""
    found: dict[int, Grid] = {}
    for step in steps:
        if (dtype := step.types[0].element_type.dtype) not in (np.float32, np.float64):
            continue
        if dtype == np.float64 and (step.operator.type == CONVERT or Difference in step.operator.traits):
            grid = _whole(step, found.get(step.inputs[0]), template)
        elif Quantization in step.operator.traits and dtype == np.float32:
            grid = _quantized(step, template)
        elif KeepsElements in step.operator.traits or KeepsGrid in step.operator.traits:
            grid = found.get(step.inputs[0])
        else:
            grid = None
        if grid is not None:
            found[step.outputs[0]] = grid
    return found


def _whole(step: Step, before: Grid | None, template: Sequence[Any]) -> Grid | None:
    """Return the grid of a Convert of bytes, or of a subtraction of a constant integer from converted bytes."""
    if step.operator.type == CONVERT:
        return None if step.given[0] is None else BYTES.get(step.given[0].element_type)
    zero = template[step.inputs[1]]
    if before is None or zero is None or zero.size != 1 or not abs(float(zero.reshape(-1)[0])) <= LEVELS:
        return None
    number = float(zero.reshape(-1)[0])
    return Grid(before.step, before.zero - int(number), before.highest) if number.is_integer() else None


def _quantized(step: Step, template: Sequence[Any]) -> Grid | None:
    """Return the grid of a FakeQuantize with the same limits for all elements, computed as the kernel computes it."""
    limits = [template[slot] for slot in step.inputs[1:]]
    highest = step.node.all_attributes["levels"] - 1
    if not 0 < highest < LEVELS or any(limit is None or limit.size != 1 for limit in limits):
        return None
    _, _, low, high = (np.float32(limit.reshape(-1)[0]) for limit in limits)
    with np.errstate(all="ignore"):
        size = (high - low) / np.float32(highest)
    if not (np.isfinite(size) and size > np.finfo(np.float32).tiny and np.isfinite(low / size)):
        return None
    zero = round(float(low) / float(size))
    is_whole = abs(float(low) / float(size) - zero) <= NEAR and abs(zero) <= LEVELS
    return Grid(size, zero, highest) if is_whole else None


@record(eq=False, weakref_slot=True)
class Rows:
    """Rows of weights as 8-bit integers times a step for each row; `numbers` is None if this is not possible."""

    numbers: Array | None
    steps: Array


def whole_rows(rows: Array, value: Value) -> Rows:
    """Return rows of f32 weights as integers times the steps that the graph declares for `value`.

    `value` is the value in the graph that contains these rows.
    """
    declared = _declared_steps(value)
    if declared is None or declared.size not in (1, len(rows)):
        return Rows(None, np.zeros(0, np.float32))
    steps = np.broadcast_to(np.abs(declared.reshape(-1)), len(rows))
    with np.errstate(all="ignore"):
        scaled = rows / np.where(steps > 0, steps, 1)[:, None]
        numbers = np.rint(scaled)
        is_whole = np.abs(scaled - numbers) <= NEAR
    fits = bool(is_whole.all()) and numbers.min(initial=0) >= -128 and numbers.max(initial=0) <= 127
    return Rows(numbers.astype(np.int8) if fits else None, np.ascontiguousarray(steps))


def packed_rows(matrix: PackedMatrix) -> Rows | None:
    """Return the rows of a packed matrix as integers; None unless it is i8 times a positive f32 step for each
    row.
    """
    codes, scale = matrix.codes, matrix.scale
    is_plain = codes.type is I8 and codes.arithmetic is F32 and matrix.final is F32
    if not is_plain or matrix.zero is not None or scale is None or matrix.groups != 1:
        return None
    steps = np.ascontiguousarray(np.broadcast_to(scale.reshape(-1), codes.rows))
    return Rows(codes.part(0, codes.rows), steps) if (steps > 0).all() else None


def signed_bytes(numbers: Array) -> Array | None:
    """Return floats as signed bytes; None if they are not integers from -128 to 127."""
    if not (numbers.min(initial=0) >= -128 and numbers.max(initial=0) <= 127):
        return None
    return np.ascontiguousarray(numbers.astype(np.int8)) if bool((numbers == np.rint(numbers)).all()) else None


def _declared_steps(value: Value) -> Array | None:
    """Return the steps of weights: the factor of stored integers, or the steps of a FakeQuantize; None for other
    weights.
    """
    node = value.node
    while KeepsElements in node.traits and node.inputs[0] is not None:
        node = node.inputs[0].node
    if Quantization in node.traits:
        low, high = (_constant(given) for given in node.inputs[3:5])
        levels = node.all_attributes["levels"]
        if low is None or high is None or levels < 2:
            return None
        return np.asarray((high - low) / np.float32(levels - 1))
    if Product in node.traits:
        return _constant(node.inputs[1])
    return None


def _constant(value: Value | None) -> Array | None:
    """Return a small constant in f32, whatever its stored type; None if the value is not a small constant."""
    node: Node | None = None if value is None else value.node
    if node is not None and node.type == CONVERT and node.inputs[0] is not None:
        node = node.inputs[0].node
    constant = None if node is None else node.constant
    return None if constant is None else constant.astype(np.float32)
