"""What the shape rules of the pooling operators share."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.ops.declare.operator import Check
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.windows import Windows, check_windows, output_dims
from irexec.types import PartialShape, TensorType


def pooled_shape(
    check: Check,
    data: TensorType,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    pads_end: Sequence[int],
    auto_pad: str,
    rounding: str,
) -> PartialShape:
    """C1: data has rank 3, 4 or 5. C2: each list has one value per spatial axis. C3: the kernel fits."""
    if not has_rank(check, "C1", data, (3, 4, 5), "data"):
        return PartialShape.dynamic()
    spatial = len(kernel) if data.rank is None else data.rank - 2
    fits = check_windows(check, "C2", spatial, strides, dilations, pads_begin, pads_end)
    fits &= check("C2", len(strides) > 0, f"strides has 0 values for {spatial} spatial axes", attribute="strides")
    message = f"kernel has {len(kernel)} values for {spatial} spatial axes"
    if not check("C2", len(kernel) == spatial, message, attribute="kernel", allowed=str(spatial)) or not fits:
        return PartialShape.dynamic(spatial + 2)
    if data.rank is None:
        return PartialShape.dynamic(spatial + 2)
    lists = (kernel, strides, dilations, pads_begin, pads_end)
    return PartialShape([*data.shape[:2], *output_dims(check, "C3", data.shape.dims[2:], *lists, auto_pad, rounding)])


def windows_over(
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads_begin: Sequence[int],
    pads_end: Sequence[int],
    auto_pad: str,
    rounding: str,
) -> Windows:
    """The windows at run time. Raises ConstraintError C3 when the kernel does not fit."""
    windows = Windows.over(extents, kernel, strides, dilations, pads_begin, pads_end, auto_pad, rounding)
    windows.require_fit("C3", "data")
    return windows
