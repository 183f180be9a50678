"""Slice: a region of a tensor, by Python's slicing rules.

Source: operation page Slice-8. A backward slice that starts before the first element is empty by the page's Python
rules and in irexec; OpenVINO returns the first element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import axes_of, distinct, filled, integers, is_settled, known_axes, same_lengths
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.slicing import backward_from_before, slice_of, sliced_within
from irexec.ops.spec.operator import Check, NodeTypes, operator, require
from irexec.ops.spec.oracle import Deviation
from irexec.ops.spec.tensors import AnyTensor, IntegerAxis, LooseIndices
from irexec.ops.spec.traits import CarriesSizes, Homogeneous, Moving, SizesIn, Slicing


@operator("Slice", "opset8", CarriesSizes, Homogeneous, Moving, SizesIn(1, 2), Slicing, view="data")
def slice_8(
    data: AnyTensor, start: LooseIndices, stop: LooseIndices, step: LooseIndices, axes: IntegerAxis | None = None, /
) -> AnyTensor:
    """`data[start:stop:step]` along each of `axes` (by default the first axes); the other axes are not sliced.

    C1: data is not a scalar. C2: start, stop and step are 1D. C3: no step is 0. C4: axes are in [-rank, rank - 1].
    C5: axes are unique. C6: start, stop, step and axes have equal lengths, at most the rank of data.
    """
    view: Array = data[_region(data.shape, start, stop, step, axes)]
    return view


def _region(
    shape: tuple[int, ...], start: Array, stop: Array, step: Array, axes: Array | None = None
) -> tuple[slice, ...]:
    """Return the slices in NumPy's form."""
    rank = len(shape)
    places, steps = list(range(start.size)) if axes is None else axes_of("C4", axes, rank, "axes"), integers(step)
    distinct(require, "C5", places)
    _check_steps(require, steps)
    region = [slice(None)] * rank
    for axis, first, last, by in zip(places, integers(start), integers(stop), steps, strict=True):
        region[axis] = slice_of(shape[axis], first, last, by)
    return tuple(region)


@slice_8.specialize
def _(node: NodeTypes) -> Callable[..., Any] | None:
    """Compute the region once, before the run, for constant bounds and a static shape."""
    if not is_settled(node):
        return None
    region = _region(node.inputs[0].shape.to_shape(), *node.constants[1:])  # type: ignore[union-attr, arg-type]

    def slice_(data: Array, *_: Any) -> Array:
        view: Array = data[region]
        return view

    return slice_


def _check_steps(check: Check, steps: list[int]) -> None:
    check("C3", 0 not in steps, f"step is {steps}, expected values other than 0", port="step")


@slice_8.shapes
def _(
    check: Check,
    data: TensorType,
    start: TensorType,
    stop: TensorType,
    step: TensorType,
    axes: TensorType | None = None,
) -> PartialShape:
    check("C1", data.rank != 0, "data is a scalar, expected rank 1 or more", port="data")
    ports = {"start": start, "stop": stop, "step": step} | ({"axes": axes} if axes is not None else {})
    flat = [has_rank(check, "C4" if name == "axes" else "C2", p, 1, name) for name, p in ports.items()]
    _check_steps(check, step.ints or [])
    if not all(flat):
        return PartialShape.dynamic(data.rank)
    fits, count = same_lengths(check, "C6", ports)
    if data.rank is None or count is None or not fits:
        return PartialShape.dynamic(data.rank)
    message = f"start has {count} elements, expected at most one for each of the {data.rank} axes of data"
    if not check("C6", count <= data.rank, message, port="start", allowed=f"at most {data.rank}"):
        return PartialShape.dynamic(data.rank)
    places = list(range(count)) if axes is None else known_axes(check, "C4", axes, data.rank, "axes")
    if places is None:
        # Any axis may be sliced, which cannot enlarge it.
        return PartialShape(Dimension(0, d.max) for d in data.shape)
    distinct(check, "C5", places)
    dims = list(data.shape)
    unknown = [ANY_DIMENSION] * count
    bounds = [t.known or unknown for t in (start, stop, step)]
    for axis, first, last, by in zip(places, *bounds, strict=False):
        if isinstance(by, int) and by:
            dims[axis] = sliced_within(dims[axis], first, last, by)
        else:
            dims[axis] = Dimension(0, dims[axis].max)
    return PartialShape(dims)


@slice_8.oracle.deviates("data", "start", "step", "axes")
def _(
    data: TensorType, start: TensorType, stop: TensorType, step: TensorType, axes: TensorType | None
) -> Deviation | None:
    return backward_from_before(data, start, step, axes, resizes=True)


@slice_8.oracle.draw("start", "stop", "step", "axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    if port == "axes":
        return filled(types, port, np.arange(types[port].shape[0].value))
    if port == "stop":
        return filled(types, port, np.iinfo(np.int8).max)
    return filled(types, port, 0 if port == "start" else 1)
