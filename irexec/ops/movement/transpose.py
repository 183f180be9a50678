"""Transpose: the dimensions of a tensor in another order.

Source: operation page Transpose-1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.rules.axes import filled, integers
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, NodeTypes, operator, require
from irexec.ops.spec.tensors import AnyTensor, IntegerAxis
from irexec.ops.spec.traits import CarriesSizes, Homogeneous, KeepsGrid, Moving, Transposition, Unpacking


@operator("Transpose", "opset1", CarriesSizes, Homogeneous, KeepsGrid, Transposition, Moving, Unpacking, view="arg")
def transpose_1(arg: AnyTensor, input_order: IntegerAxis, /) -> AnyTensor:
    """`arg` with its dimensions in the order that `input_order` (1D, shape [rank] or [0]) gives; [0] reverses them.

    Raises ConstraintError C1 when `input_order` is not a permutation of the axes. Shape rule: C2 it is 1D.
    """
    if input_order.size == 0:
        return arg.transpose()
    order = integers(input_order)
    _check_order(require, order, arg.ndim)
    return arg.transpose(order)


@transpose_1.specialize
def _(node: NodeTypes) -> Callable[..., Any] | None:
    """Read a constant order once, before the run."""
    arg, order = node.inputs[0], node.constants[1]
    if arg is None or arg.rank is None or order is None or sorted(integers(order)) != list(range(arg.rank)):
        return None
    axes = tuple(integers(order))
    return lambda arg, *_: arg.transpose(axes)


@transpose_1.shapes
def _(check: Check, arg: TensorType, input_order: TensorType) -> PartialShape:
    has_rank(check, "C2", input_order, 1, "input_order")
    order, rank = input_order.ints, arg.rank
    if order is None and rank is not None and input_order.rank == 1:
        length = input_order.shape[0]
        message = f"input_order has {length} elements, expected {rank} or 0"
        check("C1", length.contains(rank) or length.contains(0), message, port="input_order")
    if order == []:
        return PartialShape(reversed(arg.shape.dims))
    if order is None or rank is None:
        return PartialShape.dynamic(rank)
    if not _check_order(check, order, rank):
        return PartialShape.dynamic(rank)
    return PartialShape(arg.shape[i] for i in order)


def _check_order(check: Check, order: list[int], rank: int) -> bool:
    message = f"{order} is not a permutation of the {rank} axes of arg"
    return check("C1", sorted(order) == list(range(rank)), message, port="input_order")


@transpose_1.oracle.draw("input_order")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(types, port, rng.permutation(types[port].shape[0].value))
