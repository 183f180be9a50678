"""Elementwise layers that compiled code can apply to the result of the previous layer before storing it.

`follows` declares an operator's effect on its input from the previous layer. The method `leads` of the previous layer's
lowered form returns how many of the following layers it can compute. irexec.runtime.lowering.fusion finds such groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal, NamedTuple, SupportsFloat

import numpy as np

from irexec.core.types import Array, TensorType
from irexec.ops.spec.operator import NodeTypes, Operator
from irexec.runtime.lowering.llvm.after import NUMBERS, After, Kind, Rounding
from irexec.runtime.lowering.llvm.memory import Records


class Follow(NamedTuple):
    """The effect of a layer on each element of one input, in combination with a second input or with known numbers.

    `constant`: the second input, if it must be reshaped to broadcast as in NumPy, or replaced by several numbers for
    each of its elements (see `records_of`).
    """

    kind: Kind
    operand: int | None = None
    numbers: tuple[SupportsFloat, ...] = ()
    constant: Array | None = None


class Link(NamedTuple):
    """The effect of a following layer, and its second operand: a constant, or the type of a value computed at run
    time.
    """

    follow: Follow
    constant: Array | None = None
    type: TensorType | None = None


# A function that returns an operator's effect on an input of a layer; None if compiled code cannot compute it.
Describe = Callable[[int, NodeTypes], Follow | None]
_described: dict[Operator, Describe] = {}


def follows(*operators: Operator) -> Callable[[Describe], Describe]:
    """Return a decorator for the function that returns the effect of these operators on one of their inputs."""

    def declare(describe: Describe) -> Describe:
        _described.update(dict.fromkeys(operators, describe))
        return describe

    return declare


def can_follow(operator: Operator) -> bool:
    """Return whether the effect of an operator is declared, so that it can be fused with the layer before it."""
    return operator in _described


def follow_of(operator: Operator, port: int, types: NodeTypes) -> Follow | None:
    """Return the effect of a layer on its input `port`; None if compiled code cannot compute it."""
    describe = _described.get(operator)
    return None if describe is None else describe(port, types)


def after_sums(
    links: Sequence[Link],
    shape: tuple[int, ...],
    takes: Literal["channel", "column"],
    rounding: Rounding | None = None,
) -> tuple[int, tuple[After, ...], Operands]:
    """Return the number of leading links that compiled code can apply to an f32 result of this shape, and the
    elementwise operations for them, with their operands.

    `takes`: "channel" if constants vary along axis 1, "column" if they vary along the last axis. With `rounding`, the
    sums and the result of each link are rounded.
    """
    steps = Steps(rounding)
    steps.round()
    count = 0
    for link in links:
        if link.follow.operand is None:
            steps.add(After(link.follow.kind, "numbers"), numbers_of(link.follow))
        elif link.constant is not None:
            along = along_axis(link.constant, shape, 1 if takes == "channel" else len(shape) - 1)
            if along is None or (takes == "column" and has_records(link.constant)):
                break
            steps.add(After(link.follow.kind, takes), along)
        elif link.type is not None and link.type.shape == shape:
            steps.add(After(link.follow.kind, "result"), None)
        elif link.type is not None and link.type.shape.is_static and prod(link.type.shape.to_shape()) == 1:
            steps.add(After(link.follow.kind, "row"), None, (1, 1, 0))
        else:
            break
        count += 1
    return count, tuple(steps.after), Operands(steps.operands, steps.ways)


class Steps:
    """Elementwise operations under construction: `after`, `operands`, and `ways` (each operand's divisor, cycle and
    step; see llvm.after.OPERAND). With `rounding`, results are rounded to a narrow type where necessary.
    """

    def __init__(self, rounding: Rounding | None) -> None:
        self._rounding = rounding
        self.after: list[After] = []
        self.operands: list[Array | None] = []
        self.ways: list[tuple[int, int, int]] = []

    def add(self, step: After, operand: Array | None, way: tuple[int, int, int] = (1, 1, 1)) -> None:
        is_clamped = step.kind == "quantize" and bool(self.after) and self.after[-1].kind == "clamp"
        if is_clamped and _is_limited(self.operands[-1], operand):
            for found in (self.after, self.operands, self.ways):
                del found[-1]
        self._append(step, operand, way)
        if not _selects(step, operand, self._rounding):
            self.round()

    def round(self) -> None:
        if self._rounding is not None:
            self._append(After(self._rounding, "numbers"), np.zeros(NUMBERS, np.float32), (1, 1, 0))

    def _append(self, step: After, operand: Array | None, way: tuple[int, int, int]) -> None:
        self.after.append(step)
        self.operands.append(operand)
        self.ways.append(way)


def _is_limited(limits: Array | None, quantize: Array | None) -> bool:
    """Return whether a clamp before a FakeQuantize is redundant, because its limits include the input range of the
    FakeQuantize.
    """
    if limits is None or quantize is None:
        return False
    low, extent, *_ = np.moveaxis(quantize["numbers"] if has_records(quantize) else quantize, -1, 0)
    return bool(((limits[0] <= low) & (limits[1] - low >= extent)).all())


def _selects(step: After, operand: Array | None, to: Rounding | None) -> bool:
    """Return whether the results of a step need no rounding to the narrow type if its operands need none."""
    if step.kind == "clamp" and operand is not None:
        low, high = operand[:2]
        return all(_is_narrow(limit, to) for limit in (low, high))
    return step.kind in ("absolute", "negative", "maximum", "minimum")


def _is_narrow(number: np.float32, to: Rounding | None) -> bool:
    if to == "f16":
        with np.errstate(over="ignore"):
            return bool(np.float32(np.float16(number)) == number)
    return not number.view(np.uint32) & 0xFFFF


def numbers_of(follow: Follow) -> Array:
    """Return the constants of an effect as an array, padded with 0 to length NUMBERS, which compiled code reads."""
    return np.array([*map(float, follow.numbers), *[0] * (NUMBERS - len(follow.numbers))], np.float32)


# An element that consists of several numbers.
_RECORD = np.dtype([("numbers", np.float32, NUMBERS)])


def records_of(numbers: Sequence[Array | np.float32]) -> Array:
    """Return an operand each of whose elements is a record of these numbers (which broadcast), padded with 0 to
    NUMBERS.
    """
    shape = np.broadcast_shapes(*(np.shape(number) for number in numbers))
    records = np.zeros(shape, _RECORD)
    for place, number in enumerate(numbers):
        records["numbers"][..., place] = number
    return records


def has_records(operand: Array) -> bool:
    """Return whether the elements of an operand are records of several numbers, see `records_of`."""
    return bool(operand.dtype == _RECORD)


class Operands:
    """The operands of the operations in an epilogue, as records for compiled code. A `known` operand of None is
    computed at run time.

    `ways`: divisor, cycle and step of each operand (see llvm.after.OPERAND).
    """

    def __init__(self, known: Sequence[Array | None], ways: Sequence[tuple[int, int, int]] | None = None) -> None:
        self._known, self._ways = known, ways or [(1, 1, 1)] * len(known)
        self._complete = None if any(array is None for array in known) else self._records(known)

    def records(self, coming: Sequence[Array]) -> Records:
        """Return the records of all operands; `coming` contains those computed at run time, as contiguous arrays."""
        if self._complete is not None:
            return self._complete
        came = iter(coming)
        return self._records([next(came) if array is None else array for array in self._known])

    def behind(self, first: Array) -> Operands:
        """Return these operands with a known operand in front of them."""
        return Operands([first, *self._known], [(1, 1, 1), *self._ways])

    def _records(self, arrays: Sequence[Any]) -> Records:
        return Records.of([(array, *way) for array, way in zip(arrays, self._ways, strict=True)])


def along_axis(constant: Array, shape: tuple[int, ...], axis: int) -> Array | None:
    """Return a constant as one number for each position of `axis`; None if it varies along any other axis."""
    if constant.ndim > len(shape):
        return None
    extents = (1,) * (len(shape) - constant.ndim) + constant.shape
    if any(extent != 1 for other, extent in enumerate(extents) if other != axis):
        return None
    return np.ascontiguousarray(np.broadcast_to(constant.reshape(-1), shape[axis]))


class Layout(NamedTuple):
    """How compiled code traverses a result: the width of its rows, the number of links that it computes, the steps that
    compute them, and for each operand the part that a row reads (divisor, cycle and step).
    """

    width: int
    links: int = 0
    after: tuple[After, ...] = ()
    operands: tuple[Array | None, ...] = ()
    ways: tuple[tuple[int, int, int], ...] = ()
