"""Elementwise layers that compiled code can apply to the result of the previous layer before storing it.

irexec.runtime.lowering.followers contains the effects of operators. The method `leads` of the previous layer's lowered
form returns how many of the following layers it can compute. irexec.runtime.lowering.fusion finds such groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, SupportsFloat

import numpy as np

from irexec.core.types import Array, TensorType
from irexec.ops.quantization.fake_quantize import quantize
from irexec.runtime.lowering.llvm.after import ROUNDED, After, Formula, Rounding, Takes
from irexec.runtime.lowering.llvm.memory import Records


def linear(x: Any, factor: Any, term: Any) -> Any:
    return x * factor + term


class Follow(NamedTuple):
    """The effect of a layer on each element of one input: a formula of it and of a second input or known numbers.

    `constant`: the second input, if it must be reshaped to broadcast as in NumPy, or replaced by several numbers for
    each of its elements (see `records_of`).
    """

    formula: Formula
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


def after_sums(
    links: Sequence[Link],
    shape: tuple[int, ...],
    takes: Takes,
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
            steps.add(link.follow.formula, "numbers", numbers_of(link.follow))
        elif link.constant is not None:
            along = along_axis(link.constant, shape, 1 if takes == "channel" else len(shape) - 1)
            if along is None or (takes == "column" and has_records(link.constant)):
                break
            steps.add(link.follow.formula, takes, along)
        elif link.type is not None and link.type.shape == shape:
            steps.add(link.follow.formula, "result", None)
        elif link.type is not None and link.type.shape.is_static and prod(link.type.shape.to_shape()) == 1:
            steps.add(link.follow.formula, "row", None, (1, 1, 0))
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

    def add(self, formula: Formula, takes: Takes, operand: Array | None, way: tuple[int, int, int] = (1, 1, 1)) -> None:
        is_clamped = formula is quantize and bool(self.after) and self.after[-1].formula is np.clip
        if is_clamped and _is_limited(self.operands[-1], operand):
            for found in (self.after, self.operands, self.ways):
                del found[-1]
        self._append(formula, takes, operand, way)
        if not _selects(formula, operand, self._rounding):
            self.round()

    def round(self) -> None:
        if self._rounding is not None:
            self._append(ROUNDED[self._rounding], "numbers", np.zeros(0, np.float32), (1, 1, 0))

    def _append(self, formula: Formula, takes: Takes, operand: Array | None, way: tuple[int, int, int]) -> None:
        count = 1 if operand is None else operand.size if takes == "numbers" else operand.itemsize // 4
        self.after.append(After(formula, takes, count))
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


def _selects(formula: Formula, operand: Array | None, to: Rounding | None) -> bool:
    """Return whether the results of a step need no rounding to the narrow type if its operands need none."""
    if formula is np.clip and operand is not None:
        return all(_is_narrow(limit, to) for limit in operand)
    return formula in (np.absolute, np.negative, np.maximum, np.minimum)


def _is_narrow(number: np.float32, to: Rounding | None) -> bool:
    if to == "f16":
        with np.errstate(over="ignore"):
            return bool(np.float32(np.float16(number)) == number)
    return not number.view(np.uint32) & 0xFFFF


def numbers_of(follow: Follow) -> Array:
    """Return the constants of an effect as an array, which compiled code reads."""
    return np.array([float(number) for number in follow.numbers], np.float32)


def records_of(numbers: Sequence[Array | np.float32]) -> Array:
    """Return an operand each of whose elements is a record of these numbers, which broadcast."""
    shape = np.broadcast_shapes(*(np.shape(number) for number in numbers))
    records = np.zeros(shape, [("numbers", np.float32, len(numbers))])
    for place, number in enumerate(numbers):
        records["numbers"][..., place] = number
    return records


def has_records(operand: Array) -> bool:
    """Return whether the elements of an operand are records of several numbers, see `records_of`."""
    return operand.dtype.names is not None


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
