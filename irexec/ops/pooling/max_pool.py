"""MaxPool: the largest element of each window and its index.

Source: operation pages MaxPool-1, MaxPool-8, MaxPool-14, and the shape calculation rules of the pooling operators.
Padding is -inf (the lowest integer), and so is the result of a window over padding alone; OpenVINO returns the lowest
finite number. The pages leave open: the index is that of the first of equal elements; NaN is larger than all numbers,
while OpenVINO ignores it; the index of a window over padding alone is that of its channel's first element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np

from irexec.core.types import I32, I64, Array, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import is_float, is_narrow, narrow, widen
from irexec.ops.compute.products import summing_buffer
from irexec.ops.pooling.rule import PoolWindowing, pooled_shape, undefined_windows
from irexec.ops.pooling.slide import MANY_TAPS, slide
from irexec.ops.rules.shapes import axis_in
from irexec.ops.rules.windows import Windows, meeting
from irexec.ops.spec.groups import AttributesOf
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, NodeTypes, operator
from irexec.ops.spec.oracle import LARGEST
from irexec.ops.spec.tensors import NumericTensor, TensorOfIndexType
from irexec.ops.spec.traits import Homogeneous, KeepsGrid, Positions


@operator("MaxPool", "opset14", Homogeneous, KeepsGrid, Positions)
def max_pool_14(
    data: NumericTensor, /, *, windows: PoolWindowing, index_element_type: ElementType = I64, axis: int = 0
) -> tuple[NumericTensor, TensorOfIndexType]:
    """The largest element of each window, and its index in `data` flattened from `axis` on.

    C1: data has rank 3, 4 or 5. C2: kernel, strides, dilations and pads have one value per spatial axis. C3: the
    kernel, dilated, fits into the padded data. C4: index_element_type is i32 or i64. C5: axis is in [-rank, rank - 1].
    """
    placed = windows.over(data.shape[2:])
    return _largest(data, placed, None), _indices(data, placed, axis).astype(index_element_type.dtype)


@operator("MaxPool", "opset8", Homogeneous, KeepsGrid, Positions)
def max_pool_8(
    data: NumericTensor,
    /,
    *,
    rounding_type: Literal["floor", "ceil"] = "floor",
    **rest: Annotated[Any, AttributesOf(max_pool_14)],
) -> tuple[NumericTensor, TensorOfIndexType]:
    """MaxPool-14 without the rounding type ceil_torch. The same constraints."""
    values, indices = max_pool_14.compute(data, rounding_type=rounding_type, **rest)
    return values, indices


@operator("MaxPool", "opset1", Homogeneous, KeepsGrid, shapes=pooled_shape)
def max_pool_1(
    data: NumericTensor,
    /,
    *,
    out: Array | None = None,
    **windows: Annotated[Any, AttributesOf(max_pool_8, without=("dilations", "index_element_type", "axis"))],
) -> NumericTensor:
    """The largest element of each window of `data` `[N, C, *X]`, without dilations.

    C1: data has rank 3, 4 or 5. C2: kernel, strides and pads have one value per spatial axis. C3: the kernel fits into
    the padded data.
    """
    return _largest(data, PoolWindowing(**windows).over(data.shape[2:]), out)


@max_pool_14.older
def _(form: OlderForm, data: TensorType) -> None:
    form.need_attribute("rounding_type", "floor", "ceil")


@max_pool_8.older
def _(form: OlderForm, data: TensorType) -> None:
    form.need(all(step == 1 for step in form.attributes["dilations"]), "it has dilations")
    form.drop_output(1, "the output of indices")


def _lowest(dtype: np.dtype[Any]) -> float | int:
    return -np.inf if is_float(dtype) else int(np.iinfo(dtype).min)


def _largest(data: Array, windows: Windows, out: Array | None) -> Array:
    wide = widen(data) if is_narrow(data.dtype) and data.dtype != np.float16 else data
    target = summing_buffer((*data.shape[:2], *windows.counts), wide.dtype, out)
    with np.errstate(invalid="ignore"):
        slide(np.maximum, wide, windows, _lowest(wide.dtype), target)
    return target if target is out else narrow(target, data.dtype, out)


def _indices(data: Array, windows: Windows, axis: int) -> Array:
    """Return the index of each window's (first) largest element in `data` flattened from `axis` on."""
    taps = [windows.taps(axis) for axis in range(len(windows.kernel))]
    few = math.prod(map(len, taps)) <= MANY_TAPS
    found = _places_by_taps(data, windows, taps) if few else _places_by_rank(data, windows)
    pixels = math.prod(windows.extents)
    channels = np.arange(data.shape[0] * data.shape[1], dtype=np.int64).reshape(data.shape[:2])
    found += channels.reshape(*channels.shape, *[1] * len(windows.kernel)) * pixels
    outer = axis % data.ndim
    if outer:
        found %= max(1, math.prod(data.shape[outer:]))
    return found


def _places_by_taps(data: Array, windows: Windows, taps: Sequence[range]) -> Array:
    """Return the position, in its channel, of each window's largest element, computed tap by tap; 0 for a window
    without elements.
    """
    shape = (*data.shape[:2], *windows.counts)
    best = np.full(shape, _lowest(data.dtype), data.dtype)
    found = np.full(shape, -1, np.int64)
    places = np.arange(math.prod(windows.extents), dtype=np.int64).reshape(windows.extents)
    for tap in product(*taps):
        pairs = [
            meeting(t * dilation - begin, stride, extent, count)
            for t, dilation, begin, stride, extent, count in zip(
                tap, windows.dilations, windows.begins, windows.strides, windows.extents, windows.counts, strict=True
            )
        ]
        met = [pair for pair in pairs if pair is not None]
        if len(met) < len(pairs):
            continue
        target: Any = (..., *(t for t, _ in met))
        source: Any = (..., *(s for _, s in met))
        x, y, index = data[source], best[target], found[target]
        larger = (x > y) | (index < 0)
        if is_float(data.dtype):
            larger |= np.isnan(x) & ~np.isnan(y)
        np.copyto(y, x, where=larger)
        np.copyto(index, places[source], where=larger)
    return np.maximum(found, 0, out=found)


def _places_by_rank(data: Array, windows: Windows) -> Array:
    """Return the places that `_places_by_taps` returns, found by the smallest rank in each window: faster for many
    taps.

    Ranks number the elements in descending order: NaN comes first, and equal elements keep their order.
    """
    pixels = math.prod(windows.extents)
    flat = widen(data).reshape(*data.shape[:2], pixels)
    order = pixels - 1 - flat[..., ::-1].argsort(axis=-1, kind="stable")[..., ::-1]
    ranks = np.empty(order.shape, np.int64)
    np.put_along_axis(ranks, order, np.arange(pixels).reshape(1, 1, -1), -1)
    best = np.empty((*data.shape[:2], *windows.counts), np.int64)
    slide(np.minimum, ranks.reshape(data.shape), windows, pixels, best)
    lowest = best.reshape(*data.shape[:2], math.prod(windows.counts))
    places = np.take_along_axis(order, np.minimum(lowest, pixels - 1), -1)
    return np.where(lowest < pixels, places, 0).reshape(best.shape)


@max_pool_8.specialize
@max_pool_14.specialize
def _(
    types: NodeTypes, *, windows: PoolWindowing, index_element_type: ElementType
) -> Callable[..., tuple[Array, Array]] | None:
    """Compute only the values if no layer reads the indices."""
    if types.used is None or types.used[1]:
        return None
    unused = np.zeros((), index_element_type.dtype)

    def run(data: Array) -> tuple[Array, Array]:
        values = _largest(data, windows.over(data.shape[2:]), None)
        return values, np.broadcast_to(unused, values.shape)

    return run


@max_pool_8.shapes
@max_pool_14.shapes
def _(
    check: Check, data: TensorType, *, windows: PoolWindowing, index_element_type: ElementType, axis: int
) -> list[PartialShape]:
    check_index_type(check, "C4", index_element_type)
    axis_in(check, "C5", axis, data.rank, attribute="axis")
    shape = pooled_shape(check, data, windows=windows)
    return [shape, shape]


def check_index_type(check: Check, constraint: str, element_type: ElementType) -> None:
    """Check that the index type is i32 or i64."""
    message = f"index_element_type is {element_type}, expected i32 or i64"
    ok = element_type in (I32, I64)
    check(constraint, ok, message, attribute="index_element_type", found=str(element_type), allowed="i32, i64")


for _pool in (max_pool_14, max_pool_8, max_pool_1):
    undefined_windows(_pool)
    _pool.oracle.allowed = LARGEST
