"""SliceScatter: a copy of a tensor with a slice of it replaced.

Source: operation page SliceScatter-15. Start and stop have Python's meaning, as in the page's snippet: a backward slice
that starts before the first element is empty. (In OpenVINO it contains the first element.)
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import INTEGERS, Array, Dimension, PartialShape, TensorType
from irexec.ops.movement.scatter_arguments import check_updates, copied, delivered
from irexec.ops.movement.scatter_engine import bits
from irexec.ops.rules.axes import distinct, filled, integers, known_axes, same_lengths
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.slicing import backward_from_before, sliced
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.oracle import Deviation
from irexec.ops.spec.tensors import AnyTensor, IntegerAxis
from irexec.ops.spec.traits import CarriesSizes, Slicing

# On the page all three have the type T_IND; in OpenVINO and irexec each can be a different integer type.
T_START: TypeAlias = Annotated[Array, Elements("T_START", INTEGERS)]
T_STOP: TypeAlias = Annotated[Array, Elements("T_STOP", INTEGERS)]
T_STEP: TypeAlias = Annotated[Array, Elements("T_STEP", INTEGERS)]


@operator("SliceScatter", "opset15", CarriesSizes, Slicing, inplace="data")
def slice_scatter_15(
    data: AnyTensor,
    updates: AnyTensor,
    start: T_START,
    stop: T_STOP,
    step: T_STEP,
    axes: IntegerAxis | None = None,
    /,
    *,
    out: Array | None = None,
) -> AnyTensor:
    """A copy of `data` in which data[start:stop:step] along `axes` is `updates`.

    data: rank r; updates: data's shape except for the lengths of the slices; start, stop, step, axes: 1D, [n]. Negative
    starts and stops count from the end; those beyond an end are clamped. Omitted axes are 0 .. n - 1. Raises
    ConstraintError for

    C1  data of rank 0
    C2  updates of another shape; there is no broadcasting
    C3  start, stop, step or axes that are not 1D
    C4  start, stop, step and axes of different lengths
    C5  a step of 0
    C6  an axis outside of [-r, r - 1]
    C7  an axis twice
    """
    region = _region(data, start, stop, step, axes)
    if region is None or updates.shape != data[region].shape:
        given: list[Any] = [None if a is None else TensorType.of(a) for a in (data, updates, start, stop, step, axes)]
        _infer(require, *given)
    result = copied(data, out)
    bits(result)[region] = bits(updates)
    return delivered(result, out)


def _region(data: Array, start: Array, stop: Array, step: Array, axes: Array | None) -> tuple[slice, ...] | None:
    """Return the region of data as slices in NumPy's form; None if a constraint is broken."""
    rank = data.ndim
    places = list(range(start.size)) if axes is None else integers(axes)
    flat = all(a is None or a.ndim == 1 for a in (start, stop, step, axes))
    steps = integers(step)
    if not flat or not start.size == stop.size == len(steps) == len(places) <= rank or 0 in steps:
        return None
    if not all(-rank <= a < rank for a in places) or len({a % rank for a in places}) < len(places):
        return None
    region = [slice(None)] * rank
    for axis, first, last, by in zip(places, integers(start), integers(stop), steps, strict=True):
        region[axis] = slice(first, last, by)
    return tuple(region)


@slice_scatter_15.shapes
def _infer(
    check: Check,
    data: TensorType,
    updates: TensorType,
    start: TensorType,
    stop: TensorType,
    step: TensorType,
    axes: TensorType | None = None,
) -> PartialShape:
    check("C1", data.rank != 0, "data is a scalar: there is no dimension to slice", port="data")
    lists = {"start": start, "stop": stop, "step": step} | ({} if axes is None else {"axes": axes})
    flat = [has_rank(check, "C3", tensor, 1, name) for name, tensor in lists.items()]
    fits = all(flat) and check(
        "C5", 0 not in (step.ints or ()), f"step is {step.ints}, expected values other than 0", port="step"
    )
    same, count = same_lengths(check, "C4", lists)
    if not fits or not same or data.rank is None:
        return data.shape
    places = None
    if axes is not None:
        places = known_axes(check, "C6", axes, data.rank, "axes")
    elif count is not None:
        message = f"start has {count} elements, expected at most one for each of the {data.rank} axes of data"
        if not check("C6", count <= data.rank, message, port="start", allowed=f"at most {data.rank}"):
            return data.shape
        places = list(range(count))
    if places is not None and not distinct(check, "C7", places):
        return data.shape
    expected = _sliced_shape(data.shape, places, [t.known for t in (start, stop, step)])
    check_updates(check, "C2", updates.shape, expected, "the shape of the slices")
    return data.shape


def _sliced_shape(shape: PartialShape, places: list[int] | None, bounds: list[Any]) -> PartialShape:
    if places is None:
        # Any axis may be sliced, which cannot enlarge it.
        return PartialShape(Dimension(0, d.max) for d in shape)
    dims = list(shape)
    starts, stops, steps = ([None] * len(places) if b is None else b for b in bounds)
    for axis, first, last, by in zip(places, starts, stops, steps, strict=False):
        if isinstance(first, int) and isinstance(last, int) and isinstance(by, int):
            dims[axis] = sliced(dims[axis], first, last, by)
        else:
            dims[axis] = Dimension(0, dims[axis].max)
    return PartialShape(dims)


@slice_scatter_15.oracle.deviates("data", "start", "step", "axes")
def _(
    data: TensorType,
    updates: TensorType,
    start: TensorType,
    stop: TensorType,
    step: TensorType,
    axes: TensorType | None,
) -> Deviation | None:
    return backward_from_before(data, start, step, axes)


@slice_scatter_15.oracle.draw("start", "stop", "step", "axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw slices from 0 with the extents of updates, first along the axes along which updates is shorter than data."""
    if port in ("start", "step"):
        return filled(types, port, int(port == "step"))
    data, updates = types["data"].shape.to_shape(), types["updates"].shape.to_shape()
    order = list(range(len(data)))
    if "axes" in types:
        order.sort(key=lambda axis: data[axis] == updates[axis])
    order = order[: types[port].shape[0].value]
    return filled(types, port, order if port == "axes" else [updates[axis] for axis in order])
