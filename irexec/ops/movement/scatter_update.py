"""ScatterUpdate: a copy of a tensor with whole slices along one axis replaced.

Source: operation page ScatterUpdate-3.
"""

from __future__ import annotations

import math

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.movement.scatter_arguments import check_indices, check_updates, copied, delivered, flat_rows, open_rows
from irexec.ops.movement.scatter_engine import bits
from irexec.ops.rules.axes import axis_of, filled, integer, known_axis, one_element
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.spec.oracle import Open
from irexec.ops.spec.tensors import AnyTensor, IntegerAxis, IntegerIndices
from irexec.ops.spec.traits import CarriesSizes, Scattering


@operator("ScatterUpdate", "opset3", CarriesSizes, Scattering, inplace="data")
def scatter_update_3(
    data: AnyTensor, indices: IntegerIndices, updates: AnyTensor, axis: IntegerAxis, /, *, out: Array | None = None
) -> AnyTensor:
    """A copy of `data` in which the slices that `indices` selects along `axis` are replaced by the slices of `updates`.

    data: rank r; indices: any shape; updates: data.shape[:axis] + indices.shape + data.shape[axis + 1:]; axis: scalar
    or [1]. Raises ConstraintError for

    C1  an index outside of [0, s - 1] along `axis`
    C2  updates of another shape
    C3  an axis that is not one value, or outside of [-r, r - 1]

    The page does not define the result for several updates of one slice: the last in row-major order is used.
    """
    along = axis_of("C3", integer(axis), data.ndim, "axis")
    if updates.shape != data.shape[:along] + indices.shape + data.shape[along + 1 :]:
        _check_shapes(require, *map(TensorType.of, (data, indices, updates, axis)))
    rows = flat_rows("C1", indices, data.shape[along : along + 1], negative=False)
    outer, inner = math.prod(data.shape[:along]), math.prod(data.shape[along + 1 :])
    result = copied(data, out)
    slices = bits(updates).reshape(outer, rows.size, inner)
    bits(result).reshape(outer, data.shape[along], inner)[:, rows] = slices
    return delivered(result, out)


@scatter_update_3.shapes
def _(check: Check, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType) -> PartialShape:
    along = _check_shapes(check, data, indices, updates, axis)
    if along is not None:
        check_indices(check, "C1", indices, data.shape[along : along + 1], negative=False)
    return data.shape


def _check_shapes(
    check: Check, data: TensorType, indices: TensorType, updates: TensorType, axis: TensorType
) -> int | None:
    """Check C2 and C3; return the axis, counted from the front, if it is known."""
    one_element(check, "C3", axis, "axis")
    along = known_axis(check, "C3", axis, data.rank, "axis")
    if not data.rank or indices.rank is None:
        return along
    if along is not None:
        expected = data.shape[:along] + indices.shape + data.shape[along + 1 :]
        check_updates(
            check, "C2", updates.shape, expected, f"data.shape[:{along}] + indices.shape + data.shape[{along + 1}:]"
        )
    else:
        unknown = PartialShape.dynamic(data.rank + indices.rank - 1)
        check_updates(check, "C2", updates.shape, unknown, "rank of data + rank of indices - 1")
    return along


@scatter_update_3.oracle.draw("axis")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw an axis for which the shapes are valid."""
    return filled(types, "axis", _fitting_axis(types))


@scatter_update_3.oracle.draw("indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw indices in range, without repetitions if there are enough slices."""
    data, shape = types["data"].shape.to_shape(), types["indices"].shape.to_shape()
    count, extent = math.prod(shape), data[_fitting_axis(types)] if data else 0
    drawn = rng.choice(extent, count, replace=count > extent) if extent else np.zeros(count)
    return drawn.reshape(shape).astype(types["indices"].element_type.dtype)


def _fitting_axis(types: dict[str, TensorType]) -> int:
    """Return the axis if it is known, otherwise the first that fits the shapes, if possible with at least as many
    slices as indices.
    """
    data, indices, updates = (types[name].shape.to_shape() for name in ("data", "indices", "updates"))
    known = types["axis"].scalar
    if known is not None and -len(data) <= known < len(data):
        return int(known) % len(data)
    fitting = [i for i in range(len(data)) if data[:i] + indices + data[i + 1 :] == updates]
    roomy = [i for i in fitting if math.prod(indices) <= data[i]]
    return (roomy or fitting or [0])[0]


@scatter_update_3.oracle.alternatives
def _(data: Array, indices: Array, updates: Array, axis: Array) -> Open | None:
    """Return the elements of slices with several different updates, whose order the page does not define."""
    along = integer(axis) % data.ndim
    outer, extent, inner = math.prod(data.shape[:along]), data.shape[along], math.prod(data.shape[along + 1 :])
    rows = flat_rows("C1", indices, (extent,), negative=False)
    places = np.add.outer(np.arange(outer) * extent, rows).reshape(-1)
    note = (
        "indices select {count} more than once; the order of the updates is undefined, and irexec applies the last one"
    )
    return open_rows(places, updates.reshape(places.size, inner), note)
