"""ScatterNDUpdate: a copy of a tensor with updates at the positions that index tuples select.

Source: operation pages ScatterNDUpdate-3 (in the operation sets from opset4 on) and ScatterNDUpdate-15.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from irexec.core.types import STRING, Array, PartialShape, TensorType
from irexec.ops.movement.scatter_arguments import (
    check_indices,
    check_updates,
    copied,
    delivered,
    draw_tuples,
    flat_rows,
    open_rows,
    tuple_length,
)
from irexec.ops.movement.scatter_engine import scatter
from irexec.ops.spec.checks import holds
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import REDUCED, Open
from irexec.ops.spec.tensors import AnyTensor, Indices
from irexec.ops.spec.traits import CarriesSizes, Scattering

Reduction: TypeAlias = Literal["none", "sum", "sub", "prod", "min", "max"]


@operator("ScatterNDUpdate", "opset15", CarriesSizes, Scattering, inplace="data", tolerance=rounded(4))
def scatter_nd_update_15(
    data: AnyTensor, indices: Indices, updates: AnyTensor, /, *, reduction: Reduction = "none", out: Array | None = None
) -> AnyTensor:
    """A copy of `data` with `updates` combined into the places that `indices` selects.

    data: [s_0, .., s_r-1]; indices: [.., k], each entry naming an element (k = r) or a slice (k < r) of data;
    updates: indices.shape[:-1] + data.shape[k:]. Raises ConstraintError for

    C1  data of rank 0
    C2  indices of rank 0
    C3  an index outside of [-s_j, s_j - 1]; negative indices count from the end
    C4  k greater than r
    C5  updates of another shape; if the expected rank is 0, any shape of one element is accepted
    C6  a reduction of elements that are not numbers (strings, codes); booleans: sum is OR, sub XOR, prod AND

    Choices where the page does not define the result: updates of one position are applied in row-major order. As in the
    page's snippet, under min and max an update replaces a value only if it is less or greater, so NaN in data stays and
    NaN in updates has no effect. Integers wrap; f16 and bf16 are combined in f32 and rounded once.
    """
    return _update(data, indices, updates, reduction, out, negative=True)


@scatter_nd_update_15.older
def _(form: OlderForm, data: TensorType, indices: TensorType, updates: TensorType) -> None:
    form.need_attribute("reduction", "none")
    values = form.ints("indices")
    length = indices.shape[-1].value if indices.shape.rank else 1
    rows = [tuple(values[start : start + length]) for start in range(0, len(values), length or 1)]
    form.need(all(index >= 0 for index in values), "an index is negative")
    form.need(len(set(rows)) == len(rows), "indices repeat")


@operator("ScatterNDUpdate", "opset4", CarriesSizes, Scattering, inplace="data")
def scatter_nd_update_4(
    data: AnyTensor, indices: Indices, updates: AnyTensor, /, *, out: Array | None = None
) -> AnyTensor:
    """As version 15 without a reduction, and (C3) an index must lie in [0, s_j - 1].

    The page forbids duplicate entries and does not define their result: the last in row-major order is used.
    """
    return _update(data, indices, updates, "none", out, negative=False)


def _update(data: Array, indices: Array, updates: Array, reduction: str, out: Array | None, *, negative: bool) -> Array:
    k = indices.shape[-1]
    rows = flat_rows("C3", indices, data.shape[:k], negative=negative)
    block = math.prod(data.shape[k:])
    result = copied(data, out)
    target = result.reshape(math.prod(data.shape[:k]), block)
    scatter(target, rows, updates.reshape(rows.size, block), reduction)
    return delivered(result, out)


@scatter_nd_update_15.shapes
def _(check: Check, data: TensorType, indices: TensorType, updates: TensorType, *, reduction: str) -> PartialShape:
    reducible = reduction == "none" or not (data.element_type is STRING or data.element_type.is_carried)
    message = f"reduction is {reduction!r}, which is not supported for {data.element_type}"
    check("C6", reducible, message, attribute="reduction", found=reduction, allowed="none")
    if (k := _check_shapes(check, data, indices, updates)) is not None:
        check_indices(check, "C3", indices, data.shape[:k], negative=True)
    return data.shape


@scatter_nd_update_4.shapes
def _(check: Check, data: TensorType, indices: TensorType, updates: TensorType) -> PartialShape:
    if (k := _check_shapes(check, data, indices, updates)) is not None:
        check_indices(check, "C3", indices, data.shape[:k], negative=False)
    return data.shape


def _check_shapes(check: Check, data: TensorType, indices: TensorType, updates: TensorType) -> int | None:
    """Check C1, C2, C4 and C5; return k if it is known and no constraint is broken."""
    fixed = _with_last_axis(data, indices, updates)
    k = tuple_length(check, ("C1", "C2", "C4"), data, indices, fixed)
    if k is None:
        return None
    repair = {"indices": fixed} if fixed else None
    expected = indices.shape[:-1] + data.shape[k:]
    if updates.rank is None:
        return k
    if _accepts(expected, updates.shape):
        holds("C5")
        return k
    why = f"indices.shape[:-1] + data.shape[{k}:]"
    if fixed is None or (expected.is_static and updates.shape.is_static and expected.size == updates.shape.size):
        check_updates(check, "C5", updates.shape, expected, why)
        return None
    message = f"updates has shape {updates.shape}, expected {expected} ({why})"
    hint = f"did you mean indices of shape {PartialShape(fixed)}?"
    found, allowed = str(updates.shape), str(expected)
    check("C5", False, message, port="updates", hint=hint, found=found, allowed=allowed, repair=repair)
    return None


def _accepts(expected: PartialShape, updates: PartialShape) -> bool:
    return updates.size.contains(1) if expected.rank == 0 else updates.compatible(expected)


def _with_last_axis(data: TensorType, indices: TensorType, updates: TensorType) -> tuple[int, ...] | None:
    """Return `indices.shape` with an additional last axis of extent 1, which may have been omitted; None unless the
    shape of updates fits it.
    """
    if not indices.shape.is_static or updates.rank is None or not data.rank:
        return None
    expected = indices.shape + data.shape[1:]
    return (*indices.shape.to_shape(), 1) if _accepts(expected, updates.shape) else None


@scatter_nd_update_15.oracle.draw("indices")
@scatter_nd_update_4.oracle.draw("indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    return draw_tuples(rng, types["data"], types["indices"])


@scatter_nd_update_15.oracle.alternatives
def _(data: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Open | None:
    """Return the elements with several different updates if reduction is "none": the page does not define the order of
    the updates.
    """
    note = (
        "indices select {count} more than once; the order of the updates is undefined, and irexec applies the last one"
    )
    return _open(data, indices, updates, note) if reduction == "none" else None


@scatter_nd_update_4.oracle.alternatives
def _(data: Array, indices: Array, updates: Array) -> Open | None:
    note = "indices select {count} more than once, which is undefined; irexec applies the last update"
    return _open(data, indices, updates, note)


def _open(data: Array, indices: Array, updates: Array, note: str) -> Open | None:
    k = indices.shape[-1]
    rows = flat_rows("C3", indices, data.shape[:k], negative=True)
    return open_rows(rows, updates.reshape(rows.size, math.prod(data.shape[k:])), note)


scatter_nd_update_15.oracle.allowed = REDUCED
