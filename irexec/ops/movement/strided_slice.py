"""StridedSlice: a region of a tensor, with masks for open bounds, new axes, dropped axes and an ellipsis.

Source: operation page StridedSlice-1. If the page's prose contradicts its Python code, the code applies, as in
OpenVINO: `begin == end` selects nothing, and a backward slice with `end_mask` includes the first element. The page
declares begin_mask and end_mask as required but omits them in its examples; irexec treats them as optional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from types import EllipsisType
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import filled, integers, same_lengths
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.slicing import slice_of, sliced
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.operator import Check, NodeTypes, operator, require
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import AnyTensor, LooseIndices
from irexec.ops.spec.traits import CarriesSizes, Homogeneous, Moving, SizesIn, StridedSlicing

Mask: TypeAlias = Annotated[tuple[int, ...], AsRead(of_one_length=True)]
Bound: TypeAlias = int | Dimension | None
STRIDED_SLICE_MASKS = ("begin_mask", "end_mask", "new_axis_mask", "shrink_axis_mask", "ellipsis_mask")


class Step(NamedTuple):
    """The operation at one axis: "slice" and "shrink" consume an axis of data, "new" does not. A bound of None is
    open.
    """

    kind: Literal["slice", "shrink", "new"]
    begin: Bound = None
    end: Bound = None
    stride: Bound = 1


@operator("StridedSlice", "opset1", CarriesSizes, Homogeneous, Moving, SizesIn(1, 2), StridedSlicing, view="data")
def strided_slice_1(
    data: AnyTensor,
    begin: LooseIndices,
    end: LooseIndices,
    stride: LooseIndices | None = None,
    /,
    *,
    begin_mask: Mask = (),
    end_mask: Mask = (),
    new_axis_mask: Mask = (0,),
    shrink_axis_mask: Mask = (0,),
    ellipsis_mask: Mask = (0,),
) -> AnyTensor:
    """`data[begin:end:stride]` per axis. Masks shorter than `begin` are continued with zeros, longer masks are cut.

    A position marked in several masks is an ellipsis first, then a new axis, then a dropped axis. A backward slice that
    begins before the first element contains it. stride is 1 by default.

    Constraints: C1 begin, end and stride are 1D and of equal length, C2 no stride is 0, C3 one ellipsis at most, C4
    mask values are 0 and 1, C5 not more steps than data has axes, C6 a dropped axis's index is in [-n, n - 1].
    """
    masks = (begin_mask, end_mask, new_axis_mask, shrink_axis_mask, ellipsis_mask)
    view: Array = data[_region(data.shape, begin, end, stride, *masks)]
    return view


def _region(
    shape: tuple[int, ...], begin: Array, end: Array, stride: Array | None, *masks: Mask
) -> tuple[slice | int | EllipsisType | None, ...]:
    """Return the slices in NumPy's form."""
    starts, stops = integers(begin), integers(end)
    strides = [1] * len(starts) if stride is None else integers(stride)
    _check_strides(require, strides)
    region: list[slice | int | EllipsisType | None] = []
    extents = iter(shape)
    for kind, first, last, by in steps_of(len(shape), starts, stops, strides, *masks):
        if kind == "new":
            region.append(None)
            continue
        extent = next(extents)
        if kind == "shrink":
            at = int(first or 0)
            _check_dropped(require, at, extent)
            region.append(at)
        else:
            start, stop = None if first is None else int(first), None if last is None else int(last)
            region.append(slice_of(extent, start, stop, int(by or 1), clamp=True))
    # The ellipsis keeps the result an array even if every axis is dropped.
    return (*region, ...)


def steps_of(
    rank: int, begin: Sequence[Bound], end: Sequence[Bound], stride: Sequence[Bound], *masks: Mask
) -> list[Step]:
    """Return one Step per axis of data and per new axis. Raises ValueError if there are too many for the rank."""
    count = len(begin)
    opens, closes, news, shrinks, ellipses = (_padded(mask, count) for mask in masks)
    ellipsis_at = next((i for i in range(count) if ellipses[i]), None)
    used = sum(not news[i] and i != ellipsis_at for i in range(count))
    if used > rank:
        raise ValueError(_too_many(used, rank))
    steps: list[Step] = []
    for i in range(count):
        if i == ellipsis_at:
            steps += [Step("slice")] * (rank - used)
        elif news[i]:
            steps.append(Step("new"))
        elif shrinks[i]:
            steps.append(Step("shrink", 0 if opens[i] else begin[i]))
        else:
            steps.append(Step("slice", None if opens[i] else begin[i], None if closes[i] else end[i], stride[i]))
    if ellipsis_at is None:
        steps += [Step("slice")] * (rank - used)
    return steps


def _too_many(used: int, rank: int) -> str:
    return f"begin names {used} axes, expected at most {rank}, the rank of data"


def _padded(mask: Mask, count: int) -> Mask:
    return (*mask, *[0] * count)[:count]


def _check_strides(check: Check, strides: Sequence[Bound]) -> None:
    check("C2", 0 not in strides, f"stride is {strides}, expected values other than 0", port="stride")


def _check_dropped(check: Check, index: int, extent: int) -> None:
    allowed = f"[{-extent}, {extent - 1}]"
    message = f"index {index} on an axis that shrink_axis_mask removes is outside {allowed}"
    check("C6", -extent <= index < extent, message, port="begin", allowed=allowed)


@strided_slice_1.shapes
def _(
    check: Check, data: TensorType, begin: TensorType, end: TensorType, stride: TensorType | None = None, **masks: Mask
) -> PartialShape:
    for name, mask in masks.items():
        check("C4", set(mask) <= {0, 1}, f"{name} is {list(mask)}, expected zeros and ones", attribute=name)
    marks = sum(map(bool, masks["ellipsis_mask"]))
    check("C3", marks < 2, f"ellipsis_mask marks {marks} positions, at most 1 is allowed", attribute="ellipsis_mask")
    ports = {"begin": begin, "end": end} | ({"stride": stride} if stride is not None else {})
    flat = [has_rank(check, "C1", tensor, 1, name) for name, tensor in ports.items()]
    fits, count = same_lengths(check, "C1", ports if all(flat) else {})
    strides: Sequence[Bound] | None = None if stride is None else stride.known
    _check_strides(check, strides or ())
    if count is None or not fits or data.rank is None or marks > 1:
        fixed = not any(any(masks[m]) for m in ("new_axis_mask", "shrink_axis_mask"))
        return PartialShape.dynamic(data.rank if fixed else None)
    # Before lists of `count` items are made: a file can declare any count.
    used = count - sum(map(any, zip_longest(masks["new_axis_mask"], masks["ellipsis_mask"], fillvalue=0)))
    if used > data.rank:
        check("C5", False, _too_many(used, data.rank), port="begin")
        return PartialShape.dynamic()
    unknown: list[Bound] = [ANY_DIMENSION] * count
    if stride is None:
        strides = [1] * count
    bounds = (begin.known or unknown, end.known or unknown, strides or unknown)
    try:
        steps = steps_of(data.rank, *bounds, *(masks[name] for name in STRIDED_SLICE_MASKS))
    except ValueError as error:
        check("C5", False, str(error), port="begin")
        return PartialShape.dynamic()
    return _inferred(check, data.shape, steps)


def _inferred(check: Check, shape: PartialShape, steps: list[Step]) -> PartialShape:
    extents, dims = iter(shape), []
    for kind, first, last, by in steps:
        if kind == "new":
            dims.append(Dimension(1))
            continue
        extent = next(extents)
        if kind == "shrink":
            if isinstance(first, int) and extent.max is not None:
                _check_dropped(check, first, extent.max)
        elif isinstance(first, Dimension) or isinstance(last, Dimension) or not isinstance(by, int):
            whole = first is None and last is None and extent.max is None
            dims.append(extent if whole else Dimension(0, extent.max))
        else:
            dims.append(sliced(extent, first, last, by or 1, clamp=True))
    return PartialShape(dims)


@strided_slice_1.specialize
def _(node: NodeTypes) -> Callable[..., Any] | None:
    """Compute the region once, before the run, for constant bounds and a static shape."""
    data, begin, end = node.inputs[0], node.constants[1], node.constants[2]
    stride = node.constants[3] if len(node.constants) > 3 else None
    unknown_stride = stride is None and len(node.inputs) > 3 and node.inputs[3] is not None
    if data is None or data.shape.is_dynamic or begin is None or end is None or unknown_stride:
        return None
    masks = [node.attributes[name] for name in STRIDED_SLICE_MASKS]
    region = _region(data.shape.to_shape(), begin, end, stride, *masks)

    def strided_slice(data: Array, *_: Any, **__: Any) -> Array:
        view: Array = data[region]
        return view

    return strided_slice


@strided_slice_1.oracle.draw("begin", "end", "stride")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(types, port, {"begin": 0, "end": np.iinfo(np.int8).max, "stride": 1}[port])


@strided_slice_1.oracle.undefined_for
def _(*inputs: Array, new_axis_mask: Mask, shrink_axis_mask: Mask) -> Undefined:
    """The result is undefined if a position is set in both new_axis_mask and shrink_axis_mask."""
    both = any(new and shrunk for new, shrunk in zip(new_axis_mask, shrink_axis_mask, strict=False))
    return "no result" if both else False
