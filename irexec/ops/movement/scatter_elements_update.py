"""ScatterElementsUpdate: a copy of a tensor with single elements updated, at positions given by indices along an axis.

Source: operation pages ScatterElementsUpdate-3 and ScatterElementsUpdate-12.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

from irexec.core.threads.parallel import scratch
from irexec.core.types import BOOLEAN, STRING, Array, PartialShape, TensorType
from irexec.ops.movement.scatter_arguments import check_indices, check_updates, copied, delivered, flat_rows, open_rows
from irexec.ops.movement.scatter_engine import scatter
from irexec.ops.rules.axes import axis_of, filled, integer, known_axis, one_element
from irexec.ops.spec.older import OlderForm, constant_indices_inside
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.oracle import REDUCED, Open
from irexec.ops.spec.tensors import AnyTensor, IntegerAxis, IntegerIndices
from irexec.ops.spec.traits import CarriesSizes, Scattering

Reduction: TypeAlias = Literal["none", "sum", "prod", "min", "max", "mean"]


@operator("ScatterElementsUpdate", "opset12", CarriesSizes, Scattering, inplace="data", tolerance=rounded(4))
def scatter_elements_update_12(
    data: AnyTensor,
    indices: IntegerIndices,
    updates: AnyTensor,
    axis: IntegerAxis,
    /,
    *,
    reduction: Reduction = "none",
    use_init_val: bool = True,
    out: Array | None = None,
) -> AnyTensor:
    """A copy of `data`. Each update is combined into the element at its position, but at the index along `axis`.

    data: rank r; indices, updates: the same shape of rank r; axis: scalar or [1]. `use_init_val` false: data's values
    are not combined with the updates. Raises ConstraintError for

    C1  indices whose rank is not that of data
    C2  indices larger than data in a dimension other than `axis`
    C3  an index outside of [-d, d - 1] along `axis`; negative indices count from the end
    C4  updates whose shape is not that of indices
    C5  an axis that is not one value, or outside of [-r, r - 1]
    C6  a mean of booleans; a reduction of elements that are not numbers (strings, codes)

    Booleans: sum and max are OR, prod and min AND. The mean of integers is exact and rounded down. Choices where the
    page does not define the result: updates of one element are applied in row-major order; under min and max, NaN in
    data stays and NaN in updates has no effect. Integers wrap; f16 and bf16 are combined in f32 and rounded once.
    """
    return _update(data, indices, updates, axis, reduction, use_init_val, out, negative=True)


@scatter_elements_update_12.older
def _(form: OlderForm, data: TensorType, *others: TensorType | None) -> None:
    form.need_attribute("reduction", "none")
    inside = constant_indices_inside(form, data, "indices", "axis")
    form.need(inside, "an index is negative or may be outside of data")


@operator("ScatterElementsUpdate", "opset3", CarriesSizes, Scattering, inplace="data")
def scatter_elements_update_3(
    data: AnyTensor, indices: IntegerIndices, updates: AnyTensor, axis: IntegerAxis, /, *, out: Array | None = None
) -> AnyTensor:
    """As version 12 without a reduction, and (C3) an index must lie in [0, d - 1].

    The page also requires `indices` to be no larger than data along `axis`; OpenVINO and irexec accept larger
    indices, because their meaning is unambiguous.
    """
    return _update(data, indices, updates, axis, "none", True, out, negative=False)


def _update(
    data: Array,
    indices: Array,
    updates: Array,
    axis: Array,
    reduction: str,
    use_init_val: bool,
    out: Array | None,
    *,
    negative: bool,
) -> Array:
    along = axis_of("C5", integer(axis), data.ndim, "axis")
    if not _inside(indices.shape, data.shape, along):
        _check_shapes(require, *map(TensorType.of, (data, indices, updates, axis)))
    rows = _places(data.shape, indices, along, negative)
    result = copied(data, out)
    scatter(result.reshape(-1, 1), rows, updates.reshape(-1, 1), reduction, use_init_val)
    return delivered(result, out)


def _inside(shape: tuple[int, ...], data: tuple[int, ...], axis: int) -> bool:
    return len(shape) == len(data) and all(
        i == axis or s <= d for i, (s, d) in enumerate(zip(shape, data, strict=True))
    )


def _places(shape: tuple[int, ...], indices: Array, axis: int, negative: bool) -> Array:
    """Return the flat position of each index in a tensor of this shape, in memory that the next call reuses."""
    along = flat_rows("C3", indices, shape[axis : axis + 1], negative=negative)
    strides = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    places = scratch("places", indices.shape, np.dtype(np.intp))
    np.multiply(along.reshape(indices.shape), strides[axis], out=places)
    # The contribution of the other dimensions to the flat position: a tensor of extent 1 along the axis.
    elsewhere = np.zeros((1,) * len(shape), np.intp)
    for i, extent in enumerate(indices.shape):
        if i != axis:
            elsewhere = elsewhere + (np.arange(extent) * strides[i]).reshape(
                [-1 if j == i else 1 for j in range(len(shape))]
            )
    places += elsewhere
    return places.reshape(-1)


@scatter_elements_update_12.shapes
def _(
    check: Check, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType, *, reduction: str
) -> PartialShape:
    no_numbers = data.element_type is STRING or data.element_type.is_carried
    if (no_numbers and reduction != "none") or (data.element_type is BOOLEAN and reduction == "mean"):
        message = f"reduction is {reduction!r}, which is not supported for {data.element_type}"
        check("C6", False, message, attribute="reduction", found=reduction)
    return _infer(check, data, indices, updates, axis, negative=True)


@scatter_elements_update_3.shapes
def _(check: Check, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType) -> PartialShape:
    return _infer(check, data, indices, updates, axis, negative=False)


def _infer(
    check: Check, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType, *, negative: bool
) -> PartialShape:
    along = _check_shapes(check, data, indices, updates, axis)
    if along is not None:
        check_indices(check, "C3", indices, data.shape[along : along + 1], negative=negative)
    return data.shape


def _check_shapes(
    check: Check, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType
) -> int | None:
    """Check C1, C2, C4 and C5. Return the axis, counted from the front; None if it is unknown or a constraint is
    violated.
    """
    found, allowed = str(indices.shape), f"rank {data.rank}"
    message = f"indices has rank {indices.rank}, expected {data.rank} as in data"
    same_rank = None in (data.rank, indices.rank) or data.rank == indices.rank
    fits = check("C1", same_rank, message, port="indices", found=found, allowed=allowed)
    fits &= check_updates(check, "C4", updates.shape, indices.shape, "the shape of indices")
    fits &= one_element(check, "C5", axis, "axis")
    along = known_axis(check, "C5", axis, data.rank, "axis")
    if not fits or along is None or indices.rank is None:
        return along if fits else None
    for i, (extent, limit) in enumerate(zip(indices.shape, data.shape, strict=True)):
        message = f"indices.shape[{i}] is {extent}, more than the {limit} of data.shape[{i}]"
        allowed = f"at most {data.shape}, but any extent along axis {along}"
        small = i == along or limit.max is None or extent.min <= limit.max
        fits &= check("C2", small, message, port="indices", found=found, allowed=allowed)
    return along if fits else None


@scatter_elements_update_12.oracle.draw("axis")
@scatter_elements_update_3.oracle.draw("axis")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw an axis for which the shape of the indices is valid."""
    return filled(types, "axis", _fitting_axis(types))


@scatter_elements_update_12.oracle.draw("indices")
@scatter_elements_update_3.oracle.draw("indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw indices in range, without repetitions along the axis if it has enough elements."""
    data, shape = types["data"].shape.to_shape(), types["indices"].shape.to_shape()
    if len(shape) != len(data) or not data:
        return None
    axis = _fitting_axis(types)
    count, extent = shape[axis], data[axis]
    if count > extent:
        drawn = rng.integers(0, max(extent, 1), shape)
    else:
        order = rng.random([extent if i == axis else s for i, s in enumerate(shape)]).argsort(axis)
        drawn = order.take(range(count), axis)
    return drawn.astype(types["indices"].element_type.dtype)


def _fitting_axis(types: dict[str, TensorType]) -> int:
    """Return the axis if it is known, else the first axis along which the extent of `indices` is possible."""
    data, shape = types["data"].shape.to_shape(), types["indices"].shape.to_shape()
    known = types["axis"].scalar
    if known is not None and -len(data) <= known < len(data):
        return int(known) % len(data)
    fitting = [i for i in range(len(data)) if _inside(shape, data, i)]
    roomy = [i for i in fitting if shape[i] <= data[i]]
    return (roomy or fitting or [0])[0]


@scatter_elements_update_12.oracle.alternatives
@scatter_elements_update_3.oracle.alternatives
def _(data: Array, indices: Array, updates: Array, axis: Array, *, reduction: str = "none") -> Open | None:
    """Return the elements with several different updates if reduction is "none": the page does not define the order of
    the updates.
    """
    if reduction != "none":
        return None
    rows = _places(data.shape, indices, integer(axis) % data.ndim, negative=True)
    note = (
        "indices select {count} more than once; the order of the updates is undefined, and irexec applies the last one"
    )
    return open_rows(rows, updates.reshape(-1, 1), note)


scatter_elements_update_12.oracle.allowed = REDUCED
