"""Elementwise layers that compiled code can compute together with the layer before, before it stores that one's result.

An operator declares by `follows` what it does to the input that comes from that layer; the kernel of that layer says by
`leads` how many of them it can compute itself. The engine finds the chains: irexec.engine.chains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, SupportsFloat

import numpy as np

from irexec.native.after import NUMBERS, After, Kind
from irexec.native.memory import Records
from irexec.ops.declare.operator import Operator
from irexec.records import NamedTuple
from irexec.types import Array, TensorType


class Follow(NamedTuple):
    """What a layer does to each element of one input: with another input, or with numbers that are known."""

    kind: Kind
    operand: int | None = None
    numbers: tuple[SupportsFloat, ...] = ()


class Link(NamedTuple):
    """A layer that follows: its other operand is a constant, or has a type and comes when the model runs."""

    follow: Follow
    constant: Array | None = None
    type: TensorType | None = None


Lead = Callable[..., bool]
"""Takes a kernel's inputs, the operands that are known only when the model runs, and `out`.

Returns False where only the kernel itself was computed, and none of the layers that follow."""


class Leader(Protocol):
    """A kernel that may compute the layers that follow it."""

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lead] | None:
        """How many of the links it can compute itself, and the call that computes all of them; None if it can none."""
        ...


# What an operator does to the input of this number, given its attributes and constants; None: nothing simple.
Describe = Callable[[int, dict[str, Any], Sequence[Array | None]], Follow | None]
_described: dict[Operator, Describe] = {}


def follows(*operators: Operator) -> Callable[[Describe], Describe]:
    """Declare how operators follow another layer."""

    def declare(describe: Describe) -> Describe:
        _described.update(dict.fromkeys(operators, describe))
        return describe

    return declare


def follows_as(operator: Operator, kind: Kind) -> None:
    """Declare that an operator of one input does the same to whatever it follows."""
    follows(operator)(lambda port, attributes, constants: Follow(kind))


def follow_of(
    operator: Operator, port: int, attributes: dict[str, Any], constants: Sequence[Array | None]
) -> Follow | None:
    """What an operator does to its input `port`."""
    describe = _described.get(operator)
    return None if describe is None else describe(port, attributes, constants)


def after_sums(
    links: Sequence[Link], shape: tuple[int, ...], dtype: np.dtype[Any], takes: Literal["channel", "column"]
) -> tuple[tuple[After, ...], Operands]:
    """As many of the links as compiled code can compute on an f32 result of this shape, with their operands.

    `takes`: whether a constant has a number for each channel (axis 1) or each column (the last axis).
    """
    after: list[After] = []
    operands: list[Array | None] = []
    for link in links if dtype == np.float32 else ():
        if link.follow.operand is None:
            after.append(After(link.follow.kind, "numbers"))
            operands.append(numbers_of(link.follow))
        elif link.constant is not None:
            along = _along(link.constant, shape, 1 if takes == "channel" else len(shape) - 1)
            if along is None:
                break
            after.append(After(link.follow.kind, takes))
            operands.append(along)
        elif link.type is not None and link.type.shape == shape:
            after.append(After(link.follow.kind, "result"))
            operands.append(None)
        else:
            break
    return tuple(after), Operands(operands)


def numbers_of(follow: Follow) -> Array:
    """Its numbers, as many as compiled code reads."""
    return np.array([*map(float, follow.numbers), *[0] * (NUMBERS - len(follow.numbers))], np.float32)


class Operands:
    """What the steps of an epilogue take, as compiled code finds it; None comes when the model runs.

    `ways`: divisor, cycle and step of each, where it matters which row takes what.
    """

    def __init__(self, known: Sequence[Array | None], ways: Sequence[tuple[int, int, int]] | None = None) -> None:
        self._known, self._ways = known, ways or [(1, 1, 1)] * len(known)
        self._complete = None if any(array is None for array in known) else self._records(known)

    def records(self, coming: Sequence[Array]) -> Records:
        """The records of all, with the arrays that came, which are contiguous."""
        if self._complete is not None:
            return self._complete
        came = iter(coming)
        return self._records([next(came) if array is None else array for array in self._known])

    def _records(self, arrays: Sequence[Any]) -> Records:
        return Records.of([(array, *way) for array, way in zip(arrays, self._ways, strict=True)])


def _along(constant: Array, shape: tuple[int, ...], axis: int) -> Array | None:
    """The numbers of a constant, one for each position of the axis, where it varies along this axis alone."""
    if constant.ndim > len(shape):
        return None
    extents = (1,) * (len(shape) - constant.ndim) + constant.shape
    if any(extent != 1 for other, extent in enumerate(extents) if other != axis):
        return None
    return np.ascontiguousarray(np.broadcast_to(constant.reshape(-1), shape[axis]))


class Layout(NamedTuple):
    """How compiled code goes over a result: in rows so wide, with steps, and which of its operand each row takes."""

    width: int
    after: tuple[After, ...] = ()
    operands: tuple[Array | None, ...] = ()
    ways: tuple[tuple[int, int, int], ...] = ()
