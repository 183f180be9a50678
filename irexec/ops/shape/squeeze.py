"""Squeeze and Unsqueeze: dimensions of one element removed or inserted.

Source: operation pages Squeeze-1, Squeeze-15, Unsqueeze-1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import axes_of, filled, is_settled, known_axes, length_of
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, NodeTypes, operator, require
from irexec.ops.spec.tensors import AnyTensor, IntegerTensor
from irexec.ops.spec.traits import CarriesSizes, Homogeneous, KeepsElements, Moving


@operator("Squeeze", "opset1", CarriesSizes, KeepsElements, Homogeneous, Moving, view="data")
def squeeze_1(data: AnyTensor, axes: IntegerTensor | None = None, /) -> AnyTensor:
    """`data` without the dimensions in `axes` that have one element; if axes is omitted, without all such dimensions.

    Empty `axes` have the same effect as omitted axes. Named dimensions of more elements are kept, as the page defines
    since 2024.3.
    Raises ConstraintError C1 for an axis outside [-rank, rank - 1]. Shape rule: C2 axes is a scalar or 1D. C3: in a
    model where the extent of a named dimension is not known before a run, it is 1, as the rank of the result implies.
    """
    if axes is None or axes.size == 0:
        return data.squeeze()
    return data.squeeze(tuple({axis for axis in axes_of("C1", axes, data.ndim, "axes") if data.shape[axis] == 1}))


@operator("Squeeze", "opset15", CarriesSizes, KeepsElements, Homogeneous, Moving, view="data")
def squeeze_15(data: AnyTensor, axes: IntegerTensor | None = None, /, *, allow_axis_skip: bool = False) -> AnyTensor:
    """As Squeeze-1, with the same constraints.

    `allow_axis_skip`: if a named dimension may or may not be 1, the rank is unknown.
    """
    view: Array = squeeze_1.compute(data, axes)
    return view


@squeeze_15.older
def _(form: OlderForm, data: TensorType, axes: TensorType | None) -> None:
    form.need_attribute("allow_axis_skip", False)


def _squeezed(
    check: Check, data: TensorType, axes: TensorType | None = None, *, allow_axis_skip: bool = False
) -> PartialShape:
    if axes is not None:
        has_rank(check, "C2", axes, (0, 1), "axes")
    if data.rank is None:
        return PartialShape.dynamic()
    if axes is None or axes.shape == (0,) or axes.ints == []:
        return _without_ones(data.shape)
    named = known_axes(check, "C1", axes, data.rank, "axes")
    if named is None:
        return PartialShape.dynamic()
    if allow_axis_skip and any(data.shape[a].is_dynamic and data.shape[a].contains(1) for a in named):
        return PartialShape.dynamic()
    return PartialShape(d for i, d in enumerate(data.shape) if i not in named or not d.contains(1))


def _without_ones(shape: PartialShape) -> PartialShape:
    """Return the shape without dimensions of 1; a dimension that may or may not be 1 makes the rank unknown."""
    if any(d.is_dynamic and d.contains(1) for d in shape):
        return PartialShape.dynamic()
    return PartialShape(d for d in shape if d != 1)


squeeze_1.shapes(_squeezed)
squeeze_15.shapes(_squeezed)


def _as_reshape(node: NodeTypes) -> Callable[..., Any] | None:
    """Return one reshape, which copies nothing, if the axes are constant and the shape is static; otherwise None."""
    if not is_settled(node) or not node.outputs[0].shape.is_static:
        return None
    shape = node.outputs[0].shape.to_shape()
    return lambda data, *_, **__: data.reshape(shape)


def _squeezing(node: NodeTypes) -> Callable[..., Any] | None:
    """Return one reshape if shape and axes are known. If only the rank is known, return a kernel that checks C3: the
    dimensions at the axes are 1.
    """
    data, axes = node.inputs[0], node.constants[1] if len(node.constants) > 1 else None
    if (reshape := _as_reshape(node)) is not None:
        return reshape
    if data is None or axes is None or data.rank is None or node.outputs[0].rank is None:
        return None
    named = sorted({axis for axis in axes_of("C1", axes, data.rank, "axes") if data.shape[axis].is_dynamic})
    taken = [axis for axis in named if data.shape[axis].contains(1)]

    def squeeze(data: Array, axes: Array | None = None, /, **_: Any) -> Array:
        for axis in taken:
            extent = data.shape[axis]
            require("C3", extent == 1, f"data has {extent} elements along axis {axis}, expected 1", port="data")
        view: Array = squeeze_1.compute(data, axes)
        return view

    return squeeze if taken else None


squeeze_1.specialize(_squeezing)
squeeze_15.specialize(_squeezing)


@squeeze_1.oracle.draw("axes")
@squeeze_15.oracle.draw("axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw the axes of extent 1 in order, repeated as often as necessary."""
    ones = [i for i, n in enumerate(types["data"].shape.to_shape()) if n == 1] or [0]
    shape = types[port].shape.to_shape()
    return filled(types, port, np.resize(ones, shape))


@operator("Unsqueeze", "opset1", CarriesSizes, KeepsElements, Homogeneous, Moving, view="data")
def unsqueeze_1(data: AnyTensor, axes: IntegerTensor, /) -> AnyTensor:
    """`data` with dimensions of one element inserted, which are the `axes` of the result.

    An axis named twice counts once, as in OpenVINO.
    Raises ConstraintError C1 for an axis outside [-R, R - 1], R being rank + number of axes; C3 for empty axes.
    Shape rule: C2 axes is a scalar or 1D.
    """
    places = set(axes_of("C1", axes, data.ndim + axes.size, "axes"))
    _check_places(require, places, data.ndim)
    return np.expand_dims(data, tuple(places))


unsqueeze_1.specialize(_as_reshape)


def _check_places(check: Check, places: set[int], rank: int) -> bool:
    """Check C1: the positions are within the result; a repeated position counts once."""
    last, rank = max(places, default=-1), rank + len(places)
    return check("C1", last < rank, f"axis {last} is out of range for the result's rank {rank}", port="axes")


@unsqueeze_1.shapes
def _(check: Check, data: TensorType, axes: TensorType) -> PartialShape:
    has_rank(check, "C2", axes, (0, 1), "axes")
    count = 1 if axes.rank == 0 else length_of(axes)
    check("C3", count != 0, "axes is empty, expected at least one", port="axes")
    if data.rank is None or count is None:
        return PartialShape.dynamic()
    if axes.ints is None:
        return PartialShape.dynamic(data.rank + count if count == 1 else None)
    places = known_axes(check, "C1", axes, data.rank + count, "axes")
    if places is None:
        return PartialShape.dynamic()
    rank = data.rank + len(set(places))
    if not _check_places(check, set(places), data.rank):
        return PartialShape.dynamic(rank)
    extents = iter(data.shape)
    return PartialShape(Dimension(1) if i in places else next(extents) for i in range(rank))


@unsqueeze_1.oracle.draw("axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(
        types, port, np.arange(int(np.prod(types[port].shape.to_shape()))).reshape(types[port].shape.to_shape())
    )
