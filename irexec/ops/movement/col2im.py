"""Col2Im: sliding blocks combined into an image.

Source: operation page Col2Im-15. On the page output_size, kernel_size and stride are attributes; OpenVINO reads and
writes output_size and kernel_size as inputs and stride as `strides`. irexec accepts both forms.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import filled, has_length, in_range, integers
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import AsRead, NonNegativeInts, PositiveInts
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.spec.tensors import Indices, NumericOrBooleanTensor
from irexec.ops.spec.traits import NeedsOptional

Size: TypeAlias = tuple[int, ...]


@operator("Col2Im", "opset15", NeedsOptional)
def col2im_15(
    data: NumericOrBooleanTensor,
    output_size: Indices | None = None,
    kernel_size: Indices | None = None,
    /,
    *,
    size: Annotated[NonNegativeInts, AsRead("output_size")] = (),
    kernel: Annotated[PositiveInts, AsRead("kernel_size")] = (),
    dilations: Annotated[PositiveInts, AsRead(default=())] = (1, 1),
    pads_begin: NonNegativeInts = (0, 0),
    pads_end: NonNegativeInts = (0, 0),
    stride: PositiveInts = (1, 1),
    strides: PositiveInts = (),
) -> NumericOrBooleanTensor:
    """Images [N, C, *output_size] assembled from blocks [N, C * product(kernel_size), L]; overlapping elements are
    added. N is optional.

    Constraints: C1 at least one block fits along each dimension, and the last dimension is the number L of blocks that
    fit, C2 output_size and C3 kernel_size are given and have two values (at least 1 in kernel_size), C4 dilations, pads
    and stride have two values, C5 data has rank 2 or 3, C6 the blocks' dimension is a multiple of product(kernel_size).
    """
    extents = list(size) if output_size is None else integers(output_size)
    window: list[int] = list(kernel) if kernel_size is None else integers(kernel_size)
    in_range(require, "C3", "kernel_size", window, 1)
    steps = strides or stride
    fits = fitting(extents, window, dilations, pads_begin, pads_end, steps)
    blocks = widen(data if data.ndim == 3 else data[None])
    area = prod(window)
    _check_values(require, data.ndim - 2, Dimension(blocks.shape[1]), window)
    check_blocks(require, Dimension(blocks.shape[2]), fits)
    channels = blocks.shape[1] // area
    parts = blocks.reshape(len(blocks), channels, *window, *fits)
    result = assembled(parts, extents, dilations, pads_begin, pads_end, steps)
    return narrow(result if data.ndim == 3 else result[0], data.dtype)


def assembled(parts: Array, size: Sequence[int], dilations: Size, begin: Size, end: Size, stride: Size) -> Array:
    """Return images [N, C, *size] of blocks [N, C, *block, *numbers of blocks]; overlapping elements are added."""
    block, counts = parts.shape[2 : 2 + len(size)], parts.shape[2 + len(size) :]
    padded = [b + n + e for b, n, e in zip(begin, size, end, strict=True)]
    image = np.zeros((*parts.shape[:2], *padded), parts.dtype)
    for tap in np.ndindex(*block):
        places = zip(tap, dilations, counts, stride, strict=True)
        target: Any = (..., *(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in places))
        image[target] += parts[(slice(None), slice(None), *tap)]
    inside: Any = (..., *(slice(b, b + n) for b, n in zip(begin, size, strict=True)))
    result: Array = image[inside]
    return result


def fitting(
    size: Sequence[int], kernel: Sequence[int], dilations: Size, begin: Size, end: Size, stride: Size
) -> list[int]:
    """Return the number of blocks along each spatial dimension."""
    spans = zip(size, kernel, dilations, begin, end, stride, strict=True)
    return [max((n + b + e - d * (k - 1) - 1) // s + 1, 0) for n, k, d, b, e, s in spans]


def _check_values(check: Check, axis: int, values: Dimension, window: Sequence[int]) -> None:
    message = f"dimension {axis} of data is {values}, not a multiple of kernel_size {window}"
    check("C6", values.is_dynamic or values.value % prod(window) == 0, message, port="data")


def check_blocks(check: Check, count: Dimension, fits: Sequence[int], port: str = "data") -> None:
    """Check that there are as many blocks as fit, and at least one."""
    if check("C1", 0 not in fits, "no block fits into the image and its pads", port=port):
        message = f"{port} has {count} blocks, expected {prod(fits)}"
        check("C1", count.contains(prod(fits)), message, port=port, found=str(count), allowed=str(prod(fits)))


@col2im_15.shapes
def _(
    check: Check,
    data: TensorType,
    output_size: TensorType | None = None,
    kernel_size: TensorType | None = None,
    *,
    size: Size,
    kernel: Size,
    **lists: Size,
) -> PartialShape:
    has_rank(check, "C5", data, (2, 3), "data")
    extents = _two(check, "C2", "output_size", output_size, size, 0)
    window = _two(check, "C3", "kernel_size", kernel_size, kernel, 1)
    steps = lists["strides"] or lists["stride"]
    lists = {name: lists[name] for name in ("dilations", "pads_begin", "pads_end")}
    pairs = [
        check("C4", len(v) == 2, f"{name} has {len(v)} values, expected 2", attribute=name)
        for name, v in (*lists.items(), ("stride", steps))
    ]
    if data.rank not in (2, 3):
        return PartialShape.dynamic()
    *batch, values, count = data.shape
    channels = ANY_DIMENSION
    if window is not None:
        _check_values(check, len(batch), values, window)
        channels = values // prod(window)
    if extents is None:
        return PartialShape([*batch, channels, ANY_DIMENSION, ANY_DIMENSION])
    if window is not None and all(pairs):
        fits = fitting(extents, window, lists["dilations"], lists["pads_begin"], lists["pads_end"], steps)
        check_blocks(check, count, fits)
    return PartialShape([*batch, channels, *extents])


def _two(
    check: Check, constraint: str, name: str, port: TensorType | None, attribute: Size, least: int
) -> list[int] | None:
    """Return the two values of an input, else of the attribute; None if unknown. `least`: the least allowed value."""
    if port is None:
        message = f"{name} has {len(attribute)} values, expected 2"
        return list(attribute) if check(constraint, len(attribute) == 2, message, attribute=name) else None
    values = port.ints if has_length(check, constraint, port, 2, name) else None
    if values is None:
        return None
    return values if in_range(check, constraint, name, values, least) else None


@col2im_15.oracle.draw("kernel_size", "output_size")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw blocks of one element, in one column."""
    return filled(types, port, 1 if port == "kernel_size" else [types["data"].shape.dims[-1].value, 1])
