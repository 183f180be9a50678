"""AvgPool: the mean of each window.

Source: operation pages AvgPool-1, AvgPool-14, AvgPool-16, and the shape calculation rules of the pooling operators.
Where the pages do not define the result, irexec follows OpenVINO. If padding counts, the divisor is the kernel's size.
Without padding, the divisor of a window that exceeds the data (ceil) is the number of elements that it covers. A window
over padding alone gives 0. The mean of integers is rounded to the nearest integer, ties to even.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import MAX_LENGTH, Array, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype, is_float, narrow, wider
from irexec.ops.compute.products import summing_buffer
from irexec.ops.pooling.rule import PoolWindowing, pooled_shape, undefined_windows
from irexec.ops.pooling.slide import covered, slide
from irexec.ops.rules.windows import Windows, dilated
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.groups import AttributesOf
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import ROUNDED
from irexec.ops.spec.tensors import NumericTensor
from irexec.ops.spec.traits import Homogeneous

ExcludePad: TypeAlias = Annotated[bool, AsRead("exclude-pad")]


@operator("AvgPool", "opset16", Homogeneous, tolerance=rounded(16))
def avg_pool_16(
    data: NumericTensor, /, *, windows: PoolWindowing, exclude_pad: ExcludePad, out: Array | None = None
) -> NumericTensor:
    """The mean of each window of `data` `[N, C, *X]`; with `exclude_pad`, the padding does not count.

    C1: data has rank 3, 4 or 5. C2: kernel, strides, dilations and pads have one value per spatial axis. C3: the
    kernel, dilated, fits into the padded data. C4: with `exclude_pad`, no window lies in the padding alone: the kernel,
    dilated, covers more than each padding (from OpenVINO; the page does not define it).
    """
    return _means(data, windows.over(data.shape[2:]), out, exclude_pad)


def _means(data: Array, placed: Windows, out: Array | None, exclude_pad: bool) -> Array:
    whole = not is_float(data.dtype)
    dtype = np.dtype(np.uint64 if data.dtype.kind == "u" else np.int64) if whole else compute_dtype(data.dtype)
    shape = (*data.shape[:2], *placed.counts)
    divisors = counts(placed, exclude_pad).astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = slide(np.add, data, placed, 0, summing_buffer(shape, dtype, out))
        if not whole and not np.isfinite(np.add.reduce(sums, axis=None)):
            sums = slide(np.add, data, placed, 0, np.empty(shape, wider(dtype)))
        means = _divided(sums, divisors) if whole else np.divide(sums, divisors, out=sums)
    return means if means is out else narrow(means, data.dtype, out)


def counts(windows: Windows, exclude_pad: bool) -> Array:
    """Return the divisor of each window's sum; 1 for a window without any pixel, whose sum is 0."""
    padded = any(windows.begins) or any(windows.ends)
    if padded and not exclude_pad:
        return np.asarray(min(math.prod(windows.kernel), MAX_LENGTH))
    counts = np.ones((), np.int64)
    for axis in range(len(windows.kernel)):
        counts = counts[..., None] * covered(windows, axis)[1]
    return np.maximum(counts, 1)


def _divided(sums: Array, counts: Array) -> Array:
    """Divide integers, rounding to the nearest, ties to even."""
    quotients, rests = np.divmod(sums, counts)
    twice = rests + rests
    up = (twice > counts) | ((twice == counts) & (quotients % 2 == 1))
    return np.asarray(quotients + up.astype(sums.dtype))


@operator("AvgPool", "opset14", Homogeneous, tolerance=rounded(16))
def avg_pool_14(
    data: NumericTensor,
    /,
    *,
    out: Array | None = None,
    **rest: Annotated[Any, AttributesOf(avg_pool_16, without="dilations")],
) -> NumericTensor:
    """AvgPool-16 without dilations. The same constraints."""
    return np.asarray(avg_pool_16.compute(data, out=out, **rest))


@avg_pool_16.older
def _(form: OlderForm, data: TensorType) -> None:
    form.need(all(step == 1 for step in form.attributes["dilations"]), "it has dilations")


@avg_pool_14.older
def _(form: OlderForm, data: TensorType) -> None:
    form.need_attribute("rounding_type", "floor", "ceil")


@operator("AvgPool", "opset1", Homogeneous, tolerance=rounded(16))
def avg_pool_1(
    data: NumericTensor,
    /,
    *,
    rounding_type: Literal["floor", "ceil"] = "floor",
    out: Array | None = None,
    **rest: Annotated[Any, AttributesOf(avg_pool_14)],
) -> NumericTensor:
    """AvgPool-14 without the rounding type ceil_torch. The same constraints."""
    return np.asarray(avg_pool_14.compute(data, rounding_type=rounding_type, out=out, **rest))


@avg_pool_16.shapes
@avg_pool_14.shapes
@avg_pool_1.shapes
def _(check: Check, data: TensorType, *, windows: PoolWindowing, exclude_pad: bool) -> PartialShape:
    if exclude_pad and windows.auto_pad == "explicit":
        dilations = windows.dilations or (1,) * len(windows.kernel)
        for name, pads in (("pads_begin", windows.pads_begin), ("pads_end", windows.pads_end)):
            for axis, (k, d, pad) in enumerate(zip(windows.kernel, dilations, pads, strict=False)):
                message = (
                    f"{name} is {pad} on spatial axis {axis}, expected less than the kernel's {dilated(k, d)} pixels"
                )
                allowed = f"at most {dilated(k, d) - 1}"
                check("C4", pad < dilated(k, d), message, attribute=name, found=str(pad), allowed=allowed)
    return pooled_shape(check, data, windows=windows)


for _pool in (avg_pool_16, avg_pool_14, avg_pool_1):
    undefined_windows(_pool)


avg_pool_1.oracle.allowed = avg_pool_14.oracle.allowed = avg_pool_16.oracle.allowed = ROUNDED
